// SPDX-License-Identifier: Apache-2.0

#include "skald/layers/model_cost.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/kinds/normed_feed_forward.h"
#include "skald/layers/kinds/per_layer_input.h"
#include "skald/layers/model_weights.h"
#include "skald/model/load.h"

namespace skald {
namespace model_cost_test {

ModelWeights WeightsOf(const LayerSpec& layer, bool tied, int per_layer_dim = 0) {
  ModelSpec spec = {.model_dim = 32, .vocab_size = 100, .tied_embeddings = tied, .per_layer_dim = per_layer_dim};
  spec.blocks.push_back({.layers = {layer}});
  return *RandomWeights(spec, 1, DType::kF32);
}

double BytesOf(const Matrix& matrix) { return static_cast<double>(matrix.data.size()); }
double FlopsOf(const Matrix& matrix) { return 2.0 * static_cast<double>(matrix.rows * matrix.cols); }

constexpr MixtureOfExperts kExperts = {.experts = 8, .chosen = 2, .width = 48, .shared_width = 16};

// With experts that lie in `experts`.
void CheckExperts(const ModelWeights& weights, const MixtureOfExperts::Weights& experts, double flops_of_others) {
  const ModelCost cost = CostOf(weights);
  const double expert = BytesOf(experts.gate_up[0]) + BytesOf(experts.down[0]);
  const double others = static_cast<double>(MemoryBytes(weights)) - 8 * expert - BytesOf(weights.embedding);
  CHECK(cost.StepBytes(1) == doctest::Approx(others + 2 * expert).epsilon(1e-12));
  CHECK(cost.StepBytes(2) == doctest::Approx(others + 3.5 * expert).epsilon(1e-12));
  CHECK(cost.StepBytes(1000) == doctest::Approx(others + 8 * expert).epsilon(1e-12));
  const double chosen = 2 * (FlopsOf(experts.gate_up[0]) + FlopsOf(experts.down[0]));
  const double shared = FlopsOf(experts.router) + FlopsOf(experts.shared_gate_up) + FlopsOf(experts.shared_down);
  CHECK(cost.flops_per_token == doctest::Approx(chosen + shared + flops_of_others).epsilon(1e-12));
  CHECK(cost.flops_per_output == FlopsOf(weights.embedding));
}

TEST_CASE("a token costs the experts that it chose, and not the whole embedding") {
  const ModelWeights weights = WeightsOf(kExperts, /*tied=*/false);
  CheckExperts(weights, weights.blocks[0].Of<MixtureOfExperts>(), 0.0);
}

TEST_CASE("experts within another layer cost no more") {
  const NormedFeedForward both = {.dense = {.width = 24}, .experts = kExperts};
  const ModelWeights weights = WeightsOf(both, /*tied=*/false);
  const auto& layer = weights.blocks[0].Of<NormedFeedForward>();
  CheckExperts(weights, layer.experts, FlopsOf(layer.dense.gate_up) + FlopsOf(layer.dense.down));
}

TEST_CASE("of embeddings for each layer a token reads one row, of a tied embedding the head reads all") {
  const ModelWeights weights = WeightsOf(PerLayerInput{.width = 16}, /*tied=*/true, 16);
  const double others = static_cast<double>(MemoryBytes(weights)) - BytesOf(weights.per_layer_embedding);
  const ModelCost cost = CostOf(weights);
  CHECK(cost.StepBytes(1) == doctest::Approx(others).epsilon(1e-12));
  CHECK(cost.StepBytes(7) == doctest::Approx(others).epsilon(1e-12));
  const auto& layer = weights.blocks[0].Of<PerLayerInput>();
  const double flops = FlopsOf(layer.gate) + FlopsOf(layer.projection) + FlopsOf(weights.per_layer_projection);
  CHECK(cost.flops_per_token == doctest::Approx(flops).epsilon(1e-12));
}

}  // namespace model_cost_test
}  // namespace skald
