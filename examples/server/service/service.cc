// SPDX-License-Identifier: Apache-2.0

#include "server/service/service.h"

#include <utility>
#include <vector>

#include "server/service/metrics.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/base/no_throw.h"

namespace skald::serve {
namespace {

struct ModelMetric {
  const char *name, *type, *help;
  uint64_t (*value)(const ModelServiceStats& stats);
};

using Stats = ModelServiceStats;

constexpr ModelMetric kModelMetrics[] = {
    {"skald_requests_waiting", "gauge", "Answers that wait for memory or their turn.",
     [](const Stats& stats) -> uint64_t { return stats.engine.waiting; }},
    {"skald_requests_running", "gauge", "Answers that are being computed.",
     [](const Stats& stats) -> uint64_t { return stats.engine.running; }},
    {"skald_requests_fetching", "gauge", "Of those that wait: for a store.",
     [](const Stats& stats) -> uint64_t { return stats.engine.fetching; }},
    {"skald_steps_total", "counter", "Batches computed.",
     [](const Stats& stats) -> uint64_t { return stats.engine.steps; }},
    {"skald_rows_total", "counter", "Tokens computed.",
     [](const Stats& stats) -> uint64_t { return stats.engine.rows; }},
    {"skald_prompt_tokens_total", "counter", "Tokens of prompts.",
     [](const Stats& stats) -> uint64_t { return stats.engine.prompt_tokens; }},
    {"skald_cached_prompt_tokens_total", "counter", "Tokens of prompts that were known.",
     [](const Stats& stats) -> uint64_t { return stats.engine.cached_tokens; }},
    {"skald_generated_tokens_total", "counter", "Tokens written.",
     [](const Stats& stats) -> uint64_t { return stats.engine.generated_tokens; }},
    {"skald_drafted_tokens_total", "counter", "Tokens guessed.",
     [](const Stats& stats) -> uint64_t { return stats.engine.drafted_tokens; }},
    {"skald_accepted_tokens_total", "counter", "Guesses that were right.",
     [](const Stats& stats) -> uint64_t { return stats.engine.accepted_tokens; }},
    {"skald_preemptions_total", "counter", "Answers that gave their memory away.",
     [](const Stats& stats) -> uint64_t { return stats.engine.preemptions; }},
    {"skald_prompt_cache_memory_hits_total", "counter", "Prompts found in memory.",
     [](const Stats& stats) -> uint64_t { return stats.prompts.memory_hits; }},
    {"skald_prompt_cache_store_hits_total", "counter", "Prompts found in a store.",
     [](const Stats& stats) -> uint64_t { return stats.prompts.store_hits; }},
    {"skald_prompt_cache_store_errors_total", "counter", "Look-ups that a store failed.",
     [](const Stats& stats) -> uint64_t { return stats.prompts.store_errors; }},
    {"skald_prompt_cache_failed_writes_total", "counter", "Prompts that a store refused.",
     [](const Stats& stats) -> uint64_t { return stats.prompts.failed_writes; }},
    {"skald_prompt_cache_unwritten_total", "counter", "Prompts that were not stored, for want of room or time.",
     [](const Stats& stats) -> uint64_t { return stats.prompts.unwritten; }},
    {"skald_store_writes_waiting", "gauge", "Writes to stores that wait or are under way.",
     [](const Stats& stats) -> uint64_t { return stats.writes.tasks; }},
    {"skald_store_writes_dropped_total", "counter", "Writes to stores that found the queue full.",
     [](const Stats& stats) -> uint64_t { return stats.writes.dropped; }},
    {"skald_store_reads_waiting", "gauge", "Reads of stores that wait or are under way.",
     [](const Stats& stats) -> uint64_t { return stats.reads.tasks; }},
    {"skald_store_reads_dropped_total", "counter", "Reads of stores that found the queue full.",
     [](const Stats& stats) -> uint64_t { return stats.reads.dropped; }},
    {"skald_prompt_cache_bytes", "gauge", "Memory of kept prompts.",
     [](const Stats& stats) -> uint64_t { return stats.prompts.bytes; }},
    {"skald_pool_used_bytes", "gauge", "Memory of all caches.",
     [](const Stats& stats) -> uint64_t { return stats.pool.used_bytes; }},
    {"skald_pool_limit_bytes", "gauge", "The most that all caches may take.",
     [](const Stats& stats) -> uint64_t { return stats.pool.limit_bytes; }},
};

// Of the models that are loaded.
void WriteFacts(const std::vector<ModelStatus>& models, std::string& out) {
  std::vector<MetricLabels> labels;
  std::vector<ModelValue> parameters, bytes, contexts;
  for (const ModelStatus& one : models) {
    if (one.model == nullptr) continue;
    const ModelFacts& facts = one.model->facts;
    labels.push_back({{"model", one.name}, {"family", facts.family}, {"type", std::string(NameOf(facts.type))}});
    const std::string name = models.size() > 1 ? one.name : "";
    parameters.push_back({name, static_cast<double>(facts.parameters)});
    bytes.push_back({name, static_cast<double>(facts.bytes)});
    contexts.push_back({name, static_cast<double>(one.model->context())});
  }
  WriteInfo("skald_model_info", "A model that is loaded.", labels, out);
  WriteMetric("skald_model_parameters", "gauge", "Numbers in all tensors.", parameters, out);
  WriteMetric("skald_model_weights_bytes", "gauge", "Memory of them.", bytes, out);
  WriteMetric("skald_model_context_tokens", "gauge", "Most tokens of a conversation.", contexts, out);
}

// Of models that embed or rank texts, if there are any.
void WriteEncoders(const std::vector<std::pair<std::string, EncoderStats>>& encoders, std::string& out) {
  if (encoders.empty()) return;
  std::vector<ModelValue> works, texts, waiting;
  for (const auto& [name, stats] : encoders) {
    works.push_back({name, static_cast<double>(stats.works)});
    texts.push_back({name, static_cast<double>(stats.texts)});
    waiting.push_back({name, static_cast<double>(stats.waiting)});
  }
  WriteMetric("skald_encoder_requests_total", "counter", "Requests for embeddings and rankings.", works, out);
  WriteMetric("skald_encoder_texts_total", "counter", "Texts that were embedded or ranked.", texts, out);
  WriteMetric("skald_encoder_waiting", "gauge", "Requests for these that wait or are computed.", waiting, out);
}

void WriteModelsMetrics(const std::vector<ModelStatus>& models, const ModelsStats& stats, std::string& out) {
  std::vector<ModelValue> loaded;
  for (const ModelStatus& one : models) loaded.push_back({one.name, one.model == nullptr ? 0.0 : 1.0});
  WriteMetric("skald_model_loaded", "gauge", "Whether a model is loaded.", loaded, out);
  const struct {
    const char *name, *type, *help;
    uint64_t value;
  } values[] = {
      {"skald_models_bytes", "gauge", "The most that the loaded models may take.", stats.bytes},
      {"skald_models_limit_bytes", "gauge", "The most that models may take.", stats.limit},
      {"skald_models_waiting", "gauge", "Requests that wait for a model to be loaded.", stats.waiting},
      {"skald_model_loads_total", "counter", "Models loaded.", stats.loads},
      {"skald_model_failed_loads_total", "counter", "Models that could not be loaded.", stats.failed_loads},
      {"skald_model_evictions_total", "counter", "Models put away to make room.", stats.put_away},
  };
  for (const auto& [name, type, help, value] : values) {
    WriteMetric(name, type, help, static_cast<double>(value), out);
  }
}

}  // namespace

Result<std::unique_ptr<Service>> Service::Start(std::unique_ptr<Models> models, const ServiceOptions& options) {
  return NoThrow("the service", [&]() -> Result<std::unique_ptr<Service>> {
    std::unique_ptr<Service> service(new Service(UnixNow(), options));
    SKALD_ASSIGN(service->conversations_,
                 Conversations::Open(options.conversations, options.conversation_limits, options.tell));
    const auto responses =
        options.conversations.empty() ? std::filesystem::path() : options.conversations / "responses";
    SKALD_ASSIGN(service->responses_, Conversations::Open(responses, options.response_limits, options.tell));
    service->models_ = std::move(models);
    for (const auto& [alias, name] : options.aliases) {
      if (service->models_->Has(name)) continue;
      return Fail(ErrorCode::kInvalidArgument, "--alias " + alias + ": there is no model '" + name + "' here");
    }
    return service;
  });
}

std::optional<std::string> Service::NameOf(std::string_view name) const {
  const std::vector<std::string>& ours = models_->names();
  if (name.empty() || name == kDefaultModel) return ours[0];
  if (const auto alias = aliases_.find(name); alias != aliases_.end()) name = alias->second;
  if (models_->Has(name)) return std::string(name);
  return ours.size() == 1 && !has_strict_names_ ? std::optional(ours[0]) : std::nullopt;
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
  for (const ModelStatus& one : models_->List()) {
    if (one.model == nullptr || one.model->service == nullptr) continue;
    one.model->service->Forget(JsonValueOf(WithSystem(conversation.messages)), others, SaltOf(tenant, conversation));
  }
}

void Service::WriteMetrics(std::string& out) {
  const std::vector<ModelStatus> models = models_->List();
  WriteFacts(models, out);
  const bool are_several = models.size() > 1;
  std::vector<std::pair<std::string, ModelServiceStats>> loaded;
  std::vector<std::pair<std::string, EncoderStats>> encoders;
  for (const ModelStatus& one : models) {
    if (one.model == nullptr) continue;
    const std::string label = are_several ? one.name : "";
    if (one.model->service != nullptr) {
      loaded.emplace_back(label, one.model->service->stats());
    } else {
      encoders.emplace_back(label, one.model->encoder->stats());
    }
  }
  WriteEncoders(encoders, out);
  for (const ModelMetric& metric : kModelMetrics) {
    std::vector<ModelValue> values;
    for (const auto& [name, stats] : loaded) values.push_back({name, static_cast<double>(metric.value(stats))});
    WriteMetric(metric.name, metric.type, metric.help, values, out);
  }
  if (are_several) WriteModelsMetrics(models, models_->stats(), out);
}

}  // namespace skald::serve
