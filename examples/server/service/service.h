// SPDX-License-Identifier: Apache-2.0
//
// Service: a model at work, and what this server keeps beside it: conversations and responses, with what is counted. It
// knows nothing of HTTP.

#ifndef SKALD_EXAMPLES_SERVER_SERVICE_SERVICE_H_
#define SKALD_EXAMPLES_SERVER_SERVICE_SERVICE_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "server/service/conversations.h"
#include "skald/base/numbers/numeric.h"
#include "skald/serving/model_service.h"

namespace skald::serve {

// A name for the model alone, whatever its own name is.
inline constexpr std::string_view kDefaultModel = "default";

// Facts of the model that clients are told, beside its name and text.
struct ModelFacts {
  std::string family = {};       // as its files name it
  uint64_t parameters = 0;       // numbers in all tensors
  uint64_t bytes = 0;            // of them
  DType type = DType::kBF16;     // of its matrices
  uint32_t trained_context = 0;  // tokens of the texts that it learned from; 0: not known
};

struct ServiceOptions {
  ModelFacts facts = {};
  ModelServiceOptions model = {};
  std::filesystem::path conversations = {};  // folder of what was said; empty: in memory
  ConversationLimits conversation_limits = {}, response_limits = {};
  Conversations::Tell tell = {};  // gets warnings for people
  // Whether names of models that are not served are refused where one model is served, too.
  bool has_strict_names = false;
  std::map<std::string, std::string, std::less<>> aliases = {};  // other names of models
  std::string system = {};  // the system's message of chats that have none; empty: none
};

// Safe for concurrent calls.
class Service {
 public:
  // The objects that `options` and the model refer to must outlive it. Errors: those of ModelService, the folder's.
  static Result<std::unique_ptr<Service>> Start(ServedModel model, const ServiceOptions& options);

  ModelService& model() { return *model_; }
  const ModelService& model() const { return *model_; }
  const ModelFacts& facts() const { return facts_; }
  uint32_t most_running() const { return most_running_; }  // answers at a time
  int64_t started() const { return started_; }             // Unix seconds

  Conversations& conversations() { return *conversations_; }
  // The conversations of OpenAI's responses, by the responses' ids.
  Conversations& responses() { return *responses_; }

  // The model that clients mean by a name, or null; valid as long as this. Where one model is served, that is it unless
  // names are strict.
  const NamedModel* FindModel(std::string_view name) const;

  // A chat as the model is shown it: with the server's own system message, if it has none.
  Json WithSystem(const Json& messages) const;

  // Forgets how a deleted conversation was spelled and computed, but for what others of the tenant begin with too.
  void Forget(const std::string& tenant, const Conversation& conversation);

  // Appends what there is to count, for Prometheus.
  void WriteMetrics(std::string& out) const;

 private:
  Service(int64_t started, const ServiceOptions& options)
      : started_(started),
        facts_(options.facts),
        most_running_(options.model.max_running),
        has_strict_names_(options.has_strict_names),
        aliases_(options.aliases),
        system_(options.system) {}

  const int64_t started_;
  const ModelFacts facts_;
  const uint32_t most_running_;
  const bool has_strict_names_;
  const std::map<std::string, std::string, std::less<>> aliases_;
  const std::string system_;
  std::unique_ptr<Conversations> conversations_, responses_;
  std::unique_ptr<ModelService> model_;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_SERVICE_SERVICE_H_
