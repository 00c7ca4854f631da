// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/feed_forward.h.

#ifndef SKALD_LAYERS_KINDS_DETAIL_FEED_FORWARD_H_
#define SKALD_LAYERS_KINDS_DETAIL_FEED_FORWARD_H_

#include "skald/layers/kinds/feed_forward.h"

#include <cmath>
#include <string_view>

#include "skald/base/inline.h"
#include "skald/base/mathematics/portable_exp.h"
#include "skald/base/mathematics/portable_log.h"
#include "skald/layers/run/layer_run.h"

namespace skald::internal {

// One function of one element, by R3's double arithmetic, rounded once.
struct Xielu {
  static constexpr std::string_view kName = "xielu";
  double alpha_p, alpha_n, beta, epsilon;

  friend constexpr bool operator==(const Xielu&, const Xielu&) = default;
  static constexpr void VisitFields(auto&, auto&&) {}

  float operator()(float x) const {
    const double value = x;
    if (value > 0.0) return static_cast<float>(alpha_p * value * value + beta * value);
    const double power = PortableExp(std::fmin(value, epsilon)) - 1.0;
    return static_cast<float>((power - value) * alpha_n + beta * value);
  }
};

SKALD_INLINE void ListXielu(std::vector<float>& parameters, ParameterList& list) {
  const auto softplus = [](double x) { return std::fmax(x, 0.0) + PortableLog(1.0 + PortableExp(-std::abs(x))); };
  list.AddArray(
      parameters,
      {{"mlp.act_fn.alpha_p", {1}}, {"mlp.act_fn.alpha_n", {1}}, {"mlp.act_fn.beta", {}}, {"mlp.act_fn.eps", {}}},
      {.center = 0.5f, .spread = 0.2f}, [=](std::vector<float>& values) {
        values[0] = static_cast<float>(softplus(values[0]));
        values[1] = static_cast<float>(values[2] + softplus(values[1]));
      });
}

SKALD_INLINE void ListFeedForward(FeedForwardWeights& weights, const Axis& columns, bool bias, size_t model_dim,
                                  ParameterList& list) {
  list.AddMatrix(weights.up, model_dim, {{"mlp.up_proj.weight", columns}});
  list.AddMatrix(weights.down, columns, {{"mlp.down_proj.weight", model_dim}});
  if (!bias) return;
  list.AddVector(weights.up_bias, {{"mlp.up_proj.bias", columns}});
  list.AddVector(weights.down_bias, {{"mlp.down_proj.bias", model_dim}});
}

SKALD_INLINE void RunFeedForward(const FeedForwardWeights& weights, size_t width, const ActivationRef& activation,
                                 const LayerRun& run) {
  const size_t rows = run.rows.size();
  const Rows between = {run.scratch.As<FeedForward::Pieces>().between, width};
  run.ops.MatMul(weights.up, run.input, rows, weights.up_bias, between);
  run.Watch("up", between);
  if (weights.xielu.empty()) {
    run.ops.Activate(activation, between.data, rows * width);
  } else {
    const Xielu xielu = {weights.xielu[0], weights.xielu[1], weights.xielu[2], weights.xielu[3]};
    run.ops.Activate(xielu, between.data, rows * width);
  }
  run.Watch("activations", between);
  run.ops.MatMul(weights.down, between, rows, weights.down_bias, run.output);
}

}  // namespace skald::internal

#endif  // SKALD_LAYERS_KINDS_DETAIL_FEED_FORWARD_H_
