// SPDX-License-Identifier: Apache-2.0
//
// Multiplication of quantised activations by a group-quantised matrix (arithmetic contract, R2): for many rows, each
// block of a panel is expanded once; few rows are multiplied by the packs directly.

#if defined(SKALD_KERNELS_MATMUL_GROUP_MATMUL_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_GROUP_MATMUL_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_GROUP_MATMUL_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_GROUP_MATMUL_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/matmul/block_sums-inl.h"
#include "skald/kernels/matmul/group_matmul_amx-inl.h"
#include "skald/kernels/matmul/panel_block-inl.h"
#include "skald/kernels/matmul/vector_loops-inl.h"
#include "skald/kernels/simd/amx_support.h"
#include "skald/kernels/simd/avx_vnni_support.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Whether expanding codes would only copy them.
template <class T>
inline constexpr bool kCodesLieExpanded = T::kCodeBits == 8;

// Up to so many rows, expanding costs more than it saves.
template <class T>
inline constexpr size_t kFewForPacks = kCodesLieExpanded<T> ? kFewRows
                                       : kKnownParts == 1   ? 16
                                       : NestedScales<T>    ? kFewRows
                                                            : 8;

// The weights, and the present panel and terms.
struct GroupProduct {
  GroupMatrix matrix;
  QuantizedRows input;
  size_t ahead;
  PanelBlock& block;

  HWY_INLINE ActivationTile Activations(size_t row, size_t k) const {
    return {input.CodesAt(row, k), input.SumAt(row, k), input.ScaleAt(row, k), input.height};
  }
};

inline void ExpandPanel(const void* group_product, size_t panel, size_t k, size_t k_end) {
  const auto& product = *static_cast<const GroupProduct*>(group_product);
  const GroupMatrix& matrix = product.matrix;
  matrix.expand(matrix.At(panel, k), (k_end - k) / matrix.terms_per_pack, product.ahead, product.block);
}

// The sums of kRows rows and the panel that ExpandPanel was called for: a SumFunction.
template <class Block, Codes kCodes, bool kNested, size_t kRows>
void SumExpanded(const void* group_product, size_t row, size_t, size_t k, size_t, float* sums) {
  const auto& product = *static_cast<const GroupProduct*>(group_product);
  AddBlock<kCodes, kNested, kRows>(Block(product.block), product.Activations(row, k), k == 0, sums);
}

// If all targets sum alike, small codes and large ones share their code.
template <class T, Codes kCodes, size_t kRows>
inline constexpr SumFunction kExpanded =
    &SumExpanded<ExpandedBlockOf<T, kCodes>, kPairsOfBytes ? kCodes : Codes::kSmall, NestedScales<T>, kRows>;

// The same for few rows, from the packs of type T.
template <class T, Codes kCodes, size_t kRows>
void SumPacks(const void* group_product, size_t row, size_t panel, size_t k, size_t k_end, float* sums) {
  const auto& product = *static_cast<const GroupProduct*>(group_product);
  const PackBlock<T, kCodes> block = {reinterpret_cast<const T*>(product.matrix.At(panel, k)), (k_end - k) / T::kGroup,
                                      product.ahead};
  AddBlock<kCodes, NestedScales<T>, kRows>(block, product.Activations(row, k), k == 0, sums);
}

// The form of codes for many rows.
template <class T>
inline constexpr Codes kCodesForMany = kCodesOf<T>;
template <class T>
requires(kPairsOfBytes&& kCodesOf<T> == Codes::kLarge) inline constexpr Codes kCodesForMany<T> = Codes::kSplit;

// Up to so many rows, splitting costs more than it saves.
inline constexpr size_t kFewForSplitting = 16;

// Sets the tile for many rows of codes in this form.
template <class T, Codes kCodes>
HWY_INLINE void MultiplyMany(GroupProduct& product, VectorProduct& loops) {
  // Sums of a block need no register while a group is multiplied, so that AVX2 has room for more rows.
  constexpr size_t kManyRows = kKnownParts == 2 ? 4 : kTileRows;
  static_assert(kRowBlock % kManyRows == 0, "a tile lies within one block of the input");
  product.matrix = GroupMatrixOf<T, kCodes>(product.matrix.weights, product.matrix.padded_k);
  constexpr bool kSplits = kCodes == Codes::kSplit;
  constexpr Codes kPacked = kSplits ? Codes::kLarge : kCodes;
  if constexpr (kCodesLieExpanded<T>) loops.many = {kManyRows, 1, &SumPacks<T, kPacked, kManyRows>};
  if constexpr (kSplits || !kCodesLieExpanded<T>) {
    if (!kCodesLieExpanded<T> || loops.to.rows > kFewForSplitting) {
      loops.many = {kManyRows, 1, kExpanded<T, kCodes, kManyRows>, true};
    }
  }
}

// Multiplies on vectors, and prefetches `ahead` bytes on.
template <class T>
void MultiplyGroups(const MatMulArgs<T>& args, size_t ahead) {
  constexpr Codes kCodes = kCodesOf<T>;
  static_assert(kRowBlock % kFewRows == 0, "a tile lies within one block of the input");
  PanelBlock block;
  GroupProduct product = {GroupMatrixOf<T, kCodes>(args.weights, args.padded_k), args.input, ahead, block};
  VectorProduct loops = VectorLoopsOf(args);
  loops.args = &product, loops.by_block = true;
  loops.expand = &ExpandPanel;
  if constexpr (kExpandsAlways) {
    loops.one = loops.one_panel = loops.few = loops.many = {1, 1, kExpanded<T, kCodes, 1>, true};
  } else {
    loops.one = loops.one_panel = {1, 1, &SumPacks<T, kCodes, 1>};
    loops.few = {kFewRows, 1, &SumPacks<T, kCodes, kFewRows>};
    loops.few_limit = kFewForPacks<T>;
    MultiplyMany<T, kCodesForMany<T>>(product, loops);
#if HWY_TARGET == HWY_AVX2
    if (HaveAvxVnni()) {
      // Codes of other types arrive from memory as fast as they are multiplied.
      constexpr bool kFoursForOne = NestedScales<T> || ListsValues<T>;
      if constexpr (kFoursForOne) loops.one = loops.one_panel = {1, 1, &SumPacks<T, Codes::kFours, 1>};
      MultiplyMany<T, Codes::kFours>(product, loops);
    }
#endif
  }
  MultiplyOnVectors(loops);
}

template <class T>
void GroupMatMul(const MatMulArgs<T>& args) {
  ClearPreparedOutput(args);
#if HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX
  // With fewer rows, vectors are as fast as memory, and AMX is not: tiles that are mostly empty take as long as full
  // ones, and codes are widened for it.
  constexpr size_t kRowsForAmx = 9;
  static_assert(QuantizedRows::Height(kRowsForAmx) == kLanes, "a group of rows is one AMX tile");
  if (args.rows >= kRowsForAmx && HaveAmx()) return MultiplyGroupsAmx(args);
#endif
  // A single row reads one stream, which Zen 4's prefetchers handle better alone. Prefetching helps if codes, scales
  // and offsets are three streams, if much is read at a time, and on Zen 5, which AVX-VNNI identifies.
  constexpr bool kAlwaysAsks = !kOneStream || HasOffsets<T> || NestedScales<T>;
  const bool asks = args.rows > 1 || kAlwaysAsks || HaveAvxVnni();
  bytes::MultiplyGroups(args, asks ? kBytesAhead : 0);
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_GROUP_MATMUL_INL_TOGGLE
