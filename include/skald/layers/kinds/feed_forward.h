// SPDX-License-Identifier: Apache-2.0
//
// Feed-forward layer without a gate (Vaswani et al. 2017, arXiv:1706.03762, section 3.3): down(activation(up(x))). The
// activation may be a function of a user's own.

#ifndef SKALD_LAYERS_KINDS_FEED_FORWARD_H_
#define SKALD_LAYERS_KINDS_FEED_FORWARD_H_

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "skald/base/numbers/activation.h"
#include "skald/base/text/fixed_text.h"
#include "skald/layers/kinds/partitioned_columns.h"
#include "skald/layers/run/layer_run.h"
#include "skald/weights/parameters.h"

namespace skald {

template <AnyActivation Function>
struct FeedForwardWith {
  static constexpr FixedText kFullName = NameWithActivation<Function>("feed-forward");
  static constexpr std::string_view kName = kFullName;

  int width = 0;
  Function activation = {};
  bool bias = false;  ///< of both projections

  friend constexpr bool operator==(const FeedForwardWith&, const FeedForwardWith&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("width", self.width);
    visit("activation", self.activation);
    visit("bias", self.bias);
  }

  constexpr const char* WhyImpossible() const {
    if constexpr (!OwnActivation<Function>) {
      if (activation == Activation::kClampedSwiglu) return "A feed-forward layer without a gate has none to clamp.";
    }
    return width > 0 ? nullptr : "The width of a feed-forward layer must be positive.";
  }

  struct Weights {
    Matrix up;                     ///< [width, model_dim]
    std::vector<float> up_bias;    ///< [width]; empty when there is none
    Matrix down;                   ///< [model_dim, width]
    std::vector<float> down_bias;  ///< [model_dim]; empty when there is none
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
    const auto hidden = static_cast<size_t>(width);
    const size_t units = ColumnUnits(hidden);
    list.AddMatrix(weights.up, model_dim, {{"mlp.up_proj.weight", hidden}}, {.output_units = units});
    list.AddMatrix(weights.down, hidden, {{"mlp.down_proj.weight", model_dim}}, {.input_units = units});
    if (!bias) return;
    list.AddPartitionedVector(weights.up_bias, {{"mlp.up_proj.bias", hidden}}, units);
    list.AddVector(weights.down_bias, {{"mlp.down_proj.bias", model_dim}});
  }

  constexpr FeedForwardWith OfRank(const RankShare& share) const {
    FeedForwardWith part = *this;
    part.width = PartitionedWidth(width, share);
    return part;
  }

  /// The values between the projections.
  std::array<size_t, 1> ScratchFloats(size_t rows, size_t /*model_dim*/) const {
    return {rows * static_cast<size_t>(width)};
  }

  void Run(const Weights& weights, const LayerRun& run) const {
    const size_t rows = run.rows.size(), hidden = static_cast<size_t>(width);
    float* const between = run.scratch[0];
    run.ops.MatMul(weights.up, run.input, rows, weights.up_bias, {between, hidden});
    run.ops.Activate(activation, between, rows * hidden);
    run.ops.MatMul(weights.down, {between, hidden}, rows, weights.down_bias, run.output);
  }
};

using FeedForward = FeedForwardWith<Activation>;

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_FEED_FORWARD_H_
