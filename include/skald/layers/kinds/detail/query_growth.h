// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/query_growth.h.

#ifndef SKALD_LAYERS_KINDS_DETAIL_QUERY_GROWTH_H_
#define SKALD_LAYERS_KINDS_DETAIL_QUERY_GROWTH_H_

#include "skald/layers/kinds/query_growth.h"

#include <cstdint>

#include "skald/base/inline.h"
#include "skald/base/mathematics/portable_log.h"
#include "skald/layers/run/layer_run.h"

namespace skald::internal {

SKALD_INLINE void GrowQueries(const LayerRun& run, Rows queries, size_t size, float growth, int context, int first) {
  for (size_t row = 0; row < run.rows.size(); ++row) {
    const uint32_t contexts = (run.rows.positions[row] + static_cast<uint32_t>(first)) / static_cast<uint32_t>(context);
    if (contexts == 0) continue;
    const double factor = 1.0 + double{growth} * PortableLog(1.0 + contexts);
    run.ops.Scale({queries.data + row * queries.stride, queries.stride}, 1, size, static_cast<float>(factor));
  }
}

}  // namespace skald::internal

#endif  // SKALD_LAYERS_KINDS_DETAIL_QUERY_GROWTH_H_
