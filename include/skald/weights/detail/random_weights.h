// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/random_weights.h.

#ifndef SKALD_WEIGHTS_DETAIL_RANDOM_WEIGHTS_H_
#define SKALD_WEIGHTS_DETAIL_RANDOM_WEIGHTS_H_

#include "skald/weights/random_weights.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <variant>
#include <vector>

#include "skald/base/inline.h"
#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/numbers/xxh64.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/weights/packing/detail/pack_codes.h"
#include "skald/weights/packing/detail/pack_groups.h"
#include "skald/weights/packing/detail/panels.h"
#include "skald/weights/partitioned_parameters.h"
#include "skald/weights/types/division.h"
#include "skald/weights/types/matrix_bytes.h"

namespace skald {

namespace internal {

SKALD_INLINE float UniformAt(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return static_cast<float>(static_cast<int32_t>(z >> 32)) * 0x1p-31f;  // in [-1, 1)
}

// Fills one panel; `values` is memory for it, [kLanes, matrix.cols], and `numbers` has the rows in the whole matrix.
template <class T>
void FillPanel(uint64_t seed, size_t panel, std::span<const size_t> numbers, std::span<float> values, Matrix& matrix) {
  const float scale = std::sqrt(3.0f / static_cast<float>(matrix.cols));  // a uniform value has variance 1 / 3
  PackRow rows[kLanes];
  for (size_t n = 0; n < std::min(kLanes, matrix.rows - panel * kLanes); ++n) {
    float* const row = values.data() + n * matrix.cols;
    const size_t first = numbers[panel * kLanes + n] * matrix.cols;
    for (size_t i = 0; i < matrix.cols; ++i) row[i] = scale * UniformAt(seed, first + i);
    rows[n] = {reinterpret_cast<const std::byte*>(row), DType::kF32};
  }
  PackPanel(rows, matrix.cols, matrix.As<T>() + panel * (PackedBytes<T>(kLanes, matrix.cols) / sizeof(T)));
}

SKALD_INLINE void FillMatrix(uint64_t seed, std::span<const size_t> numbers, const ExecutorRef& executor,
                             Matrix& matrix) {
  const size_t workers = executor.num_workers(), panels = matrix.NumPanels(), size = kLanes * matrix.cols;
  std::vector<float> values(workers * size);
  VisitWeightType(matrix.dtype, [&]<class T>() {
    const auto fill = [&](size_t task) {
      const std::span<float> own = std::span(values).subspan(task * size, size);
      for (size_t panel = panels * task / workers; panel < panels * (task + 1) / workers; ++panel) {
        FillPanel<T>(seed, panel, numbers, own, matrix);
      }
    };
    executor.Run(workers, fill);
  });
}

SKALD_INLINE void FillMatrix(uint64_t seed, const ExecutorRef& executor, Matrix& matrix) {
  std::vector<size_t> numbers(matrix.rows);
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  FillMatrix(seed, numbers, executor, matrix);
}

// Makes each parameter from its own seed, in the order of the list.
class RandomParameters {
 public:
  RandomParameters(uint64_t seed, DType dtype, const RankShare& share, const ExecutorRef& executor)
      : seed_(seed << 32), dtype_(dtype), share_(share), executor_(executor) {}

  void operator()(const MatrixParameter& parameter) {
    const PartitionedRows here = RowsHere(parameter, share_);
    const DType dtype = parameter.dtype.value_or(dtype_);
    ++seed_;
    *parameter.target = MakeMatrix(here.ranges, parameter.cols, dtype);
    if (here.division == nullptr) return;
    here.division->known_by = Xxh64(MakeMatrix(here.first, parameter.cols, dtype).data);
    parameter.target->division = here.division;
  }
  void operator()(const BlocksParameter& parameter) {
    ForEachBlock(parameter, [&](const Part& part, size_t, Matrix* target) {
      ++seed_;
      if (target != nullptr) *target = MakeMatrix({{0, part.rows}}, parameter.cols, dtype_);
    });
  }
  void operator()(const VectorParameter& parameter) {
    const auto [center, spread] = parameter.random;
    std::vector<float>& values = *parameter.target;
    values.resize(parameter.size());
    ++seed_;
    for (size_t i = 0; i < values.size(); ++i) values[i] = center + spread * UniformAt(seed_, i);
    KeepPartitioned(parameter, share_);
  }

 private:
  // The rows in `ranges` of the whole matrix that the seed is for.
  Matrix MakeMatrix(const std::vector<PartitionedRange>& ranges, size_t cols, DType dtype) {
    std::vector<size_t> numbers;
    for (const PartitionedRange& range : ranges) {
      for (size_t row = range.begin; row < range.end; ++row) numbers.push_back(row);
    }
    Matrix matrix(numbers.size(), cols, dtype);
    FillMatrix(seed_, numbers, executor_, matrix);
    return matrix;
  }

  uint64_t seed_;
  DType dtype_;
  const RankShare share_;
  const ExecutorRef& executor_;
};

}  // namespace internal

SKALD_INLINE void FillWithRandom(const ParameterList& list, uint64_t seed, DType dtype, const ExecutorRef& executor) {
  internal::RandomParameters random(seed, dtype, list.share(), executor);
  for (const Parameter& parameter : list.parameters()) std::visit(random, parameter.value);
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_DETAIL_RANDOM_WEIGHTS_H_
