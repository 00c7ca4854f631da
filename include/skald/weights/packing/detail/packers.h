// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/packing/pack.h: how each type of weights is packed.

#ifndef SKALD_WEIGHTS_PACKING_DETAIL_PACKERS_H_
#define SKALD_WEIGHTS_PACKING_DETAIL_PACKERS_H_

#include "skald/weights/packing/pack.h"

#include <algorithm>

#include "skald/base/inline.h"
#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/weights/packing/detail/pack_codes.h"
#include "skald/weights/packing/detail/pack_groups.h"
#include "skald/weights/packing/detail/panels.h"

namespace skald::internal {

// Packs panels [panel_begin, panel_end) of `matrix`.
template <class T>
void PackPanels(std::span<const PackSource> sources, size_t panel_begin, size_t panel_end, Matrix& matrix) {
  for (size_t panel = panel_begin; panel < panel_end; ++panel) {
    PackRow rows[kLanes];
    size_t first = 0;  // row of the matrix at which the source begins
    for (const PackSource& source : sources) {
      const size_t begin = std::max(first, panel * kLanes);
      const size_t end = std::min(first + source.rows, (panel + 1) * kLanes);
      for (size_t n = begin; n < end; ++n) {
        rows[n % kLanes] = {source.bytes + (n - first) * RowBytes(source, matrix.cols), source.dtype, source.format,
                            source.factor};
      }
      first += source.rows;
    }
    PackPanel(rows, matrix.cols, matrix.As<T>() + panel * (PackedBytes<T>(kLanes, matrix.cols) / sizeof(T)));
  }
}

template <class... Ts>
std::span<const WeightPacker> TableOfPackers(WeightTypeList<Ts...>) {
  static constexpr WeightPacker kPackers[] = {{kDTypeOf<Ts>, &PackPanels<Ts>}...};
  return kPackers;
}

#ifdef SKALD_COMPILED

SKALD_INLINE WeightPacker PackerOf(DType type) {
  return *std::ranges::find(TableOfPackers(AllWeights{}), type, &WeightPacker::type);
}

#else

template <class... Ts>
std::span<const WeightPacker> PackersOf(WeightTypeList<Ts...> types) {
  return TableOfPackers(types);
}

#endif

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_PACKING_DETAIL_PACKERS_H_
