// SPDX-License-Identifier: Apache-2.0
//
// ModelCost: what computing tokens takes at least, whatever computes them: parameters to read and multiplications to
// do. From the list of parameters, so that it holds for layers of any type.

#ifndef SKALD_LAYERS_MODEL_COST_H_
#define SKALD_LAYERS_MODEL_COST_H_

#include <cstdint>
#include <vector>

#include "skald/base/numbers/numeric.h"
#include "skald/layers/model_weights.h"
#include "skald/weights/types/matrix.h"

namespace skald {

/// Parameters that each row reads with a probability of `share`, as those of an expert; most rows need all, 1.
struct SharedBytes {
  double share;    ///< probability, 0 to 1
  uint64_t bytes;  ///< of the parameters
};

struct ModelCost {
  DType weight_type = DType::kBF16;          ///< of the matrices that most multiplications are by
  std::vector<SharedBytes> parameters = {};  ///< of all layers
  double flops_per_token = 0;                ///< of multiplications by weights, by the chosen ones among experts
  double flops_per_output = 0;               ///< the same for each row of logits
  double attention_flops = 0;  ///< for one token and one position that it looks back at, of all full layers
  double window_flops = 0;     ///< the same of the layers that look back at most `window` positions
  uint32_t window = 0;         ///< positions; 0: no layer has a window

  /// Bytes of parameters that a step over `rows` rows reads, each once. Which experts rows choose is taken to be
  /// chance: of those that each row chooses k of n, it is n (1 - (1 - k / n)^rows) that some row did. Of embeddings it
  /// is the rows of the tokens, which are not counted.
  double StepBytes(double rows) const;
};

namespace internal {

/// For one row of activations.
double FlopsOf(const Matrix& matrix);

/// How many of the rows that a layer computes the tensors are for.
template <class PartOfSomeKind>
double ShareOf(const std::vector<PartOfSomeKind>& parts) {
  const auto& expert = parts.front().expert;
  return expert ? static_cast<double>(expert->chosen) / static_cast<double>(expert->count) : 1.0;
}

}  // namespace internal

/// Returns what the model costs that these are all weights of.
ModelCost CostOf(const ModelWeights& weights);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/detail/model_cost.h"
#endif

#endif  // SKALD_LAYERS_MODEL_COST_H_
