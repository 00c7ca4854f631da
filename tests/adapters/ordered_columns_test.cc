// SPDX-License-Identifier: Apache-2.0
//
// Matrices that change their inputs, whose columns have an order of their own and factors: adapters change them, and
// observers see their inputs, as if they did not.

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/cache/create.h"
#include "skald/weights/packing/pack.h"
#include "tests/adapters/adapter_files.h"
#include "tests/support/compare_logits.h"
#include "tests/support/small_models.h"
#include "tests/support/unpack.h"

namespace skald::testing {
namespace ordered_columns_test {

// The numbers of RandomWeights, with the columns of layers' matrices in reverse, a half of each where inputs are
// doubled.
ModelWeights InReverse(const ModelSpec& spec, uint64_t seed) {
  ModelWeights weights = *RandomWeights(spec, seed, DType::kF32);
  const WeightPacker& packer = *FindType(WeightPackersOf<AllWeights>(), DType::kF32);
  ThreadPool alone(1);
  const ParameterList list = ParametersOf(weights);
  for (const Parameter& parameter : list.parameters()) {
    const auto* const matrix = std::get_if<MatrixParameter>(&parameter.value);
    if (matrix == nullptr || !parameter.layer || matrix->dtype || matrix->rows() == 0) continue;
    const size_t rows = matrix->rows(), cols = matrix->cols;
    std::vector<uint32_t> order(cols);
    std::vector<float> factors(cols);
    for (size_t k = 0; k < cols; ++k)
      order[k] = static_cast<uint32_t>(cols - 1 - k), factors[k] = k % 3 == 0 ? 2.0f : 1;
    const std::vector<float> values = Unpack(*matrix->target);
    std::vector<float> moved;
    for (size_t row = 0; row < rows; ++row) {
      for (size_t k = 0; k < cols; ++k) moved.push_back(values[row * cols + order[k]] / factors[k]);
    }
    const PackSource source[] = {{reinterpret_cast<const std::byte*>(moved.data()), DType::kF32, rows}};
    *matrix->target = PackMatrix(source, cols, packer, ExecutorRef(alone), {}, {order, factors});
  }
  return weights;
}

// The logits of a model with an adapter, and the sums of squares of the inputs of each matrix, in the order of
// parameters.
struct Computed {
  std::vector<float> logits, squares;

  Computed(const RandomModel& model, const Adapter& adapter, const std::vector<int32_t>& tokens) {
    std::unordered_map<const Matrix*, std::vector<float>> sums;
    const auto add = [&](const MatrixInputs& inputs) {
      std::vector<float>& of_matrix = sums[&inputs.weights];
      of_matrix.resize(inputs.weights.cols);
      for (size_t row = 0; row < inputs.rows; ++row) {
        const float* const values = inputs.input.data + row * inputs.input.stride;
        for (size_t i = 0; i < of_matrix.size(); ++i) of_matrix[i] += values[i] * values[i];
      }
    };
    Workspace workspace = *CreateWorkspace({.threads = 1});
    KVCache cache = *CreateKVCache(model.small().layout, kExact, adapter.digest);
    logits =
        AllLogits(model, cache, tokens, tokens.size(), workspace, {.matrix_observer = add, .adapters = {&adapter}});
    ForEachArray(
        ParametersOf(model.weights()),
        [&](const Matrix& matrix, size_t, size_t) {
          const std::vector<float>& of_matrix = sums[&matrix];
          squares.insert(squares.end(), of_matrix.begin(), of_matrix.end());
        },
        [](const std::vector<float>&, size_t) {});
  }
};

SKALD_LAW("the order of a matrix's columns, and factors, change neither adapters nor the inputs that are seen", small) {
  const Adapter adapter = RandomAdapter(small.spec, 20, 4);
  const std::vector<int32_t> tokens = RandomTokens(small, 3, 20);
  const Computed expected(RandomModel(small, 7, DType::kF32), adapter, tokens);
  const Computed found(RandomModel(small, InReverse(small.spec, 7)), adapter, tokens);
  CHECK(LargestDifference(found.logits, expected.logits) <= 4 * Tolerance(small.spec, expected.logits));
  REQUIRE_FALSE(expected.squares.empty());
  CHECK(LargestDifference(found.squares, expected.squares) <= 4 * Tolerance(small.spec, expected.squares));
}

}  // namespace ordered_columns_test
}  // namespace skald::testing
