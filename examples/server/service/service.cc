// SPDX-License-Identifier: Apache-2.0

#include "server/service/service.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "server/service/metrics.h"
#include "skald/base/no_throw.h"
#include "skald/open/tools/answer_filter.h"

namespace skald::serve {

Result<std::unique_ptr<Service>> Service::Start(ServedModel model, const ServiceOptions& options) {
  return NoThrow("the service", [&]() -> Result<std::unique_ptr<Service>> {
    std::unique_ptr<Service> service(new Service(std::move(model), options));
    SKALD_TRY(service->Begin(options));
    return service;
  });
}

Service::Service(ServedModel model, const ServiceOptions& options)
    : model_(std::move(model)),
      named_models_{NamedModel{model_.name}},
      format_(OutputFormatOf(model_.template_source)) {
  for (const auto& [name, adapter] : model_.adapters) named_models_.push_back({name, adapter.digest});
}

Result<void> Service::Begin(const ServiceOptions& options) {
  SKALD_ASSIGN(auto conversations,
               Conversations::Open(options.conversations, options.conversation_limits, options.tell));
  conversations_ = std::move(conversations);
  SKALD_ASSIGN(auto responses,
               Conversations::Open(options.conversations.empty() ? "" : options.conversations / "responses",
                                   options.response_limits, options.tell));
  responses_ = std::move(responses);
  SKALD_TRY(BeginStores(options));
  return BeginEngine(options);
}

Result<void> Service::BeginStores(const ServiceOptions& options) {
  if (!options.stores.empty()) {
    SKALD_ASSIGN(writer_, BackgroundQueue::Start());
    SKALD_ASSIGN(reader_, BackgroundQueue::Start());
  }
  transcripts_.emplace(model_.identity, options.stores, writer_.get());
  for (const NamedModel& named : named_models_) {
    Identity identity = model_.identity;
    identity.adapter = named.adapter;
    const PromptCacheOptions prompt_options = {
        .max_bytes = options.prompt_bytes, .writer = writer_.get(), .reader = reader_.get()};
    SKALD_ASSIGN(auto prompts, PromptCache::Create(model_.pool, identity, prompt_options, options.stores));
    prompts_[named.adapter] = std::move(prompts);
  }
  return {};
}

Result<void> Service::BeginEngine(const ServiceOptions& options) {
  SKALD_ASSIGN(auto workspace, CreateWorkspace(options.workspace));
  workspace_.emplace(std::move(workspace));
  EngineOptions engine_options;
  engine_options.max_running = options.max_running;
  engine_options.step_seconds = options.step_seconds;
  engine_options.policy = options.policy;
  engine_options.tokenizer = &model_.tokenizer;
  for (const auto& [adapter, prompts] : prompts_) engine_options.prompts.push_back(prompts.get());
  for (const auto& named : model_.adapters) engine_options.adapters.push_back(&named.adapter);
  if (options.prompt_lookup) engine_options.drafter = &drafter_;
  filter_workers_ = std::make_unique<FilterWorkers>(std::max(1u, std::thread::hardware_concurrency() / 4));
  engine_options.filter_workers = filter_workers_.get();
  SKALD_ASSIGN(auto engine, Engine::Create(model_.model, model_.pool, *workspace_, std::move(engine_options)));
  engine_ = std::move(engine);
  loop_ = std::make_unique<EngineLoop>(*engine_);
  return {};
}

const NamedModel* Service::FindModel(std::string_view name) const {
  const auto found = std::ranges::find(named_models_, name, &NamedModel::name);
  return found == named_models_.end() ? nullptr : &*found;
}

Result<EngineLoop::Ticket> Service::Submit(Request request, std::function<void()> on_event) {
  return loop_->Submit(std::move(request), std::move(on_event));
}

Result<std::shared_ptr<const TokenVocabulary>> Service::Vocabulary() {
  const std::lock_guard lock(mutex_);
  if (vocabulary_ != nullptr) return vocabulary_;
  auto made = TokenVocabulary::Make(model_.tokenizer, model_.end_ids);
  if (made) vocabulary_ = *made;
  return made;
}

Result<std::shared_ptr<const TokenVocabulary>> Service::NamedVocabulary() {
  const std::lock_guard lock(mutex_);
  if (named_vocabulary_ != nullptr) return named_vocabulary_;
  auto made = VocabularyWithNames(model_.tokenizer, model_.end_ids);
  if (made) named_vocabulary_ = *made;
  return made;
}

void Service::Forget(const std::string& tenant, const Conversation& conversation) {
  const std::string salt = SaltOf(tenant, conversation);
  const std::vector<int32_t> ids = transcripts_->Recall(conversation.messages, salt);
  size_t messages = 0;
  uint32_t tokens = 0;
  for (const Conversation& other : conversations_->Relatives(tenant, conversation)) {
    const auto parted = std::ranges::mismatch(conversation.messages, other.messages);
    messages = std::max(messages, static_cast<size_t>(parted.in1 - conversation.messages.begin()));
    const std::vector<int32_t> others = transcripts_->Recall(other.messages, salt);
    tokens = std::max(tokens, static_cast<uint32_t>(std::ranges::mismatch(ids, others).in1 - ids.begin()));
  }
  transcripts_->Forget(conversation.messages, messages, salt);
  if (ids.empty()) return;
  const auto prompt_salt = salt.empty() ? std::nullopt : std::optional(salt);
  for (const auto& [adapter, prompts] : prompts_) (void)prompts->Forget(ids, tokens, prompt_salt);  // only a cache
}

void Service::WriteMetrics(std::string& out) const {
  const EngineStats engine = loop_->stats();
  PromptCacheStats prompts;
  for (const auto& [adapter, cache] : prompts_) {
    const PromptCacheStats one = cache->stats();
    prompts.memory_hits += one.memory_hits;
    prompts.store_hits += one.store_hits;
    prompts.store_errors += one.store_errors;
    prompts.failed_writes += one.failed_writes;
    prompts.unwritten += one.unwritten;
    prompts.bytes += one.bytes;
  }
  const PoolUsage pool = model_.pool->usage();
  const BackgroundStats writing = writes(), reading = reads();
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
      {"skald_store_writes_waiting", "gauge", "Writes to stores that wait or are under way.", writing.tasks},
      {"skald_store_writes_dropped_total", "counter", "Writes to stores that found the queue full.", writing.dropped},
      {"skald_store_reads_waiting", "gauge", "Reads of stores that wait or are under way.", reading.tasks},
      {"skald_store_reads_dropped_total", "counter", "Reads of stores that found the queue full.", reading.dropped},
      {"skald_prompt_cache_bytes", "gauge", "Memory of kept prompts.", prompts.bytes},
      {"skald_pool_used_bytes", "gauge", "Memory of all caches.", pool.used_bytes},
  };
  for (const auto& [name, type, help, value] : values) {
    WriteMetric(name, type, help, static_cast<double>(value), out);
  }
}

void Service::Stop(std::chrono::milliseconds grace) {
  const auto deadline = std::chrono::steady_clock::now() + grace;
  while (std::chrono::steady_clock::now() < deadline) {
    const EngineStats stats = loop_->stats();
    if (stats.running + stats.waiting == 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  (void)loop_->Stop(StopMode::kCancel);
  if (writer_ != nullptr) (void)writer_->WaitUntilDone(std::chrono::seconds(2));
}

}  // namespace skald::serve
