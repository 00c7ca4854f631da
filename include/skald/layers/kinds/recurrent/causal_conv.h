// SPDX-License-Identifier: Apache-2.0
//
// The causal depthwise convolution, a part of the recurrent layers. Its last inputs are state:
// [taps - 1, channels] floats, oldest first.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_CAUSAL_CONV_H_
#define SKALD_LAYERS_KINDS_RECURRENT_CAUSAL_CONV_H_

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "skald/base/ranks/rank_share.h"
#include "skald/layers/run/rows.h"
#include "skald/weights/parameters.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h

struct CausalConv {
  size_t channels, taps;  ///< the last tap is the token itself
  bool silu;              ///< applied to the outputs
  bool has_bias = true;   ///< whether a bias is added to the outputs

  struct Weights {
    std::vector<float> taps;  ///< [taps, channels]
    std::vector<float> bias;  ///< [channels], or empty
  };

  static constexpr const char* WhyImpossible(int conv_width) {
    return conv_width >= 2 ? nullptr : "A Config with recurrent layers must give kConvWidth, at least 2 taps.";
  }

  /// Floats of the state: the last taps - 1 inputs.
  constexpr size_t state_floats() const { return (taps - 1) * channels; }

  /// Adds the axes of its state, of which each row has the channels `axes`.
  constexpr void AddAxesOfState(std::span<const Axis> axes, std::vector<Axis>& state) const {
    for (size_t row = 0; row + 1 < taps; ++row) state.insert(state.end(), axes.begin(), axes.end());
  }

  /// Checkpoints store the taps as [channels, 1, taps]. `axes` are those of the channels.
  void ListParameters(Weights& weights, std::string_view name, ParameterList& list,
                      const std::vector<Axis>& axes) const;

  /// The same where the taps are those of several tensors, each of as many channels, and there is no bias.
  void ListParameters(Weights& weights, std::span<const std::string_view> names, ParameterList& list,
                      const std::vector<Axis>& axes) const;

  /// output [rows, channels] = convolution of `input`, whose last rows are kept at `offset` bytes of each block.
  void Run(const Weights& weights, const LayerRun& run, Rows input, size_t offset, float* output) const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/recurrent/detail/causal_conv.h"
#endif

#endif  // SKALD_LAYERS_KINDS_RECURRENT_CAUSAL_CONV_H_
