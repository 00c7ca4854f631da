// SPDX-License-Identifier: Apache-2.0
//
// DraftLength: how many guesses are worth their rows, by how many of a text's guesses were right so far and by what
// rows cost. Where they cost more than they bring it asks for none, and tries again now and then. Plain state of one
// text.

#ifndef SKALD_ENGINE_SPECULATION_DRAFT_LENGTH_H_
#define SKALD_ENGINE_SPECULATION_DRAFT_LENGTH_H_

#include <algorithm>
#include <cstdint>

#include "skald/engine/plan/cost_model.h"

namespace skald {

class DraftLength {
 public:
  // Returns how many guesses to check, at most `most`, in a step that does `work` besides this text's own row, which
  // stands behind `cached` tokens.
  uint32_t Choose(uint32_t most, const StepWork& work, uint64_t cached, const CostModel& cost) {
    ++steps_;
    if (!cost.is_known()) return std::min(most, kUnknownCost);
    uint32_t best = 0;
    double best_rate = 0.0, plain_rate = 0.0, expected = 1.0, chance = 1.0;
    for (uint32_t drafts = 0; drafts <= most && chance >= kLeastChance; ++drafts) {
      // What the whole step brings for its time: the others' rows too, which wait for these.
      const double tokens = static_cast<double>(work.rows) + expected;
      const double rate = tokens / std::max(1e-9, cost.Seconds(work.With(cached, 1 + drafts)));
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

  // So many guesses were checked, and so many of them right.
  void Observe(uint32_t drafted, uint32_t right) {
    if (drafted == 0) return;
    const uint32_t judged = std::min(drafted, right + 1);  // what follows a wrong guess says nothing
    for (uint32_t i = 0; i < judged; ++i) accepted_ += (static_cast<double>(i < right) - accepted_) * kLearning;
  }

 private:
  static constexpr uint32_t kUnknownCost = 4, kTryEvery = 16;
  static constexpr double kLearning = 0.1, kLeastGain = 1.02, kLeastChance = 0.02;

  double accepted_ = 0.7;  // the chance of a guess to be right, if those before it are
  uint64_t steps_ = 0;
};

}  // namespace skald

#endif  // SKALD_ENGINE_SPECULATION_DRAFT_LENGTH_H_
