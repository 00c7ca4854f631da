// SPDX-License-Identifier: Apache-2.0
//
// DraftLength: how many guesses are worth their rows, by how many of a text's guesses were right so far and by what
// rows and guesses cost. Where they cost more than they bring it asks for none, and tries again now and then. Plain
// state of one text.

#ifndef SKALD_ENGINE_SPECULATION_DRAFT_LENGTH_H_
#define SKALD_ENGINE_SPECULATION_DRAFT_LENGTH_H_

#include <cstdint>
#include <span>

#include "skald/engine/plan/cost_model.h"
#include "skald/engine/requests/drafter.h"

namespace skald {

/// How long a drafter takes for a guess, learnt while it guesses.
class DraftCost {
 public:
  /// The expected seconds of a guess; 0 before the first observation.
  double seconds() const { return seconds_; }

  /// Guessing for `tasks` took so many seconds. Calls in which a drafter reads a prompt too say nothing.
  void Observe(std::span<const DraftTask> tasks, double seconds);

 private:
  static constexpr double kLearning = 0.1;

  double seconds_ = 0.0;
};

class DraftLength {
 public:
  /// Returns how many guesses to check, at most `most`, in a step that does `work` besides this text's own row, which
  /// comes after `cached` tokens.
  uint32_t Choose(uint32_t most, const StepWork& work, uint64_t cached, const CostModel& cost,
                  const DraftCost& draft_cost = {});

  /// So many guesses were checked, and so many of them right.
  void Observe(uint32_t drafted, uint32_t right);

 private:
  static constexpr uint32_t kUnknownCost = 4, kTryEvery = 16;
  static constexpr double kLearning = 0.1, kLeastGain = 1.02, kLeastChance = 0.02;

  double accepted_ = 0.7;  ///< the chance of a guess to be right, if those before it are
  uint64_t steps_ = 0;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/speculation/detail/draft_length.h"
#endif

#endif  // SKALD_ENGINE_SPECULATION_DRAFT_LENGTH_H_
