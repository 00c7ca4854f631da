// SPDX-License-Identifier: Apache-2.0
//
// Multiplication of quantised activations by a group-quantised matrix on AMX tiles, for two or more rows. A tile
// product is the exact dot products of one group, for 16 rows and 16 outputs; vectors scale and add them, in the order
// of R2. Tiles and vectors exchange data through memory, so the work is pipelined: while one tile is multiplied, the
// product before the last is stored, and one stored two steps earlier is added up.

#if defined(SKALD_KERNELS_MATMUL_GROUP_MATMUL_AMX_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_GROUP_MATMUL_AMX_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_GROUP_MATMUL_AMX_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_GROUP_MATMUL_AMX_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "hwy/highway.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/matmul/block_sums-inl.h"
#include "skald/kernels/matmul/codes-inl.h"
#include "skald/kernels/matmul/outputs-inl.h"
#include "skald/kernels/matmul/panel_block-inl.h"
#include "skald/kernels/simd/amx-inl.h"
#include "skald/kernels/simd/lanes-inl.h"

#if HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Memory that is needed soon, prefetched in portions.
struct PanelAhead {
  const char* next = nullptr;
  const char* end = nullptr;
  size_t portion = 0;

  HWY_INLINE void AskForSome() {
    const char* const stop = HWY_MIN(next + portion, end);
    for (; next < stop; next += kAlignment) _mm_prefetch(next, _MM_HINT_T1);
  }
};

// A PanelBlock for tile products, which multiply signed bytes.
struct TilePanel : bytes::PanelBlock {
  void Fill(const bytes::GroupMatrix& matrix, const std::byte* packs, size_t num_packs) {
    matrix.expand(packs, num_packs, 0, *this);
    if (bias == 0) return;
    const hn::Repartition<uint8_t, IntTag> unsigned_bytes;
    const auto all_bias = hn::Set(unsigned_bytes, static_cast<uint8_t>(bias));
    for (size_t i = 0; i < num_packs * matrix.terms_per_pack / 4; ++i) {
      hn::Store(hn::Sub(hn::Load(unsigned_bytes, codes[i]), all_bias), unsigned_bytes, codes[i]);
    }
    hwy::ZeroBytes(sum_numbers, sizeof(sum_numbers));  // they would remove the bias, for types with scales of scales
  }

  PanelAhead ahead;  // weights of the next TilePanel
};

// Tiles 0 to 3 hold products, 4 and 5 a group of 16 rows of activations, 6 and 7 a group of 16 outputs.
SKALD_AMX void SetGroupTileShapes(size_t group) {
  TileShapes shapes;
  for (size_t i = 4; i < 6; ++i) shapes.row_bytes[i] = static_cast<uint16_t>(group);
  for (size_t i = 6; i < 8; ++i) shapes.heights[i] = static_cast<uint8_t>(group / 4);
  __asm__ volatile("" : : "r"(&shapes) : "memory");
  _tile_loadconfig(&shapes);
}

// Multiplies a group of 16 rows by one of 16 outputs, into tile kProduct. The number of a tile must be a literal.
template <size_t kProduct>
SKALD_AMX_ALWAYS void MultiplyTiles(const int8_t* rows, const uint8_t* codes) {
#define SKALD_MULTIPLY(product, x, y)       \
  do {                                      \
    _tile_zero(product);                    \
    _tile_loadd(x, rows, kActivationGroup); \
    _tile_loadd(y, codes, kTileRowBytes);   \
    _tile_dpbssd(product, x, y);            \
  } while (false)
  if constexpr (kProduct == 0) SKALD_MULTIPLY(0, 4, 6);
  if constexpr (kProduct == 1) SKALD_MULTIPLY(1, 5, 7);
  if constexpr (kProduct == 2) SKALD_MULTIPLY(2, 4, 6);
  if constexpr (kProduct == 3) SKALD_MULTIPLY(3, 5, 7);
#undef SKALD_MULTIPLY
}

template <size_t kProduct>
SKALD_AMX_ALWAYS void StoreProduct(int32_t* to) {
  if constexpr (kProduct == 0) _tile_stored(0, to, kTileRowBytes);
  if constexpr (kProduct == 1) _tile_stored(1, to, kTileRowBytes);
  if constexpr (kProduct == 2) _tile_stored(2, to, kTileRowBytes);
  if constexpr (kProduct == 3) _tile_stored(3, to, kTileRowBytes);
}

// Panels computed together: 16 rows of activations are read from L2 for the first of them and are in L1 for the others,
// and their outputs of one row are neighbours.
inline constexpr size_t kPanelsAtOnce = 4, kTotalsPerBlock = kPanelsAtOnce * kLanes * kLanes;

// All tile products of some rows with some panels, in order: for each 16 rows, each panel and each group. The compiler
// knows the number of a group, so that sums stay in registers and nothing is counted.
template <bool kNested, bool kOffsets, size_t kGroupTerms>
class GroupProducts {
 public:
  // `totals` [16-row blocks][kPanelsAtOnce][16][kLanes] are added to.
  SKALD_AMX void AddAll(const QuantizedRows& input, size_t row, size_t row_blocks, size_t k, TilePanel* panels,
                        size_t num_panels, float* totals) {
    const size_t scale_stride = input.RowScales() * kLanes;
    const size_t sum_stride = input.padded_k / kActivationSum * kLanes;
    Unit unit = {nullptr, input.CodesAt(row, k), input.ScaleAt(row, k), input.SumAt(row, k), nullptr}, before = unit;
    Sum sums[kLanes];
    for (size_t block = 0; block < row_blocks; ++block) {
      for (size_t p = 0; p < num_panels; ++p) {
        panels[p].ahead.AskForSome();
        unit.panel = panels + p, unit.totals = totals + block * kTotalsPerBlock + p * kLanes * kLanes;
        AddUnit(unit, before, sums, std::make_index_sequence<kSteps>());
        before = unit;
      }
      unit.codes += input.padded_k * kLanes, unit.scales += scale_stride, unit.code_sums += sum_stride;
    }
    unit.panel = nullptr;
    AddUnit(unit, before, sums, std::make_index_sequence<kSteps>());
  }

 private:
  // The sums of a block with scales of scales, which are integers, or else the totals.
  using Sum = std::conditional_t<kNested, IntVec, FloatVec>;

  // 16 rows and a panel; null: nothing to do.
  struct Unit {
    const TilePanel* panel;
    const int8_t* codes;
    const float* scales;
    const int16_t* code_sums;
    float* totals;
  };

  // A step multiplies one group. After so many steps its product is stored, and later added.
  static constexpr size_t kSteps = kActivationBlock / kGroupTerms, kStoreLag = 2, kAddLag = 4, kSlots = 4;
  static_assert(kSteps % kSlots == 0 && kAddLag - kStoreLag < kSlots && kAddLag <= kSteps);

  template <size_t... kStep>
  SKALD_AMX_ALWAYS void AddUnit(const Unit& unit, const Unit& before, Sum (&sums)[kLanes],
                                std::index_sequence<kStep...>) {
    (Step<kStep>(unit, before, sums), ...);
  }

  HWY_INLINE static bool Has(const Unit& unit, size_t group) {
    return unit.panel != nullptr && group < unit.panel->groups;
  }

  template <size_t kStep>
  SKALD_AMX_ALWAYS void Step(const Unit& unit, const Unit& before, Sum (&sums)[kLanes]) {
    if (Has(unit, kStep)) Multiply<kStep>(unit);
    constexpr size_t kStored = (kStep + kSteps - kStoreLag) % kSteps;
    if (Has(kStored < kStep ? unit : before, kStored)) StoreProduct<kStored % kSlots>(products_[kStored % kSlots]);
    FinishStores();
    constexpr size_t kAdded = (kStep + kSteps - kAddLag) % kSteps;
    const Unit& adding = kAdded < kStep ? unit : before;
    if constexpr (kAdded == 0) Begin(adding, sums);
    if (Has(adding, kAdded)) Add<kAdded>(adding, sums);
    if constexpr (kAdded == kSteps - 1) {
      if (adding.panel != nullptr) End(adding, sums);
    }
  }

  HWY_INLINE static void Begin(const Unit& unit, Sum (&sums)[kLanes]) {
    HWY_UNROLL(16)
    for (size_t r = 0; r < kLanes; ++r) {
      if constexpr (kNested)
        sums[r] = hn::Zero(IntTag());
      else if (unit.panel != nullptr)
        sums[r] = hn::Load(FloatTag(), unit.totals + r * kLanes);
    }
  }

  template <size_t kGroup>
  SKALD_AMX_ALWAYS void Multiply(const Unit& unit) {
    constexpr size_t kFirst = kGroup * kGroupTerms;
    constexpr size_t kOffset = kFirst / kActivationGroup * kLanes * kActivationGroup + kFirst % kActivationGroup;
    MultiplyTiles<kGroup % kSlots>(unit.codes + kOffset, unit.panel->codes[kFirst / 4]);
    if constexpr (kOffsets && !kNested) {
      const int16_t* const pairs = unit.code_sums + kFirst / kActivationGroup * kLanes * 2;
      const IntVec both = hn::LoadU(IntTag(), reinterpret_cast<const int32_t*>(pairs));
      const IntVec first = hn::ShiftRight<16>(hn::ShiftLeft<16>(both)), second = hn::ShiftRight<16>(both);
      const IntVec code_sums = kGroupTerms == kActivationGroup  ? hn::Add(first, second)
                               : kFirst % kActivationGroup == 0 ? first
                                                                : second;
      hn::Store(hn::ConvertTo(FloatTag(), code_sums), FloatTag(), code_sums_[kGroup % kSumSlots]);
    }
  }

  template <size_t kGroup>
  HWY_INLINE void Add(const Unit& unit, Sum (&sums)[kLanes]) {
    const int32_t* const product = products_[kGroup % kSlots];
    if constexpr (kNested) {
      const IntVec scales = hn::Load(IntTag(), unit.panel->numbers[kGroup]);
      HWY_UNROLL(16)
      for (size_t r = 0; r < kLanes; ++r) {
        sums[r] = MulAddIntegers(hn::Load(IntTag(), product + r * kLanes), scales, sums[r]);
      }
    } else {
      AddFloats<kGroup>(unit, product, sums);
    }
  }

  template <size_t kGroup>
  HWY_INLINE void AddFloats(const Unit& unit, const int32_t* product, Sum (&totals)[kLanes]) {
    const FloatVec scales = hn::Load(FloatTag(), unit.panel->scales[kGroup]);
    [[maybe_unused]] FloatVec offsets;
    if constexpr (kOffsets) offsets = hn::Load(FloatTag(), unit.panel->offsets[kGroup]);
    const float* const row_scales = unit.scales + kGroup * kGroupTerms / kActivationGroup * kLanes;
    HWY_UNROLL(16)
    for (size_t r = 0; r < kLanes; ++r) {
      FloatVec sum = hn::Mul(hn::ConvertTo(FloatTag(), hn::Load(IntTag(), product + r * kLanes)), scales);
      if constexpr (kOffsets) {
        sum = hn::MulAdd(hn::Set(FloatTag(), code_sums_[kGroup % kSumSlots][r]), offsets, sum);
      }
      totals[r] = hn::MulAdd(hn::Set(FloatTag(), row_scales[r]), sum, totals[r]);
    }
  }

  HWY_INLINE static void End(const Unit& unit, const Sum (&sums)[kLanes]) {
    HWY_UNROLL(16)
    for (size_t r = 0; r < kLanes; ++r) {
      float* const total = unit.totals + r * kLanes;
      if constexpr (kNested) {
        const FloatVec sum = SumOfBlock(unit, r, sums[r]);
        hn::Store(hn::MulAdd(hn::Set(FloatTag(), unit.scales[r]), sum, hn::Load(FloatTag(), total)), FloatTag(), total);
      } else {
        hn::Store(sums[r], FloatTag(), total);
      }
    }
  }

  HWY_INLINE static FloatVec SumOfBlock(const Unit& unit, size_t r, IntVec dots) {
    const TilePanel& panel = *unit.panel;
    IntVec offsets = hn::Zero(IntTag());
    HWY_UNROLL(8)
    for (size_t i = 0; i < kActivationBlock / kActivationGroup; ++i) {
      offsets = AddSums(hn::Load(IntTag(), panel.sum_numbers[i]), unit.code_sums + (i * kLanes + r) * 2, offsets);
    }
    return FinishNestedBlock<kOffsets>(dots, offsets, hn::Load(FloatTag(), panel.scale),
                                       hn::Load(FloatTag(), panel.minimum));
  }

  static constexpr size_t kSumSlots = 8;  // more than kAddLag: they are written with the multiplication
  alignas(kAlignment) int32_t products_[kSlots][kLanes * kLanes];
  alignas(kAlignment) float code_sums_[kOffsets && !kNested ? kSumSlots : 1][kLanes];  // for offsets only
};

// A multiplication by weights of any type.
struct AmxProduct {
  bytes::GroupMatrix matrix;
  QuantizedRows input;
  MatMulOutputs to;

  // Panel i of those computed together from `panel` on: neighbours, or panels of gates each followed by its
  // counterpart.
  HWY_INLINE size_t PanelAt(size_t panel, size_t i) const {
    return to.gate ? panel + i / 2 + i % 2 * (to.n / 2 / kLanes) : panel + i;
  }
};

// Sums up to kMatMulGroup rows by `num_panels` panels.
template <class Products>
SKALD_AMX void SumPanels(const AmxProduct& product, size_t row, size_t row_blocks, size_t panel, size_t num_panels,
                         float* totals) {
  hwy::ZeroBytes(totals, row_blocks * kTotalsPerBlock * sizeof(float));
  const bytes::GroupMatrix& matrix = product.matrix;
  TilePanel panels[kPanelsAtOnce];
  Products products;
  for (size_t k = 0; k < matrix.padded_k; k += kActivationBlock) {
    const size_t num_packs = HWY_MIN(kActivationBlock, matrix.padded_k - k) / matrix.terms_per_pack;
    for (size_t i = 0; i < num_panels; ++i) {
      const std::byte* const weights = matrix.At(product.PanelAt(panel, i), k);
      panels[i].Fill(matrix, weights, num_packs);
      const size_t size = num_packs * matrix.pack_bytes;
      const char* const next = reinterpret_cast<const char*>(weights + size);
      panels[i].ahead = {next, next + size, RoundUp((size + row_blocks - 1) / row_blocks, kAlignment)};
    }
    products.AddAll(product.input, row, row_blocks, k, panels, num_panels, totals);
  }
}

// Up to kMatMulGroup rows by the panels [panel, panel_end), of which there are kPanelsAtOnce, gated: half as many.
template <class Products>
void MatMulPanelsAmx(const AmxProduct& product, size_t row, size_t rows, size_t panel, size_t panel_end) {
  constexpr size_t kPanelTotals = kLanes * kLanes;
  alignas(kAlignment) float totals[kMatMulGroup / kLanes * kTotalsPerBlock];
  const size_t sums = product.to.gate ? 2 : 1;
  SumPanels<Products>(product, row, RoundUp(rows, kLanes) / kLanes, panel, (panel_end - panel) * sums, totals);
  for (size_t r = 0; r < rows; r += kLanes) {
    StoreOutputs(product.to, row + r, HWY_MIN(kLanes, rows - r), panel, panel_end - panel,
                 {.first = totals + r / kLanes * kTotalsPerBlock,
                  .row_stride = kLanes,
                  .panel_stride = sums * kPanelTotals,
                  .up = kPanelTotals});
  }
}

// Outer loop: so many rows that their activations stay in L2.
template <class T>
void MultiplyGroupsAmx(const MatMulArgs<T>& args) {
  using Products = GroupProducts<NestedScales<T>, HasOffsets<T>, T::kGroup>;
  const AmxProduct product = {bytes::GroupMatrixOf<T, bytes::kCodesOf<T>>(args.weights, args.padded_k), args.input,
                              OutputsOf(args)};
  const size_t step = args.gate ? kPanelsAtOnce / 2 : kPanelsAtOnce;
  SetGroupTileShapes(T::kGroup);
  for (size_t row = args.row_begin; row < args.row_end; row += kMatMulGroup) {
    const size_t rows = HWY_MIN(args.row_end - row, kMatMulGroup);
    for (size_t panel = args.panel_begin; panel < args.panel_end; panel += step) {
      MatMulPanelsAmx<Products>(product, row, rows, panel, HWY_MIN(panel + step, args.panel_end));
    }
  }
  ReleaseTiles();
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX

#endif  // SKALD_KERNELS_MATMUL_GROUP_MATMUL_AMX_INL_TOGGLE
