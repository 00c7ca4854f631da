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
#include <utility>

#include "hwy/highway.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/group_layout.h"
#include "skald/kernels/activation-inl.h"
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
      HWY_UNROLL(8)
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

// Memory that will be wanted soon, asked for in a number of portions.
class PrefetchRange {
 public:
  PrefetchRange(const void* begin, size_t bytes, size_t portions)
      : next_(static_cast<const char*>(begin)), end_(next_ + bytes),
        portion_(RoundUp((bytes + portions - 1) / portions, kAlignment)) {}

  HWY_INLINE void AskForSome() {
    const char* const stop = HWY_MIN(next_ + portion_, end_);
    for (; next_ < stop; next_ += kAlignment) _mm_prefetch(next_, _MM_HINT_T1);
  }

 private:
  const char* next_;
  const char* end_;
  size_t portion_;
};

// Multiplies a group of 16 rows by one of 16 outputs, into tile kProduct. The number of a tile must be a literal.
template <size_t kProduct>
SKALD_AMX_ALWAYS void MultiplyGroups(const int8_t* rows, const int8_t* codes) {
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
SKALD_AMX_ALWAYS void StoreProduct(int32_t* to) {
  if constexpr (kProduct == 0) _tile_stored(0, to, kTileRowBytes);
  if constexpr (kProduct == 1) _tile_stored(1, to, kTileRowBytes);
  if constexpr (kProduct == 2) _tile_stored(2, to, kTileRowBytes);
  if constexpr (kProduct == 3) _tile_stored(3, to, kTileRowBytes);
}

// All tile products of some rows with one PanelBlock, one after the other: for each 16 rows, its groups.
template <class T>
class GroupProducts {
 public:
  // `totals` [16-row blocks][16][kLanes] are added to. Meanwhile `ahead` is asked for.
  GroupProducts(const QuantizedRows& input, size_t row, size_t row_blocks, size_t k, const PanelBlock<T>& panel,
                float* totals, PrefetchRange ahead)
      : panel_(panel), row_blocks_(row_blocks), x_(input.CodesAt(row, k)), scale_(input.ScaleAt(row, k)),
        sum_(input.SumAt(row, k)), padded_k_(input.padded_k), totals_(totals), ahead_(ahead) {}

  // The loop reaches one block further than there are, for what is still on its way.
  SKALD_AMX void AddAll() {
    FloatVec sums[kLanes];
    for (size_t block = 0; block <= row_blocks_; ++block) {
      ahead_.AskForSome();
      AddBlock(block, sums, std::make_index_sequence<kSteps>());
    }
  }

 private:
  // A step multiplies one group. So many steps later its product is stored, and added.
  static constexpr size_t kSteps = PanelBlock<T>::kMaxGroups, kStoreLag = 2, kAddLag = 4;
  static constexpr size_t kSlots = 4;
  static_assert(kSteps % kSlots == 0 && kAddLag - kStoreLag < kSlots && kAddLag <= kSteps);

  template <size_t... kStep>
  SKALD_AMX_ALWAYS void AddBlock(size_t block, FloatVec (&sums)[kLanes], std::index_sequence<kStep...>) {
    (Step<kStep>(block, sums), ...);
  }

  // Whether 16 rows of this number, counted from the first, exist and have a group of this number.
  HWY_INLINE bool Has(size_t block, size_t group) const { return block < row_blocks_ && group < panel_.groups; }

  template <size_t kStep>
  SKALD_AMX_ALWAYS void Step(size_t block, FloatVec (&sums)[kLanes]) {
    if (Has(block, kStep)) Multiply<kStep>(block);
    constexpr size_t kStored = (kStep + kSteps - kStoreLag) % kSteps;
    if (Has(block - (kStored > kStep), kStored)) StoreProduct<kStored % kSlots>(products_[kStored % kSlots]);
    FinishStores();
    constexpr size_t kAdded = (kStep + kSteps - kAddLag) % kSteps;
    const size_t adding = block - (kAdded > kStep);
    if constexpr (kAdded == 0) Clear(sums);
    if (Has(adding, kAdded)) Add<kAdded>(sums);
    if constexpr (kAdded == kSteps - 1) {
      if (adding < row_blocks_) AddToTotals(adding, sums);
    }
  }

  HWY_INLINE static void Clear(FloatVec (&sums)[kLanes]) {
    HWY_UNROLL(16)
    for (size_t r = 0; r < kLanes; ++r) sums[r] = hn::Zero(FloatTag());
  }

  template <size_t kGroup>
  SKALD_AMX_ALWAYS void Multiply(size_t block) {
    constexpr size_t kFirst = kGroup * T::kGroup;
    constexpr size_t kOffset = kFirst / kActivationGroup * kLanes * kActivationGroup + kFirst % kActivationGroup;
    MultiplyGroups<kGroup % kSlots>(x_ + block * padded_k_ * kLanes + kOffset, panel_.codes[kGroup][0]);
    if constexpr (std::is_same_v<T, Q8A>) {
      const int32_t* const sums = sum_ + block * (padded_k_ / kActivationSum) * kLanes + kGroup * kLanes;
      hn::Store(hn::ConvertTo(FloatTag(), hn::LoadU(IntTag(), sums)), FloatTag(), code_sums_[kGroup % kCodeSums]);
    }
  }

  template <size_t kGroup>
  HWY_INLINE void Add(FloatVec (&sums)[kLanes]) {
    const int32_t* const product = products_[kGroup % kSlots];
    const FloatVec scales = hn::Load(FloatTag(), panel_.scales[kGroup]);
    HWY_UNROLL(16)
    for (size_t r = 0; r < kLanes; ++r) {
      const FloatVec dots = hn::ConvertTo(FloatTag(), hn::Load(IntTag(), product + r * kLanes));
      sums[r] = hn::MulAdd(dots, scales, sums[r]);
    }
    if constexpr (std::is_same_v<T, Q8A>) {
      const FloatVec offsets = hn::Load(FloatTag(), panel_.offsets[kGroup]);
      HWY_UNROLL(16)
      for (size_t r = 0; r < kLanes; ++r) {
        sums[r] = hn::MulAdd(hn::Set(FloatTag(), code_sums_[kGroup % kCodeSums][r]), offsets, sums[r]);
      }
    }
  }

  HWY_INLINE void AddToTotals(size_t block, const FloatVec (&sums)[kLanes]) {
    float* const total = totals_ + block * kLanes * kLanes;
    const float* const scale = scale_ + block * QuantizedRows::Blocks(padded_k_) * kLanes;
    HWY_UNROLL(16)
    for (size_t r = 0; r < kLanes; ++r) {
      const FloatVec sum = hn::MulAdd(hn::Set(FloatTag(), scale[r]), sums[r], hn::Load(FloatTag(), total + r * kLanes));
      hn::Store(sum, FloatTag(), total + r * kLanes);
    }
  }

  const PanelBlock<T>& panel_;
  const size_t row_blocks_;
  const int8_t* const x_;
  const float* const scale_;
  const int32_t* const sum_;
  const size_t padded_k_;
  float* const totals_;
  PrefetchRange ahead_;
  static constexpr size_t kCodeSums = 8;
  alignas(kAlignment) int32_t products_[kSlots][kLanes * kLanes];
  alignas(kAlignment) float code_sums_[std::is_same_v<T, Q8A> ? kCodeSums : 1][kLanes];  // of activations; Q8A only
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
    const PanelBlock<T> block(begin, num_packs);
    GroupProducts<T>(args.input, row, blocks, k, block, totals, {begin + num_packs, num_packs * sizeof(T), blocks})
        .AddAll();
  }
}

// Panels whose outputs are written together: those of one row lie side by side, and each row on another page.
inline constexpr size_t kOutputPanels = 4;

// Writes `rows` rows of panels from totals [panel][kMatMulGroup][kLanes].
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

// The same from the totals of panels of gates, each followed by its counterpart's.
template <class T>
HWY_INLINE void StoreGatedTotals(const MatMulArgs<T>& args, size_t row, size_t rows, size_t panel, size_t panel_end,
                                 const float* totals) {
  const bool stream = StreamsOutputs(args);
  VisitGate(args.gate, [&](auto activation) {
    for (size_t r = 0; r < rows; ++r) {
      for (size_t p = panel; p < panel_end; ++p) {
        const float* const gate = totals + ((p - panel) * 2 * kMatMulGroup + r) * kLanes;
        const Lanes outputs =
            GatedOutputs(activation, args, p, LoadLanes(gate), LoadLanes(gate + kMatMulGroup * kLanes));
        float* const output = args.output + (row + r) * args.output_stride + p * kLanes;
        stream ? StreamLanes(outputs, output) : StoreLanes(outputs, output);
      }
    }
  });
}

// Outer loop: so many rows that their activations stay in L2.
template <bool kGated, class T>
inline void MatMulGroupsAmx(const MatMulArgs<T>& args) {
  constexpr size_t kSums = kGated ? 2 : 1;  // of each output
  alignas(kAlignment) float totals[kOutputPanels * kMatMulGroup * kLanes];
  SetGroupTileShapes(T::kGroup);
  for (size_t row = args.row_begin; row < args.row_end; row += kMatMulGroup) {
    const size_t rows = HWY_MIN(args.row_end - row, kMatMulGroup);
    for (size_t panel = args.panel_begin; panel < args.panel_end; panel += kOutputPanels / kSums) {
      const size_t panel_end = HWY_MIN(panel + kOutputPanels / kSums, args.panel_end);
      for (size_t i = 0; i < (panel_end - panel) * kSums; ++i) {
        const size_t second_half = i % kSums * (args.n / kSums / kLanes);
        SumPanel(args, row, rows, panel + i / kSums + second_half, totals + i * kMatMulGroup * kLanes);
      }
      if constexpr (kGated) {
        StoreGatedTotals(args, row, rows, panel, panel_end, totals);
      } else {
        StoreTotals(args, row, rows, panel, panel_end, totals);
      }
    }
  }
  ReleaseTiles();
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX

#endif  // SKALD_KERNELS_GROUP_MATMUL_AMX_INL_TOGGLE
