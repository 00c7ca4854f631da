// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/recurrent/causal_conv.h.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_DETAIL_CAUSAL_CONV_H_
#define SKALD_LAYERS_KINDS_RECURRENT_DETAIL_CAUSAL_CONV_H_

#include "skald/layers/kinds/recurrent/causal_conv.h"

#include <cmath>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/text/message.h"
#include "skald/kernels/args.h"
#include "skald/layers/run/layer_run.h"
#include "skald/weights/packing/recurrent_transforms.h"

namespace skald {

SKALD_INLINE void CausalConv::ListParameters(Weights& weights, std::string_view name, ParameterList& list,
                                             const std::vector<Axis>& axes) const {
  ListParameters(weights, std::span(&name, 1), list, axes);
  if (has_bias) list.AddArray(weights.bias, {{Concat({name, ".bias"}), {channels}}}, {}, {}, axes);
}

SKALD_INLINE void CausalConv::ListParameters(Weights& weights, std::span<const std::string_view> names,
                                             ParameterList& list, const std::vector<Axis>& axes) const {
  std::vector<Axis> of_taps;
  for (size_t tap = 0; tap < taps; ++tap) of_taps.insert(of_taps.end(), axes.begin(), axes.end());
  std::vector<ArrayPart> parts;
  for (const std::string_view name : names) {
    parts.push_back({Concat({name, ".weight"}), {channels / names.size(), 1, taps}});
  }
  list.AddArray(
      weights.taps, std::move(parts), {.spread = std::sqrt(3.0f / static_cast<float>(taps))},
      [c = channels, t = taps](std::vector<float>& values) { internal::Transpose(values, c, t); }, std::move(of_taps));
}

SKALD_INLINE void CausalConv::Run(const Weights& weights, const LayerRun& run, Rows input, size_t offset,
                                  float* output) const {
  run.ops.Conv({.input = input.data,
                .input_stride = input.stride,
                .weights = weights.taps.data(),
                .bias = has_bias ? weights.bias.data() : nullptr,
                .output = output,
                .channels = channels,
                .taps = taps,
                .silu = silu,
                .runs = run.state.runs.data(),
                .num_runs = run.state.runs.size(),
                .state_offset = offset,
                .row_begin = 0,
                .row_end = 0},
               run.state.rows());
  KeepLastRows(run.state.runs, offset, input, taps - 1, channels);
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_RECURRENT_DETAIL_CAUSAL_CONV_H_
