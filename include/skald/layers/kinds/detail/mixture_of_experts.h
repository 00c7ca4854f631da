// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/mixture_of_experts.h.

#ifndef SKALD_LAYERS_KINDS_DETAIL_MIXTURE_OF_EXPERTS_H_
#define SKALD_LAYERS_KINDS_DETAIL_MIXTURE_OF_EXPERTS_H_

#include "skald/layers/kinds/mixture_of_experts.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/inline.h"
#include "skald/base/numbers/activation.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/layers/kinds/expert_router.h"
#include "skald/layers/run/layer_run.h"
#include "skald/layers/run/multiplications.h"
#include "skald/layers/run/operations.h"
#include "skald/layers/run/rows.h"
#include "skald/weights/types/matrix.h"

namespace skald {
namespace internal {

// The arithmetic of a mixture of experts in one pass.
class ExpertsRun {
 public:
  ExpertsRun(const MixtureOfExperts& layer, const MixtureOfExperts::Weights& weights, const LayerRun& run)
      : layer_(layer),
        weights_(weights),
        run_(run),
        scratch_(run.scratch.As<MixtureOfExperts::Pieces>()),
        count_(static_cast<size_t>(layer.experts)),
        dim_(layer.ExpertDim(run.model_dim)) {}

  // As MixtureOfExperts::RunRouted.
  void Compute(Rows router_input, std::span<const float> factors) {
    Route(router_input, factors);
    const bool is_latent = layer_.latent_dim > 0;
    const Rows input = is_latent ? Rows{scratch_.latent_in, dim_} : run_.input;
    const Rows output = is_latent ? Rows{scratch_.latent_out, dim_} : run_.output;
    if (is_latent) run_.ops.MatMul(weights_.latent_in, run_.input, rows(), {}, input);
    for (size_t row = 0; row < rows(); ++row) std::fill_n(output.data + row * output.stride, dim_, 0.0f);
    const size_t together = ExpertsTogether();
    for (size_t expert = 0; expert < count_;) expert = AddExperts(expert, together, input, output);
    if (is_latent) run_.ops.MatMul(weights_.latent_out, output, rows(), {}, run_.output);
    if (layer_.shared_width > 0) AddShared();
    if (!layer_.sum_bias) return;
    for (size_t row = 0; row < rows(); ++row) {
      AddShare(1.0f, weights_.sum_bias.data(), run_.model_dim, run_.output.data + row * run_.output.stride);
    }
  }

 private:
  // Experts and the rows that chose them, gathered one after the other.
  struct Group {
    size_t size = 0;
    size_t experts[Operations::kMostTogether];
    size_t ends[Operations::kMostTogether + 1] = {};  // ends[i] to ends[i + 1]: the rows of experts[i]

    std::array<RowsOfMatrix, Operations::kMostTogether> By(const std::vector<Matrix>& matrices,
                                                           const std::vector<std::vector<float>>& biases) const {
      std::array<RowsOfMatrix, Operations::kMostTogether> parts;
      for (size_t i = 0; i < size; ++i) {
        parts[i] = {&matrices[experts[i]], &biases[experts[i]], ends[i], ends[i + 1]};
      }
      return parts;
    }
  };

  size_t rows() const { return run_.rows.size(); }

  // The weight of an expert for a row; 0: the row did not choose it.
  float Share(size_t row, size_t expert) const { return scratch_.scores[row * count_ + expert]; }

  void Route(Rows input, std::span<const float> factors) {
    float* const scores = scratch_.scores;
    run_.ops.MatMul(weights_.router, input, rows(), weights_.router_bias, {scores, count_});
    run_.Watch("router_scores", {scores, count_});
    for (size_t row = 0; row < rows(); ++row) {
      layer_.router().Weigh(weights_.selection_bias, scores + row * count_, scratch_.ranks);
      for (size_t i = 0; i < factors.size(); ++i) scores[row * count_ + i] *= factors[i];
    }
    run_.Watch("expert_weights", {scores, count_});
  }

  // The experts that may be multiplied at once.
  size_t ExpertsTogether() const {
    const size_t most = layer_.RowsTogether(rows());
    const auto is_alone = [most](const Matrix& matrix) { return PartialSumsSize(matrix, most) != 0; };
    const bool all_alone =
        std::ranges::any_of(weights_.gate_up, is_alone) || std::ranges::any_of(weights_.down, is_alone);
    return all_alone ? 1 : Operations::kMostTogether;
  }

  // Adds the shares of at most `together` experts, as many as there is room for, from `first` on, to the output of the
  // rows that chose them. Returns the first expert that is left.
  size_t AddExperts(size_t first, size_t together, Rows input, Rows output) const {
    Group group;
    const size_t left = Gather(first, together, input, group);
    if (group.size == 0) return left;
    const float* from = ComputeGroup(group);
    for (size_t i = 0; i < group.size; ++i) {
      for (size_t row = 0; row < rows(); ++row) {
        const float share = Share(row, group.experts[i]);
        if (share == 0.0f) continue;
        AddShare(layer_.weighs_input ? 1.0f : share, from, dim_, output.data + row * output.stride);
        from += dim_;
      }
    }
    return left;
  }

  // Fills the group with the next experts and their rows. Returns the first expert that is left.
  size_t Gather(size_t first, size_t together, Rows input, Group& group) const {
    size_t expert = first;
    for (; expert < count_ && group.size < together; ++expert) {
      size_t end = group.ends[group.size];
      for (size_t row = 0; row < rows(); ++row) end += Share(row, expert) != 0.0f;
      if (end > layer_.RowsTogether(rows())) break;
      if (end == group.ends[group.size]) continue;
      float* to = scratch_.gathered + group.ends[group.size] * dim_;
      for (size_t row = 0; row < rows(); ++row) {
        const float share = Share(row, expert);
        if (share == 0.0f) continue;
        to = std::copy_n(input.data + row * input.stride, dim_, to);
        if (layer_.weighs_input) std::for_each(to - dim_, to, [share](float& value) { value *= share; });
      }
      group.experts[group.size] = expert;
      group.ends[++group.size] = end;
    }
    return expert;
  }

  // Shows rows of a group at a place, each with its expert.
  void Watch(std::string_view place, const Group& group, Rows values) const {
    if (!run_.IsWatched(place)) return;
    std::vector<uint32_t> numbers, experts;
    for (size_t i = 0; i < group.size; ++i) {
      for (size_t row = 0; row < rows(); ++row) {
        if (Share(row, group.experts[i]) == 0.0f) continue;
        numbers.push_back(static_cast<uint32_t>(row));
        experts.push_back(static_cast<uint32_t>(group.experts[i]));
      }
    }
    run_.watcher->ShowChoices(place, values, numbers, experts);
  }

  // Returns what the experts of a group make of their rows, as wide as those.
  const float* ComputeGroup(const Group& group) const {
    const size_t rows = group.ends[group.size], hidden = static_cast<size_t>(layer_.width);
    const Rows input = {scratch_.gathered, dim_}, outputs = {scratch_.outputs, dim_},
               between = {scratch_.gated, hidden};
    const auto up = group.By(weights_.gate_up, weights_.gate_up_bias);
    const auto down = group.By(weights_.down, weights_.down_bias);
    const auto multiply = [&](const auto& parts, Rows from, Rows to, std::optional<Activation> gate = {}) {
      run_.ops.MatMulEach(std::span(parts).first(group.size), from, to, gate, scratch_.together);
    };
    const bool is_fused = hidden % kLanes == 0 && !up[0].weights->gathers_outputs();
    if (layer_.gated && is_fused) {  // the gate is applied while sums are in registers
      multiply(up, input, between, layer_.activation);
    } else if (layer_.gated) {
      multiply(up, input, {scratch_.gate_up, 2 * hidden});
      run_.ops.Gate(layer_.activation, scratch_.gate_up, rows, hidden, between.data);
    } else {
      multiply(up, input, between);
      run_.ops.Activate(layer_.activation, between.data, rows * hidden);
    }
    Watch("expert_activations", group, between);
    multiply(down, between, outputs);
    Watch("expert_outputs", group, outputs);
    return outputs.data;
  }

  // Returns what the shared expert makes of all rows.
  const float* ComputeShared() const {
    const Matrix &up = weights_.shared_gate_up, &down = weights_.shared_down;
    const Rows between = {scratch_.gate_up, up.outputs()}, outputs = {scratch_.outputs, down.outputs()};
    if (layer_.gated && run_.watcher == nullptr) {  // values may stay in registers
      run_.ops.FeedForward(layer_.activation, up, {}, down, {}, run_.input, rows(), between.data, scratch_.gated,
                           outputs);
      return outputs.data;
    }
    run_.ops.MatMul(up, run_.input, rows(), {}, between);
    Rows activations = between;
    if (layer_.gated) {
      activations = {scratch_.gated, up.outputs() / 2};
      run_.ops.Gate(layer_.activation, between.data, rows(), activations.stride, activations.data);
    } else {
      run_.ops.Activate(layer_.activation, between.data, rows() * up.outputs());
    }
    run_.Watch("shared_activations", activations);
    run_.ops.MatMul(down, activations, rows(), {}, outputs);
    run_.Watch("shared_outputs", outputs);
    return outputs.data;
  }

  void AddShared() const {
    const size_t dim = run_.model_dim;
    const float* const outputs = ComputeShared();
    float* const shares = scratch_.shared_weights;
    if (layer_.shared_gate) run_.ops.MatMul(weights_.shared_gate, run_.input, rows(), {}, {shares, 1});
    for (size_t row = 0; row < rows(); ++row) {
      const float share = layer_.shared_gate ? ExpertRouter::Sigmoid(shares[row]) : 1.0f;
      AddShare(share, outputs + row * dim, dim, run_.output.data + row * run_.output.stride);
    }
  }

  static void AddShare(float share, const float* from, size_t size, float* to) {
    for (size_t i = 0; i < size; ++i) to[i] += share * from[i];
  }

  const MixtureOfExperts& layer_;
  const MixtureOfExperts::Weights& weights_;
  const LayerRun& run_;
  const MixtureOfExperts::Pieces<float*> scratch_;
  const size_t count_, dim_;
};

}  // namespace internal

SKALD_INLINE void MixtureOfExperts::ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
  const size_t count = static_cast<size_t>(experts), dim = ExpertDim(model_dim);
  const Axis hidden = Columns(width);
  weights.gate_up.resize(count);
  weights.down.resize(count);
  weights.gate_up_bias.resize(count);
  weights.down_bias.resize(count);
  const size_t routed = carried_dim > 0 ? static_cast<size_t>(carried_dim) : model_dim;
  list.AddMatrix(weights.router, routed, {{"mlp.gate.weight", count}}, DType::kF32);
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
  if (sum_bias) list.AddVector(weights.sum_bias, {{"mlp.experts.bias", model_dim}});
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

SKALD_INLINE std::vector<LayerPlace> MixtureOfExperts::Places() const {
  const auto count = static_cast<size_t>(experts);
  const auto dim = latent_dim > 0 ? static_cast<size_t>(latent_dim) : LayerPlace::kModelDim;
  std::vector<LayerPlace> places = {
      {"router_scores", 1, count},
      {"expert_weights", 1, count},
      {.name = "expert_activations", .part_cols = static_cast<size_t>(width), .of_choices = true},
      {.name = "expert_outputs", .part_cols = dim, .of_choices = true},
  };
  if (shared_width == 0) return places;
  places.push_back({"shared_activations", static_cast<size_t>(shared_width)});
  places.push_back({"shared_outputs", LayerPlace::kModelDim});
  return places;
}

SKALD_INLINE void MixtureOfExperts::Run(const Weights& weights, const LayerRun& run) const {
  RunRouted(weights, run, carried_dim > 0 ? run.carried : run.input, {});
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
