// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/recurrent/rwkv/token_shift.h.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_RWKV_DETAIL_TOKEN_SHIFT_H_
#define SKALD_LAYERS_KINDS_RECURRENT_RWKV_DETAIL_TOKEN_SHIFT_H_

#include "skald/layers/kinds/recurrent/rwkv/token_shift.h"

#include "skald/base/inline.h"
#include "skald/kernels/args.h"
#include "skald/layers/run/layer_run.h"

namespace skald {

SKALD_INLINE void TokenShift::Run(const std::vector<float>& mix, const LayerRun& run, size_t offset,
                                  float* output) const {
  Mix(mix, nullptr, run, offset, output);
  Keep(run, offset);
}

SKALD_INLINE void TokenShift::Mix(const std::vector<float>& mix, const float* row_mixes, const LayerRun& run,
                                  size_t offset, float* output) const {
  run.ops.TokenShift({.input = run.input.data,
                      .input_stride = run.input.stride,
                      .mix = mix.data(),
                      .row_mixes = row_mixes,
                      .output = output,
                      .channels = channels,
                      .mixes = mixes,
                      .runs = run.state.runs.data(),
                      .num_runs = run.state.runs.size(),
                      .state_offset = offset,
                      .row_begin = 0,
                      .row_end = 0},
                     run.state.rows());
}

SKALD_INLINE void TokenShift::Keep(const LayerRun& run, size_t offset) const {
  KeepLastRows(run.state.runs, offset, run.input, 1, channels);
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_RECURRENT_RWKV_DETAIL_TOKEN_SHIFT_H_
