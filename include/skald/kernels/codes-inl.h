// SPDX-License-Identifier: Apache-2.0
//
// Group-quantised weights in vectors: their codes as the operand of an exact integer dot product, and their scales.

#if defined(SKALD_KERNELS_CODES_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_CODES_INL_TOGGLE
#undef SKALD_KERNELS_CODES_INL_TOGGLE
#else
#define SKALD_KERNELS_CODES_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "skald/base/group_layout.h"
#include "skald/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

using IntTag = hn::RebindToSigned<FloatTag>;
using IntVec = hn::Vec<IntTag>;
using IntLanes = LanesOf<IntTag>;

// x86's instruction for dot products of bytes multiplies unsigned by signed ones. There, codes are multiplied as
// unsigned numbers, larger by a constant, and the dot product begins with what takes the constant back out.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
inline constexpr bool kUnsignedCodes = true;
#else
inline constexpr bool kUnsignedCodes = false;
#endif

// By how much the operands are larger than the codes.
template <class T>
inline constexpr int32_t kCodeBias = std::is_same_v<T, Q4_0> ? 8 : kUnsignedCodes ? 128 : 0;

HWY_INLINE IntLanes SetIntLanes(int32_t value) {
  IntLanes result;
  const size_t parts = NumParts();  // known to the compiler, which a call in a template is not
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < parts; ++i) SetPart(result, i, hn::Set(IntTag(), value));
  return result;
}

HWY_INLINE Lanes ToFloats(const IntLanes& lanes) {
  Lanes result;
  const size_t parts = NumParts();  // known to the compiler, which a call in a template is not
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < parts; ++i) SetPart(result, i, hn::ConvertTo(FloatTag(), Part(lanes, i)));
  return result;
}

// Loads a register of row j of the codes of a group, from output `lane` on.
HWY_INLINE IntVec LoadCodes(const Q4_0& pack, size_t group, size_t j, size_t lane) {
  const hn::RebindToUnsigned<IntTag> tag;
  constexpr size_t kHalf = Q4_0::kGroup / 8;
  const auto both = hn::LoadU(tag, reinterpret_cast<const uint32_t*>(pack.nibbles[group][j % kHalf][lane]));
  const auto nibbles = hn::And(j < kHalf ? both : hn::ShiftRight<4>(both), hn::Set(tag, 0x0F0F0F0Fu));
  return hn::BitCast(IntTag(), nibbles);
}
template <class T>
HWY_INLINE IntVec LoadCodes(const T& pack, size_t group, size_t j, size_t lane) {
  const IntVec codes = hn::LoadU(IntTag(), reinterpret_cast<const int32_t*>(pack.codes[group][j][lane]));
  return kUnsignedCodes ? hn::Xor(codes, hn::Set(IntTag(), static_cast<int32_t>(0x80808080u))) : codes;
}

// Loads row j of the codes of a group: terms 4j to 4j + 3 of 16 outputs, larger by kCodeBias.
template <class T>
HWY_INLINE IntLanes LoadCodes(const T& pack, size_t group, size_t j) {
  IntLanes result;
  const size_t parts = NumParts();
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < parts; ++i) SetPart(result, i, LoadCodes(pack, group, j, i * hn::Lanes(IntTag())));
  return result;
}

// sums += the products of four terms, `x` in each lane and codes as LoadCodes gives them.
HWY_INLINE void AddProducts(const IntLanes& codes, IntVec x, IntLanes& sums) {
  const hn::Repartition<int8_t, IntTag> bytes;
  const hn::Repartition<uint8_t, IntTag> unsigned_bytes;
  const size_t parts = NumParts();  // known to the compiler, which a call in a template is not
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < parts; ++i) {
    if constexpr (kUnsignedCodes) {
      const auto operand = hn::BitCast(unsigned_bytes, Part(codes, i));
      SetPart(sums, i, hn::SumOfMulQuadAccumulate(IntTag(), operand, hn::BitCast(bytes, x), Part(sums, i)));
    } else {
      const auto operand = hn::BitCast(bytes, Part(codes, i));
      SetPart(sums, i, hn::SumOfMulQuadAccumulate(IntTag(), operand, hn::BitCast(bytes, x), Part(sums, i)));
    }
  }
}

HWY_INLINE IntVec LoadFour(const int8_t* codes) {
  int32_t four;
  std::memcpy(&four, codes, sizeof(four));
  return hn::Set(IntTag(), four);
}

HWY_INLINE Lanes LoadScales(const float* scales) { return LoadLanes(scales); }
HWY_INLINE Lanes LoadScales(const uint16_t* scales) {
  const hn::Rebind<hwy::float16_t, FloatTag> halves;
  Lanes result;
  const size_t parts = NumParts();  // known to the compiler, which a call in a template is not
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < parts; ++i) {
    const auto part = hn::LoadU(hn::Rebind<uint16_t, FloatTag>(), scales + i * hn::Lanes(FloatTag()));
    SetPart(result, i, hn::PromoteTo(FloatTag(), hn::BitCast(halves, part)));
  }
  return result;
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_CODES_INL_TOGGLE
