// SPDX-License-Identifier: Apache-2.0
//
// Feed-forward layer without a gate (Vaswani et al. 2017, arXiv:1706.03762, section 3.3): down(activation(up(x))). The
// activation may be a function of a user's own.

#ifndef SKALD_LAYERS_KINDS_FEED_FORWARD_H_
#define SKALD_LAYERS_KINDS_FEED_FORWARD_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "skald/base/numbers/activation.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/text/fixed_text.h"
#include "skald/layers/kinds/columns.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h

/// The parameters of a feed-forward layer without a gate, of any activation.
struct FeedForwardWeights {
  Matrix up;                     ///< [width, model_dim]
  std::vector<float> up_bias;    ///< [width]; empty when there is none
  Matrix down;                   ///< [model_dim, width]
  std::vector<float> down_bias;  ///< [model_dim]; empty when there is none
  std::vector<float> xielu;      ///< [4] of Activation::kXielu: alpha_p, alpha_n, beta and epsilon; else empty
};

namespace internal {

/// The parameters of xIELU as files have them: alphas by the inverse of softplus.
void ListXielu(std::vector<float>& parameters, ParameterList& list);

void ListFeedForward(FeedForwardWeights& weights, const Axis& columns, bool bias, size_t model_dim,
                     ParameterList& list);

void RunFeedForward(const FeedForwardWeights& weights, size_t width, const ActivationRef& activation,
                    const LayerRun& run);

}  // namespace internal

/// Feed-forward layer with an activation of ours, or a function of a user's own.
template <AnyActivation Function>
struct FeedForwardWith {
  /// "feed-forward", with the name of an activation that is not ours.
  static constexpr FixedText kFullName = NameWithActivation<Function>("feed-forward");
  static constexpr std::string_view kName = kFullName;

  int width = 0;             ///< between the two projections
  Function activation = {};  ///< of what the first projection gives
  bool bias = false;         ///< of both projections

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

  using Weights = FeedForwardWeights;

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
    internal::ListFeedForward(weights, Columns(width), bias, model_dim, list);
    if constexpr (!OwnActivation<Function>) {
      if (activation == Activation::kXielu) internal::ListXielu(weights.xielu, list);
    }
  }

  constexpr void VisitAxes(auto visit) const { visit(&FeedForwardWith::width, Columns(width)); }

  template <class T>
  struct Pieces {
    T between;  ///< the projections, [rows, width]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t /*model_dim*/) const {
    return {.between = rows * static_cast<size_t>(width)};
  }

  /// See HasPlaces.
  std::vector<LayerPlace> Places() const {
    const auto hidden = static_cast<size_t>(width);
    return {{"up", hidden}, {"activations", hidden}};
  }

  void Run(const Weights& weights, const LayerRun& run) const {
    internal::RunFeedForward(weights, static_cast<size_t>(width), activation, run);
  }
};

using FeedForward = FeedForwardWith<Activation>;

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/detail/feed_forward.h"
#endif

#endif  // SKALD_LAYERS_KINDS_FEED_FORWARD_H_
