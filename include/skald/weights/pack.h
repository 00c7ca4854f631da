// SPDX-License-Identifier: Apache-2.0
//
// Packing: from row-major tensors of a file to the layout of base/packed_layout.h. Several tensors
// with the same number of columns can be stacked into one matrix, so that one multiplication
// computes q, k and v, or gate and up. Conversions: F16 and BF16 to f32 are exact, BF16 to bf16
// copies; F32 and F16 to bf16 round to nearest even and so lose bits. The result does not depend on
// the executor.

#ifndef SKALD_WEIGHTS_PACK_H_
#define SKALD_WEIGHTS_PACK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "hwy/base.h"
#include "skald/base/executor.h"
#include "skald/base/numeric.h"
#include "skald/base/packed_layout.h"
#include "skald/weights/matrix.h"

namespace skald {

// A row-major [rows, cols] tensor that becomes the next `rows` rows of a stacked matrix.
struct PackSource {
  const std::byte* bytes;  // of any alignment
  DType dtype;
  size_t rows;
};

namespace internal {

// Converts the kTile elements at `source` to T. The fixed count lets compilers vectorise each loop.
template <class T>
void ConvertTile(const std::byte* source, DType dtype, T* HWY_RESTRICT output) {
  if (dtype == kDTypeOf<T>) {
    std::memcpy(output, source, kTile * sizeof(T));
  } else if (dtype == DType::kF32) {
    float values[kTile];
    std::memcpy(values, source, sizeof(values));
    for (size_t i = 0; i < kTile; ++i) output[i] = FromFloat<T>(values[i]);
  } else if (dtype == DType::kBF16) {
    bf16 values[kTile];
    std::memcpy(values, source, sizeof(values));
    for (size_t i = 0; i < kTile; ++i) output[i] = FromFloat<T>(ToFloat(values[i]));
  } else {
    uint16_t values[kTile];
    std::memcpy(values, source, sizeof(values));
    for (size_t i = 0; i < kTile; ++i) output[i] = FromFloat<T>(FromHalf(values[i]));
  }
}

// Converts the first `count` <= kTile elements at `source`, and nothing after them, to T; the rest
// becomes zero.
template <class T>
void ConvertElements(const std::byte* source, DType dtype, size_t count, T* HWY_RESTRICT output) {
  if (count == kTile) return ConvertTile(source, dtype, output);
  std::byte padded[kTile * sizeof(float)] = {};
  std::memcpy(padded, source, count * SizeOf(dtype));
  ConvertTile(padded, dtype, output);
}

// One source row of a panel; `bytes` is null for the padding below the last row.
struct PackRow {
  const std::byte* bytes = nullptr;
  DType dtype = DType::kF32;
};

// Writes the columns [tile * kTile, tile * kTile + count) of one panel to `output`, kTile * kLanes
// elements.
template <class T>
void PackTile(const PackRow (&rows)[kLanes], size_t tile, size_t count, T* HWY_RESTRICT output) {
  alignas(64) T values[kLanes][kTile] = {};
  for (size_t r = 0; r < kLanes; ++r) {
    if (rows[r].bytes == nullptr) continue;
    const std::byte* source = rows[r].bytes + tile * kTile * SizeOf(rows[r].dtype);
    ConvertElements(source, rows[r].dtype, count, values[r]);
  }
  // A transposition of 32-bit words, each of which holds a pair; writes are sequential.
  for (size_t k = 0; k < kTile; k += kPair<T>) {
    for (size_t r = 0; r < kLanes; ++r) {
      std::memcpy(output + k * kLanes + r * kPair<T>, &values[r][k], sizeof(uint32_t));
    }
  }
}

// Packs panels [panel_begin, panel_end) of `matrix`.
template <class T>
void PackPanels(std::span<const PackSource> sources, size_t panel_begin, size_t panel_end,
                Matrix& matrix) {
  const size_t cols = matrix.cols;
  for (size_t panel = panel_begin; panel < panel_end; ++panel) {
    PackRow rows[kLanes];
    size_t first = 0;  // row of the matrix at which the source begins
    for (const PackSource& source : sources) {
      const size_t begin = std::max(first, panel * kLanes);
      const size_t end = std::min(first + source.rows, (panel + 1) * kLanes);
      for (size_t n = begin; n < end; ++n) {
        rows[n % kLanes] = {source.bytes + (n - first) * cols * SizeOf(source.dtype), source.dtype};
      }
      first += source.rows;
    }
    T* output = matrix.As<T>() + panel * kLanes * matrix.padded_cols;
    for (size_t tile = 0; tile * kTile < cols; ++tile) {
      PackTile(rows, tile, std::min(kTile, cols - tile * kTile), output + tile * kTile * kLanes);
    }
  }
}

// Packs panels [panel_begin, panel_end), each worker a contiguous share of them.
inline void PackShares(std::span<const PackSource> sources, size_t panel_begin, size_t panel_end,
                       ExecutorRef executor, Matrix& matrix) {
  const size_t share =
      RoundUp(panel_end - panel_begin, executor.num_workers()) / executor.num_workers();
  const auto pack = [&](size_t task) {
    const size_t begin = std::min(panel_begin + task * share, panel_end);
    const size_t end = std::min(begin + share, panel_end);
    if (matrix.dtype == DType::kF32) {
      PackPanels<float>(sources, begin, end, matrix);
    } else {
      PackPanels<bf16>(sources, begin, end, matrix);
    }
  };
  executor.Run(executor.num_workers(), pack);
}

}  // namespace internal

// Appends the `count` elements at `source`, converted exactly, to `values`.
inline void AppendFloats(const std::byte* source, DType dtype, size_t count,
                         std::vector<float>& values) {
  for (size_t i = 0; i < count; i += kTile) {
    float tile[kTile];
    const size_t here = std::min(kTile, count - i);
    internal::ConvertElements(source + i * SizeOf(dtype), dtype, here, tile);
    values.insert(values.end(), tile, tile + here);
  }
}

// Returns the sources stacked to a packed matrix of element type `dtype` (kBF16 or kF32). Calls
// `packed(rows)`, if given, from this thread each time that further `rows` rows are done.
inline Matrix PackMatrix(std::span<const PackSource> sources, size_t cols, DType dtype,
                         ExecutorRef executor,
                         const std::function<void(size_t rows)>& packed = {}) {
  size_t rows = 0;
  for (const PackSource& source : sources) rows += source.rows;
  Matrix matrix(rows, cols, dtype);
  // Slabs of about 32 MB give a progress report several times a second, and keep handing out the
  // work negligible.
  constexpr size_t kSlabElements = size_t{1} << 24;
  const size_t slab =
      std::max<size_t>(1, kSlabElements / (kLanes * std::max<size_t>(1, matrix.padded_cols)));
  for (size_t begin = 0; begin < matrix.NumPanels(); begin += slab) {
    const size_t end = std::min(begin + slab, matrix.NumPanels());
    internal::PackShares(sources, begin, end, executor, matrix);
    if (packed) packed(std::min(end * kLanes, rows) - begin * kLanes);
  }
  return matrix;
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_PACK_H_
