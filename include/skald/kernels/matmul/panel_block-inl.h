// SPDX-License-Identifier: Apache-2.0
//
// One panel of one block of K, in two forms that sums are computed from alike. PackBlock reads what one type of weights
// has in memory. PanelBlock is that in the first-level cache, with codes of one byte each and scales that need no more
// conversion: for many rows, the same for all types with the same kind of scales.

#if defined(SKALD_KERNELS_MATMUL_PANEL_BLOCK_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_PANEL_BLOCK_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_PANEL_BLOCK_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_PANEL_BLOCK_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/kernels/matmul/codes-inl.h"
#include "skald/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

template <class T>
inline constexpr Codes kCodesOf = T::kCodeBits <= kSmallBits ? Codes::kSmall : Codes::kLarge;

// By how much a type's codes are larger as factors. Those with scales of scales count from zero.
template <class T>
inline constexpr int32_t kCodeBias = NestedScales<T>                ? 0
                                     : kCodesOf<T> == Codes::kSmall ? T::kZero
                                     : kUnsignedBytes               ? 128
                                                                    : 0;

template <class T>
inline constexpr bool kHasOffsets = std::is_same_v<T, Q8A>;
template <NestedScales T>
inline constexpr bool kHasOffsets<T> = T::kHasMinima;

// Loads a register of row j of the codes of a group, from output `lane` on.
HWY_INLINE IntVec LoadLow(const uint8_t* both, bool is_high) {
  const hn::RebindToUnsigned<IntTag> tag;
  const auto bytes = hn::LoadU(tag, reinterpret_cast<const uint32_t*>(both));
  return hn::BitCast(IntTag(), hn::And(is_high ? hn::ShiftRight<4>(bytes) : bytes, hn::Set(tag, 0x0F0F0F0Fu)));
}
HWY_INLINE IntVec LoadCodes(const Q4_0& pack, size_t group, size_t j, size_t lane) {
  constexpr size_t kHalf = Q4_0::kGroup / 8;
  return LoadLow(pack.nibbles[group][j % kHalf][lane], j >= kHalf);
}
template <NestedScales T>
HWY_INLINE IntVec LoadCodes(const T& pack, size_t group, size_t j, size_t lane) {
  const hn::RebindToUnsigned<IntTag> tag;
  constexpr size_t kHalf = T::kGroup / 8;
  const auto& codes = pack.codes[group];
  const IntVec low = LoadLow(codes.low[j % kHalf][lane], j >= kHalf);
  if constexpr (T::kCodeBits > 4) {
    constexpr int kHighBits = T::kCodeBits - 4;
    constexpr uint32_t kMask = 0x10101010u * ((1u << kHighBits) - 1);
    const int shift = 4 - static_cast<int>(j) * kHighBits;
    const auto all = hn::LoadU(tag, reinterpret_cast<const uint32_t*>(codes.high[0][lane]));
    const auto high = shift > 0 ? hn::ShiftLeftSame(all, shift) : hn::ShiftRightSame(all, -shift);
    return hn::Or(low, hn::BitCast(IntTag(), hn::And(high, hn::Set(tag, kMask))));
  } else {
    return low;
  }
}
template <class T>
HWY_INLINE IntVec LoadCodes(const T& pack, size_t group, size_t j, size_t lane) {
  const IntVec codes = hn::LoadU(IntTag(), reinterpret_cast<const int32_t*>(pack.codes[group][j][lane]));
  return kUnsignedBytes ? hn::Xor(codes, hn::Set(IntTag(), static_cast<int32_t>(0x80808080u))) : codes;
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

// Returns whole numbers, those of `low` times `factor`, or pairs of 16 bits with `high`.
template <bool kPairs, class T>
HWY_INLINE IntLanes LoadNumbers(const T* low, const T* high, int factor) {
  const hn::Rebind<T, IntTag> tag;
  IntLanes result;
  const size_t parts = NumParts();  // known to the compiler, which a call in a template is not
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < parts; ++i) {
    const size_t lane = i * hn::Lanes(IntTag());
    IntVec numbers = hn::PromoteTo(IntTag(), hn::LoadU(tag, low + lane));
    if (factor != 1) numbers = hn::Mul(numbers, hn::Set(IntTag(), factor));
    if constexpr (kPairs) {
      IntVec above = hn::PromoteTo(IntTag(), hn::LoadU(tag, high + lane));
      if (factor != 1) above = hn::Mul(above, hn::Set(IntTag(), factor));
      numbers = hn::Or(hn::And(numbers, hn::Set(IntTag(), 0xFFFF)), hn::ShiftLeft<16>(above));
    }
    SetPart(result, i, numbers);
  }
  return result;
}

// How many sums of activations' codes SumNumbers are for.
inline constexpr size_t kSumsAtOnce = kMultipliesShorts ? 2 : 1;

// Packs of type T. Memory is asked for what lies `ahead` bytes on.
template <class T>
struct PackBlock {
  static constexpr size_t group_rows = T::kGroup / 4, kLines = sizeof(T) / kAlignment;
  static constexpr size_t fitting_rows =
      HWY_MIN(group_rows, kSumsInShorts<kCodesOf<T>> ? 128u >> T::kCodeBits : group_rows);
  static constexpr size_t kUnrolledRows = fitting_rows;
  static constexpr int32_t bias = kCodeBias<T>;
  static constexpr bool has_offsets = kHasOffsets<T>;

  // Row j of the codes of a group.
  HWY_INLINE IntLanes CodesAt(size_t group, size_t j) const {
    const T& pack = packs[group / T::kGroups];
    group %= T::kGroups;
    AskForSome(reinterpret_cast<const std::byte*>(&pack) + ahead, group, j);
    IntLanes result;
    const size_t parts = NumParts();  // known to the compiler, which a call in a template is not
    SKALD_UNROLL_PARTS
    for (size_t i = 0; i < parts; ++i) SetPart(result, i, LoadCodes(pack, group, j, i * hn::Lanes(IntTag())));
    return result;
  }

  HWY_INLINE Lanes ScalesOf(size_t group) const {
    return LoadScales(packs[group / T::kGroups].scales[group % T::kGroups]);
  }
  HWY_INLINE Lanes OffsetsOf(size_t group) const {
    return LoadLanes(packs[group / T::kGroups].offsets[group % T::kGroups]);
  }

  HWY_INLINE IntLanes NumbersOf(size_t group) const {
    return LoadNumbers<kSumsInShorts<kCodesOf<T>>>(packs->scales[group], packs->scales[group], 1);
  }
  HWY_INLINE IntLanes SumNumbers(size_t i) const {
    constexpr size_t kPerGroup = T::kGroup / kActivationSum;
    const size_t low = i * kSumsAtOnce / kPerGroup, high = (i * kSumsAtOnce + kSumsAtOnce - 1) / kPerGroup;
    if constexpr (T::kHasMinima)
      return LoadNumbers<kMultipliesShorts>(packs->minima[low], packs->minima[high], 1);
    else
      return LoadNumbers<kMultipliesShorts>(packs->scales[low], packs->scales[high], T::kZero);
  }
  HWY_INLINE Lanes Scale() const { return LoadScales(packs->scale); }
  HWY_INLINE Lanes Minimum() const {
    if constexpr (T::kHasMinima)
      return LoadScales(packs->minimum);
    else
      return ZeroLanes();
  }

  const T* packs;
  size_t groups;  // fewer than a whole block's at the end of K
  size_t ahead;

 private:
  // Asks for a part of the lines of one group: all at once they would hold up the multiplication.
  HWY_INLINE static void AskForSome(const std::byte* pack, size_t group, size_t j) {
    constexpr size_t kFirst = kLines / T::kGroups, kGroupLines = kLines - (T::kGroups - 1) * kFirst;
    const std::byte* const lines = pack + group * kFirst * kAlignment;
    HWY_UNROLL(4)
    for (size_t line = j * kGroupLines / group_rows; line < (j + 1) * kGroupLines / group_rows; ++line) {
      hwy::Prefetch(lines + line * kAlignment);
    }
  }
};

// The same in the first-level cache.
struct PanelBlock {
  static constexpr size_t kCodeRows = kActivationBlock / 4, kMaxGroups = kActivationBlock / kActivationSum;

  size_t groups;
  int32_t bias;
  alignas(kAlignment) uint8_t codes[kCodeRows][4 * kLanes];
  alignas(kAlignment) float scales[kMaxGroups][kLanes], offsets[kMaxGroups][kLanes];  // without scales of scales
  alignas(kAlignment) int32_t numbers[kMaxGroups][kLanes], sum_numbers[kMaxGroups / kSumsAtOnce][kLanes];  // with them
  alignas(kAlignment) float scale[kLanes], minimum[kLanes];
};

// Whether blocks are expanded for few rows as well: processors with nothing newer than SSE are too rare for more code.
inline constexpr bool kExpandsAlways = kPairsOfBytes && NumParts() == 4;

// A PanelBlock of a type with groups of so many rows of codes, and what else PackBlock says of it.
template <size_t kGroupRows, size_t kFittingRows, bool kOffsets>
struct ExpandedBlock {
  static constexpr size_t group_rows = kGroupRows, fitting_rows = kFittingRows;
  static constexpr size_t kUnrolledRows = kExpandsAlways ? 2 : fitting_rows;
  static constexpr bool has_offsets = kOffsets;

  HWY_INLINE explicit ExpandedBlock(const PanelBlock& panel_block)
      : from(panel_block), groups(panel_block.groups), bias(panel_block.bias) {}

  HWY_INLINE IntLanes CodesAt(size_t group, size_t j) const {
    return LoadIntLanes(reinterpret_cast<const int32_t*>(from.codes[group * group_rows + j]));
  }
  HWY_INLINE Lanes ScalesOf(size_t group) const { return LoadLanes(from.scales[group]); }
  HWY_INLINE Lanes OffsetsOf(size_t group) const { return LoadLanes(from.offsets[group]); }
  HWY_INLINE IntLanes NumbersOf(size_t group) const { return LoadIntLanes(from.numbers[group]); }
  HWY_INLINE IntLanes SumNumbers(size_t i) const { return LoadIntLanes(from.sum_numbers[i]); }
  HWY_INLINE Lanes Scale() const { return LoadLanes(from.scale); }
  HWY_INLINE Lanes Minimum() const { return LoadLanes(from.minimum); }

  const PanelBlock& from;
  size_t groups;
  int32_t bias;
};
template <class T>
using ExpandedBlockOf = ExpandedBlock<PackBlock<T>::group_rows, PackBlock<T>::fitting_rows, kHasOffsets<T>>;

// Writes a block of `num_packs` packs to `to`.
template <class T>
void Expand(const std::byte* packs, size_t num_packs, size_t ahead, PanelBlock& to) {
  const PackBlock<T> from = {reinterpret_cast<const T*>(packs), num_packs * T::kGroups, ahead};
  to.groups = from.groups, to.bias = from.bias;
  for (size_t group = 0; group < from.groups; ++group) {
    HWY_UNROLL(8)
    for (size_t j = 0; j < from.group_rows; ++j) {
      StoreIntLanes(from.CodesAt(group, j), reinterpret_cast<int32_t*>(to.codes[group * from.group_rows + j]));
    }
    if constexpr (NestedScales<T>) {
      StoreIntLanes(from.NumbersOf(group), to.numbers[group]);
    } else {
      StoreLanes(from.ScalesOf(group), to.scales[group]);
      if constexpr (kHasOffsets<T>) StoreLanes(from.OffsetsOf(group), to.offsets[group]);
    }
  }
  if constexpr (NestedScales<T>) {
    for (size_t i = 0; i < PanelBlock::kMaxGroups / kSumsAtOnce; ++i) {
      StoreIntLanes(from.SumNumbers(i), to.sum_numbers[i]);
    }
    StoreLanes(from.Scale(), to.scale);
    StoreLanes(from.Minimum(), to.minimum);
  }
}

// A matrix of any group-quantised type.
struct GroupMatrix {
  const std::byte* weights;
  size_t padded_k, terms_per_pack, pack_bytes;
  void (*expand)(const std::byte* packs, size_t num_packs, size_t ahead, PanelBlock& block);

  // Where the weights of a panel are, from term k on.
  HWY_INLINE const std::byte* At(size_t panel, size_t k) const {
    return weights + (panel * padded_k + k) / terms_per_pack * pack_bytes;
  }
};

template <class T>
HWY_INLINE GroupMatrix GroupMatrixOf(const T* weights, size_t padded_k) {
  return {reinterpret_cast<const std::byte*>(weights), padded_k, T::kTerms, sizeof(T), &Expand<T>};
}

// Where AVX3_SPR takes what is here and multiplication on vectors from: it has nothing for bytes that AVX3_ZEN4 has
// not, but for AMX.
#if HWY_TARGET == HWY_AVX3_SPR && (HWY_TARGETS & HWY_AVX3_ZEN4) && HWY_STATIC_TARGET != HWY_AVX3_ZEN4
namespace bytes = skald::N_AVX3_ZEN4;
#else
namespace bytes = skald::HWY_NAMESPACE;
#endif

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_PANEL_BLOCK_INL_TOGGLE
