// SPDX-License-Identifier: Apache-2.0
//
// Floats as int8 codes with a scale (arithmetic contract, R2): with m the largest magnitude among those that share the
// scale, scale = m / 127 and code = round(x * (127 / m)), to nearest, ties to even. Magnitudes below 2^-100 count as
// zero, because 127 / m could overflow; an infinity or NaN makes the scale NaN. Also conversions of a cache's codes for
// attention.

#if defined(SKALD_KERNELS_SIMD_INT8_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_SIMD_INT8_INL_TOGGLE
#undef SKALD_KERNELS_SIMD_INT8_INL_TOGGLE
#else
#define SKALD_KERNELS_SIMD_INT8_INL_TOGGLE
#endif

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/simd/bf16-inl.h"
#include "skald/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

using CodeTag = hn::Rebind<int8_t, IntTag>;

// Returns the largest magnitude of `size` floats, a multiple of kLanes, or NaN if one is not finite. Compares bits: as
// integers, NaN is greater than infinity, and that greater than all numbers.
HWY_INLINE float LargestMagnitude(const float* values, size_t size) {
  const IntTag tag;
  IntVec largest = hn::Zero(tag);
  for (size_t i = 0; i < size; i += hn::Lanes(tag)) {
    const IntVec bits = hn::BitCast(tag, hn::LoadU(FloatTag(), values + i));
    largest = hn::Max(largest, hn::And(bits, hn::Set(tag, 0x7FFFFFFF)));
  }
  const int32_t bits = hn::ReduceMax(tag, largest);
  return bits < 0x7F800000 ? std::bit_cast<float>(bits) : std::numeric_limits<float>::quiet_NaN();
}

// The common scale of `size` floats, a multiple of kLanes, as codes.
struct CodeScale {
  float scale;
  float inverse;  // the factor before rounding; 0: all codes are zero

  static HWY_INLINE CodeScale Of(const float* values, size_t size) {
    const float largest = LargestMagnitude(values, size);
    if (largest >= 0x1p-100f) return {largest / 127.0f, 127.0f / largest};
    return {0.0f * largest, 0.0f};
  }
};

// Writes kLanes codes and returns their sums: each lane of the register has one of every NumLanes codes. `inverse` is
// not 0.
HWY_INLINE IntVec StoreCodes(const float* values, float inverse, int8_t* codes) {
  IntVec sum = hn::Zero(IntTag());
  for (size_t i = 0; i < kLanes; i += hn::Lanes(FloatTag())) {
    const FloatVec scaled = hn::Mul(hn::LoadU(FloatTag(), values + i), hn::Set(FloatTag(), inverse));
    const IntVec rounded = hn::NearestInt(scaled);
    hn::StoreU(hn::DemoteTo(CodeTag(), rounded), CodeTag(), codes + i);
    sum = hn::Add(sum, rounded);
  }
  return sum;
}

// Load one row of a packed panel of codes, 16 outputs, and return the terms of an even k; or of the odd k, whose row is
// the next.
HWY_INLINE Lanes LoadEven(const int8_t* row) {
  Lanes result;
  const size_t step = hn::Lanes(FloatTag());
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < NumParts(); ++i) {
    const IntVec codes = hn::PromoteTo(IntTag(), hn::LoadU(CodeTag(), row + i * step));
    SetPart(result, i, hn::ConvertTo(FloatTag(), codes));
  }
  return result;
}
HWY_INLINE Lanes LoadOdd(const int8_t* row) { return LoadEven(row + kLanes); }

// Writes an even number of rows of a packed panel of codes as rows of a packed panel of bfloat16, which holds codes
// exactly.
HWY_INLINE void WidenCodes(const int8_t* codes, size_t rows, bf16* to) {
  const size_t parts = NumParts(), step = hn::Lanes(FloatTag());
  for (size_t k = 0; k < rows; k += 2) {
    const Lanes even = LoadEven(codes + k * kLanes), odd = LoadOdd(codes + k * kLanes);
    SKALD_UNROLL_PARTS
    for (size_t i = 0; i < parts; ++i) {
      const BitsVec low = hn::ShiftRight<16>(hn::BitCast(BitsTag(), Part(even, i)));
      const BitsVec pairs = hn::Or(low, hn::BitCast(BitsTag(), Part(odd, i)));
      hn::StoreU(pairs, BitsTag(), reinterpret_cast<uint32_t*>(to + k * kLanes) + i * step);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_SIMD_INT8_INL_TOGGLE
