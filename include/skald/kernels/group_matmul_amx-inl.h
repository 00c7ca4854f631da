// SPDX-License-Identifier: Apache-2.0
//
// Multiplication of quantised activations by a group-quantised matrix on AMX tiles, for two or more rows. A tile
// product is the exact dot products of one group, for 16 rows and 16 outputs; vectors scale and add them, in the order
// of R2. Tiles and vectors meet in memory, so the work is pipelined: while one tile is multiplied, the product before
// the last is stored, and one stored two steps earlier is added up.

#if defined(SKALD_KERNELS_GROUP_MATMUL_AMX_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_GROUP_MATMUL_AMX_INL_TOGGLE
#undef SKALD_KERNELS_GROUP_MATMUL_AMX_INL_TOGGLE
#else
#define SKALD_KERNELS_GROUP_MATMUL_AMX_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/group_layout.h"
#include "skald/kernels/amx-inl.h"
#include "skald/kernels/args.h"
#include "skald/kernels/codes-inl.h"
#include "skald/kernels/lanes-inl.h"
#include "skald/kernels/outputs-inl.h"

#if HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// One panel of one block of K, as tile products want it: small enough for the first-level cache, widened to eight bits,
// one piece of memory. Made once for all rows.
template <class T>
struct PanelBlock {
  static constexpr size_t kMaxGroups = kActivationBlock / T::kGroup, kRows = T::kGroup / 4;

  PanelBlock(const T* packs, size_t num_packs) : groups(num_packs * T::kGroups) {
    for (size_t g = 0; g < groups; ++g) {
      const T& pack = packs[g / T::kGroups];
      const size_t group = g % T::kGroups;
      const hn::Repartition<int8_t, IntTag> bytes;
      const auto bias = hn::Set(bytes, static_cast<int8_t>(kCodeBias<T>));
      for (size_t j = 0; j < kRows; ++j) {
        const auto biased = hn::BitCast(bytes, LoadCodes(pack, group, j, 0));
        hn::Store(hn::Sub(biased, bias), bytes, codes[g][j]);
      }
      StoreLanes(LoadScales(pack.scales[group]), scales[g]);
      if constexpr (std::is_same_v<T, Q8A>) StoreLanes(LoadLanes(pack.offsets[group]), offsets[g]);
    }
  }

  size_t groups;
  alignas(kAlignment) int8_t codes[kMaxGroups][kRows][4 * kLanes];
  alignas(kAlignment) float scales[kMaxGroups][kLanes];
  alignas(kAlignment) float offsets[std::is_same_v<T, Q8A> ? kMaxGroups : 1][kLanes];  // Q8A only
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
SKALD_AMX void MultiplyGroups(const int8_t* rows, const int8_t* codes) {
#define SKALD_MULTIPLY(product, x, y)              \
  do {                                             \
    _tile_zero(product);                           \
    _tile_loadd(x, rows, kActivationGroup);        \
    _tile_loadd(y, codes, kTileRowBytes);          \
    _tile_dpbssd(product, x, y);                   \
  } while (false)
  if constexpr (kProduct == 0) SKALD_MULTIPLY(0, 4, 6);
  if constexpr (kProduct == 1) SKALD_MULTIPLY(1, 5, 7);
  if constexpr (kProduct == 2) SKALD_MULTIPLY(2, 4, 6);
  if constexpr (kProduct == 3) SKALD_MULTIPLY(3, 5, 7);
#undef SKALD_MULTIPLY
}

template <size_t kProduct>
SKALD_AMX void StoreProduct(int32_t* to) {
  if constexpr (kProduct == 0) _tile_stored(0, to, kTileRowBytes);
  if constexpr (kProduct == 1) _tile_stored(1, to, kTileRowBytes);
  if constexpr (kProduct == 2) _tile_stored(2, to, kTileRowBytes);
  if constexpr (kProduct == 3) _tile_stored(3, to, kTileRowBytes);
}

// All tile products of some rows with one PanelBlock, one after the other: for each 16 rows, its groups.
template <class T>
class GroupProducts {
 public:
  // `totals` [16-row blocks][16][kLanes] are added to.
  GroupProducts(const QuantizedRows& input, size_t row, size_t row_blocks, size_t k, const PanelBlock<T>& panel,
                float* totals)
      : panel_(panel), count_(row_blocks * panel.groups),
        block_stride_(input.padded_k * kLanes), x_(input.CodesAt(row, k)),
        scale_stride_(QuantizedRows::Blocks(input.padded_k) * kLanes), scale_(input.ScaleAt(row, k)),
        sum_stride_(input.padded_k / kActivationSum * kLanes), sum_(input.SumAt(row, k)), total_(totals) {}

  SKALD_AMX void AddAll() {
    FloatVec sums[kLanes];
    Clear(sums);
    for (size_t step = 0; step < count_ + kAddLag; step += 4) {
      Step<0>(step, sums);
      Step<1>(step + 1, sums);
      Step<2>(step + 2, sums);
      Step<3>(step + 3, sums);
    }
  }

 private:
  // How many steps after its multiplication a product is stored and added.
  static constexpr size_t kStoreLag = 2, kAddLag = 4, kSlots = 8;

  HWY_INLINE static void Clear(FloatVec (&sums)[kLanes]) {
    HWY_UNROLL(16)
    for (size_t r = 0; r < kLanes; ++r) sums[r] = hn::Zero(FloatTag());
  }

  template <size_t kProduct>
  SKALD_AMX void Step(size_t step, FloatVec (&sums)[kLanes]) {
    if (step < count_) {
      const size_t offset = multiplied_ * T::kGroup;
      MultiplyGroups<kProduct>(x_ + offset / kActivationGroup * kLanes * kActivationGroup + offset % kActivationGroup,
                               panel_.codes[multiplied_][0]);
      if (++multiplied_ == panel_.groups) multiplied_ = 0, x_ += block_stride_;
    }
    if (step - kStoreLag < count_) StoreProduct<(kProduct + 4 - kStoreLag) % 4>(products_[(step - kStoreLag) % kSlots]);
    FinishStores();
    if (step - kAddLag < count_) AddProduct(products_[(step - kAddLag) % kSlots], sums);
  }

  HWY_INLINE void AddProduct(const int32_t* product, FloatVec (&sums)[kLanes]) {
    const FloatVec scales = hn::Load(FloatTag(), panel_.scales[added_]);
    HWY_UNROLL(16)
    for (size_t r = 0; r < kLanes; ++r) {
      const FloatVec dots = hn::ConvertTo(FloatTag(), hn::Load(IntTag(), product + r * kLanes));
      sums[r] = hn::MulAdd(dots, scales, sums[r]);
    }
    if constexpr (std::is_same_v<T, Q8A>) {
      const FloatVec offsets = hn::Load(FloatTag(), panel_.offsets[added_]);
      const int32_t* const codes = sum_ + added_ * kLanes;
      HWY_UNROLL(16)
      for (size_t r = 0; r < kLanes; ++r) {
        sums[r] = hn::MulAdd(hn::ConvertTo(FloatTag(), hn::Set(IntTag(), codes[r])), offsets, sums[r]);
      }
    }
    if (++added_ < panel_.groups) return;
    float* const total = total_;
    const float* const scale = scale_;
    HWY_UNROLL(16)
    for (size_t r = 0; r < kLanes; ++r) {
      const FloatVec sum = hn::MulAdd(hn::Set(FloatTag(), scale[r]), sums[r], hn::Load(FloatTag(), total + r * kLanes));
      hn::Store(sum, FloatTag(), total + r * kLanes);
    }
    Clear(sums);
    added_ = 0, scale_ += scale_stride_, sum_ += sum_stride_, total_ += kLanes * kLanes;
  }

  const PanelBlock<T>& panel_;
  const size_t count_;
  size_t multiplied_ = 0, added_ = 0;  // groups of the 16 rows at hand
  const size_t block_stride_;
  const int8_t* x_;
  const size_t scale_stride_;
  const float* scale_;
  const size_t sum_stride_;
  const int32_t* sum_;
  float* total_;
  alignas(kAlignment) int32_t products_[kSlots][kLanes * kLanes];
};

// Computes up to kMatMulGroup rows by one panel: totals [rows, kLanes].
template <class T>
SKALD_AMX void SumPanel(const MatMulArgs<T>& args, size_t row, size_t rows, size_t panel, float* totals) {
  const size_t blocks = RoundUp(rows, kLanes) / kLanes;
  hwy::ZeroBytes(totals, blocks * kLanes * kLanes * sizeof(float));
  const T* const packs = args.weights + panel * (args.padded_k / kGroupPadding);
  for (size_t k = 0; k < args.padded_k; k += kActivationBlock) {
    const size_t num_packs = HWY_MIN(kActivationBlock, args.padded_k - k) / kGroupPadding;
    const T* const begin = packs + k / kGroupPadding;
    const char* const next = reinterpret_cast<const char*>(begin + num_packs);
    for (size_t line = 0; line < num_packs * sizeof(T); line += kAlignment) hwy::Prefetch(next + line);
    const PanelBlock<T> block(begin, num_packs);
    GroupProducts<T>(args.input, row, blocks, k, block, totals).AddAll();
  }
}

// Panels whose outputs are written together: those of one row lie side by side, and each row on another page.
inline constexpr size_t kOutputPanels = 4;

// Writes `rows` rows of up to kOutputPanels panels from totals [panel][kMatMulGroup][kLanes].
template <class T>
HWY_INLINE void StoreTotals(const MatMulArgs<T>& args, size_t row, size_t rows, size_t panel, size_t panel_end,
                            const float* totals) {
  const bool stream = StreamsOutputs(args) && panel_end * kLanes <= args.n;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t p = panel; p < panel_end; ++p) {
      const Lanes total = LoadLanes(totals + ((p - panel) * kMatMulGroup + r) * kLanes);
      stream ? StreamOutputs(args, row + r, p, total) : StoreOutputs(args, row + r, p, total);
    }
  }
}

// Outer loop: so many rows that their activations stay in L2.
template <class T>
inline void MatMulGroupsAmx(const MatMulArgs<T>& args) {
  alignas(kAlignment) float totals[kOutputPanels * kMatMulGroup * kLanes];
  SetGroupTileShapes(T::kGroup);
  for (size_t row = args.row_begin; row < args.row_end; row += kMatMulGroup) {
    const size_t rows = HWY_MIN(args.row_end - row, kMatMulGroup);
    for (size_t panel = args.panel_begin; panel < args.panel_end; panel += kOutputPanels) {
      const size_t panel_end = HWY_MIN(panel + kOutputPanels, args.panel_end);
      for (size_t p = panel; p < panel_end; ++p) {
        SumPanel(args, row, rows, p, totals + (p - panel) * kMatMulGroup * kLanes);
      }
      StoreTotals(args, row, rows, panel, panel_end, totals);
    }
  }
  ReleaseTiles();
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX

#endif  // SKALD_KERNELS_GROUP_MATMUL_AMX_INL_TOGGLE
