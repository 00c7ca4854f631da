// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/model_cost.h.

#ifndef SKALD_LAYERS_DETAIL_MODEL_COST_H_
#define SKALD_LAYERS_DETAIL_MODEL_COST_H_

#include "skald/layers/model_cost.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "skald/base/inline.h"
#include "skald/base/mathematics/portable_pow.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/spec/component.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix_bytes.h"

namespace skald {

SKALD_INLINE double ModelCost::StepBytes(double rows) const {
  double sum = 0;
  for (const auto& [share, bytes] : parameters) {
    sum += static_cast<double>(bytes) * (1.0 - PortablePow(1.0 - share, rows));
  }
  return sum;
}

namespace internal {

SKALD_INLINE double FlopsOf(const Matrix& matrix) {
  return 2.0 * static_cast<double>(matrix.rows) * static_cast<double>(matrix.cols);
}

// Adds up what a list of parameters costs.
class CostSums {
 public:
  // Embeddings that only single rows are read of: no row is multiplied by them.
  explicit CostSums(std::vector<const Matrix*> embeddings) : embeddings_(std::move(embeddings)) {}

  void operator()(const MatrixParameter& parameter) { Add(*parameter.target, ShareOf(parameter.parts)); }
  void operator()(const BlocksParameter& parameter) {
    for (const Matrix& matrix : *parameter.targets) Add(matrix, 1.0);
  }
  void operator()(const VectorParameter& parameter) {
    bytes_[ShareOf(parameter.parts)] += parameter.target->size() * sizeof(float);
  }

  // Moves them to `cost`.
  void Give(ModelCost& cost) const {
    for (const auto& [share, bytes] : bytes_) cost.parameters.push_back({share, bytes});
    for (const auto& [type, flops] : flops_) cost.flops_per_token += flops;
    cost.weight_type = std::ranges::max_element(flops_, {}, &std::pair<const DType, double>::second)->first;
  }

 private:
  void Add(const Matrix& matrix, double share) {
    if (std::ranges::find(embeddings_, &matrix) != embeddings_.end()) return;
    bytes_[share] += matrix.data.size();
    flops_[matrix.dtype] += share * FlopsOf(matrix);
  }

  const std::vector<const Matrix*> embeddings_;
  std::map<double, uint64_t> bytes_;  // by share
  std::map<DType, double> flops_;
};

}  // namespace internal

SKALD_INLINE ModelCost CostOf(const ModelWeights& weights) {
  ModelCost cost;
  std::vector<const Matrix*> embeddings = {&weights.per_layer_embedding, &weights.position_embedding};
  if (weights.head) embeddings.push_back(&weights.embedding);
  internal::CostSums sums(std::move(embeddings));
  const ParameterList list = ParametersOf(weights);
  for (const Parameter& parameter : list.parameters()) std::visit(sums, parameter.value);
  sums.Give(cost);
  cost.flops_per_output = internal::FlopsOf(weights.embedding);
  cost.flops_per_token -= cost.flops_per_output;
  for (const Block& block : weights.spec.blocks) {
    for (const LayerSpec& layer : block.layers) {
      const Attention* const attention = layer.As<Attention>();
      if (attention == nullptr) continue;
      // Multiplying by queries and by probabilities.
      const double flops = 2.0 * 2.0 * attention->heads * attention->head_dim;
      (attention->window == 0 ? cost.attention_flops : cost.window_flops) += flops;
      cost.window = std::max(cost.window, static_cast<uint32_t>(attention->window));
    }
  }
  return cost;
}

}  // namespace skald

#endif  // SKALD_LAYERS_DETAIL_MODEL_COST_H_
