// SPDX-License-Identifier: Apache-2.0
//
// Conversions between float and bfloat16 in vectors, with the same bits as base/numbers/numeric.h. The rounding is done
// on integers on purpose: the hardware instruction for it flushes denormals, and not every target has one.

#if defined(SKALD_KERNELS_SIMD_BF16_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_SIMD_BF16_INL_TOGGLE
#undef SKALD_KERNELS_SIMD_BF16_INL_TOGGLE
#else
#define SKALD_KERNELS_SIMD_BF16_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "skald/base/numbers/numeric.h"
#include "skald/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

using BitsTag = hn::RebindToUnsigned<FloatTag>;
using BitsVec = hn::Vec<BitsTag>;
using BF16Tag = hn::Rebind<bf16, FloatTag>;

// Returns bits whose upper halves are the floats of `v` rounded to bfloat16, to nearest, ties to even. The lower
// halves hold leftovers. NaN stays NaN.
HWY_INLINE BitsVec RoundedBits(FloatVec v) {
  const BitsTag tag;
  const BitsVec bits = hn::BitCast(tag, v);
  const BitsVec odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(tag, 1u));
  const BitsVec rounded = hn::Add(bits, hn::Add(odd, hn::Set(tag, 0x7FFFu)));
  const BitsVec quiet = hn::Or(bits, hn::Set(tag, 0x00400000u));
  return hn::IfThenElse(hn::RebindMask(tag, hn::IsNaN(v)), quiet, rounded);
}

// Returns `v` rounded to T, as floats.
template <class T>
HWY_INLINE FloatVec Rounded(FloatVec v) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return v;
  } else {
    return hn::BitCast(FloatTag(), hn::And(RoundedBits(v), hn::Set(BitsTag(), 0xFFFF0000u)));
  }
}

// Writes `v`, rounded to T, to as many elements as a register has lanes.
template <class T>
HWY_INLINE void StoreRounded(FloatVec v, T* to) {
  if constexpr (sizeof(T) == sizeof(float)) {
    hn::StoreU(v, FloatTag(), to);
  } else {
    const hn::Rebind<uint16_t, FloatTag> half_tag;
    const auto halves = hn::TruncateTo(half_tag, hn::ShiftRight<16>(RoundedBits(v)));
    hn::StoreU(hn::BitCast(BF16Tag(), halves), BF16Tag(), to);
  }
}

// Returns as many elements as a register has lanes, as floats.
HWY_INLINE FloatVec LoadFloats(const float* from) { return hn::LoadU(FloatTag(), from); }
HWY_INLINE FloatVec LoadFloats(const bf16* from) { return hn::PromoteTo(FloatTag(), hn::LoadU(BF16Tag(), from)); }

// Load one 64-byte row of a packed bfloat16 panel, 16 outputs with two neighbouring k each, and return the
// terms of the even or of the odd k.
HWY_INLINE Lanes LoadEven(const bf16* row) {
  Lanes result;
  const size_t step = hn::Lanes(FloatTag());
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < NumParts(); ++i) {
    const BitsVec pairs = hn::LoadU(BitsTag(), reinterpret_cast<const uint32_t*>(row) + i * step);
    SetPart(result, i, hn::BitCast(FloatTag(), hn::ShiftLeft<16>(pairs)));
  }
  return result;
}
HWY_INLINE Lanes LoadOdd(const bf16* row) {
  Lanes result;
  const size_t step = hn::Lanes(FloatTag());
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < NumParts(); ++i) {
    const BitsVec pairs = hn::LoadU(BitsTag(), reinterpret_cast<const uint32_t*>(row) + i * step);
    SetPart(result, i, hn::BitCast(FloatTag(), hn::And(pairs, hn::Set(BitsTag(), 0xFFFF0000u))));
  }
  return result;
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_SIMD_BF16_INL_TOGGLE
