// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/constraints/grammar/counted_loops.h.

#ifndef SKALD_CONSTRAINTS_GRAMMAR_DETAIL_COUNTED_LOOPS_H_
#define SKALD_CONSTRAINTS_GRAMMAR_DETAIL_COUNTED_LOOPS_H_

#include "skald/constraints/grammar/counted_loops.h"

#include "skald/base/inline.h"

namespace skald {

namespace internal {

SKALD_INLINE uint32_t CountedLoop::NeedAt(uint32_t count, uint32_t never) const {
  if (IsFinal(count) || need == never) return IsFinal(count) ? 0 : never;
  return need + (max == count + 1 ? 0 : 1);
}

SKALD_INLINE uint32_t CountedLoop::Alike(uint32_t count, uint32_t steps) const {
  const uint32_t bound = count < min ? min : last();
  if (bound - count <= steps) return count;
  const uint32_t least = count < min ? 0 : min;
  return std::max(least, bound - steps - 1);
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_CONSTRAINTS_GRAMMAR_DETAIL_COUNTED_LOOPS_H_
