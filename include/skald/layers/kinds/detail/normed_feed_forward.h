// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/normed_feed_forward.h.

#ifndef SKALD_LAYERS_KINDS_DETAIL_NORMED_FEED_FORWARD_H_
#define SKALD_LAYERS_KINDS_DETAIL_NORMED_FEED_FORWARD_H_

#include "skald/layers/kinds/normed_feed_forward.h"

#include <algorithm>
#include <cmath>

#include "skald/base/inline.h"
#include "skald/layers/run/operations.h"
#include "skald/layers/run/scratch.h"

namespace skald {

SKALD_INLINE void NormedFeedForward::ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
  const RmsNorm all = norm();
  all.ListParameters(weights.before_dense, "pre_feedforward_layernorm", model_dim, list);
  dense.ListParameters(weights.dense, model_dim, list);
  all.ListParameters(weights.behind_dense, "post_feedforward_layernorm_1", model_dim, list);
  all.ListParameters(weights.before_experts, "pre_feedforward_layernorm_2", model_dim, list);
  experts.ListParameters(weights.experts, model_dim, list);
  all.ListParameters(weights.behind_experts, "post_feedforward_layernorm_2", model_dim, list);
  const float root = 1.0f / std::sqrt(static_cast<float>(model_dim));
  list.AddArray(weights.router_scale, {{"mlp.gate.scale", {model_dim}}}, {.center = 1.0f},
                [root](std::vector<float>& scale) {
                  for (float& one : scale) one *= root;
                });
  list.AddVector(weights.expert_factors, {{"mlp.gate.per_expert_scale", static_cast<size_t>(experts.experts)}},
                 {.center = 1.0f});
}

SKALD_INLINE std::array<size_t, NormedFeedForward::kPieces + 3> NormedFeedForward::ScratchFloats(
    size_t rows, size_t model_dim) const {
  std::array<size_t, kPieces + 3> sizes = {};
  std::ranges::copy(experts.ScratchFloats(rows, model_dim), sizes.begin());
  const auto of_dense = dense.ScratchFloats(rows, model_dim);
  for (size_t i = 0; i < of_dense.size(); ++i) sizes[i] = std::max(sizes[i], of_dense[i]);
  std::fill_n(sizes.begin() + kPieces, 3, rows * model_dim);
  return sizes;
}

SKALD_INLINE void NormedFeedForward::Run(const Weights& weights, const LayerRun& run) const {
  const size_t rows = run.rows.size(), dim = run.model_dim;
  const Rows normed = {run.scratch[kPieces], dim}, routed = {run.scratch[kPieces + 1], dim},
             mixed = {run.scratch[kPieces + 2], dim};
  const auto normalize = [&](Rows from, const std::vector<float>& weight, Rows to) {
    run.ops.Norm(from, rows, dim, weight, epsilon, to);
  };
  normalize(run.input, weights.before_dense, normed);
  dense.Run(weights.dense, With(run, normed, run.output));
  normalize(run.output, weights.behind_dense, run.output);
  normalize(run.input, weights.router_scale, routed);
  normalize(run.input, weights.before_experts, normed);
  experts.RunRouted(weights.experts, With(run, normed, mixed), routed, weights.expert_factors);
  normalize(mixed, weights.behind_experts, mixed);
  run.ops.Add(run.output.data, mixed.data, rows * dim);
}

SKALD_INLINE LayerRun NormedFeedForward::With(LayerRun run, Rows input, Rows output) {
  run.input = input, run.output = output;
  return run;
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_DETAIL_NORMED_FEED_FORWARD_H_
