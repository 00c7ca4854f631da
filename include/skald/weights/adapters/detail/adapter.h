// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/adapters/adapter.h.

#ifndef SKALD_WEIGHTS_ADAPTERS_DETAIL_ADAPTER_H_
#define SKALD_WEIGHTS_ADAPTERS_DETAIL_ADAPTER_H_

#include "skald/weights/adapters/adapter.h"

#include <algorithm>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE const LowRank* Adapter::Find(size_t matrix) const {
  const auto found = std::ranges::lower_bound(low_ranks, matrix, {}, &LowRank::matrix);
  return found != low_ranks.end() && found->matrix == matrix ? &*found : nullptr;
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_ADAPTERS_DETAIL_ADAPTER_H_
