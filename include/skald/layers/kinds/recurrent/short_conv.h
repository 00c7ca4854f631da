// SPDX-License-Identifier: Apache-2.0
//
// The gated short convolution of LFM2 (Liquid AI 2025, arXiv:2511.23404): of three projections of a row, two gate what
// goes into a causal convolution over a few tokens and what comes out.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_SHORT_CONV_H_
#define SKALD_LAYERS_KINDS_RECURRENT_SHORT_CONV_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "skald/base/ranks/rank_share.h"
#include "skald/cache/layout/layout.h"
#include "skald/layers/kinds/columns.h"
#include "skald/layers/kinds/recurrent/causal_conv.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h

struct ShortConv {
  static constexpr std::string_view kName = "short convolution";

  int width = 0;       ///< channels
  int conv_width = 0;  ///< taps, the token itself included
  bool bias = false;   ///< of both projections and the convolution

  friend constexpr bool operator==(const ShortConv&, const ShortConv&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("width", self.width);
    visit("conv_width", self.conv_width);
    visit("bias", self.bias);
  }

  constexpr const char* WhyImpossible() const {
    if (width <= 0) return "A short convolution must have a positive width.";
    return CausalConv::WhyImpossible(conv_width);
  }

  constexpr CacheGroup State() const { return FloatsOf(AxesOfState()); }

  struct Weights {
    Matrix input;                    ///< [3 * width, model_dim]: the gate before, the gate after, the values
    std::vector<float> input_bias;   ///< [3 * width], or empty
    CausalConv::Weights conv;        ///< [width] channels
    Matrix output;                   ///< [model_dim, width]
    std::vector<float> output_bias;  ///< [model_dim], or empty
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  constexpr void VisitAxes(auto visit) const { visit(&ShortConv::width, Columns(width)); }
  constexpr StateAxes AxesOfState() const { return {.state = {Columns(width).Times(conv().taps - 1)}}; }

  template <class T>
  struct Pieces {
    T projected;  ///< [rows, 3 * width]
    T mixed;      ///< the convolution's outputs, [rows, width]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t /*model_dim*/) const;

  /// See HasPlaces.
  std::vector<LayerPlace> Places() const;

  void Run(const Weights& weights, const LayerRun& run) const;

 private:
  constexpr size_t channels() const { return static_cast<size_t>(width); }
  constexpr CausalConv conv() const {
    return {channels(), static_cast<size_t>(conv_width), /*silu=*/false, /*has_bias=*/bias};
  }
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/recurrent/detail/short_conv.h"
#endif

#endif  // SKALD_LAYERS_KINDS_RECURRENT_SHORT_CONV_H_
