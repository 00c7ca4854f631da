// SPDX-License-Identifier: Apache-2.0
//
// Service: the models of a server, and what it keeps beside them: conversations and responses, with what is counted. It
// knows nothing of HTTP.

#ifndef SKALD_EXAMPLES_SERVER_SERVICE_SERVICE_H_
#define SKALD_EXAMPLES_SERVER_SERVICE_SERVICE_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/service/conversations.h"
#include "server/service/models/models.h"

namespace skald::serve {

// A name for the first model, whatever its own name is.
inline constexpr std::string_view kDefaultModel = "default";

struct ServiceOptions {
  uint32_t most_running = 64;                // answers that a model computes at a time
  std::filesystem::path conversations = {};  // folder of what was said; empty: in memory
  ConversationLimits conversation_limits = {}, response_limits = {};
  Conversations::Tell tell = {};  // gets warnings for people
  // Whether names of models that are not served are refused where one model is served, too.
  bool has_strict_names = false;
  std::map<std::string, std::string, std::less<>> aliases = {};  // other names of models
  std::string system = {};            // the system's message of chats that have none; empty: none
  std::optional<uint64_t> seed = {};  // of answers whose requests have none; unset: each has a random one
};

// Safe for concurrent calls.
class Service {
 public:
  // The objects that models refer to must outlive it. Errors: the folder's; an alias of no model.
  static Result<std::unique_ptr<Service>> Start(std::unique_ptr<Models> models, const ServiceOptions& options);

  Models& models() { return *models_; }
  uint32_t most_running() const { return most_running_; }  // answers at a time
  int64_t started() const { return started_; }             // Unix seconds

  Conversations& conversations() { return *conversations_; }
  // The conversations of OpenAI's responses, by the responses' ids.
  Conversations& responses() { return *responses_; }

  // The name, one of Models::names, of the model that clients mean by a name. If there is only one, any name is it
  // unless names are strict.
  std::optional<std::string> NameOf(std::string_view name) const;

  // Of answers whose requests have none.
  std::optional<uint64_t> seed() const { return seed_; }

  // A chat as the model is shown it: with the server's own system message, if it has none.
  Json WithSystem(const Json& messages) const;

  // Forgets how a deleted conversation was spelled and computed, but for what others of the tenant begin with too.
  // Models that are not loaded have nothing of it in memory; what stores keep for them stays there.
  void Forget(const std::string& tenant, const Conversation& conversation);

  // Appends what there is to count, for Prometheus.
  void WriteMetrics(std::string& out);

 private:
  Service(int64_t started, const ServiceOptions& options)
      : started_(started),
        most_running_(options.most_running),
        has_strict_names_(options.has_strict_names),
        aliases_(options.aliases),
        system_(options.system),
        seed_(options.seed) {}

  const int64_t started_;
  const uint32_t most_running_;
  const bool has_strict_names_;
  const std::map<std::string, std::string, std::less<>> aliases_;
  const std::string system_;
  const std::optional<uint64_t> seed_;
  std::unique_ptr<Conversations> conversations_, responses_;
  std::unique_ptr<Models> models_;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_SERVICE_SERVICE_H_
