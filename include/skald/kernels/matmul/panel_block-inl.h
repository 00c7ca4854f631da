// SPDX-License-Identifier: Apache-2.0
//
// One panel of one block of K, in two forms with the same interface for computing sums. PackBlock reads one type of
// weights from memory. PanelBlock is in the first-level cache, with codes of one byte each and scales that need no more
// conversion: for many rows, and the same for all types with the same kind of scales.

#if defined(SKALD_KERNELS_MATMUL_PANEL_BLOCK_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_PANEL_BLOCK_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_PANEL_BLOCK_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_PANEL_BLOCK_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/kernels/matmul/codes-inl.h"
#include "skald/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// The bits of a type's factors: of its codes, or of the values that they index. For small factors the smallest is zero.
template <class T>
inline constexpr size_t kFactorBits = T::kCodeBits;
template <ListsValues T>
inline constexpr size_t kFactorBits<T> = T::kValues[0] == 0 ? 5 : 8;

template <class T>
inline constexpr Codes kCodesOf = kFactorBits<T> <= kSmallBits ? Codes::kSmall : Codes::kLarge;

// The amount by which factors exceed their values.
template <class T, Codes kCodes>
inline constexpr int32_t kFactorZero = kCodesOf<T> == Codes::kLarge ? (kUnsignedCodes<kCodes> ? 128 : 0) : T::kZero;
template <ListsValues T, Codes kCodes>
requires(T::kValues[0] == 0)  //
    inline constexpr int32_t kFactorZero<T, kCodes> = 12;

// The factors of a type that lists values, by its codes, repeated for as many bytes as are looked up together.
template <ListsValues T, Codes kCodes>
struct FactorList {
  constexpr FactorList() {
    for (size_t i = 0; i < 16; ++i) bytes[i] = static_cast<uint8_t>(T::kValues[i] + kFactorZero<T, kCodes>);
  }
  alignas(16) uint8_t bytes[16] = {};
};
template <ListsValues T, Codes kCodes>
inline constexpr FactorList<T, kCodes> kFactors;

using UnsignedTag = hn::RebindToUnsigned<IntTag>;
using UnsignedVec = hn::Vec<UnsignedTag>;

// Returns the factors of a type that lists values.
#if HWY_TARGET == HWY_SCALAR  // whose vectors hold no bytes
template <class T, Codes kCodes>
HWY_INLINE UnsignedVec LookUp(UnsignedVec codes) {
  uint8_t bytes[4];
  std::memcpy(bytes, &codes.raw, sizeof(bytes));
  for (uint8_t& byte : bytes) byte = kFactors<T, kCodes>.bytes[byte];
  std::memcpy(&codes.raw, bytes, sizeof(bytes));
  return codes;
}
#else
template <class T, Codes kCodes>
HWY_INLINE UnsignedVec LookUp(UnsignedVec codes) {
  const hn::Repartition<uint8_t, IntTag> bytes;
  const auto list = hn::LoadDup128(bytes, kFactors<T, kCodes>.bytes);
  return hn::BitCast(UnsignedTag(), hn::TableLookupBytes(list, hn::BitCast(bytes, codes)));
}
#endif

// Returns row `row` of the codes of a plane, of a register of outputs from `lane` on.
template <class Planes>
HWY_INLINE UnsignedVec LoadPlanes(const Planes& planes, size_t row, size_t lane) {
  constexpr uint32_t kAllBytes = 0x01010101u, kLowMask = kAllBytes * ((1u << Planes::kLowBits) - 1);
  constexpr uint32_t kHighMask = kAllBytes * ((1u << Planes::kHighBits) - 1) << Planes::kLowBits;
  const UnsignedTag tag;
  auto low = hn::LoadU(tag, reinterpret_cast<const uint32_t*>(planes.low[row % Planes::kLowRows][lane]));
  const size_t place = row / Planes::kLowRows * Planes::kLowBits;
  if (place == 2) low = hn::ShiftRight<2>(low);
  if (place == 4) low = hn::ShiftRight<4>(low);
  if (place == 6) low = hn::ShiftRight<6>(low);
  low = hn::And(low, hn::Set(tag, kLowMask));
  if constexpr (Planes::kHighBits == 0) {
    return low;
  } else {
    const int shift = static_cast<int>(Planes::kLowBits) - static_cast<int>(row * Planes::kHighBits);
    const auto all = hn::LoadU(tag, reinterpret_cast<const uint32_t*>(planes.high[0][lane]));
    const auto high = shift > 0 ? hn::ShiftLeftSame(all, shift) : hn::ShiftRightSame(all, -shift);
    return hn::Or(low, hn::And(high, hn::Set(tag, kHighMask)));
  }
}

// Returns a register of row j of the factors of a group, from output `lane` on.
template <Codes kCodes, class T>
HWY_INLINE IntVec LoadFactors(const T& pack, size_t group, size_t j, size_t lane) {
  if constexpr (T::kCodeBits == 8) {
    const IntVec codes = hn::LoadU(IntTag(), reinterpret_cast<const int32_t*>(pack.codes[group][j][lane]));
    return kUnsignedCodes<kCodes> ? hn::Xor(codes, hn::Set(IntTag(), static_cast<int32_t>(0x80808080u))) : codes;
  } else {
    const size_t row = group * T::kGroup / 4 + j;
    constexpr size_t kRows = kPlaneTerms<T> / 4;
    UnsignedVec factors = LoadPlanes(pack.codes[row / kRows], row % kRows, lane);
    if constexpr (ListsValues<T>) factors = LookUp<T, kCodes>(factors);
    return hn::BitCast(IntTag(), factors);
  }
}

HWY_INLINE Lanes LoadScales(const float* scales) { return LoadLanes(scales); }
HWY_INLINE FloatVec LoadScaleVec(const uint16_t* halves) {
  const hn::Rebind<hwy::float16_t, FloatTag> tag;
  const auto bits = hn::LoadU(hn::Rebind<uint16_t, FloatTag>(), halves);
  return hn::PromoteTo(FloatTag(), hn::BitCast(tag, bits));
}
HWY_INLINE FloatVec LoadScaleVec(const uint8_t* exponents) {
  const hn::Rebind<uint8_t, FloatTag> bytes;
  const auto exponent = hn::SaturatedSub(hn::LoadU(bytes, exponents), hn::Set(bytes, uint8_t{1}));
  return hn::BitCast(FloatTag(), hn::ShiftLeft<23>(hn::PromoteTo(UnsignedTag(), exponent)));
}
template <class S>
HWY_INLINE Lanes LoadScales(const S* scales) {
  Lanes result;
  const size_t parts = NumParts();  // known to the compiler, unlike the value of a call in a template
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < parts; ++i) SetPart(result, i, LoadScaleVec(scales + i * hn::Lanes(FloatTag())));
  return result;
}

// Returns the numbers of a group's scales, or minima, for a register of outputs.
template <class N>
HWY_INLINE IntVec LoadNumberVec(const N* numbers) {
  return hn::PromoteTo(IntTag(), hn::LoadU(hn::Rebind<N, IntTag>(), numbers));
}
template <class T>
HWY_INLINE IntVec LoadScaleNumbers(const T& pack, size_t group, size_t lane) {
  return LoadNumberVec(pack.scales[group] + lane);
}
template <class T>
HWY_INLINE IntVec LoadMinimumNumbers(const T& pack, size_t group, size_t lane) {
  return LoadNumberVec(pack.minima[group] + lane);
}
HWY_INLINE IntVec LoadScaleNumbers(const Q2_K& pack, size_t group, size_t lane) {
  return hn::And(LoadNumberVec(pack.both[group] + lane), hn::Set(IntTag(), 15));
}
HWY_INLINE IntVec LoadMinimumNumbers(const Q2_K& pack, size_t group, size_t lane) {
  return hn::ShiftRight<4>(LoadNumberVec(pack.both[group] + lane));
}

// Returns the integers of group `low` from `load(group, lane)`, or pairs of 16 bits with those of group `high`.
template <bool kPairs, class Load>
HWY_INLINE IntLanes LoadNumbers(size_t low, size_t high, Load load) {
  IntLanes result;
  const size_t parts = NumParts();  // known to the compiler, unlike the value of a call in a template
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < parts; ++i) {
    const size_t lane = i * hn::Lanes(IntTag());
    IntVec numbers = load(low, lane);
    if constexpr (kPairs) {
      numbers = hn::Or(hn::And(numbers, hn::Set(IntTag(), 0xFFFF)), hn::ShiftLeft<16>(load(high, lane)));
    }
    SetPart(result, i, numbers);
  }
  return result;
}

// How many sums of activations' codes one SumNumbers is for.
inline constexpr size_t kSumsAtOnce = kMultipliesShorts ? 2 : 1;

// Packs of type T. Prefetches `ahead` bytes on.
template <class T, Codes kCodes>
struct PackBlock {
  static constexpr size_t group_rows = T::kGroup / 4, kLines = sizeof(T) / kAlignment;
  static constexpr size_t fitting_rows =
      HWY_MIN(group_rows, kSumsInShorts<kCodes> ? 128u >> kFactorBits<T> : group_rows);
  static constexpr size_t kUnrolledRows = fitting_rows;
  static constexpr int32_t bias = NestedScales<T> && kCodesOf<T> == Codes::kSmall ? 0 : kFactorZero<T, kCodes>;
  static constexpr bool has_offsets = HasOffsets<T>;

  // Row j of the codes of a group.
  HWY_INLINE IntLanes CodesAt(size_t group, size_t j) const {
    const T& pack = packs[group / T::kGroups];
    group %= T::kGroups;
    AskForSome(reinterpret_cast<const std::byte*>(&pack) + ahead, group, j);
    IntLanes result;
    const size_t parts = NumParts();  // known to the compiler, unlike the value of a call in a template
    SKALD_UNROLL_PARTS
    for (size_t i = 0; i < parts; ++i) SetPart(result, i, LoadFactors<kCodes>(pack, group, j, i * hn::Lanes(IntTag())));
    return result;
  }

  HWY_INLINE Lanes ScalesOf(size_t group) const {
    return LoadScales(packs[group / T::kGroups].scales[group % T::kGroups]);
  }
  HWY_INLINE Lanes OffsetsOf(size_t group) const {
    return LoadScales(packs[group / T::kGroups].offsets[group % T::kGroups]);
  }

  HWY_INLINE IntLanes NumbersOf(size_t group) const {
    return LoadNumbers<kSumsInShorts<kCodes>>(
        group, group, [this](size_t g, size_t lane) HWY_ATTR { return LoadScaleNumbers(*packs, g, lane); });
  }
  HWY_INLINE IntLanes SumNumbers(size_t i) const {
    constexpr size_t kPerGroup = T::kGroup / kActivationSum;
    const size_t low = i * kSumsAtOnce / kPerGroup, high = (i * kSumsAtOnce + kSumsAtOnce - 1) / kPerGroup;
    return LoadNumbers<kMultipliesShorts>(low, high, [this](size_t g, size_t lane) HWY_ATTR {
      if constexpr (HasOffsets<T>)
        return LoadMinimumNumbers(*packs, g, lane);
      else
        return hn::Mul(LoadScaleNumbers(*packs, g, lane), hn::Set(IntTag(), kFactorZero<T, kCodes>));
    });
  }
  HWY_INLINE Lanes Scale() const { return LoadScales(packs->scale); }
  HWY_INLINE Lanes Minimum() const {
    if constexpr (HasOffsets<T>)
      return LoadScales(packs->minimum);
    else
      return ZeroLanes();
  }

  const T* packs;
  size_t groups;  // fewer than a whole block's at the end of K
  size_t ahead;

 private:
  // Prefetches a part of the lines of one group: all at once would delay the multiplication.
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
  int32_t bias;  // the excess of factors over values; 0 for small ones with scales of scales
  alignas(kAlignment) uint8_t codes[kCodeRows][4 * kLanes];
  alignas(kAlignment) uint8_t signs[kCodeRows][4 * kLanes];  // of split codes
  alignas(kAlignment) int32_t missing[kMaxGroups][kLanes];   // the amount that a group's products lack
  alignas(kAlignment) float scales[kMaxGroups][kLanes], offsets[kMaxGroups][kLanes];  // without scales of scales
  alignas(kAlignment) int32_t numbers[kMaxGroups][kLanes], sum_numbers[kMaxGroups / kSumsAtOnce][kLanes];  // with them
  alignas(kAlignment) float scale[kLanes], minimum[kLanes];
};

// Whether blocks are expanded for few rows as well. Processors with nothing newer than SSE are too rare for more code.
inline constexpr bool kExpandsAlways = kPairsOfBytes && kKnownParts == 4;

// A PanelBlock of a type with groups of so many rows of codes, with the remaining interface of PackBlock.
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
  HWY_INLINE IntLanes SignsAt(size_t group, size_t j) const {
    return LoadIntLanes(reinterpret_cast<const int32_t*>(from.signs[group * group_rows + j]));
  }
  HWY_INLINE IntLanes MissingOf(size_t group) const { return LoadIntLanes(from.missing[group]); }
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
template <class T, Codes kCodes>
using ExpandedBlockOf =
    ExpandedBlock<PackBlock<T, kCodes>::group_rows, PackBlock<T, kCodes>::fitting_rows, HasOffsets<T>>;

// Writes a block of `num_packs` packs to `to`.
template <class T, Codes kCodes>
void Expand(const std::byte* packs, size_t num_packs, size_t ahead, PanelBlock& to) {
  const PackBlock<T, kCodes> from = {reinterpret_cast<const T*>(packs), num_packs * T::kGroups, ahead};
  to.groups = from.groups, to.bias = from.bias;
  for (size_t group = 0; group < from.groups; ++group) {
    IntLanes missing = SetIntLanes(0);
    HWY_UNROLL(8)
    for (size_t j = 0; j < from.group_rows; ++j) {
      const size_t row = group * from.group_rows + j;
      IntLanes codes = from.CodesAt(group, j);
      if constexpr (kCodes == Codes::kSplit) {
        const IntLanes signs = SplitCodes(codes, missing);
        StoreIntLanes(signs, reinterpret_cast<int32_t*>(to.signs[row]));
      }
      StoreIntLanes(codes, reinterpret_cast<int32_t*>(to.codes[row]));
    }
    if constexpr (kCodes == Codes::kSplit) StoreIntLanes(missing, to.missing[group]);
    if constexpr (NestedScales<T>) {
      StoreIntLanes(from.NumbersOf(group), to.numbers[group]);
    } else {
      StoreLanes(from.ScalesOf(group), to.scales[group]);
      if constexpr (HasOffsets<T>) StoreLanes(from.OffsetsOf(group), to.offsets[group]);
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

  // The address of the weights of a panel, from term k on.
  HWY_INLINE const std::byte* At(size_t panel, size_t k) const {
    return weights + (panel * padded_k + k) / terms_per_pack * pack_bytes;
  }
};

template <class T, Codes kCodes>
HWY_INLINE GroupMatrix GroupMatrixOf(const void* weights, size_t padded_k) {
  return {static_cast<const std::byte*>(weights), padded_k, T::kTerms, sizeof(T), &Expand<T, kCodes>};
}

// AVX3_SPR takes this file and multiplication on vectors from an older target: for bytes it adds only AMX to AVX3_ZEN4.
#if HWY_TARGET == HWY_AVX3_SPR && (HWY_TARGETS & HWY_AVX3_ZEN4) && HWY_STATIC_TARGET != HWY_AVX3_ZEN4
namespace bytes = skald::N_AVX3_ZEN4;
#else
namespace bytes = skald::HWY_NAMESPACE;
#endif

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_PANEL_BLOCK_INL_TOGGLE
