// SPDX-License-Identifier: Apache-2.0
//
// The group-quantised types of packed matrices: one struct each, which holds some neighbouring terms of 16 outputs, a
// pack. A panel, 16 outputs, is an array of packs. A matrix is laid out as in base/numbers/packed_layout.h, with four
// neighbouring k of one output in a lane. Each group of codes is stored near its scales, so that weights are read in
// order and each byte once. The padding of N and K has scales and codes of zero.
//
// A type gives its DType (kType), the terms of a pack and of a group (kTerms, kGroup), the groups of a pack (kGroups),
// the bits of a code (kCodeBits), the code that means zero (kZero), and where codes are indices the values (kValues).
// Its arrays: codes, [group][k / 4][output][k % 4] in bytes, or in fewer bits as in CodePlanes; scales and offsets,
// [group][output]; or for two levels scale and minimum, [output], and scales and minima (or both in one byte),
// [group][output]. An array `unused` is padding to whole cache lines.

#ifndef SKALD_BASE_NUMBERS_GROUP_TYPES_H_
#define SKALD_BASE_NUMBERS_GROUP_TYPES_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "skald/base/numbers/float_codes.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"

namespace skald {

/// The fewest terms of a pack; activations are padded to a multiple of it. It is large enough for the scales of 16
/// outputs to fill whole cache lines.
inline constexpr size_t kGroupPadding = 64;

/// Codes of kBits bits of kPlaneTerms neighbouring terms of 16 outputs: kRows rows of four terms each, whose bits are
/// stored apart. The low plane has two bits of each code, or four for codes of at least four bits; the first rows have
/// the lowest bits of its bytes. The remaining bits are in the high plane, all rows in one byte, the first one lowest.
/// kHighBits is the bits of a code in the high plane, kLowBits those in the low one, which has kLowRows rows.
template <size_t kPlaneTerms, size_t kBits>
struct CodePlanes {
  static constexpr size_t kTerms = kPlaneTerms, kRows = kTerms / 4, kLowBits = kBits < 4 ? 2 : 4;
  static constexpr size_t kHighBits = kBits - kLowBits, kLowRows = kRows * kLowBits / 8;
  static_assert(kRows * kHighBits <= 8);
  uint8_t low[kLowRows][kLanes][4];
  uint8_t high[1][kLanes][4];
};
/// Codes that fill the low plane have no high one.
template <size_t kPlaneTerms, size_t kBits>
requires(kBits == 2 || kBits == 4)  //
    struct CodePlanes<kPlaneTerms, kBits> {
  static constexpr size_t kTerms = kPlaneTerms, kRows = kTerms / 4, kLowBits = kBits;
  static constexpr size_t kHighBits = 0, kLowRows = kRows * kLowBits / 8;
  uint8_t low[kLowRows][kLanes][4];
};

/// The properties of all types. The code kZeroCode means zero.
template <DType kDType, size_t kPackTerms, size_t kGroupTerms, size_t kBits, int kZeroCode = 0>
struct GroupType {
  static constexpr DType kType = kDType;
  static constexpr size_t kTerms = kPackTerms, kGroup = kGroupTerms, kGroups = kTerms / kGroup, kCodeBits = kBits;
  static constexpr int kZero = kZeroCode;
};

// weight = scale * (code - kZero) + offset. A scale or offset is a float, in binary16 or, in one byte, the exponent of
// a power of two. GGUF has types of the same names, except Q4A, Q8A32 and Q8A, in another order.

/// 8-bit codes, a scale for 32 terms.
struct Q8_0 : GroupType<DType::kQ8_0, 64, 32, 8> {
  uint16_t scales[kGroups][kLanes];
  int8_t codes[kGroups][kGroup / 4][kLanes][4];
};

/// 4-bit codes, a scale for 32 terms.
struct Q4_0 : GroupType<DType::kQ4_0, 64, 32, 4, 8> {
  uint16_t scales[kGroups][kLanes];
  CodePlanes<32, 4> codes[kGroups];
};

/// 4-bit codes, a scale and an offset for 32 terms.
struct Q4_1 : GroupType<DType::kQ4_1, 64, 32, 4> {
  uint16_t scales[kGroups][kLanes], offsets[kGroups][kLanes];
  CodePlanes<32, 4> codes[kGroups];
};

/// 5-bit codes, a scale for 32 terms.
struct Q5_0 : GroupType<DType::kQ5_0, 64, 32, 5, 16> {
  uint16_t scales[kGroups][kLanes];
  CodePlanes<32, 5> codes[kGroups];
};

/// 5-bit codes, a scale and an offset for 32 terms.
struct Q5_1 : GroupType<DType::kQ5_1, 64, 32, 5> {
  uint16_t scales[kGroups][kLanes], offsets[kGroups][kLanes];
  CodePlanes<32, 5> codes[kGroups];
};

/// Q4_1 with floats.
struct Q4A : GroupType<DType::kQ4A, 64, 32, 4> {
  float scales[kGroups][kLanes], offsets[kGroups][kLanes];
  CodePlanes<32, 4> codes[kGroups];
};

/// 8-bit codes, floats for 32 terms: represents all types above exactly.
struct Q8A32 : GroupType<DType::kQ8A32, 64, 32, 8> {
  float scales[kGroups][kLanes], offsets[kGroups][kLanes];
  int8_t codes[kGroups][kGroup / 4][kLanes][4];
};

/// Represents the many block types of GGUF exactly (weights/types/code_group.h).
struct Q8A : GroupType<DType::kQ8A, 64, 16, 8> {
  float scales[kGroups][kLanes], offsets[kGroups][kLanes];
  int8_t codes[kGroups][kGroup / 4][kLanes][4];
};

/// Codes are indices into a fixed list of values: weight = scale * kValues[code]. GGUF's.
struct IQ4_NL : GroupType<DType::kIQ4_NL, 64, 32, 4> {
  static constexpr int8_t kValues[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  uint16_t scales[kGroups][kLanes];
  CodePlanes<32, 4> codes[kGroups];
};

/// The same with the values of four-bit floats (e2m1), doubled, and halved scales: MXFP4 of the OCP Microscaling
/// Formats specification (v1.0), GGUF's type and that of gpt-oss. The scales 2^-127 and 2^-126 times one half are
/// subnormal numbers and count as zero, like all subnormal numbers (R6).
struct MXFP4 : GroupType<DType::kMXFP4, 128, 32, 4> {
  static constexpr int8_t kValues[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  uint8_t scales[kGroups][kLanes];
  CodePlanes<32, 4> codes[kGroups];
};

/// The same values, a scale for 16 terms: NVFP4's, whose scales are products of an eight-bit float and the tensor's
/// factor.
struct NVFP4 : GroupType<DType::kNVFP4, 64, 16, 4> {
  static constexpr auto& kValues = MXFP4::kValues;
  float scales[kGroups][kLanes];
  CodePlanes<16, 4> codes[kGroups];
};

// The types below have scales of scales. For 256 terms each output has a scale, and for some types a minimum, in
// binary16 unless noted. The small numbers of each group multiply them: weight = scale * scales * (code - kZero) -
// minimum * minima. GGUF has types of the same names, except Q6A, IQ1 and IQ2.

/// The number of a group's scale is in the low half of a byte, that of its minimum in the high one.
struct Q2_K : GroupType<DType::kQ2_K, 256, 16, 2> {
  uint16_t scale[kLanes], minimum[kLanes];
  uint8_t both[kGroups][kLanes];
  CodePlanes<16, 2> codes[16];
};

/// 3-bit codes, a number for 16 terms.
struct Q3_K : GroupType<DType::kQ3_K, 256, 16, 3, 4> {
  uint16_t scale[kLanes], unused[kLanes];
  int8_t scales[kGroups][kLanes];
  CodePlanes<32, 3> codes[8];
};

/// 4-bit codes, two numbers for 32 terms.
struct Q4_K : GroupType<DType::kQ4_K, 256, 32, 4> {
  uint16_t scale[kLanes], minimum[kLanes];
  uint8_t scales[kGroups][kLanes], minima[kGroups][kLanes];
  CodePlanes<32, 4> codes[8];
};

/// 5-bit codes, two numbers for 32 terms.
struct Q5_K : GroupType<DType::kQ5_K, 256, 32, 5> {
  uint16_t scale[kLanes], minimum[kLanes];
  uint8_t scales[kGroups][kLanes], minima[kGroups][kLanes];
  CodePlanes<32, 5> codes[8];
};

/// 6-bit codes, a number for 16 terms.
struct Q6_K : GroupType<DType::kQ6_K, 256, 16, 6, 32> {
  uint16_t scale[kLanes], unused[kLanes];
  int8_t scales[kGroups][kLanes];
  CodePlanes<16, 6> codes[16];
};

/// Represents all types with scales of scales but IQ2 and IQ4_XS exactly. For types that are stacked in one matrix.
struct Q6A : GroupType<DType::kQ6A, 256, 16, 6> {
  float scale[kLanes], minimum[kLanes];
  int8_t scales[kGroups][kLanes], minima[kGroups][kLanes];
  CodePlanes<16, 6> codes[16];
};

/// With the list of IQ4_NL.
struct IQ4_XS : GroupType<DType::kIQ4_XS, 256, 32, 4> {
  static constexpr auto& kValues = IQ4_NL::kValues;
  uint16_t scale[kLanes], unused[kLanes];
  int8_t scales[kGroups][kLanes];
  CodePlanes<32, 4> codes[8];
};

/// The numbers of a block's weights in GGUF's types of vectors, whose elements have few magnitudes. Scales of scales
/// are floats: those of the files, divided by a power of two.
template <DType kDType, size_t kGroupTerms, size_t kBits, const int8_t (&kList)[16]>
struct VectorType : GroupType<kDType, 256, kGroupTerms, kBits> {
  static constexpr auto& kValues = kList;
  float scale[kLanes];
  int8_t scales[256 / kGroupTerms][kLanes];
  CodePlanes<32, kBits> codes[8];
};

inline constexpr int8_t kIq1Values[16] = {-9, -7, -1, 1, 7, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9};
inline constexpr int8_t kIq2Values[16] = {-43, -25, -8, 8, 25, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43, 43};
inline constexpr int8_t kIq3XxsValues[16] = {-31, -26, -22, -18, -14, -10, -6, -2, 2, 6, 10, 14, 18, 22, 26, 31};
inline constexpr int8_t kIq3SValues[16] = {-15, -13, -11, -9, -7, -5, -3, -1, 1, 3, 5, 7, 9, 11, 13, 15};

/// IQ1_S and IQ1_M: -1, 0 or 1, an eighth more or less, in eighths.
struct IQ1 : VectorType<DType::kIQ1, 16, 3, kIq1Values> {};
/// IQ2_XXS, IQ2_XS and IQ2_S.
struct IQ2 : VectorType<DType::kIQ2, 16, 3, kIq2Values> {};
struct IQ3_XXS : VectorType<DType::kIQ3_XXS, 32, 4, kIq3XxsValues> {};
struct IQ3_S : VectorType<DType::kIQ3_S, 32, 4, kIq3SValues> {};

static_assert(sizeof(Q8_0) == 1088 && sizeof(Q4_0) == 576 && sizeof(Q4_1) == 640 && sizeof(Q5_0) == 704);
static_assert(sizeof(Q5_1) == 768 && sizeof(Q8A) == 1536 && sizeof(IQ4_NL) == 576 && sizeof(MXFP4) == 1088);
static_assert(sizeof(Q4A) == 768 && sizeof(Q8A32) == 1280 && sizeof(NVFP4) == 768 && sizeof(IQ1) == 1856 &&
              sizeof(IQ2) == 1856);
static_assert(sizeof(IQ3_XXS) == 2240 && sizeof(IQ3_S) == 2240);
static_assert(sizeof(Q2_K) == 1344 && sizeof(Q3_K) == 1856 && sizeof(Q4_K) == 2368 && sizeof(Q5_K) == 2880);
static_assert(sizeof(Q6_K) == 3392 && sizeof(Q6A) == 3712 && sizeof(IQ4_XS) == 2240);

template <class T>
inline constexpr bool kIsGrouped = IsGrouped(kDTypeOf<T>);

/// The types that the matrices of a model may have in memory. A program compiles its code for matrices, kernels above
/// all, for each of them.
template <class... Ts>
struct WeightTypeList {};

using FloatWeights = WeightTypeList<float, bf16>;
using AllWeights = WeightTypeList<float, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4A, Q8A32, Q8A, IQ4_NL, MXFP4, NVFP4, Q2_K,
                                  Q3_K, Q4_K, Q5_K, Q6_K, Q6A, IQ1, IQ2, IQ3_XXS, IQ3_S, IQ4_XS, F8, NF4, FP4, bf16>;

/// Whether matrices of T are arrays of packs, not of elements.
template <class T>
concept Packs = kIsGrouped<T> || FloatCoded<T>;

/// Whether T has scales of scales.
template <class T>
concept NestedScales = requires(const T& pack) {
  pack.scale;
};

/// Whether an offset or a minimum is added to T's products or subtracted.
template <class T>
concept HasOffsets = requires(const T& pack) {
  pack.offsets;
}
|| requires(const T& pack) { pack.minimum; };

/// Whether T's codes are indices into a list of values.
template <class T>
concept ListsValues = requires {
  T::kValues;
};

/// The largest of T's codes less the code for zero; for types without a list.
template <class T>
inline constexpr int kLargestCode = (1 << T::kCodeBits) - 1 - T::kZero;

/// Returns a stored scale as a number.
inline float ScaleOf(uint16_t half) { return FromHalf(half); }
inline float ScaleOf(float scale) { return scale; }
float ScaleOf(uint8_t exponent);

/// Returns the code of term i of one output.
template <size_t kTerms, size_t kBits>
unsigned CodeAt(const CodePlanes<kTerms, kBits>& planes, size_t lane, size_t i) {
  using Planes = CodePlanes<kTerms, kBits>;
  const size_t row = i / 4, shift = row / Planes::kLowRows * Planes::kLowBits;
  unsigned code = unsigned{planes.low[row % Planes::kLowRows][lane][i % 4]} >> shift & ((1u << Planes::kLowBits) - 1);
  if constexpr (Planes::kHighBits > 0) {
    const unsigned high = unsigned{planes.high[0][lane][i % 4]} >> row * Planes::kHighBits;
    code |= (high & ((1u << Planes::kHighBits) - 1)) << Planes::kLowBits;
  }
  return code;
}

/// Writes the codes of all terms of one output, four at a time: those of a row are the bytes of a word.
template <size_t kTerms, size_t kBits>
void SetCodes(const uint8_t* codes, size_t lane, CodePlanes<kTerms, kBits>& planes) {
  using Planes = CodePlanes<kTerms, kBits>;
  constexpr uint32_t kEachByte = 0x01010101, kLowMask = ((1u << Planes::kLowBits) - 1) * kEachByte;
  uint32_t low[Planes::kLowRows] = {}, high = 0;
  for (size_t row = 0; row < Planes::kRows; ++row) {
    uint32_t word;
    std::memcpy(&word, codes + row * 4, sizeof(word));
    low[row % Planes::kLowRows] |= (word & kLowMask) << row / Planes::kLowRows * Planes::kLowBits;
    if constexpr (Planes::kHighBits > 0) {
      constexpr uint32_t kHighMask = ((1u << Planes::kHighBits) - 1) * kEachByte;
      high |= (word >> Planes::kLowBits & kHighMask) << row * Planes::kHighBits;
    }
  }
  for (size_t row = 0; row < Planes::kLowRows; ++row) std::memcpy(planes.low[row][lane], &low[row], sizeof(low[row]));
  if constexpr (Planes::kHighBits > 0) std::memcpy(planes.high[0][lane], &high, sizeof(high));
}

/// The number of terms that T's codes are grouped by.
template <class T>
inline constexpr size_t kPlaneTerms = std::remove_reference_t<decltype(T{}.codes[0])>::kTerms;

/// Returns the value of the code at term k of one output of a pack.
template <class T>
int ValueAt(const T& pack, size_t lane, size_t k) {
  if constexpr (T::kCodeBits == 8) {
    return pack.codes[k / T::kGroup][k % T::kGroup / 4][lane][k % 4];
  } else {
    const unsigned code = CodeAt(pack.codes[k / kPlaneTerms<T>], lane, k % kPlaneTerms<T>);
    if constexpr (ListsValues<T>)
      return T::kValues[code];
    else
      return static_cast<int>(code) - T::kZero;
  }
}

/// Returns the numbers of a group, of one output.
template <NestedScales T>
int ScaleNumberAt(const T& pack, size_t group, size_t lane) {
  return pack.scales[group][lane];
}
template <NestedScales T>
int MinimumNumberAt(const T& pack, size_t group, size_t lane) {
  return pack.minima[group][lane];
}
inline int ScaleNumberAt(const Q2_K& pack, size_t group, size_t lane) { return pack.both[group][lane] & 15; }
inline int MinimumNumberAt(const Q2_K& pack, size_t group, size_t lane) { return pack.both[group][lane] >> 4; }

/// The weight at term k of one output of a pack. Products of a scale and a group's number are exact.
template <class T>
requires kIsGrouped<T>
float WeightAt(const T& pack, size_t lane, size_t k) {
  const auto value = static_cast<float>(ValueAt(pack, lane, k));
  const size_t group = k / T::kGroup;
  float scale, offset = 0.0f;
  if constexpr (NestedScales<T>) {
    scale = ScaleOf(pack.scale[lane]) * static_cast<float>(ScaleNumberAt(pack, group, lane));
    if constexpr (HasOffsets<T>) {
      offset = -(ScaleOf(pack.minimum[lane]) * static_cast<float>(MinimumNumberAt(pack, group, lane)));
    }
  } else {
    scale = ScaleOf(pack.scales[group][lane]);
    if constexpr (HasOffsets<T>) offset = ScaleOf(pack.offsets[group][lane]);
  }
  return HasOffsets<T> ? std::fma(scale, value, offset) : scale * value;
}

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/numbers/detail/group_types.h"
#endif

#endif  // SKALD_BASE_NUMBERS_GROUP_TYPES_H_
