// SPDX-License-Identifier: Apache-2.0
//
// CountedLoop: a repetition of many times as a state with a count, in place of a copy of its states for each time. The
// state before each time is a number of its own, first + count, so that a stack of states says how often something came
// already; nothing else is kept of it.

#ifndef SKALD_CONSTRAINTS_GRAMMAR_COUNTED_LOOPS_H_
#define SKALD_CONSTRAINTS_GRAMMAR_COUNTED_LOOPS_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "skald/constraints/grammar/grammar.h"

namespace skald::internal {

/// Which calls of a RuleGraph call a loop and not a rule: those of kFirstLoop + its index.
inline constexpr uint32_t kFirstLoop = uint32_t{1} << 31;

struct CountedLoop {
  Grammar::Expression part;  ///< never empty, and no beginning of itself, so that a text has one count
  Grammar::Rule owner;       ///< a rule in which it stands
  uint32_t min;
  std::optional<uint32_t> max;

  uint32_t first = 0;  ///< the state where nothing came yet
  uint32_t start = 0;  ///< where the part begins
  uint32_t need = 0;   ///< of `start`

  /// Counts from here on are one.
  uint32_t last() const { return max.value_or(min); }
  bool IsFinal(uint32_t count) const { return count >= min; }
  bool IsLast(uint32_t count) const { return max && count == *max; }
  /// The state after one more time. Not for IsLast.
  uint32_t Next(uint32_t count) const { return first + std::min(count + 1, last()); }
  uint32_t NeedAt(uint32_t count, uint32_t never) const;

  /// A count from which on the next `steps` times go just as from `count`: they are at the same distance from `min` and
  /// `max`, or both further away than that.
  uint32_t Alike(uint32_t count, uint32_t steps) const;
};

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/constraints/grammar/detail/counted_loops.h"
#endif

#endif  // SKALD_CONSTRAINTS_GRAMMAR_COUNTED_LOOPS_H_
