// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/normed_feed_forward.h.

#ifndef SKALD_LAYERS_KINDS_DETAIL_NORMED_FEED_FORWARD_H_
#define SKALD_LAYERS_KINDS_DETAIL_NORMED_FEED_FORWARD_H_

#include "skald/layers/kinds/normed_feed_forward.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "skald/base/inline.h"
#include "skald/layers/run/layer_run.h"

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

SKALD_INLINE auto NormedFeedForward::ScratchFloats(size_t rows, size_t model_dim) const -> Pieces<size_t> {
  const size_t whole = rows * model_dim;
  Pieces<size_t> floats = {experts.ScratchFloats(rows, model_dim), whole, whole, whole};
  auto of_layers = ListPieces(floats.of_layers);
  const auto of_dense = ListPieces(dense.ScratchFloats(rows, model_dim));
  for (size_t i = 0; i < of_dense.size(); ++i) of_layers[i] = std::max(of_layers[i], of_dense[i]);
  floats.of_layers = std::bit_cast<MixtureOfExperts::Pieces<size_t>>(of_layers);
  return floats;
}

SKALD_INLINE std::vector<LayerPlace> NormedFeedForward::Places() const {
  std::vector<LayerPlace> places = dense.Places();
  for (const LayerPlace& place : experts.Places()) places.push_back(place);
  return places;
}

SKALD_INLINE void NormedFeedForward::Run(const Weights& weights, const LayerRun& run) const {
  const size_t rows = run.rows.size(), dim = run.model_dim;
  const Pieces<float*> scratch = run.scratch.As<Pieces>();
  const Rows normed = {scratch.normed, dim}, routed = {scratch.routed, dim}, mixed = {scratch.mixed, dim};
  const auto with = [&run](Rows input, Rows output) {
    LayerRun changed = run;
    changed.input = input, changed.output = output;
    return changed;
  };
  const auto normalize = [&](Rows from, const std::vector<float>& weight, Rows to) {
    run.ops.Norm(from, rows, dim, weight, epsilon, to);
  };
  normalize(run.input, weights.before_dense, normed);
  dense.Run(weights.dense, with(normed, run.output));
  normalize(run.output, weights.behind_dense, run.output);
  normalize(run.input, weights.router_scale, routed);
  normalize(run.input, weights.before_experts, normed);
  experts.RunRouted(weights.experts, with(normed, mixed), routed, weights.expert_factors);
  normalize(mixed, weights.behind_experts, mixed);
  run.ops.Add(run.output.data, mixed.data, rows * dim);
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_DETAIL_NORMED_FEED_FORWARD_H_
