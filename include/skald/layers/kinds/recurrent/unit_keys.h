// SPDX-License-Identifier: Apache-2.0
//
// Queries and keys of delta rules, which are vectors of length 1, and queries divided by the root of their size
// besides.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_UNIT_KEYS_H_
#define SKALD_LAYERS_KINDS_RECURRENT_UNIT_KEYS_H_

#include <cstddef>

#include "skald/layers/run/rows.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h

namespace internal {

/// Normalises `heads` queries of `size` elements in each row, and as many keys after them. `factors` has room for
/// 2 * size. To divide by the root of the sum of squares plus epsilon is an RMSNorm: by the root of their mean plus a
/// share of epsilon, times a constant.
void MakeUnitKeys(const LayerRun& run, Rows rows, size_t heads, size_t size, float* factors);

}  // namespace internal
}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/recurrent/detail/unit_keys.h"
#endif

#endif  // SKALD_LAYERS_KINDS_RECURRENT_UNIT_KEYS_H_
