// SPDX-License-Identifier: Apache-2.0
//
// Packing: from row-major tensors of a file to the layout of base/numbers/packed_layout.h or
// base/numbers/group_types.h. Several tensors with the same number of columns can be stacked into one matrix, so that
// one multiplication computes q, k and v, or gate and up. What a conversion loses is said in pack_rows.h and
// pack_groups.h. The result does not depend on the executor.

#ifndef SKALD_WEIGHTS_PACKING_PACK_H_
#define SKALD_WEIGHTS_PACKING_PACK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/threads/executor.h"
#include "skald/weights/packing/pack_groups.h"
#include "skald/weights/packing/pack_rows.h"
#include "skald/weights/types/matrix.h"

namespace skald {

namespace internal {

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
        rows[n % kLanes] = {source.bytes + (n - first) * RowBytes(source, matrix.cols), source.dtype, source.format};
      }
      first += source.rows;
    }
    PackPanel(rows, matrix.cols, matrix.As<T>() + panel * (PackedBytes<T>(kLanes, matrix.cols) / sizeof(T)));
  }
}

using PackFunction = void (*)(std::span<const PackSource> sources, size_t panel_begin, size_t panel_end,
                              Matrix& matrix);

// Packs panels [panel_begin, panel_end), each worker a contiguous share of them.
inline void PackShares(PackFunction pack_panels, std::span<const PackSource> sources, size_t panel_begin,
                       size_t panel_end, ExecutorRef executor, Matrix& matrix) {
  const size_t share = RoundUp(panel_end - panel_begin, executor.num_workers()) / executor.num_workers();
  const auto pack = [&](size_t task) {
    const size_t begin = std::min(panel_begin + task * share, panel_end);
    const size_t end = std::min(begin + share, panel_end);
    pack_panels(sources, begin, end, matrix);
  };
  executor.Run(executor.num_workers(), pack);
}

}  // namespace internal

// Packs matrices of one type.
struct WeightPacker {
  DType type;
  internal::PackFunction pack_panels;
};

namespace internal {

template <class... Ts>
std::span<const WeightPacker> PackersOf(WeightTypeList<Ts...>) {
  static constexpr WeightPacker kPackers[] = {{kDTypeOf<Ts>, &PackPanels<Ts>}...};
  return kPackers;
}

}  // namespace internal

// Returns the packers of the types in a WeightTypeList: of those that a program's matrices may have, and no others, so
// that no more is compiled.
template <class List>
std::span<const WeightPacker> WeightPackersOf() {
  return internal::PackersOf(List{});
}

// Appends the `count` elements at `source`, converted exactly, to `values`.
inline void AppendFloats(const std::byte* source, DType dtype, size_t count, std::vector<float>& values) {
  for (size_t i = 0; i < count; i += kTile) {
    float tile[kTile];
    const size_t here = std::min(kTile, count - i);
    internal::ConvertElements(source + i * SizeOf(dtype), dtype, here, tile);
    values.insert(values.end(), tile, tile + here);
  }
}

// Returns the sources stacked to a packed matrix of the packer's type. Calls `packed(rows)`, if given, from this thread
// each time that further `rows` rows are done.
inline Matrix PackMatrix(std::span<const PackSource> sources, size_t cols, const WeightPacker& packer,
                         ExecutorRef executor, const std::function<void(size_t rows)>& packed = {}) {
  size_t rows = 0;
  for (const PackSource& source : sources) rows += source.rows;
  Matrix matrix(rows, cols, packer.type);
  // Slabs of about 32 MB give a progress report several times a second, and keep handing out the
  // work negligible.
  constexpr size_t kSlabElements = size_t{1} << 24;
  const size_t slab = std::max<size_t>(1, kSlabElements / (kLanes * std::max<size_t>(1, matrix.padded_cols)));
  for (size_t begin = 0; begin < matrix.NumPanels(); begin += slab) {
    const size_t end = std::min(begin + slab, matrix.NumPanels());
    internal::PackShares(packer.pack_panels, sources, begin, end, executor, matrix);
    if (packed) packed(std::min(end * kLanes, rows) - begin * kLanes);
  }
  return matrix;
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_PACKING_PACK_H_
