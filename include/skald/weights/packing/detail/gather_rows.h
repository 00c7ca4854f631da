// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/packing/gather_rows.h.

#ifndef SKALD_WEIGHTS_PACKING_DETAIL_GATHER_ROWS_H_
#define SKALD_WEIGHTS_PACKING_DETAIL_GATHER_ROWS_H_

#include "skald/weights/packing/gather_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "skald/base/inline.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/weights/packing/detail/panels.h"
#include "skald/weights/packing/pack.h"

namespace skald {

namespace internal {

SKALD_INLINE std::vector<std::byte> GatherRows(std::span<const std::byte> rows, size_t row_bytes,
                                               const RowOrder& order) {
  std::vector<std::byte> gathered(order.count * row_bytes);
  for (size_t r = 0; r < order.count; ++r) {
    std::memcpy(&gathered[r * row_bytes], &rows[(order.first + r * order.step) * row_bytes], row_bytes);
  }
  return gathered;
}

SKALD_INLINE std::vector<std::byte> GatherUnits(std::span<const std::byte> rows, size_t row_bytes, size_t units,
                                                size_t begin, size_t size) {
  std::vector<std::byte> gathered(units * size * row_bytes);
  const size_t unit = rows.size() / units;
  for (size_t i = 0; i < units; ++i) {
    std::memcpy(&gathered[i * size * row_bytes], &rows[i * unit + begin * row_bytes], size * row_bytes);
  }
  return gathered;
}

SKALD_INLINE std::vector<std::byte> GatherColumns(std::span<const std::byte> matrix, size_t cols, size_t element_bytes,
                                                  const RowOrder& order) {
  std::vector<std::byte> gathered(order.count * cols * element_bytes);
  const size_t stride = matrix.size() / cols;
  for (size_t col = 0; col < cols; ++col) {
    for (size_t r = 0; r < order.count; ++r) {
      std::memcpy(&gathered[(r * cols + col) * element_bytes],
                  &matrix[col * stride + (order.first + r * order.step) * element_bytes], element_bytes);
    }
  }
  return gathered;
}

// Calls on_tile(row, first column, count, where their bytes begin) for each piece of each row of `floats`.
template <class OnTile>
void ForEachTile(std::vector<std::byte>& floats, size_t cols, OnTile on_tile) {
  const size_t rows = floats.size() / (cols * sizeof(float));
  for (size_t row = 0; row < rows; ++row) {
    for (size_t k = 0; k < cols; k += kTile) {
      on_tile(row, k, std::min(kTile, cols - k), &floats[(row * cols + k) * sizeof(float)]);
    }
  }
}

// The numbers of rows as the bytes of floats.
inline std::vector<std::byte> FloatsOf(const PackSource& source, size_t cols) {
  std::vector<std::byte> floats(source.rows * cols * sizeof(float));
  const size_t row_bytes = RowBytes(source, cols);
  ForEachTile(floats, cols, [&](size_t row, size_t k, size_t count, std::byte* to) {
    float tile[kTile];
    ReadTile(PackRow{source.bytes + row * row_bytes, source.dtype, source.format, source.factor}, k, count, tile);
    std::memcpy(to, tile, count * sizeof(float));
  });
  return floats;
}

SKALD_INLINE std::vector<std::byte> DecodedRows(std::span<const std::byte> rows, const GroupFormat& format,
                                                size_t count, float factor) {
  const size_t cols = rows.size() / count / format.block_bytes * format.block_elements;
  return FloatsOf({rows.data(), DType::kF32, count, &format, factor}, cols);
}

SKALD_INLINE std::vector<std::byte> NormedColumns(const PackSource& source, size_t cols) {
  constexpr double kLeast = 1e-7;
  std::vector<std::byte> floats = FloatsOf(source, cols);
  std::vector<double> norms(cols);
  ForEachTile(floats, cols, [&](size_t, size_t k, size_t count, const std::byte* from) {
    float tile[kTile];
    std::memcpy(tile, from, count * sizeof(float));
    for (size_t i = 0; i < count; ++i) norms[k + i] += double{tile[i]} * double{tile[i]};
  });
  for (double& norm : norms) norm = std::sqrt(norm) + kLeast;
  ForEachTile(floats, cols, [&](size_t, size_t k, size_t count, std::byte* to) {
    float tile[kTile];
    std::memcpy(tile, to, count * sizeof(float));
    for (size_t i = 0; i < count; ++i) tile[i] = static_cast<float>(double{tile[i]} / norms[k + i]);
    std::memcpy(to, tile, count * sizeof(float));
  });
  return floats;
}

// Converts 32 codes in 16 bytes, with neighbours in one byte, to the order of GGUF files' blocks (gguf_blocks.h), whose
// bytes hold codes that are 16 apart. Byte i of a result holds two of the four codes that two source bytes hold.
inline void WriteMxfp4Block(const std::byte* codes, std::byte scale, std::byte* block) {
  *block++ = scale;
  for (size_t i = 0; i < 16; i += 2) {
    const std::byte low = codes[i / 2], high = codes[8 + i / 2];
    block[i] = (low & std::byte{15}) | high << 4;
    block[i + 1] = low >> 4 | (high & std::byte{240});
  }
}

SKALD_INLINE std::vector<std::byte> GatherMxfp4(std::span<const std::byte> codes, std::span<const std::byte> scales,
                                                size_t blocks, const RowOrder& order) {
  constexpr size_t kCodeBytes = 16, kBlockBytes = kCodeBytes + 1;
  std::vector<std::byte> gathered(order.count * blocks * kBlockBytes);
  std::byte* to = gathered.data();
  for (size_t r = 0; r < order.count; ++r) {
    const size_t first = (order.first + r * order.step) * blocks;
    for (size_t block = first; block < first + blocks; ++block, to += kBlockBytes) {
      WriteMxfp4Block(&codes[block * kCodeBytes], scales[block], to);
    }
  }
  return gathered;
}

SKALD_INLINE std::vector<std::byte> QuantisedRowsIn(const QuantisedRows& rows, const RowOrder& order) {
  const size_t row_bytes = rows.row_bytes();
  std::vector<std::byte> gathered(order.count * row_bytes);
  if (order.step == 1) {
    rows.Write(order.first, order.count, gathered.data());
    return gathered;
  }
  for (size_t r = 0; r < order.count; ++r) rows.Write(order.first + r * order.step, 1, &gathered[r * row_bytes]);
  return gathered;
}

SKALD_INLINE std::vector<std::byte> QuantisedFloatsIn(const QuantisedRows& rows, const RowOrder& order) {
  std::vector<std::byte> gathered = QuantisedRowsIn(rows, order);
  if (rows.format != nullptr) return DecodedRows(gathered, *rows.format, order.count);
  if (rows.dtype == DType::kF32) return gathered;
  std::vector<float> values;
  AppendFloats(gathered.data(), rows.dtype, gathered.size() / SizeOf(rows.dtype), values);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_WEIGHTS_PACKING_DETAIL_GATHER_ROWS_H_
