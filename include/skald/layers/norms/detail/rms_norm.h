// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/norms/rms_norm.h.

#ifndef SKALD_LAYERS_NORMS_DETAIL_RMS_NORM_H_
#define SKALD_LAYERS_NORMS_DETAIL_RMS_NORM_H_

#include "skald/layers/norms/rms_norm.h"

#include "skald/base/inline.h"
#include "skald/layers/run/operations.h"
#include "skald/layers/run/rows.h"

namespace skald {

SKALD_INLINE void RmsNorm::ListParameters(Weights& weights, std::string_view name, Axis size,
                                          ParameterList& list) const {
  if (weight) list.AddNorm(weights, name, size, unit_offset ? offset : 0.0f);
}

SKALD_INLINE void RmsNorm::Run(const Weights& weights, const NormRun& run) const {
  run.ops.Norm(run.input, run.rows, run.size, weights, epsilon, run.output);
}

}  // namespace skald

#endif  // SKALD_LAYERS_NORMS_DETAIL_RMS_NORM_H_
