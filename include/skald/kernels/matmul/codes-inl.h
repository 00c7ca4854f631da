// SPDX-License-Identifier: Apache-2.0
//
// Exact integer dot products of bytes in vectors: codes of group-quantised weights by codes of activations.

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
#include "skald/kernels/simd/avx_vnni_support.h"
#include "skald/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

using IntLanes = LanesOf<IntTag>;

// How bytes are multiplied. x86's instruction for dot products (VNNI) multiplies unsigned by signed bytes. Older x86
// has the same in pairs, with sums that saturate at 16 bits; magnitudes do not reach that: at most 2 * 128 * 127. All
// others multiply signed bytes.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
inline constexpr bool kUnsignedBytes = true, kPairsOfBytes = false;
#else
inline constexpr bool kUnsignedBytes = false, kPairsOfBytes = HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR;
#endif

// Whether pairs of 16-bit numbers are multiplied and added up by one instruction.
inline constexpr bool kMultipliesShorts = HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR;

// How the codes of a type of weights are represented as factors. Small factors count from zero and have at most
// kSmallBits bits, so that some products may be added up in 16 bits when bytes are multiplied in pairs. Large ones have
// all eight bits: signed, or larger by 128 when unsigned bytes are multiplied. Split ones are large ones for many rows
// when bytes are multiplied in pairs: magnitudes, and bytes that are -1 for negative codes. For AVX-VNNI, in AVX2, all
// are unsigned and multiplied in fours.
enum class Codes { kSmall, kLarge, kSplit, kFours };
inline constexpr size_t kSmallBits = 6;

template <Codes kCodes>
inline constexpr bool kSumsInShorts = kPairsOfBytes&& kCodes == Codes::kSmall;
template <Codes kCodes>
inline constexpr bool kUnsignedCodes = kUnsignedBytes || kCodes == Codes::kFours;

HWY_INLINE IntLanes SetIntLanes(int32_t value) {
  IntLanes result;
  const size_t parts = NumParts();  // known to the compiler, unlike the value of a call in a template
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < parts; ++i) SetPart(result, i, hn::Set(IntTag(), value));
  return result;
}

HWY_INLINE IntLanes LoadIntLanes(const int32_t* from) {
  IntLanes result;
  const size_t parts = NumParts();
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < parts; ++i) SetPart(result, i, hn::LoadU(IntTag(), from + i * hn::Lanes(IntTag())));
  return result;
}

HWY_INLINE void StoreIntLanes(const IntLanes& lanes, int32_t* to) {
  const size_t parts = NumParts();
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < parts; ++i) hn::StoreU(Part(lanes, i), IntTag(), to + i * hn::Lanes(IntTag()));
}

// Returns `sum`, forced to be computed here. g++ would otherwise delay additions to the use of their sum, with all
// products of a group on the stack (its "temporary expression replacement"): a fifth of the time on AVX2.
HWY_INLINE IntVec AddedUp(IntVec sum) {
#if HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL && HWY_TARGET != HWY_SCALAR
  __asm__("" : "+v"(sum.raw));
#endif
  return sum;
}

// Returns `pointer`, hiding its origin from the compiler. g++ would notice that a loop over terms meets the same
// addresses again in another row of activations, and keep their values on the stack.
template <class T>
HWY_INLINE const T* Forgotten(const T* pointer) {
#if HWY_COMPILER_GCC_ACTUAL
  __asm__("" : "+r"(pointer));
#endif
  return pointer;
}

// Adds the products of four unsigned codes and of `x` in each lane by the instruction of AVX-VNNI. Compilers offer its
// intrinsic only if the whole program may use it.
#if HWY_TARGET == HWY_AVX2 && SKALD_HAS_AVX_VNNI
HWY_INLINE IntVec AddFours(IntVec codes, IntVec x, IntVec sums) {
  __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums.raw) : "x"(codes.raw), "x"(x.raw));
  return sums;
}
#else
HWY_INLINE IntVec AddFours(IntVec, IntVec, IntVec sums) { return sums; }
#endif

// Adds the products of four codes, or of four magnitudes, and of `x`, -127 to 127, in each lane.
#if HWY_TARGET == HWY_SCALAR  // whose vectors are shorter than four bytes
template <Codes kCodes>
HWY_INLINE IntVec AddProducts(IntVec codes, IntVec x, IntVec sums) {
  int8_t code[4], factor[4];
  std::memcpy(code, &codes.raw, sizeof(code));
  std::memcpy(factor, &x.raw, sizeof(factor));
  for (size_t i = 0; i < 4; ++i) sums.raw += code[i] * factor[i];
  return sums;
}
#else
template <Codes kCodes>
HWY_INLINE IntVec AddProducts(IntVec codes, IntVec x, IntVec sums) {
  const hn::Repartition<int8_t, IntTag> bytes;
  const hn::Repartition<uint8_t, IntTag> unsigned_bytes;
  const hn::Repartition<int16_t, IntTag> shorts;
  const auto operand = hn::BitCast(bytes, codes), factor = hn::BitCast(bytes, x);
  if constexpr (kCodes == Codes::kFours) {
    return AddFours(codes, x, sums);
  } else if constexpr (kUnsignedBytes) {
    return hn::SumOfMulQuadAccumulate(IntTag(), hn::BitCast(unsigned_bytes, codes), factor, sums);
  } else if constexpr (kSumsInShorts<kCodes>) {
    const auto pairs = hn::SatWidenMulPairwiseAdd(shorts, hn::BitCast(unsigned_bytes, codes), factor);
    return AddedUp(hn::BitCast(IntTag(), hn::Add(hn::BitCast(shorts, sums), pairs)));
  } else if constexpr (kCodes == Codes::kSplit) {
    const auto pairs = hn::SatWidenMulPairwiseAdd(shorts, hn::BitCast(unsigned_bytes, codes), factor);
    return AddedUp(hn::Add(sums, hn::WidenMulPairwiseAdd(IntTag(), pairs, hn::Set(shorts, int16_t{1}))));
  } else if constexpr (kPairsOfBytes) {
    const auto pairs = hn::SatWidenMulPairwiseAdd(shorts, hn::BitCast(unsigned_bytes, hn::Abs(operand)),
                                                  hn::IfNegativeThenNegOrUndefIfZero(operand, factor));
    return AddedUp(hn::Add(sums, hn::WidenMulPairwiseAdd(IntTag(), pairs, hn::Set(shorts, int16_t{1}))));
  } else {
    return hn::SumOfMulQuadAccumulate(IntTag(), operand, factor, sums);
  }
}
#endif

// Replaces codes by their magnitudes and returns their signs. For a sign of -1 the product uses `x ^ sign`, which is -1
// - x, and thus lacks one magnitude. Adds the amount that four products lack to `missing`.
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE IntVec SplitCodes(IntVec&, IntVec& missing) { return missing; }
#else
HWY_INLINE IntVec SplitCodes(IntVec& codes, IntVec& missing) {
  const hn::Repartition<int8_t, IntTag> bytes;
  const auto code = hn::BitCast(bytes, codes);
  const IntVec signs = hn::BitCast(IntTag(), hn::VecFromMask(bytes, hn::Lt(code, hn::Zero(bytes))));
  codes = hn::BitCast(IntTag(), hn::Abs(code));
  missing = AddProducts<Codes::kSplit>(codes, hn::And(signs, hn::Set(IntTag(), 0x01010101)), missing);
  return signs;
}
#endif
HWY_INLINE IntLanes SplitCodes(IntLanes& codes, IntLanes& missing) {
  IntLanes signs;
  const size_t parts = NumParts();  // known to the compiler, unlike the value of a call in a template
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < parts; ++i) {
    IntVec code = Part(codes, i), lack = Part(missing, i);
    SetPart(signs, i, SplitCodes(code, lack));
    SetPart(codes, i, code);
    SetPart(missing, i, lack);
  }
  return signs;
}

// Returns sum + a * b.
HWY_INLINE IntVec MulAddIntegers(IntVec a, IntVec b, IntVec sum) { return hn::Add(sum, hn::Mul(a, b)); }

// Returns sum + the products of both 16-bit numbers in each lane. Only x86 has them in order.
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
HWY_INLINE IntVec MulAddPairs(IntVec a, IntVec b, IntVec sum) {
  const hn::Repartition<int16_t, IntTag> shorts;
  IntVec unused = hn::Zero(IntTag());
  return hn::ReorderWidenMulAccumulate(IntTag(), hn::BitCast(shorts, a), hn::BitCast(shorts, b), sum, unused);
}
#else
HWY_INLINE IntVec MulAddPairs(IntVec, IntVec, IntVec sum) { return sum; }
#endif

HWY_INLINE IntVec LoadFour(const int8_t* codes) {
  int32_t four;
  std::memcpy(&four, codes, sizeof(four));
  return hn::Set(IntTag(), four);
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_CODES_INL_TOGGLE
