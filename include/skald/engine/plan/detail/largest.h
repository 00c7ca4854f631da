// SPDX-License-Identifier: Apache-2.0
//
// How many rows fit: a search that schedules and shares of steps are made with.

#ifndef SKALD_ENGINE_PLAN_DETAIL_LARGEST_H_
#define SKALD_ENGINE_PLAN_DETAIL_LARGEST_H_

#include <cstdint>

namespace skald::internal {

// The largest number from `least` to `most` that fits, where what is less than one that fits does too; `least` if none
// does.
template <class Fits>
uint32_t Largest(uint32_t least, uint32_t most, Fits fits) {
  if (fits(most)) return most;
  uint32_t fitting = least, too_many = most;
  while (fitting + 1 < too_many) {
    const uint32_t middle = fitting + (too_many - fitting) / 2;
    (fits(middle) ? fitting : too_many) = middle;
  }
  return fitting;
}

}  // namespace skald::internal

#endif  // SKALD_ENGINE_PLAN_DETAIL_LARGEST_H_
