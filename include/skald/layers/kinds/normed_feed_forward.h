// SPDX-License-Identifier: Apache-2.0
//
// A dense feed-forward layer beside a mixture of experts, each between two norms of its own, as Gemma 4 has them. The
// router reads the residual stream, normalised without weights and multiplied by a learned scale / sqrt(model_dim); the
// weight of each expert is multiplied by a learned factor.

#ifndef SKALD_LAYERS_KINDS_NORMED_FEED_FORWARD_H_
#define SKALD_LAYERS_KINDS_NORMED_FEED_FORWARD_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <vector>

#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/run/layer_run.h"
#include "skald/weights/parameters.h"

namespace skald {

struct NormedFeedForward {
  static constexpr std::string_view kName = "normed feed-forward beside experts";

  GatedFeedForward dense = {};
  MixtureOfExperts experts = {};
  float epsilon = 1e-6f;  // of all norms

  friend constexpr bool operator==(const NormedFeedForward&, const NormedFeedForward&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("dense", self.dense);
    visit("experts", self.experts);
    visit("epsilon", self.epsilon);
  }

  constexpr const char* WhyImpossible() const {
    if (const char* why = dense.WhyImpossible()) return why;
    if (const char* why = experts.WhyImpossible()) return why;
    return norm().WhyImpossible();
  }

  struct Weights {
    GatedFeedForward::Weights dense;
    MixtureOfExperts::Weights experts;
    std::vector<float> before_dense, behind_dense, before_experts, behind_experts;  // [model_dim]
    std::vector<float> router_scale;                                                // [model_dim], over its square root
    std::vector<float> expert_factors;                                              // [experts]
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
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

  constexpr NormedFeedForward OfRank(const RankShare& share) const {
    return {.dense = dense.OfRank(share), .experts = experts.OfRank(share), .epsilon = epsilon};
  }

  // The pieces of memory that the layers use.
  static constexpr size_t kPieces = std::tuple_size_v<decltype(MixtureOfExperts().ScratchFloats(0, 0))>;

  // What the layers need, and behind it the rows that they read, those that the router reads and what experts give.
  std::array<size_t, kPieces + 3> ScratchFloats(size_t rows, size_t model_dim) const {
    std::array<size_t, kPieces + 3> sizes = {};
    std::ranges::copy(experts.ScratchFloats(rows, model_dim), sizes.begin());
    const auto of_dense = dense.ScratchFloats(rows, model_dim);
    for (size_t i = 0; i < of_dense.size(); ++i) sizes[i] = std::max(sizes[i], of_dense[i]);
    std::fill_n(sizes.begin() + kPieces, 3, rows * model_dim);
    return sizes;
  }

  void Run(const Weights& weights, const LayerRun& run) const {
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

 private:
  constexpr RmsNorm norm() const { return {.epsilon = epsilon}; }

  static LayerRun With(LayerRun run, Rows input, Rows output) {
    run.input = input, run.output = output;
    return run;
  }
};

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_NORMED_FEED_FORWARD_H_
