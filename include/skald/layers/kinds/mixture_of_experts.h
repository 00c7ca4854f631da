// SPDX-License-Identifier: Apache-2.0
//
// Mixture of experts (Shazeer et al. 2017, arXiv:1701.06538; as Mixtral has it, Jiang et al. 2024, arXiv:2401.04088): a
// router scores all experts, which are gated feed-forward layers, for each row; the few with the highest scores compute
// it, and their outputs are added up with weights that are a softmax of the scores.
//
// Rows that chose an expert are multiplied together; no row depends on what others choose (kernels/ARITHMETIC.md).

#ifndef SKALD_LAYERS_KINDS_MIXTURE_OF_EXPERTS_H_
#define SKALD_LAYERS_KINDS_MIXTURE_OF_EXPERTS_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "skald/base/numbers/activation.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/numbers/portable_exp.h"
#include "skald/base/threads/parallel.h"
#include "skald/base/visit_unless.h"
#include "skald/layers/run/layer_run.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

struct MixtureOfExperts {
  static constexpr std::string_view kName = "mixture of experts";

  int experts = 0;
  int chosen = 0;  // for each row
  int width = 0;   // of each expert
  Activation activation = Activation::kSilu;
  bool normalized = true;  // whether the weights of the chosen experts add up to 1, or to what the softmax gives them
  bool bias = false;       // of the router and all projections

  friend constexpr bool operator==(const MixtureOfExperts&, const MixtureOfExperts&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("experts", self.experts);
    visit("chosen", self.chosen);
    visit("width", self.width);
    visit("activation", self.activation);
    visit("normalized", self.normalized);
    VisitUnless(false, "bias", self.bias, visit);
  }

  constexpr const char* WhyImpossible() const {
    if (experts <= 0 || width <= 0) return "A mixture of experts must have experts, of a positive width.";
    if (chosen <= 0 || chosen > experts) return "The experts chosen for a row must be 1 to all that there are.";
    return nullptr;
  }

  struct Weights {
    Matrix router;                   // [experts, model_dim], always F32
    std::vector<Matrix> gate_up;     // [experts] of [2 * width, model_dim]: gate rows, then up rows
    std::vector<Matrix> down;        // [experts] of [model_dim, width]
    std::vector<float> router_bias;  // [experts], or empty
    std::vector<std::vector<float>> gate_up_bias, down_bias;  // [experts] of [2 * width] and [model_dim], or of empty
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
    const auto hidden = static_cast<size_t>(width), count = static_cast<size_t>(experts);
    weights.gate_up.resize(count);
    weights.down.resize(count);
    weights.gate_up_bias.resize(count);
    weights.down_bias.resize(count);
    list.AddMatrix(weights.router, model_dim, {{"mlp.gate.weight", count}}, DType::kF32);
    for (size_t i = 0; i < count; ++i) {
      const ExpertIndex expert = {i, count};
      list.AddMatrix(
          weights.gate_up[i], model_dim,
          {{"mlp.experts.gate_proj.weight", hidden, 0, expert}, {"mlp.experts.up_proj.weight", hidden, 0, expert}});
      list.AddMatrix(weights.down[i], hidden, {{"mlp.experts.down_proj.weight", model_dim, 0, expert}});
    }
    if (!bias) return;
    list.AddVector(weights.router_bias, {{"mlp.gate.bias", count}});
    for (size_t i = 0; i < count; ++i) {
      const ExpertIndex expert = {i, count};
      list.AddVector(weights.gate_up_bias[i], {{"mlp.experts.gate_proj.bias", hidden, 0, expert},
                                               {"mlp.experts.up_proj.bias", hidden, 0, expert}});
      list.AddVector(weights.down_bias[i], {{"mlp.experts.down_proj.bias", model_dim, 0, expert}});
    }
  }

  // Scores; the rows of an expert, what lies between its projections (two) and its outputs.
  std::array<size_t, 5> ScratchFloats(size_t rows, size_t model_dim) const {
    const auto hidden = static_cast<size_t>(width);
    return {rows * static_cast<size_t>(experts), rows * model_dim, rows * 2 * hidden, RoundUp(rows, kRowBlock) * hidden,
            rows * model_dim};
  }

  void Run(const Weights& weights, const LayerRun& run) const { RunRouted(weights, run, run.input, {}); }

  // The same where the router reads other rows than the experts, [rows, model_dim], and the weight of each chosen
  // expert is multiplied by its factor, [experts] or none.
  void RunRouted(const Weights& weights, const LayerRun& run, Rows router_input, std::span<const float> factors) const {
    const size_t rows = run.rows.size(), count = static_cast<size_t>(experts);
    float* const scores = run.scratch[0];
    run.ops.MatMul(weights.router, router_input, rows, weights.router_bias, {scores, count});
    for (size_t row = 0; row < rows; ++row) {
      WeighExperts(scores + row * count);
      for (size_t i = 0; i < factors.size(); ++i) scores[row * count + i] *= factors[i];
      std::fill_n(run.output.data + row * run.output.stride, run.model_dim, 0.0f);
    }
    for (size_t expert = 0; expert < count; ++expert) AddExpert(weights, expert, run);
  }

 private:
  // Turns the scores [experts] of one row into weights, zeros for experts that are not chosen. A score that is no
  // number makes the row's output none.
  void WeighExperts(float* scores) const {
    const auto count = static_cast<size_t>(experts);
    if (std::any_of(scores, scores + count, [](float score) { return std::isnan(score); })) {
      std::fill_n(scores, chosen, std::numeric_limits<float>::quiet_NaN());
      return;
    }
    const size_t last = LastChosen(scores);
    const float lowest = scores[last];
    const auto is_chosen = [&](size_t i) { return scores[i] > lowest || (scores[i] == lowest && i <= last); };
    const double highest = *std::max_element(scores, scores + count);
    double sum = 0.0;
    for (size_t i = 0; i < count; ++i) {
      if (!normalized || is_chosen(i)) sum += PortableExp(scores[i] - highest);
    }
    for (size_t i = 0; i < count; ++i) {
      scores[i] = is_chosen(i) ? static_cast<float>(PortableExp(scores[i] - highest) / sum) : 0.0f;
    }
  }

  static bool IsBetter(const float* scores, size_t a, size_t b) {
    return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
  }

  // Returns the one that as many as are chosen are as good as, itself among them.
  size_t LastChosen(const float* scores) const {
    const auto count = static_cast<size_t>(experts);
    size_t last = count;
    for (int i = 0; i < chosen; ++i) {
      size_t best = count;
      for (size_t j = 0; j < count; ++j) {
        const bool is_left = last == count || IsBetter(scores, last, j);
        if (is_left && (best == count || IsBetter(scores, j, best))) best = j;
      }
      last = best;
    }
    return last;
  }

  // Adds an expert's share to the output of the rows that chose it.
  void AddExpert(const Weights& weights, size_t expert, const LayerRun& run) const {
    const size_t rows = run.rows.size(), count = static_cast<size_t>(experts), dim = run.model_dim;
    const float* const shares = run.scratch[0] + expert;
    float* const gathered = run.scratch[1];
    size_t found = 0;
    for (size_t row = 0; row < rows; ++row) {
      if (shares[row * count] == 0.0f) continue;
      std::copy_n(run.input.data + row * run.input.stride, dim, gathered + found++ * dim);
    }
    if (found == 0) return;
    float* const outputs = run.scratch[4];
    run.ops.FeedForward(activation, weights.gate_up[expert], weights.gate_up_bias[expert], weights.down[expert],
                        weights.down_bias[expert], {gathered, dim}, found, run.scratch[2], run.scratch[3],
                        {outputs, dim});
    const float* from = outputs;
    for (size_t row = 0; row < rows; ++row) {
      const float share = shares[row * count];
      if (share == 0.0f) continue;
      float* const to = run.output.data + row * run.output.stride;
      for (size_t i = 0; i < dim; ++i) to[i] += share * from[i];
      from += dim;
    }
  }
};

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_MIXTURE_OF_EXPERTS_H_
