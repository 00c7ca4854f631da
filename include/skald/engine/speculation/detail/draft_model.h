// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/speculation/draft_model.h.

#ifndef SKALD_ENGINE_SPECULATION_DETAIL_DRAFT_MODEL_H_
#define SKALD_ENGINE_SPECULATION_DETAIL_DRAFT_MODEL_H_

#include "skald/engine/speculation/draft_model.h"

#include <algorithm>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/cache/create.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/cache/steps/batch.h"
#include "skald/model/outputs.h"

namespace skald {

SKALD_INLINE Result<void> DraftModel::Draft(std::span<DraftTask> tasks) {
  return NoThrow("DraftModel", [&]() -> Result<void> {
    std::vector<Text> texts;
    for (DraftTask& task : tasks) {
      KVCache* const cache = CacheFor(task);
      if (cache == nullptr) continue;
      const std::span<const int32_t> unread = task.tokens.subspan(cache->size());
      texts.push_back({&task, cache, {unread.begin(), unread.end()}});
    }
    while (!texts.empty()) {
      SKALD_TRY(GuessOne(texts));
      std::erase_if(texts, [](const Text& text) { return text.task->drafts.size() >= text.task->most; });
    }
    return {};
  });
}

SKALD_INLINE KVCache* DraftModel::CacheFor(const DraftTask& task) {
  if (task.tokens.size() + task.most > pool_->runtime().max_tokens) return nullptr;
  auto found = caches_.find(task.sequence);
  if (found == caches_.end()) {
    auto cache = CreateKVCache(pool_);
    if (!cache) return nullptr;
    found = caches_.emplace(task.sequence, std::move(*cache)).first;
  }
  KVCache& cache = found->second;
  // The last token has to be computed, for what follows it.
  const auto [in_cache, in_text] = std::ranges::mismatch(cache.tokens(), task.tokens.first(task.tokens.size() - 1));
  const auto common = static_cast<uint32_t>(in_cache - cache.tokens().begin());
  if (common < cache.size() && !cache.Truncate(cache.NearestResumePoint(common))) cache.Clear();
  return &cache;
}

SKALD_INLINE Result<void> DraftModel::GuessOne(std::vector<Text>& texts) {
  while (!texts.empty()) {
    Batch batch;
    for (Text& text : texts) batch.Add(*text.cache, text.next);
    auto outputs = model_.Forward(batch, workspace_, {});
    if (!outputs) {
      const auto sequence = outputs.error().facts.sequence;
      if (!sequence || *sequence >= texts.size()) return Failure(outputs.error());
      if (!MakeRoom(texts)) Drop(texts, *sequence);
      continue;
    }
    for (size_t i = 0; i < texts.size(); ++i) {
      DraftTask& task = *texts[i].task;
      SKALD_ASSIGN(auto drawn,
                   Sample((*outputs)[i], *task.sampler, {}, task.tokens.size() + task.drafts.size(), scratch_));
      task.drafts.push_back(drawn.id);
      texts[i].next = {drawn.id};
    }
    return {};
  }
  return {};
}

SKALD_INLINE void DraftModel::Drop(std::vector<Text>& texts, size_t at) {
  caches_.erase(texts[at].task->sequence);
  texts.erase(texts.begin() + static_cast<std::ptrdiff_t>(at));
}

SKALD_INLINE bool DraftModel::MakeRoom(std::span<const Text> texts) {
  for (auto it = caches_.begin(); it != caches_.end(); ++it) {
    const auto is_it = [&](const Text& text) { return text.cache == &it->second; };
    if (it->second.size() == 0 || std::ranges::any_of(texts, is_it)) continue;
    it->second.Clear();
    return true;
  }
  return false;
}

}  // namespace skald

#endif  // SKALD_ENGINE_SPECULATION_DETAIL_DRAFT_MODEL_H_
