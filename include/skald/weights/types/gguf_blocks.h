// SPDX-License-Identifier: Apache-2.0
//
// Decodes blocks of the quantised types of GGUF files to CodeGroups, exactly: scales are products of an 11-bit number
// (binary16) and one of at most 8 bits, which a float holds. The layouts are those of ggml-common.h and ggml-quants.c
// (https://github.com/ggml-org/ggml). Pure functions of a block's bytes, of any alignment.

#ifndef SKALD_WEIGHTS_TYPES_GGUF_BLOCKS_H_
#define SKALD_WEIGHTS_TYPES_GGUF_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "skald/base/numbers/numeric.h"
#include "skald/weights/types/code_group.h"
#include "skald/weights/types/iq2_xxs.h"

namespace skald {
namespace internal {

inline float HalfAt(const std::byte* source) {
  uint16_t bits;
  std::memcpy(&bits, source, sizeof(bits));
  return FromHalf(bits);
}

inline unsigned ByteAt(const std::byte* source, size_t index) { return std::to_integer<unsigned>(source[index]); }

// Q8_0: a scale (binary16), 32 weights of a signed byte.
inline void DecodeQ8_0(const std::byte* block, CodeGroup* groups) {
  for (size_t g = 0; g < 2; ++g) {
    groups[g].scale = HalfAt(block);
    groups[g].offset = 0.0f;
    std::memcpy(groups[g].codes, block + 2 + g * kCodeGroup, kCodeGroup);
  }
}

// Q4_0: a scale (binary16), 32 weights of 4 bits, which count from -8. Low halves of the bytes come first.
inline void DecodeQ4_0(const std::byte* block, CodeGroup* groups) {
  for (size_t g = 0; g < 2; ++g) {
    groups[g].scale = HalfAt(block);
    groups[g].offset = 0.0f;
    for (size_t i = 0; i < kCodeGroup; ++i) {
      groups[g].codes[i] = static_cast<int8_t>((ByteAt(block + 2, i) >> (4 * g) & 15) - 8);
    }
  }
}

// Q2_K: 16 bytes with the scale (low half) and the minimum (high half) of 16 weights each; 256 weights of 2 bits; the
// scale of the scales and that of the minima (binary16). Each 128 weights share 32 bytes, 32 of them at each bit pair.
inline void DecodeQ2K(const std::byte* block, CodeGroup* groups) {
  const float scale = HalfAt(block + 80), minimum = HalfAt(block + 82);
  for (size_t g = 0; g < 16; ++g) {
    const unsigned both = ByteAt(block, g);
    groups[g].scale = scale * static_cast<float>(both & 15);
    groups[g].offset = -(minimum * static_cast<float>(both >> 4));
    const std::byte* const source = block + 16 + g / 8 * 32 + g % 2 * kCodeGroup;
    const size_t shift = g % 8 / 2 * 2;
    for (size_t i = 0; i < kCodeGroup; ++i) groups[g].codes[i] = static_cast<int8_t>(ByteAt(source, i) >> shift & 3);
  }
}

// Returns the scale (first) or minimum of 32 weights, `part` of eight, from the 12 bytes in which Q4_K and Q5_K keep
// them: 6 bits each, those of the last four with their upper two bits above those of the first four.
inline unsigned SixBits(const std::byte* source, size_t part, bool is_minimum) {
  const size_t at = part % 4 + (is_minimum ? 4 : 0);
  if (part < 4) return ByteAt(source, at) & 63;
  const unsigned low = ByteAt(source, part % 4 + 8) >> (is_minimum ? 4 : 0) & 15;
  return low | ByteAt(source, at) >> 6 << 4;
}

// Fills in the scales and offsets of a block of Q4_K or Q5_K.
inline void DecodeSixBitScales(const std::byte* block, CodeGroup* groups) {
  const float scale = HalfAt(block), minimum = HalfAt(block + 2);
  for (size_t g = 0; g < 16; ++g) {
    groups[g].scale = scale * static_cast<float>(SixBits(block + 4, g / 2, false));
    groups[g].offset = -(minimum * static_cast<float>(SixBits(block + 4, g / 2, true)));
  }
}

// Q4_K: scales; 256 weights of 4 bits, each 64 of them in 32 bytes, low halves first.
inline void DecodeQ4K(const std::byte* block, CodeGroup* groups) {
  DecodeSixBitScales(block, groups);
  for (size_t g = 0; g < 16; ++g) {
    const std::byte* const source = block + 16 + g / 4 * 32 + g % 2 * kCodeGroup;
    const size_t shift = g % 4 / 2 * 4;
    for (size_t i = 0; i < kCodeGroup; ++i) groups[g].codes[i] = static_cast<int8_t>(ByteAt(source, i) >> shift & 15);
  }
}

// Q5_K: scales; 32 bytes with the fifth bits, those of 32 weights at each bit; the rest as in Q4_K.
inline void DecodeQ5K(const std::byte* block, CodeGroup* groups) {
  DecodeSixBitScales(block, groups);
  for (size_t g = 0; g < 16; ++g) {
    const std::byte* const high = block + 16 + g % 2 * kCodeGroup;
    const std::byte* const low = block + 48 + g / 4 * 32 + g % 2 * kCodeGroup;
    const size_t shift = g % 4 / 2 * 4;
    for (size_t i = 0; i < kCodeGroup; ++i) {
      const unsigned fifth = ByteAt(high, i) >> (g / 2) & 1;
      groups[g].codes[i] = static_cast<int8_t>((ByteAt(low, i) >> shift & 15) | fifth << 4);
    }
  }
}

// Q6_K: 128 bytes with the low 4 bits, 64 with the high 2 bits, 16 scales of a signed byte, their scale (binary16).
// Weights count from -32. Of each 128, the low bits lie in 64 bytes, those of the first 64 in the low halves, and the
// high bits in 32 bytes, those of 32 weights at each bit pair.
inline void DecodeQ6K(const std::byte* block, CodeGroup* groups) {
  const float scale = HalfAt(block + 208);
  for (size_t g = 0; g < 16; ++g) {
    const size_t quarter = g % 8 / 2, side = g % 2 * kCodeGroup;
    const std::byte* const low = block + g / 8 * 64 + quarter % 2 * 32 + side;
    const std::byte* const high = block + 128 + g / 8 * 32 + side;
    groups[g].scale = scale * static_cast<float>(std::to_integer<int8_t>(block[192 + g]));
    groups[g].offset = 0.0f;
    for (size_t i = 0; i < kCodeGroup; ++i) {
      const unsigned code = (ByteAt(low, i) >> (quarter / 2 * 4) & 15) | (ByteAt(high, i) >> (quarter * 2) & 3) << 4;
      groups[g].codes[i] = static_cast<int8_t>(static_cast<int>(code) - 32);
    }
  }
}

}  // namespace internal

// Returns how a type of kGgufTypes is decoded, by its name, or null for a type that is no such one.
inline const GroupFormat* FindGroupFormat(std::string_view type) {
  struct Entry {
    std::string_view name;
    GroupFormat format;
  };
  static constexpr Entry kFormats[] = {{"Q8_0", {DType::kQ8_0, 32, 34, internal::DecodeQ8_0}},
                                       {"Q4_0", {DType::kQ4_0, 32, 18, internal::DecodeQ4_0}},
                                       {"Q2_K", {DType::kQ8A, 256, 84, internal::DecodeQ2K}},
                                       {"Q4_K", {DType::kQ8A, 256, 144, internal::DecodeQ4K}},
                                       {"Q5_K", {DType::kQ8A, 256, 176, internal::DecodeQ5K}},
                                       {"Q6_K", {DType::kQ8A, 256, 210, internal::DecodeQ6K}},
                                       {"IQ2_XXS", {DType::kQ8A, 256, 66, internal::DecodeIq2Xxs}}};
  for (const Entry& entry : kFormats) {
    if (entry.name == type) return &entry.format;
  }
  return nullptr;
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_TYPES_GGUF_BLOCKS_H_
