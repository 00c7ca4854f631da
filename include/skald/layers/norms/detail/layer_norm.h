// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/norms/layer_norm.h.

#ifndef SKALD_LAYERS_NORMS_DETAIL_LAYER_NORM_H_
#define SKALD_LAYERS_NORMS_DETAIL_LAYER_NORM_H_

#include "skald/layers/norms/layer_norm.h"

#include "skald/base/inline.h"
#include "skald/base/text/message.h"
#include "skald/layers/run/operations.h"
#include "skald/layers/run/rows.h"

namespace skald {

SKALD_INLINE void LayerNorm::ListParameters(Weights& weights, std::string_view name, size_t size,
                                            ParameterList& list) const {
  if (weight) list.AddNorm(weights.weight, name, size, /*offset=*/0.0f);
  if (bias) list.AddVector(weights.bias, {{Concat({name, ".bias"}), size}});
}

SKALD_INLINE void LayerNorm::Run(const Weights& weights, const NormRun& run) const {
  run.ops.LayerNorm(run.input, run.rows, run.size, weights.weight, weights.bias, epsilon, run.output);
}

}  // namespace skald

#endif  // SKALD_LAYERS_NORMS_DETAIL_LAYER_NORM_H_
