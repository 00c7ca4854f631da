// SPDX-License-Identifier: Apache-2.0
//
// The products of one group of codes for a tile of rows and panels, as integers: what all group-quantised types share.

#if defined(SKALD_KERNELS_MATMUL_GROUP_PRODUCTS_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_GROUP_PRODUCTS_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_GROUP_PRODUCTS_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_GROUP_PRODUCTS_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/kernels/matmul/codes-inl.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Whether memory is asked for what comes next: for Q8A also for a single row, because its codes, scales and offsets are
// three streams.
template <class T, size_t kRows>
inline constexpr bool kAsksForPacks = kAsksAhead<kRows> || std::is_same_v<T, Q8A>;

// Where a tile's weights are: in the packs of kPanels panels, the first at `first`, the others `stride` packs apart.
// Memory is asked for what lies `ahead` bytes on.
template <class T>
struct PackTile {
  const T* first;
  size_t stride, ahead;

  HWY_INLINE const T& At(size_t panel) const { return first[panel * stride]; }
};

// Asks for a part of the lines of one group, of which number `step` is being multiplied: all at once they would hold up
// the multiplication.
template <class T>
HWY_INLINE void PrefetchGroup(const std::byte* pack, size_t group, size_t step) {
  constexpr size_t kSteps = T::kGroup / 4, kPackLines = sizeof(T) / kAlignment;
  constexpr size_t kFirst = kPackLines / T::kGroups, kLines = kPackLines - (T::kGroups - 1) * kFirst;
  const std::byte* const lines = pack + group * kFirst * kAlignment;
  HWY_UNROLL(4)
  for (size_t line = step * kLines / kSteps; line < (step + 1) * kLines / kSteps; ++line) {
    hwy::Prefetch(lines + line * kAlignment);
  }
}

// Adds the products of rows [begin, end) of a group's codes, four terms each, to `sums`. `x` points to the group's
// activations.
template <class T, size_t kRows, size_t kPanels>
HWY_INLINE void AddCodes(const int8_t* x, const PackTile<T>& packs, size_t group, size_t begin, size_t end,
                         IntLanes (&sums)[kRows][kPanels]) {
  SKALD_UNROLL_CODES
  for (size_t j = begin; j < end; ++j) {
    IntLanes codes[kPanels];
    HWY_UNROLL(16)
    for (size_t p = 0; p < kPanels; ++p) {
      const T& pack = packs.At(p);
      if constexpr (kAsksForPacks<T, kRows>)
        PrefetchGroup<T>(reinterpret_cast<const std::byte*>(&pack) + packs.ahead, group, j);
      codes[p] = LoadCodes(pack, group, j);
    }
    HWY_UNROLL(16)
    for (size_t r = 0; r < kRows; ++r) {
      const IntVec four = LoadFour(x + r * kActivationGroup + 4 * j);
      HWY_UNROLL(16)
      for (size_t p = 0; p < kPanels; ++p) AddProducts<T>(codes[p], four, sums[r][p]);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_GROUP_PRODUCTS_INL_TOGGLE
