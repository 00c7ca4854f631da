// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/packing/pack.h.

#ifndef SKALD_WEIGHTS_PACKING_DETAIL_PACK_H_
#define SKALD_WEIGHTS_PACKING_DETAIL_PACK_H_

#include "skald/weights/packing/pack.h"

#include "skald/base/inline.h"
#include "skald/weights/packing/detail/packers.h"

namespace skald {

namespace internal {

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

SKALD_INLINE void AppendFloats(const std::byte* source, DType dtype, size_t count, std::vector<float>& values) {
  for (size_t i = 0; i < count; i += kTile) {
    float tile[kTile];
    const size_t here = std::min(kTile, count - i);
    internal::ConvertElements(source + i * SizeOf(dtype), dtype, here, tile);
    values.insert(values.end(), tile, tile + here);
  }
}

SKALD_INLINE Matrix PackMatrix(std::span<const PackSource> sources, size_t cols, const WeightPacker& packer,
                               ExecutorRef executor, const std::function<void(size_t rows)>& packed,
                               const ColumnInputs& inputs) {
  size_t rows = 0;
  for (const PackSource& source : sources) rows += source.rows;
  Matrix matrix(rows, cols, packer.type, inputs);
  // Slabs of about 32 MB give a progress report several times a second, and keep the cost of distributing the work
  // negligible.
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

#endif  // SKALD_WEIGHTS_PACKING_DETAIL_PACK_H_
