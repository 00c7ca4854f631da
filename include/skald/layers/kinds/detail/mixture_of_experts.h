// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/mixture_of_experts.h.

#ifndef SKALD_LAYERS_KINDS_DETAIL_MIXTURE_OF_EXPERTS_H_
#define SKALD_LAYERS_KINDS_DETAIL_MIXTURE_OF_EXPERTS_H_

#include "skald/layers/kinds/mixture_of_experts.h"

#include <utility>

#include "skald/base/inline.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/layers/kinds/detail/experts_run.h"
#include "skald/layers/run/operations.h"

namespace skald {

SKALD_INLINE void MixtureOfExperts::ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
  const size_t count = static_cast<size_t>(experts), dim = ExpertDim(model_dim);
  const Axis hidden = Columns(width);
  weights.gate_up.resize(count);
  weights.down.resize(count);
  weights.gate_up_bias.resize(count);
  weights.down_bias.resize(count);
  list.AddMatrix(weights.router, model_dim, {{"mlp.gate.weight", count}}, DType::kF32);
  if (selection_bias) list.AddVector(weights.selection_bias, {{"mlp.gate.e_score_correction_bias", count}});
  for (size_t i = 0; i < count; ++i) {
    const ExpertIndex expert = Index(i);
    std::vector<Part> parts;
    if (gated) parts.push_back({"mlp.experts.gate_proj.weight", hidden, 0, expert});
    parts.push_back({"mlp.experts.up_proj.weight", hidden, 0, expert});
    list.AddMatrix(weights.gate_up[i], dim, std::move(parts));
    list.AddMatrix(weights.down[i], hidden, {{"mlp.experts.down_proj.weight", dim, 0, expert}});
  }
  if (bias) ListBiases(weights, dim, list);
  if (latent_dim > 0) {
    list.AddMatrix(weights.latent_in, model_dim, {{"mlp.fc1_latent_proj.weight", dim}});
    list.AddMatrix(weights.latent_out, dim, {{"mlp.fc2_latent_proj.weight", model_dim}});
  }
  if (shared_width > 0) ListShared(weights, model_dim, list);
}

SKALD_INLINE auto MixtureOfExperts::ScratchFloats(size_t rows, size_t model_dim) const -> Pieces<size_t> {
  const auto count = static_cast<size_t>(experts), hidden = static_cast<size_t>(std::max(width, shared_width));
  const size_t latent = rows * static_cast<size_t>(latent_dim), dim = std::max(model_dim, ExpertDim(model_dim));
  const size_t some = RowsTogether(rows);
  return {.scores = rows * count,
          .ranks = 2 * count,
          .gathered = some * dim,
          .gate_up = some * 2 * hidden,
          .gated = RoundUp(some, kRowBlock) * hidden,
          .outputs = some * dim,
          .shared_weights = rows,
          .latent_in = latent,
          .latent_out = latent,
          .together = Operations::EachFloats(some, std::max({dim, hidden, static_cast<size_t>(whole_width)}))};
}

SKALD_INLINE void MixtureOfExperts::Run(const Weights& weights, const LayerRun& run) const {
  RunRouted(weights, run, run.input, {});
}

SKALD_INLINE void MixtureOfExperts::RunRouted(const Weights& weights, const LayerRun& run, Rows router_input,
                                              std::span<const float> factors) const {
  internal::ExpertsRun(*this, weights, run).Compute(router_input, factors);
}

SKALD_INLINE void MixtureOfExperts::ListBiases(Weights& weights, size_t dim, ParameterList& list) const {
  const Axis hidden = Columns(width);
  const auto count = static_cast<size_t>(experts);
  list.AddVector(weights.router_bias, {{"mlp.gate.bias", count}});
  for (size_t i = 0; i < count; ++i) {
    const ExpertIndex expert = Index(i);
    std::vector<Part> parts;
    if (gated) parts.push_back({"mlp.experts.gate_proj.bias", hidden, 0, expert});
    parts.push_back({"mlp.experts.up_proj.bias", hidden, 0, expert});
    list.AddVector(weights.gate_up_bias[i], parts);
    list.AddVector(weights.down_bias[i], {{"mlp.experts.down_proj.bias", dim, 0, expert}});
  }
}

SKALD_INLINE void MixtureOfExperts::ListShared(Weights& weights, size_t model_dim, ParameterList& list) const {
  const Axis hidden = Columns(shared_width);
  std::vector<Part> parts;
  if (gated) parts.push_back({"mlp.shared_expert.gate_proj.weight", hidden});
  parts.push_back({"mlp.shared_expert.up_proj.weight", hidden});
  list.AddMatrix(weights.shared_gate_up, model_dim, std::move(parts));
  list.AddMatrix(weights.shared_down, hidden, {{"mlp.shared_expert.down_proj.weight", model_dim}});
  if (!shared_gate) return;
  list.AddMatrix(weights.shared_gate, model_dim, {{"mlp.shared_expert_gate.weight", 1}}, DType::kF32);
}

SKALD_INLINE size_t MixtureOfExperts::RowsTogether(size_t rows) const {
  return std::max(rows, std::min(Operations::kMostRowsTogether, rows * static_cast<size_t>(chosen)));
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_DETAIL_MIXTURE_OF_EXPERTS_H_
