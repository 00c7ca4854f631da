// SPDX-License-Identifier: Apache-2.0
//
// DraftModel: guesses with a smaller model of the same vocabulary. It draws its guesses as the text's own tokens are
// drawn, with the same random number at each position: so the two agree as often as their distributions allow, at any
// temperature. It remembers a cache of each text, in a pool of its own.

#ifndef SKALD_ENGINE_SPECULATION_DRAFT_MODEL_H_
#define SKALD_ENGINE_SPECULATION_DRAFT_MODEL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/create.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/steps/batch.h"
#include "skald/engine/form/drafter.h"
#include "skald/engine/form/model_ref.h"
#include "skald/model/workspace.h"
#include "skald/sampling/sampler.h"

namespace skald {

class DraftModel : public Drafter {
 public:
  // All that is given must outlive this; the workspace is not the engine's own. With RuntimeConfig::rewind_tokens the
  // pool's caches of windowed and recurrent models can take guesses back; without, they compute texts again.
  DraftModel(ModelRef model, std::shared_ptr<BlockPool> pool, Workspace& workspace)
      : model_(model), pool_(std::move(pool)), workspace_(workspace) {}

  // One pass over what is new of all texts, then one for each further guess. A text for which the pool has no room, or
  // that is too long for it, gets no guesses.
  Result<void> Draft(std::span<DraftTask> tasks) override {
    return NoThrow("DraftModel", [&]() -> Result<void> {
      std::vector<Text> texts;
      for (DraftTask& task : tasks) {
        KVCache* const cache = CacheFor(task);
        if (cache == nullptr) continue;
        const std::span<const int32_t> unread = task.tokens.subspan(cache->size());
        texts.push_back({&task, cache, {unread.begin(), unread.end()}});
      }
      while (!texts.empty()) {
        if (auto guessed = GuessOne(texts); !guessed) return guessed;
        std::erase_if(texts, [](const Text& text) { return text.task->drafts.size() >= text.task->most; });
      }
      return {};
    });
  }

  void Forget(uint64_t sequence) override { caches_.erase(sequence); }

 private:
  struct Text {
    DraftTask* task;
    KVCache* cache;
    std::vector<int32_t> next;  // tokens to compute
  };

  // Returns a cache that holds a beginning of the text and no other tokens; null where there is no room.
  KVCache* CacheFor(const DraftTask& task) {
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

  // Computes what is next of each text, and draws a guess for each. Where there is no room, texts go from the list and
  // from the pool.
  Result<void> GuessOne(std::vector<Text>& texts) {
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
        auto drawn = Sample((*outputs)[i], *task.sampler, {}, task.tokens.size() + task.drafts.size(), scratch_);
        if (!drawn) return Failure(drawn.error());
        task.drafts.push_back(drawn->id);
        texts[i].next = {drawn->id};
      }
      return {};
    }
    return {};
  }

  void Drop(std::vector<Text>& texts, size_t at) {
    caches_.erase(texts[at].task->sequence);
    texts.erase(texts.begin() + static_cast<std::ptrdiff_t>(at));
  }

  // Forgets a text that is not in this batch. False where there is none.
  bool MakeRoom(std::span<const Text> texts) {
    for (auto it = caches_.begin(); it != caches_.end(); ++it) {
      const auto is_it = [&](const Text& text) { return text.cache == &it->second; };
      if (it->second.size() == 0 || std::ranges::any_of(texts, is_it)) continue;
      it->second.Clear();
      return true;
    }
    return false;
  }

  ModelRef model_;
  std::shared_ptr<BlockPool> pool_;
  Workspace& workspace_;
  SamplerScratch scratch_;
  std::map<uint64_t, KVCache> caches_;  // of texts, by their numbers
};

}  // namespace skald

#endif  // SKALD_ENGINE_SPECULATION_DRAFT_MODEL_H_
