// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/mixture_of_experts.h.

#ifndef SKALD_LAYERS_KINDS_DETAIL_MIXTURE_OF_EXPERTS_H_
#define SKALD_LAYERS_KINDS_DETAIL_MIXTURE_OF_EXPERTS_H_

#include "skald/layers/kinds/mixture_of_experts.h"

#include <optional>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/layers/run/scratch.h"

namespace skald {

SKALD_INLINE void MixtureOfExperts::ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
  const auto hidden = static_cast<size_t>(width), count = static_cast<size_t>(experts), dim = ExpertDim(model_dim);
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
    list.AddMatrix(weights.gate_up[i], dim, std::move(parts), {.output_units = ColumnUnits(hidden)});
    list.AddMatrix(weights.down[i], hidden, {{"mlp.experts.down_proj.weight", dim, 0, expert}},
                   {.input_units = ColumnUnits(hidden)});
  }
  if (bias) ListBiases(weights, dim, list);
  if (latent_dim > 0) {
    list.AddMatrix(weights.latent_in, model_dim, {{"mlp.fc1_latent_proj.weight", dim}});
    list.AddMatrix(weights.latent_out, dim, {{"mlp.fc2_latent_proj.weight", model_dim}});
  }
  if (shared_width > 0) ListShared(weights, model_dim, list);
}

SKALD_INLINE std::array<size_t, 10> MixtureOfExperts::ScratchFloats(size_t rows, size_t model_dim) const {
  const auto count = static_cast<size_t>(experts), hidden = static_cast<size_t>(std::max(width, shared_width));
  const size_t latent = rows * static_cast<size_t>(latent_dim), dim = std::max(model_dim, ExpertDim(model_dim));
  const size_t some = RowsTogether(rows);
  return {rows * count,
          2 * count,
          some * dim,
          some * 2 * hidden,
          RoundUp(some, kRowBlock) * hidden,
          some * dim,
          rows,
          latent,
          latent,
          Operations::EachFloats(some, std::max({dim, hidden, static_cast<size_t>(whole_width)}))};
}

SKALD_INLINE void MixtureOfExperts::RunRouted(const Weights& weights, const LayerRun& run, Rows router_input,
                                              std::span<const float> factors) const {
  const size_t rows = run.rows.size(), count = static_cast<size_t>(experts), dim = ExpertDim(run.model_dim);
  float* const scores = run.scratch[0];
  run.ops.MatMul(weights.router, router_input, rows, weights.router_bias, {scores, count});
  for (size_t row = 0; row < rows; ++row) {
    router().Weigh(weights.selection_bias, scores + row * count, run.scratch[1]);
    for (size_t i = 0; i < factors.size(); ++i) scores[row * count + i] *= factors[i];
  }
  Rows input = run.input, output = run.output;
  if (latent_dim > 0) {
    input = {run.scratch[7], dim}, output = {run.scratch[8], dim};
    run.ops.MatMul(weights.latent_in, run.input, rows, {}, input);
  }
  for (size_t row = 0; row < rows; ++row) std::fill_n(output.data + row * output.stride, dim, 0.0f);
  const size_t together = ExpertsTogether(weights, RowsTogether(rows));
  for (size_t expert = 0; expert < count;) expert = AddExperts(weights, expert, together, run, input, output);
  if (latent_dim > 0) run.ops.MatMul(weights.latent_out, output, rows, {}, run.output);
  if (shared_width > 0) AddShared(weights, run);
}

SKALD_INLINE void MixtureOfExperts::ListBiases(Weights& weights, size_t dim, ParameterList& list) const {
  const auto hidden = static_cast<size_t>(width), count = static_cast<size_t>(experts);
  list.AddVector(weights.router_bias, {{"mlp.gate.bias", count}});
  for (size_t i = 0; i < count; ++i) {
    const ExpertIndex expert = Index(i);
    std::vector<Part> parts;
    if (gated) parts.push_back({"mlp.experts.gate_proj.bias", hidden, 0, expert});
    parts.push_back({"mlp.experts.up_proj.bias", hidden, 0, expert});
    list.AddPartitionedVector(weights.gate_up_bias[i], parts, ColumnUnits(hidden));
    list.AddVector(weights.down_bias[i], {{"mlp.experts.down_proj.bias", dim, 0, expert}});
  }
}

SKALD_INLINE void MixtureOfExperts::ListShared(Weights& weights, size_t model_dim, ParameterList& list) const {
  const auto hidden = static_cast<size_t>(shared_width);
  std::vector<Part> parts;
  if (gated) parts.push_back({"mlp.shared_expert.gate_proj.weight", hidden});
  parts.push_back({"mlp.shared_expert.up_proj.weight", hidden});
  list.AddMatrix(weights.shared_gate_up, model_dim, std::move(parts), {.output_units = ColumnUnits(hidden)});
  list.AddMatrix(weights.shared_down, hidden, {{"mlp.shared_expert.down_proj.weight", model_dim}},
                 {.input_units = ColumnUnits(hidden)});
  if (!shared_gate) return;
  list.AddMatrix(weights.shared_gate, model_dim, {{"mlp.shared_expert_gate.weight", 1}}, DType::kF32);
}

SKALD_INLINE size_t MixtureOfExperts::RowsTogether(size_t rows) const {
  return std::max(rows, std::min(Operations::kMostRowsTogether, rows * static_cast<size_t>(chosen)));
}

SKALD_INLINE size_t MixtureOfExperts::ExpertsTogether(const Weights& weights, size_t rows) {
  const auto is_alone = [rows](const Matrix& matrix) { return PartialSumsSize(matrix, rows) != 0; };
  const bool all_alone = std::ranges::any_of(weights.gate_up, is_alone) || std::ranges::any_of(weights.down, is_alone);
  return all_alone ? 1 : Operations::kMostTogether;
}

SKALD_INLINE std::array<RowsOfMatrix, Operations::kMostTogether> MixtureOfExperts::Group::By(
    const std::vector<Matrix>& matrices, const std::vector<std::vector<float>>& biases) const {
  std::array<RowsOfMatrix, Operations::kMostTogether> parts;
  for (size_t i = 0; i < size; ++i) {
    parts[i] = {&matrices[experts[i]], &biases[experts[i]], ends[i], ends[i + 1]};
  }
  return parts;
}

SKALD_INLINE size_t MixtureOfExperts::AddExperts(const Weights& weights, size_t first, size_t together,
                                                 const LayerRun& run, Rows input, Rows output) const {
  const size_t rows = run.rows.size(), count = static_cast<size_t>(experts), dim = ExpertDim(run.model_dim);
  const auto share = [&](size_t row, size_t expert) { return run.scratch[0][row * count + expert]; };
  Group group;
  size_t expert = first;
  for (; expert < count && group.size < together; ++expert) {
    size_t end = group.ends[group.size];
    for (size_t row = 0; row < rows; ++row) end += share(row, expert) != 0.0f;
    if (end > RowsTogether(rows)) break;
    if (end == group.ends[group.size]) continue;
    float* to = run.scratch[2] + group.ends[group.size] * dim;
    for (size_t row = 0; row < rows; ++row) {
      if (share(row, expert) != 0.0f) to = std::copy_n(input.data + row * input.stride, dim, to);
    }
    group.experts[group.size] = expert;
    group.ends[++group.size] = end;
  }
  if (group.size == 0) return expert;
  const float* from = Compute(weights, group, dim, run);
  for (size_t i = 0; i < group.size; ++i) {
    for (size_t row = 0; row < rows; ++row) {
      if (share(row, group.experts[i]) == 0.0f) continue;
      AddShare(share(row, group.experts[i]), from, dim, output.data + row * output.stride);
      from += dim;
    }
  }
  return expert;
}

SKALD_INLINE const float* MixtureOfExperts::Compute(const Weights& weights, const Group& group, size_t dim,
                                                    const LayerRun& run) const {
  const size_t rows = group.ends[group.size], hidden = static_cast<size_t>(width);
  const Rows input = {run.scratch[2], dim}, outputs = {run.scratch[5], dim};
  const auto up = group.By(weights.gate_up, weights.gate_up_bias), down = group.By(weights.down, weights.down_bias);
  const auto multiply = [&](const auto& parts, Rows from, Rows to, std::optional<Activation> gate = {}) {
    run.ops.MatMulEach(std::span(parts).first(group.size), from, to, gate, run.scratch[9]);
  };
  Rows between = {run.scratch[4], hidden};
  if (gated && hidden % kLanes == 0 &&
      !up[0].weights->gathers_outputs()) {  // the gate is applied while sums are in registers
    multiply(up, input, between, activation);
  } else if (gated) {
    multiply(up, input, {run.scratch[3], 2 * hidden});
    run.ops.Gate(activation, run.scratch[3], rows, hidden, between.data);
  } else {
    multiply(up, input, between);
    run.ops.Activate(activation, between.data, rows * hidden);
  }
  multiply(down, between, outputs);
  return outputs.data;
}

SKALD_INLINE const float* MixtureOfExperts::ComputeShared(const Weights& weights, const LayerRun& run) const {
  const Matrix &up = weights.shared_gate_up, &down = weights.shared_down;
  const size_t rows = run.rows.size();
  const Rows between = {run.scratch[3], up.outputs()}, outputs = {run.scratch[5], down.outputs()};
  if (gated) {
    run.ops.FeedForward(activation, up, {}, down, {}, run.input, rows, between.data, run.scratch[4], outputs);
  } else {
    run.ops.MatMul(up, run.input, rows, {}, between);
    run.ops.Activate(activation, between.data, rows * up.outputs());
    run.ops.MatMul(down, between, rows, {}, outputs);
  }
  return outputs.data;
}

SKALD_INLINE void MixtureOfExperts::AddShared(const Weights& weights, const LayerRun& run) const {
  const size_t rows = run.rows.size(), dim = run.model_dim;
  const float* const outputs = ComputeShared(weights, run);
  float* const shares = run.scratch[6];
  if (shared_gate) run.ops.MatMul(weights.shared_gate, run.input, rows, {}, {shares, 1});
  for (size_t row = 0; row < rows; ++row) {
    const float share = shared_gate ? ExpertRouter::Sigmoid(shares[row]) : 1.0f;
    AddShare(share, outputs + row * dim, dim, run.output.data + row * run.output.stride);
  }
}

SKALD_INLINE void MixtureOfExperts::AddShare(float share, const float* from, size_t size, float* to) {
  for (size_t i = 0; i < size; ++i) to[i] += share * from[i];
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_DETAIL_MIXTURE_OF_EXPERTS_H_
