// SPDX-License-Identifier: Apache-2.0
//
// Reading the fields of quantised blocks, at any alignment, lowest bytes first.

#ifndef SKALD_WEIGHTS_TYPES_BLOCK_BYTES_H_
#define SKALD_WEIGHTS_TYPES_BLOCK_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "skald/base/numbers/numeric.h"

namespace skald::internal {

inline unsigned ByteAt(const std::byte* source, size_t index) { return std::to_integer<unsigned>(source[index]); }

inline uint16_t HalfBitsAt(const std::byte* source) {
  uint16_t bits;
  std::memcpy(&bits, source, sizeof(bits));
  return bits;
}

inline float HalfAt(const std::byte* source) { return FromHalf(HalfBitsAt(source)); }

inline uint32_t WordAt(const std::byte* source) {
  uint32_t word;
  std::memcpy(&word, source, sizeof(word));
  return word;
}

/// Adds the bits of `mask` of kCount bytes, shifted right before and left by `place` afterwards, to codes.
template <size_t kCount>
void AddBits(const std::byte* __restrict source, unsigned shift, unsigned mask, unsigned place,
             uint8_t* __restrict codes) {
  for (size_t i = 0; i < kCount; ++i) {
    codes[i] = static_cast<uint8_t>(codes[i] | (ByteAt(source, i) >> shift & mask) << place);
  }
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_TYPES_BLOCK_BYTES_H_
