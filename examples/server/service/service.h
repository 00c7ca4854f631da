// SPDX-License-Identifier: Apache-2.0
//
// Service: a model at work, and what this server keeps beside it: conversations and responses, with what is counted. It
// knows nothing of HTTP.

#ifndef SKALD_EXAMPLES_SERVER_SERVICE_SERVICE_H_
#define SKALD_EXAMPLES_SERVER_SERVICE_SERVICE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "server/service/conversations.h"
#include "skald/serving/model_service.h"

namespace skald::serve {

// A name for the model alone, whatever its own name is.
inline constexpr std::string_view kDefaultModel = "default";

struct ServiceOptions {
  ModelServiceOptions model = {};
  std::filesystem::path conversations = {};  // folder of what was said; empty: in memory
  ConversationLimits conversation_limits = {}, response_limits = {};
  Conversations::Tell tell = {};  // gets warnings for people
};

// Safe for concurrent calls.
class Service {
 public:
  // The objects that `options` and the model refer to must outlive it. Errors: those of ModelService, the folder's.
  static Result<std::unique_ptr<Service>> Start(ServedModel model, const ServiceOptions& options);

  ModelService& model() { return *model_; }
  const ModelService& model() const { return *model_; }
  int64_t started() const { return started_; }  // Unix seconds

  Conversations& conversations() { return *conversations_; }
  // The conversations of OpenAI's responses, by the responses' ids.
  Conversations& responses() { return *responses_; }

  // Forgets how a deleted conversation was spelled and computed, but for what others of the tenant begin with too.
  void Forget(const std::string& tenant, const Conversation& conversation);

  // Appends what there is to count, for Prometheus.
  void WriteMetrics(std::string& out) const;

 private:
  explicit Service(int64_t started) : started_(started) {}

  const int64_t started_;
  std::unique_ptr<Conversations> conversations_, responses_;
  std::unique_ptr<ModelService> model_;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_SERVICE_SERVICE_H_
