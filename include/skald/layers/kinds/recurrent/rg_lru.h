// SPDX-License-Identifier: Apache-2.0
//
// The recurrent layer of Griffin, De et al. 2024 (arXiv:2402.19427): a real-gated linear recurrent unit over a
// convolution, multiplied by the GELU of a second projection.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_RG_LRU_H_
#define SKALD_LAYERS_KINDS_RECURRENT_RG_LRU_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "skald/base/ranks/rank_share.h"
#include "skald/cache/layout/layout.h"
#include "skald/layers/kinds/recurrent/causal_conv.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h

struct RgLru {
  static constexpr std::string_view kName = "RG-LRU";

  int width = 0;       ///< channels
  int blocks = 0;      ///< of the gates' block-diagonal matrices
  int conv_width = 0;  ///< taps, the token itself included

  friend constexpr bool operator==(const RgLru&, const RgLru&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("width", self.width);
    visit("blocks", self.blocks);
    visit("conv_width", self.conv_width);
  }

  constexpr const char* WhyImpossible() const {
    if (width <= 0 || blocks <= 0 || width % blocks != 0) {
      return "kLruWidth must be a positive multiple of kLruBlocks: the matrices of the gates are block-diagonal.";
    }
    return CausalConv::WhyImpossible(conv_width);
  }

  constexpr CacheGroup State() const { return FloatsOf(AxesOfState()); }

  struct Weights {
    Matrix input;                    ///< [2 * width, model_dim]: the gate (linear_y), then the recurrence (linear_x)
    CausalConv::Weights conv;        ///< [width] channels
    Matrix output;                   ///< [model_dim, width]
    std::vector<float> input_bias;   ///< [2 * width]
    std::vector<float> output_bias;  ///< [model_dim]
    std::vector<float> decay;        ///< [width], -8 * softplus(recurrent_param)
    /// Input gates of all blocks, then recurrence gates of all blocks, each [width / blocks, width / blocks].
    std::vector<Matrix> gates;
    std::vector<float> gate_bias;  ///< [2 * width] in the same order
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  constexpr void VisitAxes(auto visit) const {
    visit(&RgLru::width, Channels());
    visit(&RgLru::blocks, Blocks());
  }
  constexpr StateAxes AxesOfState() const { return {.state = {Channels().Times(static_cast<size_t>(conv_width))}}; }

  template <class T>
  struct Pieces {
    T projected;  ///< both projections, gate first, [rows, 2 * width]
    T convolved;  ///< the convolution's outputs, [rows, width]
    T gates;      ///< [rows, 2 * width]
    T mixed;      ///< the recurrence's outputs, [rows, width]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t /*model_dim*/) const;

  /// See HasPlaces.
  std::vector<LayerPlace> Places() const;

  void Run(const Weights& weights, const LayerRun& run) const;

 private:
  constexpr size_t channels() const { return static_cast<size_t>(width); }
  constexpr Axis Channels() const { return {channels(), static_cast<size_t>(blocks)}; }
  constexpr Axis Blocks() const { return {static_cast<size_t>(blocks), static_cast<size_t>(blocks)}; }
  constexpr CausalConv conv() const { return {channels(), static_cast<size_t>(conv_width), /*silu=*/false}; }
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/recurrent/detail/rg_lru.h"
#endif

#endif  // SKALD_LAYERS_KINDS_RECURRENT_RG_LRU_H_
