// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/random_weights.h.

#ifndef SKALD_WEIGHTS_DETAIL_RANDOM_WEIGHTS_H_
#define SKALD_WEIGHTS_DETAIL_RANDOM_WEIGHTS_H_

#include "skald/weights/random_weights.h"

#include <variant>

#include "skald/base/inline.h"
#include "skald/base/numbers/xxh64.h"
#include "skald/base/ranks/rank_share.h"
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
    VisitWeightType(dtype, [&]<class T>() { FillMatrix<T>(seed_, numbers, executor_, matrix); });
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
