// SPDX-License-Identifier: Apache-2.0
//
// Queries that grow with their position, so that attention stays sharp in long texts (arXiv:2501.19399, as Llama 4 has
// it).

#ifndef SKALD_LAYERS_KINDS_QUERY_GROWTH_H_
#define SKALD_LAYERS_KINDS_QUERY_GROWTH_H_

#include <cstddef>

#include "skald/layers/run/rows.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h

namespace internal {

/// Whether queries can grow by this factor for each logarithm of so many positions; both 0: they do not.
constexpr bool IsGrowth(float growth, int context) {
  return growth >= 0.0f && growth <= 1e6f && context >= 0 && (growth > 0.0f) == (context > 0);
}

/// Multiplies the `size` elements of each row, at position p, by 1 + growth * ln(1 + floor(p / context)).
/// The first position counts as number `first`.
void GrowQueries(const LayerRun& run, Rows queries, size_t size, float growth, int context, int first = 0);

}  // namespace internal
}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/detail/query_growth.h"
#endif

#endif  // SKALD_LAYERS_KINDS_QUERY_GROWTH_H_
