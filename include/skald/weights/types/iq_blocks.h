// SPDX-License-Identifier: Apache-2.0
//
// Decodes blocks of the IQ types of GGUF files: 256 weights, as entries of a fixed list of vectors and signs for their
// elements. gguf_blocks.h decodes the other types.

#ifndef SKALD_WEIGHTS_TYPES_IQ_BLOCKS_H_
#define SKALD_WEIGHTS_TYPES_IQ_BLOCKS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "skald/weights/types/block_bytes.h"
#include "skald/weights/types/code_group.h"
#include "skald/weights/types/iq_vectors.h"

namespace skald::internal {

/// Vectors of kElements elements of kBits bits, and the values of the bits.
template <size_t kElements, size_t kBits>
struct VectorForm {
  int8_t magnitudes[1 << kBits];

  /// Returns element i of a vector, negative if bit i of `signs` is set.
  constexpr int At(uint16_t vector, unsigned signs, size_t i) const {
    const int magnitude = magnitudes[vector >> (kBits * i) & ((1u << kBits) - 1)];
    return (signs >> i & 1) != 0 ? -magnitude : magnitude;
  }
};
inline constexpr VectorForm<8, 2> kIq2Form = {{8, 25, 43}};
inline constexpr VectorForm<4, 3> kIq3XxsForm = {{2, 6, 10, 14, 18, 22, 26, 31}};
inline constexpr VectorForm<4, 3> kIq3SForm = {{1, 3, 5, 7, 9, 11, 13, 15}};
inline constexpr VectorForm<8, 2> kIq1Form = {{-8, 0, 8}};

/// Returns seven signs with an eighth such that an even number of them are set.
constexpr unsigned EvenSigns(unsigned signs) { return signs | (std::popcount(signs) % 2 == 0 ? 0u : 1u << 7); }

/// Fills in the fields of a block of IQ2 that all vectors share.
inline void BeginIq2(const std::byte* source, CodeBlock& block) {
  block.scale = HalfAt(source) * 0.125f, block.minimum = 0.0f, block.zero = 64;
  std::memset(block.minima, 0, sizeof(block.minima));
}

/// Writes vector `v` of IQ2's, of 32: 8 weights of the scale d (2 s + 1) / 8.
inline void WriteIq2Vector(size_t v, unsigned s, uint16_t vector, unsigned signs, CodeBlock& block) {
  block.scales[v / 2] = static_cast<int8_t>(2 * s + 1);
  for (size_t i = 0; i < 8; ++i) {
    block.codes[v * 8 + i] = static_cast<uint8_t>(kIq2Form.At(vector, signs, i) + block.zero);
  }
}

/// IQ2_XXS: d (binary16); for each 32 weights the numbers of four vectors, then four times seven signs, from the lowest
/// bit on, and a 4-bit s.
inline void DecodeIq2Xxs(const std::byte* source, CodeBlock& block) {
  BeginIq2(source, block);
  for (size_t v = 0; v < 32; ++v) {
    const std::byte* const part = source + 2 + v / 4 * 8;
    const uint32_t signs_and_s = WordAt(part + 4);
    const unsigned signs = EvenSigns(signs_and_s >> (7 * (v % 4)) & 127);
    WriteIq2Vector(v, signs_and_s >> 28, kIq2XxsVectors[ByteAt(part, v % 4)], signs, block);
  }
}

/// The four bits s of 16 weights.
inline unsigned NibbleAt(const std::byte* source, size_t index) {
  return ByteAt(source, index / 2) >> (index % 2 * 4) & 15;
}

/// IQ2_XS: d; 16 bits for each vector, nine with its number and seven signs; s for each 16 weights.
inline void DecodeIq2Xs(const std::byte* source, CodeBlock& block) {
  BeginIq2(source, block);
  for (size_t v = 0; v < 32; ++v) {
    const unsigned both = HalfBitsAt(source + 2 + 2 * v);
    WriteIq2Vector(v, NibbleAt(source + 66, v / 2), kIq2XsVectors[both & 511], EvenSigns(both >> 9), block);
  }
}

/// IQ2_S: d; the low eight bits of the vectors' numbers; a byte of signs for each; the upper two bits of the numbers; s
/// for each 16 weights.
inline void DecodeIq2S(const std::byte* source, CodeBlock& block) {
  BeginIq2(source, block);
  for (size_t v = 0; v < 32; ++v) {
    const unsigned upper = ByteAt(source + 66, v / 4) >> (v % 4 * 2) & 3;
    const uint16_t vector = kIq2SVectors[ByteAt(source + 2, v) | upper << 8];
    WriteIq2Vector(v, NibbleAt(source + 74, v / 2), vector, ByteAt(source + 34, v), block);
  }
}

/// The code for zero in the blocks below.
inline constexpr uint8_t kIqZero = 32;

/// Fills in 256 signed codes: those of four at a time by `vector(q)`, with the signs of eight by `signs(q / 2)`.
template <class Form, class Vector, class Signs>
void WriteIq3Codes(const Form& form, Vector vector, Signs signs, CodeBlock& block) {
  for (size_t q = 0; q < 64; ++q) {
    for (size_t i = 0; i < 4; ++i) {
      const int code = form.At(vector(q), signs(q / 2) >> (q % 2 * 4), i);
      block.codes[q * 4 + i] = static_cast<uint8_t>(code + kIqZero);
    }
  }
}

/// IQ3_XXS: d; the numbers of 64 vectors; for each 32 weights four times seven signs and a 4-bit s, as in IQ2_XXS. The
/// scale of the magnitudes here is d (2 s + 1) / 2.
inline void DecodeIq3Xxs(const std::byte* source, CodeBlock& block) {
  block.scale = HalfAt(source) * 0.5f, block.minimum = 0.0f, block.zero = kIqZero;
  for (size_t g = 0; g < 16; ++g) {
    block.scales[g] = static_cast<int8_t>(2 * (WordAt(source + 66 + g / 2 * 4) >> 28) + 1), block.minima[g] = 0;
  }
  WriteIq3Codes(
      kIq3XxsForm, [&](size_t q) { return kIq3XxsVectors[ByteAt(source + 2, q)]; },
      [&](size_t v) { return EvenSigns(WordAt(source + 66 + v / 4 * 4) >> (7 * (v % 4)) & 127); }, block);
}

/// IQ3_S: d; the low eight bits of the numbers of 64 vectors; their ninth bits; a byte of signs for each eight weights;
/// s for each 32. Their scale is d (2 s + 1).
inline void DecodeIq3S(const std::byte* source, CodeBlock& block) {
  block.scale = HalfAt(source), block.minimum = 0.0f, block.zero = kIqZero;
  for (size_t g = 0; g < 16; ++g) {
    block.scales[g] = static_cast<int8_t>(2 * NibbleAt(source + 106, g / 2) + 1), block.minima[g] = 0;
  }
  const auto vector = [&](size_t q) {
    const unsigned ninth = ByteAt(source + 66, q / 8) >> (q % 8) & 1;
    return kIq3SVectors[ByteAt(source + 2, q) | ninth << 8];
  };
  WriteIq3Codes(
      kIq3SForm, vector, [&](size_t v) { return ByteAt(source + 74, v); }, block);
}

/// Writes vector `v` of IQ1's, of 32: -1, 0 or 1, and an eighth more or less, all in eighths.
inline void WriteIq1Vector(size_t v, unsigned number, bool is_less, CodeBlock& block) {
  for (size_t i = 0; i < 8; ++i) {
    const int code = kIq1Form.At(kIq1Vectors[number], 0, i) + (is_less ? -1 : 1);
    block.codes[v * 8 + i] = static_cast<uint8_t>(code + kIqZero);
  }
}

/// IQ1_S: d; the low eight bits of the numbers of 32 vectors; for each 32 weights 16 bits: four times the upper three
/// bits of a number, three bits s, and whether an eighth is taken away. The scale is d (2 s + 1).
inline void DecodeIq1S(const std::byte* source, CodeBlock& block) {
  block.scale = HalfAt(source) * 0.125f, block.minimum = 0.0f, block.zero = kIqZero;
  for (size_t v = 0; v < 32; ++v) {
    const unsigned part = HalfBitsAt(source + 34 + v / 4 * 2);
    block.scales[v / 2] = static_cast<int8_t>(2 * (part >> 12 & 7) + 1), block.minima[v / 2] = 0;
    WriteIq1Vector(v, ByteAt(source + 2, v) | (part >> (v % 4 * 3) & 7) << 8, (part >> 15) != 0, block);
  }
}

/// IQ1_M: the low eight bits of the numbers of 32 vectors; four bits for each: the upper three bits, and whether an
/// eighth is taken away; four times 16 bits: three bits s for each 16 weights, and four bits of d, the lowest first.
inline void DecodeIq1M(const std::byte* source, CodeBlock& block) {
  uint16_t d = 0;
  for (size_t i = 0; i < 4; ++i) d = static_cast<uint16_t>(d | HalfBitsAt(source + 48 + 2 * i) >> 12 << (4 * i));
  block.scale = FromHalf(d) * 0.125f, block.minimum = 0.0f, block.zero = kIqZero;
  for (size_t v = 0; v < 32; ++v) {
    const size_t g = v / 2;
    const unsigned s = HalfBitsAt(source + 48 + g / 4 * 2) >> (g % 4 * 3) & 7, upper = NibbleAt(source + 32, v);
    block.scales[g] = static_cast<int8_t>(2 * s + 1), block.minima[g] = 0;
    WriteIq1Vector(v, ByteAt(source, v) | (upper & 7) << 8, upper >= 8, block);
  }
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_TYPES_IQ_BLOCKS_H_
