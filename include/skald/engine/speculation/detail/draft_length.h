// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/speculation/draft_length.h.

#ifndef SKALD_ENGINE_SPECULATION_DETAIL_DRAFT_LENGTH_H_
#define SKALD_ENGINE_SPECULATION_DETAIL_DRAFT_LENGTH_H_

#include "skald/engine/speculation/draft_length.h"

#include <algorithm>
#include <cstddef>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE void DraftCost::Observe(std::span<const DraftTask> tasks, double seconds) {
  size_t guesses = 0;
  for (const DraftTask& task : tasks) {
    if (task.most == 0) return;
    guesses += task.drafts.size();
  }
  if (guesses == 0) return;
  const double each = seconds / static_cast<double>(guesses);
  seconds_ = seconds_ == 0.0 ? each : seconds_ + (each - seconds_) * kLearning;
}

SKALD_INLINE uint32_t DraftLength::Choose(uint32_t most, const StepWork& work, uint64_t cached, const CostModel& cost,
                                          const DraftCost& draft_cost) {
  ++steps_;
  if (!cost.is_known()) return std::min(most, kUnknownCost);
  uint32_t best = 0;
  double best_rate = 0.0, plain_rate = 0.0, expected = 1.0, chance = 1.0;
  for (uint32_t drafts = 0; drafts <= most && chance >= kLeastChance; ++drafts) {
    // The yield of the whole step for its time: the others' rows too, which wait for these.
    const double tokens = static_cast<double>(work.rows) + expected;
    const double seconds = cost.Seconds(work.With(cached, 1 + drafts)) + drafts * draft_cost.seconds();
    const double rate = tokens / std::max(1e-9, seconds);
    if (drafts == 0) plain_rate = rate;
    if (rate > std::max(best_rate, plain_rate * kLeastGain)) {
      best_rate = rate;
      best = drafts;
    }
    chance *= accepted_;
    expected += chance;
  }
  if (best == 0 && steps_ % kTryEvery == 0) return std::min(most, 1u);
  return best;
}

SKALD_INLINE void DraftLength::Observe(uint32_t drafted, uint32_t right) {
  if (drafted == 0) return;
  const uint32_t judged = std::min(drafted, right + 1);  // what follows a wrong guess says nothing
  for (uint32_t i = 0; i < judged; ++i) accepted_ += (static_cast<double>(i < right) - accepted_) * kLearning;
}

}  // namespace skald

#endif  // SKALD_ENGINE_SPECULATION_DETAIL_DRAFT_LENGTH_H_
