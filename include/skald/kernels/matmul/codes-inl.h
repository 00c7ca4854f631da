// SPDX-License-Identifier: Apache-2.0
//
// Group-quantised weights in vectors: their codes as the operand of an exact integer dot product, and their scales.

#if defined(SKALD_KERNELS_MATMUL_CODES_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_CODES_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_CODES_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_CODES_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

using IntTag = hn::RebindToSigned<FloatTag>;
using IntVec = hn::Vec<IntTag>;
using IntLanes = LanesOf<IntTag>;

// How bytes are multiplied. x86's instruction for dot products (VNNI) multiplies unsigned by signed bytes: codes enter
// as unsigned numbers, larger by a constant, and the dot product begins with what takes the constant back out. x86
// before it has the same in pairs, with sums that saturate at 16 bits, which magnitudes do not reach: at most
// 2 * 128 * 127. All others multiply signed bytes.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
inline constexpr bool kUnsignedCodes = true, kPairsOfBytes = false;
#else
inline constexpr bool kUnsignedCodes = false, kPairsOfBytes = HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR;
#endif

// Whether pairs of 16-bit numbers are multiplied and added up by one instruction.
inline constexpr bool kMultipliesShorts = HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR;

// Unrolls a loop over the codes of a group. SSE2 takes so many instructions for each that only the compiler would
// notice.
#undef SKALD_UNROLL_CODES
#if HWY_TARGET == HWY_SSE2
#define SKALD_UNROLL_CODES
#else
#define SKALD_UNROLL_CODES HWY_UNROLL(16)
#endif

// By how much the operands are larger than the codes. Those of nested scales count from zero.
template <class T>
inline constexpr int32_t kCodeBias = std::is_same_v<T, Q4_0> ? 8
                                     : NestedScales<T>       ? 0
                                     : kUnsignedCodes        ? 128
                                                             : 0;

// Whether products are added up in 16 bits: those of a group of Q4_0 modulo 2^16, because in the end they fit, 8 * 127
// * 32 at most; those of codes that count from zero as many as fit.
template <class T>
inline constexpr bool kSumsInShorts = kPairsOfBytes && (std::is_same_v<T, Q4_0> || NestedScales<T>);

HWY_INLINE IntLanes SetIntLanes(int32_t value) {
  IntLanes result;
  const size_t parts = NumParts();  // known to the compiler, which a call in a template is not
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < parts; ++i) SetPart(result, i, hn::Set(IntTag(), value));
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
template <NestedScales T>
HWY_INLINE IntVec LoadCodes(const T& pack, size_t group, size_t j, size_t lane) {
  const hn::RebindToUnsigned<IntTag> tag;
  constexpr size_t kHalf = T::kGroup / 8;
  const auto& codes = pack.codes[group];
  const auto both = hn::LoadU(tag, reinterpret_cast<const uint32_t*>(codes.low[j % kHalf][lane]));
  auto code = hn::And(j < kHalf ? both : hn::ShiftRight<4>(both), hn::Set(tag, 0x0F0F0F0Fu));
  if constexpr (T::kCodeBits > 4) {
    constexpr int kHighBits = T::kCodeBits - 4;
    constexpr uint32_t kMask = 0x10101010u * ((1u << kHighBits) - 1);
    const int shift = 4 - static_cast<int>(j) * kHighBits;
    const auto all = hn::LoadU(tag, reinterpret_cast<const uint32_t*>(codes.high[0][lane]));
    const auto high = shift > 0 ? hn::ShiftLeftSame(all, shift) : hn::ShiftRightSame(all, -shift);
    code = hn::Or(code, hn::And(high, hn::Set(tag, kMask)));
  }
  return hn::BitCast(IntTag(), code);
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

// Returns sums for the products of one group: what takes the bias out, where `sum` is the sum of the other factor.
template <class T>
HWY_INLINE IntLanes BeginProducts(int32_t sum) {
  const int32_t correction = -kCodeBias<T> * sum;
  return SetIntLanes(kSumsInShorts<T> ? correction & 0xFFFF : correction);
}

// Returns `sum`, added up. g++ would put additions off to where their sum is needed, with all products of a group
// waiting on the stack (its "temporary expression replacement"): a fifth of the time on AVX2.
HWY_INLINE IntVec AddedUp(IntVec sum) {
#if HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL && HWY_TARGET != HWY_SCALAR
  __asm__("" : "+v"(sum.raw));
#endif
  return sum;
}

// Adds the products of four terms, `x` in each lane, -127 to 127, and codes as LoadCodes gives them.
#if HWY_TARGET == HWY_SCALAR  // whose vectors hold no four bytes
template <class T>
HWY_INLINE IntVec AddProducts(IntVec codes, IntVec x, IntVec sums) {
  int8_t code[4], factor[4];
  std::memcpy(code, &codes.raw, sizeof(code));
  std::memcpy(factor, &x.raw, sizeof(factor));
  for (size_t i = 0; i < 4; ++i) sums.raw += code[i] * factor[i];
  return sums;
}
HWY_INLINE IntVec AddPairs(IntVec sums) { return sums; }
#else
template <class T>
HWY_INLINE IntVec AddProducts(IntVec codes, IntVec x, IntVec sums) {
  const hn::Repartition<int8_t, IntTag> bytes;
  const hn::Repartition<uint8_t, IntTag> unsigned_bytes;
  const hn::Repartition<int16_t, IntTag> shorts;
  const auto operand = hn::BitCast(bytes, codes), factor = hn::BitCast(bytes, x);
  if constexpr (kUnsignedCodes) {
    return hn::SumOfMulQuadAccumulate(IntTag(), hn::BitCast(unsigned_bytes, codes), factor, sums);
  } else if constexpr (kSumsInShorts<T>) {
    const auto pairs = hn::SatWidenMulPairwiseAdd(shorts, hn::BitCast(unsigned_bytes, codes), factor);
    return AddedUp(hn::BitCast(IntTag(), hn::Add(hn::BitCast(shorts, sums), pairs)));
  } else if constexpr (kPairsOfBytes) {
    const auto pairs = hn::SatWidenMulPairwiseAdd(shorts, hn::BitCast(unsigned_bytes, hn::Abs(operand)),
                                                  hn::IfNegativeThenNegOrUndefIfZero(operand, factor));
    return AddedUp(hn::Add(sums, hn::WidenMulPairwiseAdd(IntTag(), pairs, hn::Set(shorts, int16_t{1}))));
  } else {
    return hn::SumOfMulQuadAccumulate(IntTag(), operand, factor, sums);
  }
}

// Returns the sums of neighbours in 16 bits.
HWY_INLINE IntVec AddPairs(IntVec sums) {
  const hn::Repartition<int16_t, IntTag> shorts;
  return hn::WidenMulPairwiseAdd(IntTag(), hn::BitCast(shorts, sums), hn::Set(shorts, int16_t{1}));
}
#endif
template <class T>
HWY_INLINE void AddProducts(const IntLanes& codes, IntVec x, IntLanes& sums) {
  const size_t parts = NumParts();  // known to the compiler, which a call in a template is not
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < parts; ++i) SetPart(sums, i, AddProducts<T>(Part(codes, i), x, Part(sums, i)));
}

// Returns the sums of a group as floats.
template <class T>
HWY_INLINE Lanes FinishProducts(const IntLanes& sums) {
  Lanes result;
  const size_t parts = NumParts();  // known to the compiler, which a call in a template is not
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < parts; ++i) {
    const IntVec sum = kSumsInShorts<T> ? AddPairs(Part(sums, i)) : Part(sums, i);
    SetPart(result, i, hn::ConvertTo(FloatTag(), sum));
  }
  return result;
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

#endif  // SKALD_KERNELS_MATMUL_CODES_INL_TOGGLE
