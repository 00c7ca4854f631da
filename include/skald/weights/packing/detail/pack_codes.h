// SPDX-License-Identifier: Apache-2.0
//
// Packing of matrices of codes of floats (base/numbers/float_codes.h): keeps the codes of a folder, and otherwise gives
// each number the nearest one that there is.

#ifndef SKALD_WEIGHTS_PACKING_DETAIL_PACK_CODES_H_
#define SKALD_WEIGHTS_PACKING_DETAIL_PACK_CODES_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "skald/base/numbers/float_codes.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/weights/packing/detail/panels.h"
#include "skald/weights/types/code_group.h"

namespace skald::internal {

/// The part of a pack that one output has.
struct CodedTile {
  float scale = 0.0f;
  uint8_t codes[kTile] = {};
};

/// The largest number of a code.
template <class T>
inline constexpr float kLargestOf = std::is_same_v<T, F8> ? 448.0f : 1.0f;

inline uint8_t NearestCode(float value, const F8*) { return ToE4M3(value); }
template <FourBitCoded T>
uint8_t NearestCode(float value, const T*) {
  const auto distance = [&](float number) { return std::fabs(number - value); };
  return static_cast<uint8_t>(std::ranges::min_element(T::kNumbers, {}, distance) - T::kNumbers);
}

template <FloatCoded T>
CodedTile QuantizeTile(const float* values) {
  CodedTile tile;
  for (size_t i = 0; i < kTile; ++i) tile.scale = std::max(tile.scale, std::fabs(values[i]) / kLargestOf<T>);
  const T* const type = nullptr;
  for (size_t i = 0; i < kTile; ++i)
    tile.codes[i] = NearestCode(tile.scale == 0.0f ? 0.0f : values[i] / tile.scale, type);
  return tile;
}

/// Reads a block of GroupFormat::decode_floats.
template <FloatCoded T>
CodedTile TileOf(const std::byte* block) {
  CodedTile tile;
  std::memcpy(&tile.scale, block, sizeof(tile.scale));
  std::memcpy(tile.codes, block + sizeof(tile.scale), kTile);
  const auto is_nan = [](uint8_t code) { return (code & 127) == 127; };
  if (std::is_same_v<T, F8> && std::ranges::any_of(tile.codes, is_nan)) {
    tile.scale = std::numeric_limits<float>::quiet_NaN();
  }
  return tile;
}

inline void StoreCode(uint8_t code, size_t lane, size_t k, F8& pack) {
  pack.codes[k][lane] = (code & 127) == 127 ? uint8_t{0} : code;
}
template <FourBitCoded T>
void StoreCode(uint8_t code, size_t lane, size_t k, T& pack) {
  pack.codes[k / 2][lane] = static_cast<uint8_t>(pack.codes[k / 2][lane] | code << (k % 2 * 4));
}

/// Writes one panel of `cols` columns to `output`, which is zero.
template <FloatCoded T>
void PackPanel(const PackRow (&rows)[kLanes], size_t cols, T* output) {
  for (size_t begin = 0; begin < cols; begin += kTile, ++output) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const PackRow& row = rows[lane];
      if (row.bytes == nullptr) continue;
      CodedTile tile;
      if (row.format != nullptr && row.format->packed == kDTypeOf<T>) {
        tile = TileOf<T>(row.bytes + begin / kTile * row.format->block_bytes);
      } else {
        float values[kTile];
        ReadTile(row, begin, std::min(kTile, cols - begin), values);
        tile = QuantizeTile<T>(values);
      }
      output->scales[lane] = tile.scale;
      for (size_t k = 0; k < kTile; ++k) StoreCode(tile.codes[k], lane, k, *output);
    }
  }
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_PACKING_DETAIL_PACK_CODES_H_
