// SPDX-License-Identifier: Apache-2.0
//
// Rows of a file on their way to a packed panel: converted, or decoded from groups, a tile at a time.

#ifndef SKALD_WEIGHTS_PACKING_DETAIL_PANELS_H_
#define SKALD_WEIGHTS_PACKING_DETAIL_PANELS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/group_types.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/weights/types/code_group.h"

namespace skald::internal {

/// Converts the kTile elements at `source` to T. The fixed count lets compilers vectorise each loop.
template <class T>
void ConvertTile(const std::byte* source, DType dtype, T* __restrict output) {
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

/// Converts the first `count` <= kTile elements at `source`, and nothing after them, to T; the rest
/// becomes zero.
template <class T>
void ConvertElements(const std::byte* source, DType dtype, size_t count, T* __restrict output) {
  if (count == kTile) return ConvertTile(source, dtype, output);
  std::byte padded[kTile * sizeof(float)] = {};
  std::memcpy(padded, source, count * SizeOf(dtype));
  ConvertTile(padded, dtype, output);
}

/// One source row of a panel; `bytes` is null for the padding below the last row.
struct PackRow {
  const std::byte* bytes = nullptr;
  DType dtype = DType::kF32;
  const GroupFormat* format = nullptr;
  float factor = 1.0f;  // of the format's numbers
};

/// Decodes the blocks of a group-quantised row that hold elements [begin, end), of whole blocks.
inline void DecodeGroups(const PackRow& row, size_t begin, size_t end, CodeGroup* groups) {
  const GroupFormat& format = *row.format;
  for (size_t k = begin; k < end; k += format.block_elements) {
    format.decode(row.bytes + k / format.block_elements * format.block_bytes, groups + (k - begin) / kCodeGroup);
  }
  for (size_t g = 0; row.factor != 1.0f && g < (end - begin) / kCodeGroup; ++g) {
    groups[g].scale *= row.factor, groups[g].offset *= row.factor;
  }
}

/// Writes elements [begin, begin + count) of a row, begin a multiple of kTile and count at most kTile, to `output` as T
/// and zeros up to kTile.
template <class T>
void ReadTile(const PackRow& row, size_t begin, size_t count, T* __restrict output) {
  if (row.format == nullptr) {
    return ConvertElements(row.bytes + begin * SizeOf(row.dtype), row.dtype, count, output);
  }
  if (row.format->decode_floats != nullptr) {
    float numbers[kTile];
    row.format->decode_floats(row.bytes + begin / kTile * row.format->block_bytes, numbers);
    for (size_t i = 0; i < kTile; ++i) output[i] = FromFloat<T>(numbers[i]);
    return;
  }
  CodeGroup groups[256 / kCodeGroup];
  const size_t first = begin / row.format->block_elements * row.format->block_elements;
  DecodeGroups(row, first, begin + count, groups);
  for (size_t i = 0; i < count; ++i) {
    const CodeGroup& group = groups[(begin - first + i) / kCodeGroup];
    output[i] = FromFloat<T>(std::fma(group.scale, static_cast<float>(group.codes[i % kCodeGroup]), group.offset));
  }
  std::fill(output + count, output + kTile, FromFloat<T>(0.0f));
}

/// Writes one panel of `cols` columns to `output`, in the packed order of T.
template <class T>
requires(!Packs<T>) void PackPanel(const PackRow (&rows)[kLanes], size_t cols, T* __restrict output) {
  for (size_t begin = 0; begin < cols; begin += kTile, output += kTile * kLanes) {
    alignas(64) T values[kLanes][kTile] = {};
    for (size_t r = 0; r < kLanes; ++r) {
      if (rows[r].bytes != nullptr) ReadTile(rows[r], begin, std::min(kTile, cols - begin), values[r]);
    }
    // A transposition of 32-bit words, each of which holds a pair; writes are sequential.
    for (size_t k = 0; k < kTile; k += kPair<T>) {
      for (size_t r = 0; r < kLanes; ++r) {
        std::memcpy(output + k * kLanes + r * kPair<T>, &values[r][k], sizeof(uint32_t));
      }
    }
  }
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_PACKING_DETAIL_PANELS_H_
