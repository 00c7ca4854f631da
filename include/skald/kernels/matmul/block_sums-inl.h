// SPDX-License-Identifier: Apache-2.0
//
// The products of some rows of activations and a PanelBlock (arithmetic contract, R2), added to their totals: total =
// fma(sum, scale of the activations, total), for the sum of each group or, with scales of scales, of the block.

#if defined(SKALD_KERNELS_MATMUL_BLOCK_SUMS_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_BLOCK_SUMS_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_BLOCK_SUMS_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_BLOCK_SUMS_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/kernels/matmul/codes-inl.h"
#include "skald/kernels/matmul/panel_block-inl.h"
#include "skald/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Calls function(row, part) for each part of the sums of kRows rows.
template <size_t kRows, class Function>
HWY_INLINE void ForEachPart(Function function) {
  const size_t parts = NumParts();  // known to the compiler, unlike the value of a call in a template
  HWY_UNROLL(16)
  for (size_t r = 0; r < kRows; ++r) {
    SKALD_UNROLL_PARTS
    for (size_t i = 0; i < parts; ++i) function(r, i);
  }
}

// Adds the products of the rows [begin, end) of a group's codes, four terms each. `x` points to the activations of the
// first of them.
template <Codes kCodes, class Block, size_t kRows>
HWY_INLINE void AddCodes(const int8_t* x, const Block& block, size_t group, size_t begin, size_t end,
                         IntLanes (&sums)[kRows]) {
  constexpr size_t kStep = Block::kUnrolledRows;
  for (; begin < end; begin += kStep, x += 4 * kStep) {
    x = Forgotten(x);
    HWY_UNROLL(8)
    for (size_t j = 0; j < kStep; ++j) {
      const IntLanes codes = block.CodesAt(group, begin + j);
      IntLanes signs;
      if constexpr (kCodes == Codes::kSplit) signs = block.SignsAt(group, begin + j);
      ForEachPart<kRows>([&](size_t r, size_t i) HWY_ATTR {
        IntVec four = LoadFour(x + r * kActivationGroup + 4 * j);
        if constexpr (kCodes == Codes::kSplit) four = hn::Xor(four, Part(signs, i));
        SetPart(sums[r], i, AddProducts<kCodes>(Part(codes, i), four, Part(sums[r], i)));
      });
    }
  }
}

// Returns the initial value of the sums of a group's products.
template <Codes kCodes, class Block>
HWY_INLINE IntLanes FirstSums(const Block& block, size_t group) {
  if constexpr (kCodes == Codes::kSplit)
    return block.MissingOf(group);
  else
    return SetIntLanes(0);
}

// The common properties of the rows of a tile: their activations, from term k of the first of them on.
struct ActivationTile {
  const int8_t* codes;
  const int16_t* sums;
  const float* scales;  // one for a piece or, for weights with scales of scales, for all
  size_t height;

  HWY_INLINE const int8_t* CodesAt(size_t piece) const { return codes + piece * height * kActivationGroup; }
  HWY_INLINE const int16_t* SumsAt(size_t piece) const { return sums + piece * height * 2; }
  HWY_INLINE const float* ScalesAt(size_t piece) const { return scales + piece * height; }
};

// The rows of codes that make kActivationGroup terms.
inline constexpr size_t kPieceRows = kActivationGroup / 4;

// Returns the group that begins at row `first` of the codes of a piece: a sum of constants in an unrolled loop, so that
// the compiler knows the place of each code in its plane.
template <class Block>
HWY_INLINE size_t GroupAt(const Block& block, size_t piece, size_t first) {
  return (piece * kPieceRows + first) / block.group_rows;
}

// Returns sum + sum_numbers[i] times the corresponding sums of activations' codes.
HWY_INLINE IntVec AddSums(IntVec numbers, const int16_t* code_sums, IntVec sum) {
  if constexpr (kMultipliesShorts) {
    int32_t both;
    std::memcpy(&both, code_sums, sizeof(both));
    return MulAddPairs(numbers, hn::Set(IntTag(), both), sum);
  } else {
    return MulAddIntegers(numbers, hn::Set(IntTag(), code_sums[0]), sum);
  }
}

// Returns the sum of a block: `dots` times the scale, without `offsets`. These are multiplied by the minimum or, for
// codes that count from below zero, by the scale as well.
template <bool kHasMinima>
HWY_INLINE FloatVec FinishNestedBlock(IntVec dots, IntVec offsets, FloatVec scale, FloatVec minimum) {
  if constexpr (!kHasMinima) return hn::Mul(hn::ConvertTo(FloatTag(), hn::Sub(dots, offsets)), scale);
  const FloatVec sum = hn::Mul(hn::ConvertTo(FloatTag(), dots), scale);
  return hn::NegMulAdd(hn::ConvertTo(FloatTag(), offsets), minimum, sum);
}

// The block's sums with scales of scales: integers up to its end.
template <Codes kCodes, class Block, size_t kRows>
HWY_INLINE void AddNestedBlock(const Block& block, const ActivationTile& tile, Lanes (&sums)[kRows]) {
  constexpr size_t kPieces = kActivationBlock / kActivationGroup;
  IntLanes dots[kRows], offsets[kRows];
  HWY_UNROLL(16)
  for (size_t r = 0; r < kRows; ++r) dots[r] = offsets[r] = SetIntLanes(0);
  for (size_t piece = 0; piece < kPieces; ++piece) {
    const int8_t* x = tile.CodesAt(piece);
    HWY_UNROLL(2)
    for (size_t first = 0; first < kPieceRows; first += block.group_rows) {
      const size_t group = GroupAt(block, piece, first);
      const IntLanes numbers = block.NumbersOf(group);
      HWY_UNROLL(4)
      for (size_t j = 0; j < block.group_rows; j += block.fitting_rows, x += 4 * block.fitting_rows) {
        IntLanes products[kRows];
        HWY_UNROLL(16)
        for (size_t r = 0; r < kRows; ++r) products[r] = FirstSums<kCodes>(block, group);
        AddCodes<kCodes>(x, block, group, j, j + block.fitting_rows, products);
        ForEachPart<kRows>([&](size_t r, size_t i) HWY_ATTR {
          const IntVec product = Part(products[r], i), number = Part(numbers, i), dot = Part(dots[r], i);
          SetPart(dots[r], i,
                  kSumsInShorts<kCodes> ? MulAddPairs(product, number, dot) : MulAddIntegers(product, number, dot));
        });
      }
    }
    HWY_UNROLL(2)
    for (size_t i = 0; i < 2; i += kSumsAtOnce) {
      const IntLanes numbers = block.SumNumbers((piece * 2 + i) / kSumsAtOnce);
      ForEachPart<kRows>([&](size_t r, size_t part) HWY_ATTR {
        SetPart(offsets[r], part, AddSums(Part(numbers, part), tile.SumsAt(piece) + 2 * r + i, Part(offsets[r], part)));
      });
    }
  }
  const Lanes scale = block.Scale(), minimum = block.Minimum();
  ForEachPart<kRows>([&](size_t r, size_t i) HWY_ATTR {
    SetPart(
        sums[r], i,
        FinishNestedBlock<Block::has_offsets>(Part(dots[r], i), Part(offsets[r], i), Part(scale, i), Part(minimum, i)));
  });
}

// Adds the products of a group of codes.
template <Codes kCodes, class Block, size_t kRows>
HWY_INLINE void AddGroup(const int8_t* x, const Block& block, size_t group, IntLanes (&dots)[kRows]) {
  if constexpr (!kSumsInShorts<kCodes>) {
    AddCodes<kCodes>(x, block, group, 0, block.group_rows, dots);
  } else {
    HWY_UNROLL(4)
    for (size_t j = 0; j < block.group_rows; j += block.fitting_rows) {
      IntLanes products[kRows];
      HWY_UNROLL(16)
      for (size_t r = 0; r < kRows; ++r) products[r] = SetIntLanes(0);
      AddCodes<kCodes>(x + 4 * j, block, group, j, j + block.fitting_rows, products);
      const IntVec ones = hn::Set(IntTag(), 0x00010001);
      ForEachPart<kRows>([&](size_t r, size_t i) HWY_ATTR {
        SetPart(dots[r], i, MulAddPairs(Part(products[r], i), ones, Part(dots[r], i)));
      });
    }
  }
}

// Returns two factors times two sums of activations' codes, in each lane.
HWY_INLINE IntVec WeighSums(const int16_t* code_sums, int32_t first, int32_t second) {
  if constexpr (kMultipliesShorts) {
    const auto factors = static_cast<int32_t>((first & 0xFFFF) | (second & 0xFFFF) << 16);
    return AddSums(hn::Set(IntTag(), factors), code_sums, hn::Zero(IntTag()));
  } else {
    return hn::Set(IntTag(), first * code_sums[0] + second * code_sums[1]);
  }
}

// Adds a block without scales of scales: floats from group to group.
template <Codes kCodes, class Block, size_t kRows>
HWY_INLINE void AddFloatBlock(const Block& block, const ActivationTile& tile, Lanes (&totals)[kRows]) {
  for (size_t piece = 0; GroupAt(block, piece, 0) < block.groups; ++piece) {
    HWY_UNROLL(2)
    for (size_t first = 0; first < kPieceRows; first += block.group_rows) {
      const size_t group = GroupAt(block, piece, first);
      const bool in_first = first == 0, in_second = first + block.group_rows == kPieceRows;  // of two sums
      const int16_t* const code_sums = tile.SumsAt(piece);
      IntLanes dots[kRows];
      HWY_UNROLL(16)
      for (size_t r = 0; r < kRows; ++r) dots[r] = FirstSums<kCodes>(block, group);
      if constexpr (kCodes != Codes::kSplit)
        ForEachPart<kRows>([&](size_t r, size_t i) HWY_ATTR {
          SetPart(dots[r], i, WeighSums(code_sums + 2 * r, in_first ? -block.bias : 0, in_second ? -block.bias : 0));
        });
      AddGroup<kCodes>(tile.CodesAt(piece) + 4 * first, block, group, dots);
      const Lanes scales = block.ScalesOf(group);
      [[maybe_unused]] Lanes offsets;
      if constexpr (Block::has_offsets) offsets = block.OffsetsOf(group);
      ForEachPart<kRows>([&](size_t r, size_t i) HWY_ATTR {
        FloatVec sum = hn::Mul(hn::ConvertTo(FloatTag(), Part(dots[r], i)), Part(scales, i));
        if constexpr (Block::has_offsets) {
          const IntVec code_sum = WeighSums(code_sums + 2 * r, in_first, in_second);
          sum = hn::MulAdd(hn::ConvertTo(FloatTag(), code_sum), Part(offsets, i), sum);
        }
        const FloatVec scale = hn::Set(FloatTag(), tile.ScalesAt(piece)[r]);
        SetPart(totals[r], i, hn::MulAdd(scale, sum, Part(totals[r], i)));
      });
    }
  }
}

// Adds a block to the totals of kRows rows, [kRows][kLanes].
template <Codes kCodes, bool kNested, size_t kRows, class Block>
HWY_INLINE void AddBlock(const Block& block, const ActivationTile& tile, bool is_first, float* totals) {
  const auto total_of = [=](size_t r) HWY_ATTR { return is_first ? ZeroLanes() : LoadLanes(totals + r * kLanes); };
  Lanes sums[kRows];
  if constexpr (kNested) {
    AddNestedBlock<kCodes>(block, tile, sums);
    HWY_UNROLL(16)
    for (size_t r = 0; r < kRows; ++r) sums[r] = MulAdd(hn::Set(FloatTag(), tile.scales[r]), sums[r], total_of(r));
  } else {
    HWY_UNROLL(16)
    for (size_t r = 0; r < kRows; ++r) sums[r] = total_of(r);
    AddFloatBlock<kCodes>(block, tile, sums);
  }
  HWY_UNROLL(16)
  for (size_t r = 0; r < kRows; ++r) StoreLanes(sums[r], totals + r * kLanes);
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_BLOCK_SUMS_INL_TOGGLE
