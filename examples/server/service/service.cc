// SPDX-License-Identifier: Apache-2.0

#include "server/service/service.h"

#include <utility>
#include <vector>

#include "server/service/metrics.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/base/no_throw.h"

namespace skald::serve {

Result<std::unique_ptr<Service>> Service::Start(ServedModel model, const ServiceOptions& options) {
  return NoThrow("the service", [&]() -> Result<std::unique_ptr<Service>> {
    std::unique_ptr<Service> service(new Service(UnixNow(), options));
    SKALD_ASSIGN(service->conversations_,
                 Conversations::Open(options.conversations, options.conversation_limits, options.tell));
    const auto responses =
        options.conversations.empty() ? std::filesystem::path() : options.conversations / "responses";
    SKALD_ASSIGN(service->responses_, Conversations::Open(responses, options.response_limits, options.tell));
    SKALD_ASSIGN(service->model_, ModelService::Start(std::move(model), options.model));
    for (const auto& [alias, name] : options.aliases) {
      if (service->model_->FindModel(name) != nullptr) continue;
      return Fail(ErrorCode::kInvalidArgument, "--alias " + alias + ": there is no model '" + name + "' here");
    }
    return service;
  });
}

const NamedModel* Service::FindModel(std::string_view name) const {
  const std::vector<NamedModel>& ours = model_->named_models();
  if (name.empty() || name == kDefaultModel) return &ours[0];
  if (const auto alias = aliases_.find(name); alias != aliases_.end()) name = alias->second;
  const NamedModel* const found = model_->FindModel(name);
  return found == nullptr && ours.size() == 1 && !has_strict_names_ ? &ours[0] : found;
}

Json Service::WithSystem(const Json& messages) const {
  if (system_.empty() || (!messages.empty() && messages[0]["role"] == "system")) return messages;
  Json all = Json::array({Json{{"role", "system"}, {"content", system_}}});
  for (const Json& message : messages) all.push_back(message);
  return all;
}

void Service::Forget(const std::string& tenant, const Conversation& conversation) {
  std::vector<JsonValue> others;
  for (Conversation& other : conversations_->Relatives(tenant, conversation)) {
    others.push_back(JsonValueOf(WithSystem(other.messages)));
  }
  model_->Forget(JsonValueOf(WithSystem(conversation.messages)), others, SaltOf(tenant, conversation));
}

void Service::WriteMetrics(std::string& out) const {
  const ModelServiceStats stats = model_->stats();
  const EngineStats& engine = stats.engine;
  const PromptCacheStats& prompts = stats.prompts;
  const struct {
    const char *name, *type, *help;
    uint64_t value;
  } values[] = {
      {"skald_requests_waiting", "gauge", "Answers that wait for memory or their turn.", engine.waiting},
      {"skald_requests_running", "gauge", "Answers that are being computed.", engine.running},
      {"skald_requests_fetching", "gauge", "Of those that wait: for a store.", engine.fetching},
      {"skald_steps_total", "counter", "Batches computed.", engine.steps},
      {"skald_rows_total", "counter", "Tokens computed.", engine.rows},
      {"skald_prompt_tokens_total", "counter", "Tokens of prompts.", engine.prompt_tokens},
      {"skald_cached_prompt_tokens_total", "counter", "Tokens of prompts that were known.", engine.cached_tokens},
      {"skald_generated_tokens_total", "counter", "Tokens written.", engine.generated_tokens},
      {"skald_drafted_tokens_total", "counter", "Tokens guessed.", engine.drafted_tokens},
      {"skald_accepted_tokens_total", "counter", "Guesses that were right.", engine.accepted_tokens},
      {"skald_preemptions_total", "counter", "Answers that gave their memory away.", engine.preemptions},
      {"skald_prompt_cache_memory_hits_total", "counter", "Prompts found in memory.", prompts.memory_hits},
      {"skald_prompt_cache_store_hits_total", "counter", "Prompts found in a store.", prompts.store_hits},
      {"skald_prompt_cache_store_errors_total", "counter", "Look-ups that a store failed.", prompts.store_errors},
      {"skald_prompt_cache_failed_writes_total", "counter", "Prompts that a store refused.", prompts.failed_writes},
      {"skald_prompt_cache_unwritten_total", "counter", "Prompts that were not stored, for want of room or time.",
       prompts.unwritten},
      {"skald_store_writes_waiting", "gauge", "Writes to stores that wait or are under way.", stats.writes.tasks},
      {"skald_store_writes_dropped_total", "counter", "Writes to stores that found the queue full.",
       stats.writes.dropped},
      {"skald_store_reads_waiting", "gauge", "Reads of stores that wait or are under way.", stats.reads.tasks},
      {"skald_store_reads_dropped_total", "counter", "Reads of stores that found the queue full.", stats.reads.dropped},
      {"skald_prompt_cache_bytes", "gauge", "Memory of kept prompts.", prompts.bytes},
      {"skald_pool_used_bytes", "gauge", "Memory of all caches.", stats.pool.used_bytes},
  };
  for (const auto& [name, type, help, value] : values) {
    WriteMetric(name, type, help, static_cast<double>(value), out);
  }
}

}  // namespace skald::serve
