// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/serving/model_service.h.

#ifndef SKALD_SERVING_DETAIL_MODEL_SERVICE_H_
#define SKALD_SERVING_DETAIL_MODEL_SERVICE_H_

#include "skald/serving/model_service.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "skald/base/inline.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/base/no_throw.h"
#include "skald/constraints/gbnf.h"
#include "skald/constraints/grammar_filter.h"

namespace skald {

namespace internal {

inline void AddStats(const PromptCacheStats& stats, PromptCacheStats& sum) {
  for (uint64_t PromptCacheStats::*const count :
       {&PromptCacheStats::lookups, &PromptCacheStats::tokens_asked, &PromptCacheStats::tokens_matched,
        &PromptCacheStats::tokens_reused, &PromptCacheStats::memory_hits, &PromptCacheStats::store_hits,
        &PromptCacheStats::entries, &PromptCacheStats::bytes, &PromptCacheStats::evictions,
        &PromptCacheStats::store_errors, &PromptCacheStats::failed_writes, &PromptCacheStats::unwritten}) {
    sum.*count += stats.*count;
  }
}

}  // namespace internal

SKALD_INLINE Result<std::unique_ptr<ModelService>> ModelService::Start(ServedModel model,
                                                                       const ModelServiceOptions& options) {
  return NoThrow("the service of a model", [&]() -> Result<std::unique_ptr<ModelService>> {
    SKALD_TRY(CheckAdapters(model.name, model.adapters));
    std::unique_ptr<ModelService> service(new ModelService(std::move(model)));
    SKALD_TRY(service->BeginStores(options));
    SKALD_TRY(service->BeginEngine(options));
    return service;
  });
}

SKALD_INLINE ModelService::ModelService(ServedModel model)
    : model_(std::move(model)), named_models_{NamedModel{model_.name}} {
  for (const auto& [name, adapter] : model_.adapters) named_models_.push_back({name, adapter.digest});
}

SKALD_INLINE Result<void> ModelService::BeginStores(const ModelServiceOptions& options) {
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
    SKALD_ASSIGN(prompts_[named.adapter], PromptCache::Create(model_.pool, identity, prompt_options, options.stores));
  }
  return {};
}

SKALD_INLINE Result<void> ModelService::BeginEngine(const ModelServiceOptions& options) {
  SKALD_ASSIGN(auto workspace, CreateWorkspace(options.workspace));
  workspace_.emplace(std::move(workspace));
  EngineOptions engine_options;
  engine_options.max_running = options.max_running;
  engine_options.step_seconds = options.step_seconds;
  engine_options.policy = options.policy;
  engine_options.tokenizer = &model_.text.tokenizer;
  for (const auto& [adapter, prompts] : prompts_) engine_options.prompts.push_back(prompts.get());
  for (const auto& named : model_.adapters) engine_options.adapters.push_back(&named.adapter);
  drafter_ = options.drafter;
  engine_options.drafter = drafter_.get();
  filter_workers_ = std::make_unique<FilterWorkers>(std::max(1u, std::thread::hardware_concurrency() / 4));
  engine_options.filter_workers = filter_workers_.get();
  SKALD_ASSIGN(engine_, Engine::Create(model_.model, model_.pool, *workspace_, std::move(engine_options)));
  loop_ = std::make_unique<EngineLoop>(*engine_);
  return {};
}

SKALD_INLINE const NamedModel* ModelService::FindModel(std::string_view name) const {
  const auto found = std::ranges::find(named_models_, name, &NamedModel::name);
  return found == named_models_.end() ? nullptr : &*found;
}

SKALD_INLINE Result<EngineLoop::Ticket> ModelService::Submit(Request request, std::function<void()> on_event) {
  return loop_->Submit(std::move(request), std::move(on_event));
}

SKALD_INLINE Result<std::shared_ptr<const TokenVocabulary>> ModelService::Vocabulary() {
  const std::lock_guard lock(mutex_);
  if (vocabulary_ == nullptr) {
    SKALD_ASSIGN(vocabulary_, TokenVocabulary::Make(model_.text.tokenizer, model_.text.stop_ids));
  }
  return vocabulary_;
}

SKALD_INLINE Result<std::shared_ptr<const TokenVocabulary>> ModelService::NamedVocabulary() {
  const std::lock_guard lock(mutex_);
  if (named_vocabulary_ == nullptr) {
    SKALD_ASSIGN(named_vocabulary_, VocabularyWithNames(model_.text.tokenizer, model_.text.stop_ids));
  }
  return named_vocabulary_;
}

SKALD_INLINE Result<std::shared_ptr<const TokenFilter>> ModelService::FilterOf(AnswerRules rules,
                                                                               const Request& request) {
  rules.format = model_.text.output;
  const auto prompt = static_cast<uint32_t>(std::min<size_t>(request.prompt.size(), context()));
  const uint32_t room = context() - prompt + 1;
  rules.max_tokens = std::min(room, request.max_tokens.value_or(room));
  SKALD_ASSIGN(auto vocabulary, rules.needs_names() ? NamedVocabulary() : Vocabulary());
  return MakeAnswerFilter(rules, std::move(vocabulary), filters_);
}

SKALD_INLINE Result<std::shared_ptr<const TokenFilter>> ModelService::FilterOfGrammar(const std::string& gbnf) {
  return NoThrow("the grammar", [&]() -> Result<std::shared_ptr<const TokenFilter>> {
    SKALD_ASSIGN(const auto vocabulary, Vocabulary());
    return filters_.Get("grammar " + gbnf, [&]() -> Result<GrammarFilter> {
      SKALD_ASSIGN(const auto grammar, ParseGbnf(gbnf));
      return GrammarFilter::Compile(grammar, vocabulary);
    });
  });
}

SKALD_INLINE void ModelService::Forget(const JsonValue& messages, std::span<const JsonValue> others,
                                       const std::string& salt) {
  const auto common = [](const auto& one, const auto& other) {
    return static_cast<size_t>(std::ranges::mismatch(one, other).in1 - one.begin());
  };
  const std::vector<int32_t> ids = transcripts_->Recall(messages, salt);
  size_t shared_messages = 0, shared_tokens = 0;
  for (const JsonValue& other : others) {
    shared_messages = std::max(shared_messages, common(TreeOf(messages), TreeOf(other)));
    shared_tokens = std::max(shared_tokens, common(ids, transcripts_->Recall(other, salt)));
  }
  transcripts_->Forget(messages, shared_messages, salt);
  if (ids.empty()) return;
  (void)NoThrow("the prompts of a chat", [&]() -> Result<void> {
    const auto prompt_salt = salt.empty() ? std::nullopt : std::optional(salt);
    for (const auto& [adapter, prompts] : prompts_) {
      (void)prompts->Forget(ids, static_cast<uint32_t>(shared_tokens), prompt_salt);  // only a cache
    }
    return {};
  });
}

SKALD_INLINE ModelServiceStats ModelService::stats() const {
  ModelServiceStats stats = {.engine = loop_->stats(), .pool = model_.pool->usage()};
  for (const auto& [adapter, cache] : prompts_) internal::AddStats(cache->stats(), stats.prompts);
  if (writer_ != nullptr) stats.writes = writer_->stats();
  if (reader_ != nullptr) stats.reads = reader_->stats();
  return stats;
}

SKALD_INLINE void ModelService::Stop(std::chrono::milliseconds grace) {
  loop_->Finish(grace);
  if (writer_ != nullptr) (void)writer_->WaitUntilDone(std::chrono::seconds(2));
}

}  // namespace skald

#endif  // SKALD_SERVING_DETAIL_MODEL_SERVICE_H_
