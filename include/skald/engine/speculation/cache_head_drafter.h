// SPDX-License-Identifier: Apache-2.0
//
// CacheHeadDrafter: guesses with a head whose layers read the model's own caches (DraftHead::reads_cache). It remembers
// a row of each text, and needs no pool. All guesses of a step are made from the same position, each after the first
// from a row of the head's own, and drawn as the text's own tokens are.

#ifndef SKALD_ENGINE_SPECULATION_CACHE_HEAD_DRAFTER_H_
#define SKALD_ENGINE_SPECULATION_CACHE_HEAD_DRAFTER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "skald/base/aligned_buffer.h"
#include "skald/base/result.h"
#include "skald/engine/requests/drafter.h"
#include "skald/model/heads/draft_head.h"
#include "skald/model/workspace.h"
#include "skald/sampling/sampler.h"

namespace skald {

class CacheHeadDrafter : public Drafter {
 public:
  /// All that is given must outlive this; the workspace is not the engine's own.
  CacheHeadDrafter(const DraftHead& head, Workspace& workspace) : head_(head), workspace_(workspace) {}

  std::span<const size_t> Watches() const override { return head_.watches(); }

  /// As HeadDrafter.
  uint32_t MostDrafts() const override { return 3; }

  /// One pass of the head for each guess, over all texts. A text gets none if its cache lacks more than its last token,
  /// or if the row before that was not told.
  Result<void> Draft(std::span<DraftTask> tasks) override;

  void Forget(uint64_t sequence) override { rows_.erase(sequence); }

 private:
  /// The last row that was told of a text.
  struct LastRow {
    uint32_t position;
    std::vector<float> values;
  };

  /// Computes a row of the head for each task, from the tokens after the caches and the rows before them.
  Result<void> Compute(std::span<DraftTask* const> tasks, std::span<const int32_t> tokens, std::vector<float>& rows,
                       DraftHead::From from);

  const DraftHead& head_;
  Workspace& workspace_;
  SamplerScratch scratch_;
  AlignedBuffer<float> inputs_;
  std::vector<float> logits_;
  std::map<uint64_t, LastRow> rows_;  ///< of texts, by their numbers
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/speculation/detail/cache_head_drafter.h"
#endif

#endif  // SKALD_ENGINE_SPECULATION_CACHE_HEAD_DRAFTER_H_
