// SPDX-License-Identifier: Apache-2.0
//
// Mixture of experts (Shazeer et al. 2017, arXiv:1701.06538; as Mixtral has it, Jiang et al. 2024, arXiv:2401.04088): a
// router scores all experts, which are gated feed-forward layers, for each row; the few with the highest scores compute
// it, and their outputs are added up with weights that follow from the scores (expert_router.h). A shared expert may
// compute all rows (DeepSeekMoE, Dai et al. 2024, arXiv:2401.06066).
//
// Rows that chose an expert are multiplied together, and several experts at once, so that threads need not wait for
// each other between them; no row depends on what others choose (kernels/ARITHMETIC.md).

#ifndef SKALD_LAYERS_KINDS_MIXTURE_OF_EXPERTS_H_
#define SKALD_LAYERS_KINDS_MIXTURE_OF_EXPERTS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/numbers/activation.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/visit_unless.h"
#include "skald/layers/kinds/dealt_columns.h"
#include "skald/layers/kinds/expert_router.h"
#include "skald/layers/run/layer_run.h"
#include "skald/layers/run/operations.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

struct MixtureOfExperts {
  static constexpr std::string_view kName = "mixture of experts";

  int experts = 0;
  int chosen = 0;  // for each row
  int width = 0;   // of each expert
  Activation activation = Activation::kSilu;
  bool normalized = true;  // whether the weights of the chosen experts add up to 1, or to what all scores give them
  bool bias = false;       // of the router and all projections
  bool sigmoid = false;    // weights are sigmoids of the router's scores, not a softmax of them
  bool selection_bias = false;        // experts are chosen by their weights plus a bias of each
  int groups = 1, chosen_groups = 1;  // experts are chosen among these groups of neighbours: the best by the sum of two
  float sum_epsilon = 0.0f;           // added to the sum that weights are divided by
  float weight_scale = 1.0f;          // weights are multiplied by it in the end
  int shared_width = 0;               // of an expert that computes all rows; 0: there is none
  bool shared_gate = false;           // whether a sigmoid of the row weighs it
  bool gated = true;    // whether experts multiply what they make of a row by a gate, which their activation is of
  int latent_dim = 0;   // of a narrower row that experts compute, between two projections; 0: they compute the row
  int whole_width = 0;  // of one rank's part (OfRank): the widest expert of the whole; no fact of a model

  friend constexpr bool operator==(const MixtureOfExperts&, const MixtureOfExperts&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("experts", self.experts);
    visit("chosen", self.chosen);
    visit("width", self.width);
    visit("activation", self.activation);
    visit("normalized", self.normalized);
    VisitUnless(false, "bias", self.bias, visit);
    VisitUnless(false, "sigmoid", self.sigmoid, visit);
    VisitUnless(false, "selection_bias", self.selection_bias, visit);
    VisitUnless(1, "groups", self.groups, visit);
    VisitUnless(1, "chosen_groups", self.chosen_groups, visit);
    VisitUnless(0.0f, "sum_epsilon", self.sum_epsilon, visit);
    VisitUnless(1.0f, "weight_scale", self.weight_scale, visit);
    VisitUnless(0, "shared_width", self.shared_width, visit);
    VisitUnless(false, "shared_gate", self.shared_gate, visit);
    VisitUnless(true, "gated", self.gated, visit);
    VisitUnless(0, "latent_dim", self.latent_dim, visit);
  }

  constexpr const char* WhyImpossible() const {
    if (experts <= 0 || width <= 0) return "A mixture of experts must have experts, of a positive width.";
    if (chosen <= 0 || chosen > experts) return "The experts chosen for a row must be 1 to all that there are.";
    if (!sigmoid && (selection_bias || groups != 1)) {
      return "Experts with a selection bias or in groups must be weighed by sigmoids.";
    }
    if (groups <= 0 || experts % groups != 0) return "Groups of experts must be of the same size.";
    if (chosen_groups <= 0 || chosen_groups > groups) {
      return "The groups that experts are chosen from must be 1 to all that there are.";
    }
    if (chosen > experts / groups * chosen_groups) {
      return "The experts chosen for a row must not be more than the chosen groups have.";
    }
    if (!(sum_epsilon >= 0.0f && sum_epsilon <= 1.0f)) return "The epsilon of experts' weights must be from 0 to 1.";
    if (!(weight_scale > 0.0f && weight_scale <= 1e30f)) return "The scale of experts' weights must be positive.";
    if (shared_width < 0) return "The width of a shared expert must not be negative.";
    if (latent_dim < 0) return "The width of rows that experts compute must not be negative.";
    if (bias && (shared_width > 0 || latent_dim > 0)) {
      return "Experts with biases have none that rows share, and no latent space.";
    }
    if (!gated && activation == Activation::kClampedSwiglu) return "Experts without a gate have none to clamp.";
    if (shared_gate && shared_width == 0) return "A gate of shared experts needs one that it weighs.";
    return nullptr;
  }

  // With d the width of the rows that experts compute, and without gate rows where they have no gates:
  struct Weights {
    Matrix router;                                            // [experts, model_dim], always F32
    std::vector<Matrix> gate_up;                              // [experts] of [2 * width, d]: gate rows, then up rows
    std::vector<Matrix> down;                                 // [experts] of [d, width]
    std::vector<float> router_bias;                           // [experts], or empty
    std::vector<std::vector<float>> gate_up_bias, down_bias;  // [experts] of [2 * width] and [d], or of empty
    std::vector<float> selection_bias;                        // [experts], or empty
    Matrix latent_in, latent_out;                             // [latent_dim, model_dim] and back
    Matrix shared_gate_up, shared_down;  // as those of one expert, of shared_width, for rows of model_dim
    Matrix shared_gate;                  // [1, model_dim], always F32
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
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

  // The columns of every expert: how many rows choose an expert of its own would leave ranks idle. The router is small,
  // and every rank's.
  constexpr MixtureOfExperts OfRank(const RankShare& share) const {
    MixtureOfExperts part = *this;
    part.width = DealtWidth(width, share);
    part.shared_width = shared_width > 0 ? DealtWidth(shared_width, share) : 0;
    part.whole_width = std::max(width, shared_width);
    return part;
  }

  // Weights; what a router remembers of one row; the rows of some experts, what lies between their projections (two)
  // and their outputs; the weights of the shared expert; rows of latent_dim, and what experts make of them; what
  // multiplications by some experts need.
  std::array<size_t, 10> ScratchFloats(size_t rows, size_t model_dim) const {
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

  void Run(const Weights& weights, const LayerRun& run) const { RunRouted(weights, run, run.input, {}); }

  // The same where the router reads other rows than the experts, [rows, model_dim], and the weight of each chosen
  // expert is multiplied by its factor, [experts] or none.
  void RunRouted(const Weights& weights, const LayerRun& run, Rows router_input, std::span<const float> factors) const {
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

 private:
  constexpr ExpertRouter router() const {
    return {.experts = static_cast<size_t>(experts),
            .chosen = static_cast<size_t>(chosen),
            .normalized = normalized,
            .sigmoid = sigmoid,
            .groups = static_cast<size_t>(groups),
            .chosen_groups = static_cast<size_t>(chosen_groups),
            .sum_epsilon = sum_epsilon,
            .weight_scale = weight_scale};
  }

  ExpertIndex Index(size_t expert) const { return {expert, static_cast<size_t>(experts), static_cast<size_t>(chosen)}; }

  size_t ExpertDim(size_t model_dim) const { return latent_dim > 0 ? static_cast<size_t>(latent_dim) : model_dim; }

  void ListBiases(Weights& weights, size_t dim, ParameterList& list) const {
    const auto hidden = static_cast<size_t>(width), count = static_cast<size_t>(experts);
    list.AddVector(weights.router_bias, {{"mlp.gate.bias", count}});
    for (size_t i = 0; i < count; ++i) {
      const ExpertIndex expert = Index(i);
      std::vector<Part> parts;
      if (gated) parts.push_back({"mlp.experts.gate_proj.bias", hidden, 0, expert});
      parts.push_back({"mlp.experts.up_proj.bias", hidden, 0, expert});
      list.AddDealtVector(weights.gate_up_bias[i], parts, ColumnUnits(hidden));
      list.AddVector(weights.down_bias[i], {{"mlp.experts.down_proj.bias", dim, 0, expert}});
    }
  }

  void ListShared(Weights& weights, size_t model_dim, ParameterList& list) const {
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

  // The rows of experts that are multiplied at once, at most: all where they are few, and always those of one expert.
  size_t RowsTogether(size_t rows) const {
    return std::max(rows, std::min(Operations::kMostRowsTogether, rows * static_cast<size_t>(chosen)));
  }

  // The experts that may be multiplied at once.
  static size_t ExpertsTogether(const Weights& weights, size_t rows) {
    const auto is_alone = [rows](const Matrix& matrix) { return PartialSumsSize(matrix, rows) != 0; };
    const bool all_alone =
        std::ranges::any_of(weights.gate_up, is_alone) || std::ranges::any_of(weights.down, is_alone);
    return all_alone ? 1 : Operations::kMostTogether;
  }

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

  // Adds the shares of at most `together` experts, as many as there is room for, from `first` on, to the output of the
  // rows that chose them. Returns the first expert that is left.
  size_t AddExperts(const Weights& weights, size_t first, size_t together, const LayerRun& run, Rows input,
                    Rows output) const {
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

  // Returns what the experts of a group make of their rows, as wide as those.
  const float* Compute(const Weights& weights, const Group& group, size_t dim, const LayerRun& run) const {
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

  // Returns what the shared expert makes of all rows.
  const float* ComputeShared(const Weights& weights, const LayerRun& run) const {
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

  void AddShared(const Weights& weights, const LayerRun& run) const {
    const size_t rows = run.rows.size(), dim = run.model_dim;
    const float* const outputs = ComputeShared(weights, run);
    float* const shares = run.scratch[6];
    if (shared_gate) run.ops.MatMul(weights.shared_gate, run.input, rows, {}, {shares, 1});
    for (size_t row = 0; row < rows; ++row) {
      const float share = shared_gate ? ExpertRouter::Sigmoid(shares[row]) : 1.0f;
      AddShare(share, outputs + row * dim, dim, run.output.data + row * run.output.stride);
    }
  }

  static void AddShare(float share, const float* from, size_t size, float* to) {
    for (size_t i = 0; i < size; ++i) to[i] += share * from[i];
  }
};

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_MIXTURE_OF_EXPERTS_H_
