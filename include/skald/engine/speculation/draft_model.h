// SPDX-License-Identifier: Apache-2.0
//
// DraftModel: guesses with a smaller model of the same vocabulary. It draws its guesses as the text's own tokens are
// drawn, with the same random number at each position: so the two agree as often as their distributions allow, at any
// temperature. It remembers a cache of each text, in a pool of its own.

#ifndef SKALD_ENGINE_SPECULATION_DRAFT_MODEL_H_
#define SKALD_ENGINE_SPECULATION_DRAFT_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/engine/requests/drafter.h"
#include "skald/engine/requests/model_ref.h"
#include "skald/model/workspace.h"
#include "skald/sampling/sampler.h"

namespace skald {

class DraftModel : public Drafter {
 public:
  /// All that is given must outlive this; the workspace is not the engine's own. With RuntimeConfig::rewind_tokens the
  /// pool's caches of windowed and recurrent models can take guesses back; without, they compute texts again.
  DraftModel(ModelRef model, std::shared_ptr<BlockPool> pool, Workspace& workspace)
      : model_(model), pool_(std::move(pool)), workspace_(workspace) {}

  /// One pass over what is new of all texts, then one for each further guess. A text for which the pool has no room, or
  /// that is too long for it, gets no guesses.
  Result<void> Draft(std::span<DraftTask> tasks) override;

  void Forget(uint64_t sequence) override { caches_.erase(sequence); }

 private:
  struct Text {
    DraftTask* task;
    KVCache* cache;
    std::vector<int32_t> next;  ///< tokens to compute
  };

  /// Returns a cache that holds a beginning of the text and no other tokens; null if there is no room.
  KVCache* CacheFor(const DraftTask& task);

  /// Computes the next logits of each text, and draws a guess for each. If there is no room, texts are removed from the
  /// list and from the pool.
  Result<void> GuessOne(std::vector<Text>& texts);

  void Drop(std::vector<Text>& texts, size_t at);

  /// Forgets a text that is not in this batch. Returns false if there is none.
  bool MakeRoom(std::span<const Text> texts);

  ModelRef model_;
  std::shared_ptr<BlockPool> pool_;
  Workspace& workspace_;
  SamplerScratch scratch_;
  std::map<uint64_t, KVCache> caches_;  ///< of texts, by their numbers
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/speculation/detail/draft_model.h"
#endif

#endif  // SKALD_ENGINE_SPECULATION_DRAFT_MODEL_H_
