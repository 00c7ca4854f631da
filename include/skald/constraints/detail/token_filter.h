// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/constraints/token_filter.h.

#ifndef SKALD_CONSTRAINTS_DETAIL_TOKEN_FILTER_H_
#define SKALD_CONSTRAINTS_DETAIL_TOKEN_FILTER_H_

#include "skald/constraints/token_filter.h"

#include <cstddef>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE void FilterWork::Do() noexcept {
  Compute();
  is_done_.store(true, std::memory_order_release);
}

SKALD_INLINE bool IsAllowed(std::span<const uint64_t> allowed, int32_t id) {
  const auto bit = static_cast<size_t>(id);
  return id >= 0 && bit / 64 < allowed.size() && (allowed[bit / 64] >> bit % 64 & 1) != 0;
}

}  // namespace skald

#endif  // SKALD_CONSTRAINTS_DETAIL_TOKEN_FILTER_H_
