// SPDX-License-Identifier: Apache-2.0
//
// Gated feed-forward layer (Shazeer 2020, arXiv:2002.05202): down(activation(gate(x)) * up(x)). The activation may be a
// function of a user's own.

#ifndef SKALD_LAYERS_KINDS_GATED_FEED_FORWARD_H_
#define SKALD_LAYERS_KINDS_GATED_FEED_FORWARD_H_

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "skald/base/numbers/activation.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/text/fixed_text.h"
#include "skald/base/visit_unless.h"
#include "skald/layers/kinds/columns.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/layers/spec/norm.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h

/// The parameters of a gated feed-forward layer, of any activation.
struct GatedFeedForwardWeights {
  Matrix gate_up;                   ///< [2 * width, model_dim]: gate rows, then up rows
  std::vector<float> gate_up_bias;  ///< [2 * width]; empty when there is none
  Matrix down;                      ///< [model_dim, width]
  std::vector<float> down_bias;     ///< [model_dim]; empty when there is none
  NormWeights inner_norm;           ///< [width]; empty when there is none
};

namespace internal {

void ListGatedFeedForward(GatedFeedForwardWeights& weights, const Axis& columns, bool gate_up_bias, bool down_bias,
                          size_t model_dim, ParameterList& list);

void RunGatedFeedForward(const GatedFeedForwardWeights& weights, size_t width, const ActivationRef& activation,
                         float gate_multiplier, float gate_deviations, const std::optional<NormSpec>& inner_norm,
                         const LayerRun& run);

}  // namespace internal

/// Gated feed-forward layer whose gate is an activation of ours, or a function of a user's own.
template <AnyActivation Function>
struct GatedFeedForwardWith {
  /// "gated feed-forward", with the name of an activation that is not ours.
  static constexpr FixedText kFullName = NameWithActivation<Function>("gated feed-forward");
  static constexpr std::string_view kName = kFullName;

  int width = 0;                 ///< of the gate, and of what it multiplies
  Function activation = {};      ///< of the gate
  bool bias = false;             ///< of all three projections
  float gate_multiplier = 1.0f;  ///< of gates, in front of the activation
  /// Gates up to so many standard deviations above their mean become 0, and others what they are beyond that (Gemma
  /// 3n). 0: they stay as they are.
  float gate_deviations = 0.0f;
  bool down_bias = false;                   ///< of the last projection alone
  std::optional<NormSpec> inner_norm = {};  ///< of what the gate lets pass, before the last projection

  friend constexpr bool operator==(const GatedFeedForwardWith&, const GatedFeedForwardWith&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("width", self.width);
    visit("activation", self.activation);
    visit("bias", self.bias);
    VisitUnless(1.0f, "gate_multiplier", self.gate_multiplier, visit);
    VisitUnless(0.0f, "gate_deviations", self.gate_deviations, visit);
    VisitUnless(false, "down_bias", self.down_bias, visit);
    VisitUnless(std::nullopt, "inner_norm", self.inner_norm, visit);
  }

  constexpr const char* WhyImpossible() const {
    if constexpr (!OwnActivation<Function>) {
      if (activation == Activation::kXielu) return kXieluElsewhere;
    }
    if (!(gate_multiplier > 0.0f)) return "The multiplier of a feed-forward layer's gates must be positive.";
    if (inner_norm) {
      if (const char* why = inner_norm->WhyImpossible()) return why;
    }
    if (!(gate_deviations >= 0.0f)) return "Gates cannot be cut below their mean.";
    return width > 0 ? nullptr : "kFeedForwardDim must be positive, or absent where layers have no feed-forward block.";
  }

  using Weights = GatedFeedForwardWeights;

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
    internal::ListGatedFeedForward(weights, Columns(width), bias, bias || down_bias, model_dim, list);
    if (gate_multiplier != 1.0f) list.Assume(Assumption::kNotMultiplied);
    if (inner_norm) {
      inner_norm->ListParameters(weights.inner_norm, "mlp.inner_norm", static_cast<size_t>(width), list);
    }
  }

  constexpr void VisitAxes(auto visit) const { visit(&GatedFeedForwardWith::width, Columns(width)); }

  template <class T>
  struct Pieces {
    T gate_up;  ///< both projections, [rows, 2 * width]
    T gated;    ///< what the gate lets pass, [RoundUp(rows, kRowBlock), width]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t /*model_dim*/) const {
    const auto hidden = static_cast<size_t>(width);
    return {.gate_up = rows * 2 * hidden, .gated = RoundUp(rows, kRowBlock) * hidden};
  }

  /// See HasPlaces.
  std::vector<LayerPlace> Places() const {
    const auto hidden = static_cast<size_t>(width);
    return {{"gates", hidden}, {"up", hidden}, {"activations", hidden}};
  }

  void Run(const Weights& weights, const LayerRun& run) const {
    internal::RunGatedFeedForward(weights, static_cast<size_t>(width), activation, gate_multiplier, gate_deviations,
                                  inner_norm, run);
  }
};

using GatedFeedForward = GatedFeedForwardWith<Activation>;

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/detail/gated_feed_forward.h"
#endif

#endif  // SKALD_LAYERS_KINDS_GATED_FEED_FORWARD_H_
