// SPDX-License-Identifier: Apache-2.0
//
// Decodes blocks of the quantised types of GGUF files to CodeGroups or CodeBlocks, exactly. The layouts are those of
// ggml-common.h and ggml-quants.c (https://github.com/ggml-org/ggml). Pure functions of a block's bytes, of any
// alignment.

#ifndef SKALD_WEIGHTS_TYPES_GGUF_BLOCKS_H_
#define SKALD_WEIGHTS_TYPES_GGUF_BLOCKS_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "skald/base/numbers/float_codes.h"
#include "skald/base/numbers/group_types.h"
#include "skald/base/numbers/numeric.h"
#include "skald/weights/types/block_bytes.h"
#include "skald/weights/types/code_group.h"
#include "skald/weights/types/iq_blocks.h"

namespace skald {
namespace internal {

/// Q8_0: a scale (binary16), 32 weights of a signed byte.
inline void DecodeQ8_0(const std::byte* block, CodeGroup* groups) {
  for (size_t g = 0; g < 2; ++g) {
    groups[g].scale = HalfAt(block);
    groups[g].offset = 0.0f;
    std::memcpy(groups[g].codes, block + 2 + g * kCodeGroup, kCodeGroup);
  }
}

/// Fills in 32 codes of 4 bits in 16 bytes, low halves first, with their fifth bits in `fifth`, the lowest for the
/// first.
inline void DecodeNibbles(const std::byte* nibbles, uint32_t fifth, int zero, CodeGroup* groups) {
  for (size_t g = 0; g < 2; ++g) {
    uint8_t codes[kCodeGroup] = {};
    AddBits<kCodeGroup>(nibbles, static_cast<unsigned>(4 * g), 15, 0, codes);
    for (size_t i = 0; i < kCodeGroup; ++i) {
      const unsigned code = codes[i] | (fifth >> (g * kCodeGroup + i) & 1) << 4;
      groups[g].codes[i] = static_cast<int8_t>(static_cast<int>(code) - zero);
    }
  }
}

/// Q4_0: a scale (binary16), 32 weights of 4 bits, which count from -8.
inline void DecodeQ4_0(const std::byte* block, CodeGroup* groups) {
  for (size_t g = 0; g < 2; ++g) groups[g].scale = HalfAt(block), groups[g].offset = 0.0f;
  DecodeNibbles(block + 2, 0, 8, groups);
}

/// The remaining first types begin with a scale (binary16); those whose names end in 1 have an offset after it. Q4_1:
/// 32 weights of 4 bits. Q5_0 and Q5_1: four bytes with the fifth bits, 32 weights; those of Q5_0 count from -16.
inline void DecodeQ4_1(const std::byte* block, CodeGroup* groups) {
  for (size_t g = 0; g < 2; ++g) groups[g].scale = HalfAt(block), groups[g].offset = HalfAt(block + 2);
  DecodeNibbles(block + 4, 0, 0, groups);
}
inline void DecodeQ5_0(const std::byte* block, CodeGroup* groups) {
  for (size_t g = 0; g < 2; ++g) groups[g].scale = HalfAt(block), groups[g].offset = 0.0f;
  DecodeNibbles(block + 6, WordAt(block + 2), 16, groups);
}
inline void DecodeQ5_1(const std::byte* block, CodeGroup* groups) {
  for (size_t g = 0; g < 2; ++g) groups[g].scale = HalfAt(block), groups[g].offset = HalfAt(block + 2);
  DecodeNibbles(block + 8, WordAt(block + 4), 0, groups);
}

/// 32 numbers of T's values, in 16 bytes, those in low halves first.
template <class T>
void DecodeListed(const std::byte* nibbles, float scale, CodeGroup* groups) {
  for (size_t g = 0; g < 2; ++g) {
    groups[g].scale = scale, groups[g].offset = 0.0f;
    for (size_t i = 0; i < kCodeGroup; ++i) groups[g].codes[i] = T::kValues[ByteAt(nibbles, i) >> (4 * g) & 15];
  }
}

/// IQ4_NL: a scale (binary16), numbers. MXFP4: a byte e, numbers; the scale of the doubled values is 2^(e - 128).
inline void DecodeIq4Nl(const std::byte* block, CodeGroup* groups) {
  DecodeListed<IQ4_NL>(block + 2, HalfAt(block), groups);
}
inline void DecodeMxfp4(const std::byte* block, CodeGroup* groups) {
  DecodeListed<MXFP4>(block + 1, std::ldexp(1.0f, static_cast<int>(ByteAt(block, 0)) - 128), groups);
}

/// NVFP4: four scales (E4M3 without a sign, 127 is zero), then 16 numbers of MXFP4's values for each, 8 in low halves
/// first.
inline void DecodeNvfp4(const std::byte* block, CodeGroup* groups) {
  for (size_t g = 0; g < 4; ++g) {
    const unsigned scale = ByteAt(block, g) & 127;
    groups[g].scale = scale == 127 ? 0.0f : 0.5f * FromE4M3(scale), groups[g].offset = 0.0f;
    for (size_t i = 0; i < kCodeGroup; ++i) {
      groups[g].codes[i] = MXFP4::kValues[ByteAt(block, 4 + 8 * g + i % 8) >> (i / 8 * 4) & 15];
    }
  }
}

/// IQ4_XS: the scale of the scales (binary16); two bytes with the upper two bits of the eight scales, four with the
/// lower four bits; they count from -32. Numbers of values, as in IQ4_NL, 32 at a time.
inline void DecodeIq4Xs(const std::byte* source, CodeBlock& block) {
  constexpr int kZero = 128;
  block.scale = HalfAt(source), block.minimum = 0.0f, block.zero = kZero;
  for (size_t g = 0; g < 16; ++g) {
    const size_t part = g / 2;
    const unsigned low = ByteAt(source + 4, part / 2) >> (part % 2 * 4) & 15;
    const unsigned high = ByteAt(source + 2, part / 4) >> (part % 4 * 2) & 3;
    block.scales[g] = static_cast<int8_t>(static_cast<int>(low | high << 4) - 32), block.minima[g] = 0;
  }
  for (size_t i = 0; i < CodeBlock::kWeights; ++i) {
    const unsigned number = ByteAt(source + 8, i / 32 * 16 + i % 16) >> (i % 32 / 16 * 4) & 15;
    block.codes[i] = static_cast<uint8_t>(IQ4_XS::kValues[number] + kZero);
  }
}

/// Q3_K: 32 bytes with the third bits, those of 32 weights at each bit; 64 bytes with the low two bits, 128 weights in
/// 32 of them, as in Q2_K; 12 bytes with 16 scales; the scale of the scales (binary16). Weights count from -4. Scales
/// count from -32: their low four bits are in the first 8 bytes, low halves first, their upper two bits in the last 4,
/// four scales at each bit pair.
inline void DecodeQ3K(const std::byte* source, CodeBlock& block) {
  block.scale = HalfAt(source + 108), block.minimum = 0.0f, block.zero = 4;
  for (size_t g = 0; g < 16; ++g) {
    const unsigned low = ByteAt(source + 96, g % 8) >> (g / 8 * 4) & 15;
    const unsigned high = ByteAt(source + 104, g % 4) >> (g / 4 * 2) & 3;
    block.scales[g] = static_cast<int8_t>(static_cast<int>(low | high << 4) - 32), block.minima[g] = 0;
  }
  std::memset(block.codes, 0, sizeof(block.codes));
  for (unsigned part = 0; part < 8; ++part) {
    AddBits<32>(source + 32 + part / 4 * 32, part % 4 * 2, 3, 0, block.codes + part * 32);
    AddBits<32>(source, part, 1, 2, block.codes + part * 32);
  }
}

/// Q2_K: 16 bytes with the scale (low half) and the minimum (high half) of 16 weights each; 256 weights of 2 bits; the
/// scale of the scales and that of the minima (binary16). Each 128 weights share 32 bytes, 32 of them at each bit pair.
inline void DecodeQ2K(const std::byte* source, CodeBlock& block) {
  block.scale = HalfAt(source + 80), block.minimum = HalfAt(source + 82), block.zero = 0;
  for (size_t g = 0; g < 16; ++g) {
    block.scales[g] = static_cast<int8_t>(ByteAt(source, g) & 15);
    block.minima[g] = static_cast<uint8_t>(ByteAt(source, g) >> 4);
  }
  std::memset(block.codes, 0, sizeof(block.codes));
  for (unsigned part = 0; part < 8; ++part) {
    AddBits<32>(source + 16 + part / 4 * 32, part % 4 * 2, 3, 0, block.codes + part * 32);
  }
}

/// Returns the scale (first) or minimum of 32 weights, `part` of eight, from the 12 bytes in which Q4_K and Q5_K keep
/// them: 6 bits each, those of the last four with their upper two bits above those of the first four.
inline unsigned SixBits(const std::byte* source, size_t part, bool is_minimum) {
  const size_t at = part % 4 + (is_minimum ? 4 : 0);
  if (part < 4) return ByteAt(source, at) & 63;
  const unsigned low = ByteAt(source, part % 4 + 8) >> (is_minimum ? 4 : 0) & 15;
  return low | ByteAt(source, at) >> 6 << 4;
}

/// Fills in the fields of a block of Q4_K or Q5_K before its codes: the scale of the scales and that of the minima
/// (binary16), and these.
inline void DecodeSixBitScales(const std::byte* source, CodeBlock& block) {
  block.scale = HalfAt(source), block.minimum = HalfAt(source + 2), block.zero = 0;
  for (size_t g = 0; g < 16; ++g) {
    block.scales[g] = static_cast<int8_t>(SixBits(source + 4, g / 2, false));
    block.minima[g] = static_cast<uint8_t>(SixBits(source + 4, g / 2, true));
  }
}

/// Q4_K: scales; 256 weights of 4 bits, each 64 of them in 32 bytes, low halves first.
inline void DecodeQ4K(const std::byte* source, CodeBlock& block) {
  DecodeSixBitScales(source, block);
  std::memset(block.codes, 0, sizeof(block.codes));
  for (unsigned part = 0; part < 8; ++part) {
    AddBits<32>(source + 16 + part / 2 * 32, part % 2 * 4, 15, 0, block.codes + part * 32);
  }
}

/// Q5_K: scales; 32 bytes with the fifth bits, those of 32 weights at each bit; the rest as in Q4_K.
inline void DecodeQ5K(const std::byte* source, CodeBlock& block) {
  DecodeSixBitScales(source, block);
  std::memset(block.codes, 0, sizeof(block.codes));
  for (unsigned part = 0; part < 8; ++part) {
    AddBits<32>(source + 48 + part / 2 * 32, part % 2 * 4, 15, 0, block.codes + part * 32);
    AddBits<32>(source + 16, part, 1, 4, block.codes + part * 32);
  }
}

/// Q6_K: 128 bytes with the low 4 bits, 64 with the high 2 bits, 16 scales of a signed byte, their scale (binary16).
/// Weights count from -32. For each 128 weights, the low bits are in 64 bytes, those of the first 64 weights in the low
/// halves, and the high bits in 32 bytes, those of 32 weights at each bit pair.
inline void DecodeQ6K(const std::byte* source, CodeBlock& block) {
  block.scale = HalfAt(source + 208), block.minimum = 0.0f, block.zero = 32;
  for (size_t g = 0; g < 16; ++g) {
    block.scales[g] = std::to_integer<int8_t>(source[192 + g]);
    block.minima[g] = 0;
  }
  std::memset(block.codes, 0, sizeof(block.codes));
  for (unsigned part = 0; part < 8; ++part) {
    AddBits<32>(source + part / 4 * 64 + part % 2 * 32, part % 4 / 2 * 4, 15, 0, block.codes + part * 32);
    AddBits<32>(source + 128 + part / 4 * 32, part % 4 * 2, 3, 4, block.codes + part * 32);
  }
}

/// Fills in the fields of a block whose codes count from -1 and have one scale.
inline void SetScaleOfTernary(float scale, CodeBlock& block) {
  block.scale = block.minimum = scale, block.zero = 0;
  std::memset(block.scales, 1, sizeof(block.scales));
  std::memset(block.minima, 1, sizeof(block.minima));
}

/// TQ2_0: 256 weights of 2 bits, as in Q2_K; their scale (binary16). They count from -1.
inline void DecodeTq2_0(const std::byte* source, CodeBlock& block) {
  SetScaleOfTernary(HalfAt(source + 64), block);
  std::memset(block.codes, 0, sizeof(block.codes));
  for (unsigned part = 0; part < 8; ++part) {
    AddBits<32>(source + part / 4 * 32, part % 4 * 2, 3, 0, block.codes + part * 32);
  }
}

/// Returns digit `n` to the base 3, the highest first, of a byte that holds five as a fraction of 256.
inline uint8_t Ternary(unsigned byte, size_t n) {
  constexpr unsigned kPowers[] = {1, 3, 9, 27, 81};
  return static_cast<uint8_t>((byte * kPowers[n] & 255) * 3 >> 8);
}

/// TQ1_0: bytes of five weights (Ternary), 32 with those of 160 weights and 16 with those of 80, each 32 or 16 weights
/// at one digit; four bytes with the last 16 weights, four at each of four digits; their scale (binary16). They count
/// from -1.
inline void DecodeTq1_0(const std::byte* source, CodeBlock& block) {
  SetScaleOfTernary(HalfAt(source + 52), block);
  const struct { size_t first, bytes, digits; } parts[] = {{0, 32, 5}, {32, 16, 5}, {48, 4, 4}};
  uint8_t* code = block.codes;
  for (const auto& part : parts) {
    for (size_t n = 0; n < part.digits; ++n) {
      for (size_t i = 0; i < part.bytes; ++i) *code++ = Ternary(ByteAt(source, part.first + i), n);
    }
  }
}

/// Q1_0: a scale (binary16), 128 weights of one bit, -1 or 1. Q2_0: a scale, 64 weights of two bits, which count from
/// -1.
template <size_t kWeights, unsigned kBits, int kZero, int kStep>
void DecodeFewBits(const std::byte* block, CodeGroup* groups) {
  for (size_t i = 0; i < kWeights; ++i) {
    CodeGroup& group = groups[i / kCodeGroup];
    group.scale = HalfAt(block), group.offset = 0.0f;
    const size_t bit = i * kBits;
    const unsigned code = ByteAt(block + 2, bit / 8) >> (bit % 8) & ((1u << kBits) - 1);
    group.codes[i % kCodeGroup] = static_cast<int8_t>(static_cast<int>(code) * kStep - kZero);
  }
}

template <void (*kDecode)(const std::byte*, CodeBlock&)>
void DecodeAsGroups(const std::byte* source, CodeGroup* groups) {
  CodeBlock block;
  kDecode(source, block);
  WriteGroups(block, groups);
}

template <void (*kDecode)(const std::byte*, CodeBlock&)>
constexpr GroupFormat NestedFormat(DType packed, size_t block_bytes) {
  return {packed, CodeBlock::kWeights, block_bytes, DecodeAsGroups<kDecode>, kDecode};
}

}  // namespace internal

/// Returns how a type of kGgufTypes is decoded, by its name, or null if it has no groups.
inline const GroupFormat* FindGroupFormat(std::string_view type) {
  struct Entry {
    std::string_view name;
    GroupFormat format;
  };
  using namespace internal;
  static constexpr Entry kFormats[] = {{"Q8_0", {DType::kQ8_0, 32, 34, DecodeQ8_0}},
                                       {"Q4_0", {DType::kQ4_0, 32, 18, DecodeQ4_0}},
                                       {"Q4_1", {DType::kQ4_1, 32, 20, DecodeQ4_1}},
                                       {"Q5_0", {DType::kQ5_0, 32, 22, DecodeQ5_0}},
                                       {"Q5_1", {DType::kQ5_1, 32, 24, DecodeQ5_1}},
                                       {"IQ4_NL", {DType::kIQ4_NL, 32, 18, DecodeIq4Nl}},
                                       {"MXFP4", {DType::kMXFP4, 32, 17, DecodeMxfp4}},
                                       {"NVFP4", {DType::kNVFP4, 64, 36, DecodeNvfp4}},
                                       {"Q2_K", NestedFormat<DecodeQ2K>(DType::kQ2_K, 84)},
                                       {"Q3_K", NestedFormat<DecodeQ3K>(DType::kQ3_K, 110)},
                                       {"Q4_K", NestedFormat<DecodeQ4K>(DType::kQ4_K, 144)},
                                       {"Q5_K", NestedFormat<DecodeQ5K>(DType::kQ5_K, 176)},
                                       {"Q6_K", NestedFormat<DecodeQ6K>(DType::kQ6_K, 210)},
                                       {"IQ4_XS", NestedFormat<DecodeIq4Xs>(DType::kIQ4_XS, 136)},
                                       {"IQ3_S", NestedFormat<DecodeIq3S>(DType::kIQ3_S, 110)},
                                       {"IQ3_XXS", NestedFormat<DecodeIq3Xxs>(DType::kIQ3_XXS, 98)},
                                       {"IQ2_S", NestedFormat<DecodeIq2S>(DType::kIQ2, 82)},
                                       {"IQ2_XS", NestedFormat<DecodeIq2Xs>(DType::kIQ2, 74)},
                                       {"IQ2_XXS", NestedFormat<DecodeIq2Xxs>(DType::kIQ2, 66)},
                                       {"IQ1_M", NestedFormat<DecodeIq1M>(DType::kIQ1, 56)},
                                       {"IQ1_S", NestedFormat<DecodeIq1S>(DType::kIQ1, 50)},
                                       {"TQ1_0", NestedFormat<DecodeTq1_0>(DType::kQ2_K, 54)},
                                       {"TQ2_0", NestedFormat<DecodeTq2_0>(DType::kQ2_K, 66)},
                                       {"Q1_0", {DType::kQ4_0, 128, 18, DecodeFewBits<128, 1, 1, 2>}},
                                       {"Q2_0", {DType::kQ4_0, 64, 18, DecodeFewBits<64, 2, 1, 1>}}};
  for (const Entry& entry : kFormats) {
    if (entry.name == type) return &entry.format;
  }
  return nullptr;
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_TYPES_GGUF_BLOCKS_H_
