// SPDX-License-Identifier: Apache-2.0
//
// Gated feed-forward layer (Shazeer 2020, arXiv:2002.05202): down(activation(gate(x)) * up(x)). The activation may be a
// function of a user's own.

#ifndef SKALD_LAYERS_KINDS_GATED_FEED_FORWARD_H_
#define SKALD_LAYERS_KINDS_GATED_FEED_FORWARD_H_

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "skald/base/numbers/activation.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/text/fixed_text.h"
#include "skald/base/visit_unless.h"
#include "skald/kernels/args.h"
#include "skald/layers/kinds/partitioned_columns.h"
#include "skald/layers/run/layer_run.h"
#include "skald/weights/parameters.h"

namespace skald {

template <AnyActivation Function>
struct GatedFeedForwardWith {
  static constexpr FixedText kFullName = NameWithActivation<Function>("gated feed-forward");
  static constexpr std::string_view kName = kFullName;

  int width = 0;
  Function activation = {};
  bool bias = false;             ///< of all three projections
  float gate_multiplier = 1.0f;  ///< of gates, in front of the activation

  friend constexpr bool operator==(const GatedFeedForwardWith&, const GatedFeedForwardWith&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("width", self.width);
    visit("activation", self.activation);
    visit("bias", self.bias);
    VisitUnless(1.0f, "gate_multiplier", self.gate_multiplier, visit);
  }

  constexpr const char* WhyImpossible() const {
    if (!(gate_multiplier > 0.0f)) return "The multiplier of a feed-forward layer's gates must be positive.";
    return width > 0 ? nullptr : "kFeedForwardDim must be positive, or absent where layers have no feed-forward block.";
  }

  struct Weights {
    Matrix gate_up;                   ///< [2 * width, model_dim]: gate rows, then up rows
    std::vector<float> gate_up_bias;  ///< [2 * width]; empty when there is none
    Matrix down;                      ///< [model_dim, width]
    std::vector<float> down_bias;     ///< [model_dim]; empty when there is none
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
    const auto hidden = static_cast<size_t>(width);
    const size_t units = ColumnUnits(hidden);
    list.AddMatrix(weights.gate_up, model_dim, {{"mlp.gate_proj.weight", hidden}, {"mlp.up_proj.weight", hidden}},
                   {.output_units = units});
    list.AddMatrix(weights.down, hidden, {{"mlp.down_proj.weight", model_dim}}, {.input_units = units});
    if (gate_multiplier != 1.0f) list.Assume(Assumption::kNotMultiplied);
    if (!bias) return;
    list.AddPartitionedVector(weights.gate_up_bias, {{"mlp.gate_proj.bias", hidden}, {"mlp.up_proj.bias", hidden}},
                              units);
    list.AddVector(weights.down_bias, {{"mlp.down_proj.bias", model_dim}});
  }

  constexpr GatedFeedForwardWith OfRank(const RankShare& share) const {
    GatedFeedForwardWith part = *this;
    part.width = PartitionedWidth(width, share);
    return part;
  }

  /// Both projections; what the gate lets pass.
  std::array<size_t, 2> ScratchFloats(size_t rows, size_t /*model_dim*/) const {
    return {rows * 2 * static_cast<size_t>(width), RoundUp(rows, kRowBlock) * static_cast<size_t>(width)};
  }

  void Run(const Weights& weights, const LayerRun& run) const {
    const size_t rows = run.rows.size();
    if (gate_multiplier != 1.0f) return RunMultiplied(weights, run);
    run.ops.FeedForward(activation, weights.gate_up, weights.gate_up_bias, weights.down, weights.down_bias, run.input,
                        rows, run.scratch[0], run.scratch[1], run.output);
  }

 private:
  void RunMultiplied(const Weights& weights, const LayerRun& run) const {
    const size_t rows = run.rows.size(), hidden = static_cast<size_t>(width);
    const Rows between = {run.scratch[0], 2 * hidden};
    run.ops.MatMul(weights.gate_up, run.input, rows, weights.gate_up_bias, between);
    run.ops.Scale(between, rows, hidden, gate_multiplier);
    run.ops.Gate(activation, between.data, rows, hidden, run.scratch[1]);
    run.ops.MatMul(weights.down, {run.scratch[1], hidden}, rows, weights.down_bias, run.output);
  }
};

using GatedFeedForward = GatedFeedForwardWith<Activation>;

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_GATED_FEED_FORWARD_H_
