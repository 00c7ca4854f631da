// SPDX-License-Identifier: Apache-2.0
//
// Weights from a seed, to try or measure a model without a checkpoint. The values keep activations near 1 through any
// number of layers: matrices have variance 1 / fan-in, norms are near 1, and recurrent state fades slowly.

#ifndef SKALD_WEIGHTS_RANDOM_WEIGHTS_H_
#define SKALD_WEIGHTS_RANDOM_WEIGHTS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/weights/packing/pack_groups.h"
#include "skald/weights/packing/pack_rows.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {
namespace internal {

// SplitMix64 (Steele, Lea and Flood 2014) as a function of a counter, so that an element's value
// depends on the seed and on where it stands, and not on element type or order of filling.
inline float UniformAt(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return static_cast<float>(static_cast<int32_t>(z >> 32)) * 0x1p-31f;  // in [-1, 1)
}

template <class T>
void FillMatrix(uint64_t seed, Matrix& matrix) {
  const float scale = std::sqrt(3.0f / static_cast<float>(matrix.cols));  // a uniform value has variance 1 / 3
  std::vector<float> values(kLanes * matrix.cols);
  T* output = matrix.As<T>();
  for (size_t panel = 0; panel < matrix.rows; panel += kLanes) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = scale * UniformAt(seed, panel * matrix.cols + i);
    PackRow rows[kLanes];
    for (size_t n = 0; n < std::min(kLanes, matrix.rows - panel); ++n) {
      rows[n] = {reinterpret_cast<const std::byte*>(values.data() + n * matrix.cols), DType::kF32};
    }
    PackPanel(rows, matrix.cols, output);
    output += PackedBytes<T>(kLanes, matrix.cols) / sizeof(T);
  }
}

// Makes each parameter from a seed of its own, in the order of the list.
class RandomParameters {
 public:
  RandomParameters(uint64_t seed, DType dtype) : seed_(seed << 32), dtype_(dtype) {}

  void operator()(const MatrixParameter& parameter) {
    *parameter.target = MakeMatrix(parameter.rows(), parameter.cols, parameter.dtype.value_or(dtype_));
  }
  void operator()(const BlocksParameter& parameter) {
    Matrix* target = parameter.targets->data();
    for (const Part& part : parameter.parts) {
      for (size_t i = 0; i < parameter.count; ++i) *target++ = MakeMatrix(part.rows, parameter.cols, dtype_);
    }
  }
  void operator()(const VectorParameter& parameter) {
    const auto [center, spread] = parameter.random;
    std::vector<float>& values = *parameter.target;
    values.resize(parameter.size());
    ++seed_;
    for (size_t i = 0; i < values.size(); ++i) values[i] = center + spread * UniformAt(seed_, i);
  }

 private:
  Matrix MakeMatrix(size_t rows, size_t cols, DType dtype) {
    Matrix matrix(rows, cols, dtype);
    VisitWeightType(dtype, [&]<class T>() { FillMatrix<T>(++seed_, matrix); });
    return matrix;
  }

  uint64_t seed_;
  DType dtype_;
};

}  // namespace internal

// Fills the parameters of `list`, which hold nothing yet, with values that are a function of `seed`; those of other
// types than F32 are the rounded ones of F32. Rounds as its thread does. Throws std::bad_alloc.
inline void FillWithRandom(const ParameterList& list, uint64_t seed, DType dtype) {
  internal::RandomParameters random(seed, dtype);
  for (const Parameter& parameter : list.parameters()) std::visit(random, parameter.value);
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_RANDOM_WEIGHTS_H_
