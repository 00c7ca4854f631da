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
#include <numeric>
#include <span>
#include <vector>

#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/threads/executor.h"
#include "skald/weights/packing/pack_groups.h"
#include "skald/weights/packing/pack_rows.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {
namespace internal {

/// SplitMix64 (Steele, Lea and Flood 2014) as a function of a counter, so that an element's value depends on the seed
/// and its position, and not on element type or order of filling.
float UniformAt(uint64_t seed, uint64_t index);

/// Fills one panel; `values` is memory for it, [kLanes, matrix.cols], and `numbers` has the rows in the whole matrix.
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

/// The rows of these numbers; each worker fills a contiguous share of the panels.
template <class T>
void FillMatrix(uint64_t seed, std::span<const size_t> numbers, const ExecutorRef& executor, Matrix& matrix) {
  const size_t workers = executor.num_workers(), panels = matrix.NumPanels(), size = kLanes * matrix.cols;
  std::vector<float> values(workers * size);
  const auto fill = [&](size_t task) {
    const std::span<float> own = std::span(values).subspan(task * size, size);
    for (size_t panel = panels * task / workers; panel < panels * (task + 1) / workers; ++panel) {
      FillPanel<T>(seed, panel, numbers, own, matrix);
    }
  };
  executor.Run(workers, fill);
}

/// A whole matrix.
template <class T>
void FillMatrix(uint64_t seed, const ExecutorRef& executor, Matrix& matrix) {
  std::vector<size_t> numbers(matrix.rows);
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  FillMatrix<T>(seed, numbers, executor, matrix);
}

}  // namespace internal

/// Fills the parameters of `list`, which are still empty, with values that are a function of `seed`; those of other
/// types than F32 are the rounded ones of F32. Rounding follows the floating-point mode of the executor's threads.
/// Throws std::bad_alloc.
void FillWithRandom(const ParameterList& list, uint64_t seed, DType dtype, const ExecutorRef& executor);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/detail/random_weights.h"
#endif

#endif  // SKALD_WEIGHTS_RANDOM_WEIGHTS_H_
