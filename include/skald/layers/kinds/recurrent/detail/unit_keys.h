// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/recurrent/unit_keys.h.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_DETAIL_UNIT_KEYS_H_
#define SKALD_LAYERS_KINDS_RECURRENT_DETAIL_UNIT_KEYS_H_

#include "skald/layers/kinds/recurrent/unit_keys.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "skald/base/inline.h"
#include "skald/layers/run/layer_run.h"

namespace skald::internal {

SKALD_INLINE void MakeUnitKeys(const LayerRun& run, Rows rows, size_t heads, size_t size, float* factors) {
  constexpr float kEpsilon = 1e-6f;
  const auto dim = static_cast<float>(size);
  const std::span<float> of_queries(factors, size), of_keys(factors + size, size);
  std::ranges::fill(of_queries, 1.0f / dim);
  std::ranges::fill(of_keys, 1.0f / std::sqrt(dim));
  for (size_t head = 0; head < 2 * heads; ++head) {
    const Rows columns = {rows.data + head * size, rows.stride};
    run.ops.Norm(columns, run.state.rows(), size, head < heads ? of_queries : of_keys, kEpsilon / dim, columns);
  }
}

}  // namespace skald::internal

#endif  // SKALD_LAYERS_KINDS_RECURRENT_DETAIL_UNIT_KEYS_H_
