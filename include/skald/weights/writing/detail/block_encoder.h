// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/writing/block_encoder.h. Each layout is described where it is decoded
// (types/gguf_blocks.h).

#ifndef SKALD_WEIGHTS_WRITING_DETAIL_BLOCK_ENCODER_H_
#define SKALD_WEIGHTS_WRITING_DETAIL_BLOCK_ENCODER_H_

#include "skald/weights/writing/block_encoder.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "skald/base/inline.h"
#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/group_types.h"
#include "skald/base/numbers/numeric.h"
#include "skald/weights/packing/detail/pack_groups.h"
#include "skald/weights/packing/detail/quantize_blocks.h"
#include "skald/weights/types/code_group.h"

namespace skald {

namespace internal {

inline void PutHalf(float value, std::byte* to) {
  const uint16_t half = ToHalf(value);
  std::memcpy(to, &half, sizeof(half));
}

inline void PutByte(unsigned value, std::byte& to) { to = static_cast<std::byte>(value); }

/// Adds `bits` low bits of each of kCount codes to as many bytes, at bit `shift`: the inverse of AddBits.
template <size_t kCount>
void PutBits(const uint8_t* codes, unsigned from_bit, unsigned mask, unsigned shift, std::byte* to) {
  for (size_t i = 0; i < kCount; ++i) to[i] |= static_cast<std::byte>((codes[i] >> from_bit & mask) << shift);
}

/// Codes of 4 bits of a group of 32, low halves first; returns the fifth bits.
inline uint32_t PutNibbles(const uint8_t* codes, std::byte* to) {
  uint32_t fifth = 0;
  for (size_t i = 0; i < 16; ++i) PutByte((codes[i] & 15u) | (codes[i + 16] & 15u) << 4, to[i]);
  for (size_t i = 0; i < 32; ++i) fifth |= uint32_t{codes[i]} >> 4 << i;
  return fifth;
}

/// A group of T, of 32 weights: its scale, offset, fifth bits, and codes, as far as T has them.
template <class T>
void EncodeOne(const WeightGroup<T>& group, std::byte* to) {
  uint8_t codes[T::kGroup];
  for (size_t i = 0; i < T::kGroup; ++i) codes[i] = static_cast<uint8_t>(CodeOf<T>(group.codes[i]));
  if constexpr (kDTypeOf<T> == DType::kMXFP4) {
    uint8_t exponent;
    StoreScale(group.scale, exponent);
    PutByte(exponent, *to++);
  } else {
    PutHalf(group.scale, to), to += 2;
  }
  if constexpr (HasOffsets<T>) PutHalf(group.offset, to), to += 2;
  if constexpr (T::kCodeBits == 8) {
    std::memcpy(to, codes, sizeof(codes));
  } else {
    const uint32_t fifth = PutNibbles(codes, to + (T::kCodeBits == 5 ? 4 : 0));
    if constexpr (T::kCodeBits == 5) std::memcpy(to, &fifth, sizeof(fifth));
  }
}

inline void EncodeBlock(const CodeBlock& block, Q2_K*, std::byte* to) {
  for (size_t g = 0; g < 16; ++g) {
    PutByte(static_cast<unsigned>(block.scales[g]) | static_cast<unsigned>(block.minima[g]) << 4, to[g]);
  }
  for (unsigned part = 0; part < 8; ++part) {
    PutBits<32>(block.codes + part * 32, 0, 3, part % 4 * 2, to + 16 + part / 4 * 32);
  }
  PutHalf(block.scale, to + 80), PutHalf(block.minimum, to + 82);
}

inline void EncodeBlock(const CodeBlock& block, Q3_K*, std::byte* to) {
  for (unsigned part = 0; part < 8; ++part) {
    PutBits<32>(block.codes + part * 32, 2, 1, part, to);
    PutBits<32>(block.codes + part * 32, 0, 3, part % 4 * 2, to + 32 + part / 4 * 32);
  }
  for (size_t g = 0; g < 16; ++g) {
    const auto scale = static_cast<uint8_t>(block.scales[g] + 32);
    to[96 + g % 8] |= static_cast<std::byte>((scale & 15) << (g / 8 * 4));
    to[104 + g % 4] |= static_cast<std::byte>(scale >> 4 << (g / 4 * 2));
  }
  PutHalf(block.scale, to + 108);
}

/// The fields of a block of Q4_K or Q5_K before its codes (SixBits).
inline void EncodeSixBitScales(const CodeBlock& block, std::byte* to) {
  PutHalf(block.scale, to), PutHalf(block.minimum, to + 2);
  std::byte* const numbers = to + 4;
  for (size_t part = 0; part < 8; ++part) {
    const auto scale = static_cast<uint8_t>(block.scales[2 * part]), minimum = block.minima[2 * part];
    if (part < 4) {
      numbers[part] |= static_cast<std::byte>(scale), numbers[part + 4] |= static_cast<std::byte>(minimum);
      continue;
    }
    numbers[part + 4] |= static_cast<std::byte>((scale & 15) | (minimum & 15) << 4);
    numbers[part - 4] |= static_cast<std::byte>(scale >> 4 << 6);
    numbers[part] |= static_cast<std::byte>(minimum >> 4 << 6);
  }
}

inline void EncodeBlock(const CodeBlock& block, Q4_K*, std::byte* to) {
  EncodeSixBitScales(block, to);
  for (unsigned part = 0; part < 8; ++part) {
    PutBits<32>(block.codes + part * 32, 0, 15, part % 2 * 4, to + 16 + part / 2 * 32);
  }
}

inline void EncodeBlock(const CodeBlock& block, Q5_K*, std::byte* to) {
  EncodeSixBitScales(block, to);
  for (unsigned part = 0; part < 8; ++part) {
    PutBits<32>(block.codes + part * 32, 0, 15, part % 2 * 4, to + 48 + part / 2 * 32);
    PutBits<32>(block.codes + part * 32, 4, 1, part, to + 16);
  }
}

inline void EncodeBlock(const CodeBlock& block, Q6_K*, std::byte* to) {
  for (unsigned part = 0; part < 8; ++part) {
    PutBits<32>(block.codes + part * 32, 0, 15, part % 4 / 2 * 4, to + part / 4 * 64 + part % 2 * 32);
    PutBits<32>(block.codes + part * 32, 4, 3, part % 4 * 2, to + 128 + part / 4 * 32);
  }
  for (size_t g = 0; g < 16; ++g) PutByte(static_cast<uint8_t>(block.scales[g]), to[192 + g]);
  PutHalf(block.scale, to + 208);
}

inline void EncodeBlock(const CodeBlock& block, IQ4_XS*, std::byte* to) {
  PutHalf(block.scale, to);
  for (size_t part = 0; part < 8; ++part) {
    const auto scale = static_cast<uint8_t>(block.scales[2 * part] + 32);
    to[4 + part / 2] |= static_cast<std::byte>((scale & 15) << (part % 2 * 4));
    to[2 + part / 4] |= static_cast<std::byte>(scale >> 4 << (part % 4 * 2));
    uint8_t codes[32];
    for (size_t i = 0; i < 32; ++i) {
      codes[i] = static_cast<uint8_t>(CodeOf<IQ4_XS>(block.codes[32 * part + i] - block.zero));
    }
    PutNibbles(codes, to + 8 + 16 * part);
  }
}

/// The weights of errors of a row's values. If types have offsets, larger values count more; without that a model that
/// was quantised was further from the original, with it other types were.
template <class T>
std::vector<float> ErrorWeights(std::span<const float> values, const float* importance) {
  std::vector<float> weights(importance, importance + values.size());
  if constexpr (HasOffsets<T>) {
    double squares = 0.0;
    for (const float value : values) squares += double{value} * double{value};
    const auto mean = static_cast<float>(squares / static_cast<double>(values.size()));
    for (size_t i = 0; i < values.size(); ++i) weights[i] *= std::sqrt(mean + values[i] * values[i]);
  }
  return weights;
}

/// Blocks of one group.
template <class T>
void EncodeGroups(std::span<const float> values, const float* importance, std::byte* blocks) {
  constexpr size_t kBytes = (kDTypeOf<T> == DType::kMXFP4 ? 1 : 2) + (HasOffsets<T> ? 2 : 0) + T::kCodeBits * 4;
  const auto encode = [&](auto quantize) {
    for (size_t i = 0; i < values.size(); i += T::kGroup) EncodeOne(quantize(i), blocks + i / T::kGroup * kBytes);
  };
  if (importance == nullptr) {
    return encode([&](size_t i) { return QuantizeGroup(values.data() + i, WeightGroup<T>{}); });
  }
  const std::vector<float> weights = ErrorWeights<T>(values, importance);
  encode([&](size_t i) { return QuantizeWeighted<T>(values.data() + i, weights.data() + i); });
}

/// Blocks with scales of scales.
template <NestedScales T, size_t kBytes>
void EncodeBlocks(std::span<const float> values, const float* importance, std::byte* blocks) {
  std::memset(blocks, 0, values.size() / CodeBlock::kWeights * kBytes);
  const auto encode = [&](auto quantize) {
    for (size_t i = 0; i < values.size(); i += CodeBlock::kWeights) {
      EncodeBlock(quantize(i), static_cast<T*>(nullptr), blocks + i / CodeBlock::kWeights * kBytes);
    }
  };
  if (importance == nullptr) return encode([&](size_t i) { return QuantizeBlock<T>(values.data() + i); });
  const std::vector<float> weights = ErrorWeights<T>(values, importance);
  encode([&](size_t i) { return QuantizeBlock<T>(values.data() + i, weights.data() + i); });
}

/// Elements that are numbers themselves.
template <class T, T (*kConvert)(float)>
void EncodeNumbers(std::span<const float> values, const float*, std::byte* elements) {
  for (size_t i = 0; i < values.size(); ++i) {
    const T number = kConvert(values[i]);
    std::memcpy(elements + i * sizeof(T), &number, sizeof(T));
  }
}

}  // namespace internal

SKALD_INLINE BlockEncoder FindBlockEncoder(const GgufType& type) {
  using namespace internal;
  struct Entry {
    std::string_view type;
    BlockEncoder encoder;
  };
  static constexpr Entry kEncoders[] = {{"F32", EncodeNumbers<float, FromFloat<float>>},
                                        {"F16", EncodeNumbers<uint16_t, ToHalf>},
                                        {"BF16", EncodeNumbers<bf16, RoundToBF16>},
                                        {"Q8_0", EncodeGroups<Q8_0>},
                                        {"Q4_0", EncodeGroups<Q4_0>},
                                        {"Q4_1", EncodeGroups<Q4_1>},
                                        {"Q5_0", EncodeGroups<Q5_0>},
                                        {"Q5_1", EncodeGroups<Q5_1>},
                                        {"IQ4_NL", EncodeGroups<IQ4_NL>},
                                        {"MXFP4", EncodeGroups<MXFP4>},
                                        {"Q2_K", EncodeBlocks<Q2_K, 84>},
                                        {"Q3_K", EncodeBlocks<Q3_K, 110>},
                                        {"Q4_K", EncodeBlocks<Q4_K, 144>},
                                        {"Q5_K", EncodeBlocks<Q5_K, 176>},
                                        {"Q6_K", EncodeBlocks<Q6_K, 210>},
                                        {"IQ4_XS", EncodeBlocks<IQ4_XS, 136>}};
  for (const Entry& entry : kEncoders) {
    if (entry.type == type.name) return entry.encoder;
  }
  return nullptr;
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_WRITING_DETAIL_BLOCK_ENCODER_H_
