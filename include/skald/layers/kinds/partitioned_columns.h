// SPDX-License-Identifier: Apache-2.0
//
// How ranks share the columns of feed-forward layers.

#ifndef SKALD_LAYERS_KINDS_PARTITIONED_COLUMNS_H_
#define SKALD_LAYERS_KINDS_PARTITIONED_COLUMNS_H_

#include <cstddef>

#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/ranks/rank_share.h"

namespace skald {

/// Returns the units that `columns` are partitioned by: what is prepared by itself (PreparedUnit), so that ranks
/// exchange columns as they are multiplied by, but not so large that some ranks would have much more than others; or
/// whole panels, so that no rank computes a part of one.
constexpr size_t ColumnUnits(size_t columns) {
  constexpr size_t kManyBlocks = 32, kManyTiles = 8;
  if (columns % kActivationBlock == 0 && columns / kActivationBlock >= kManyBlocks) return columns / kActivationBlock;
  if (columns % kTile == 0 && columns / kTile >= kManyTiles) return columns / kTile;
  return columns % kLanes == 0 ? columns / kLanes : columns;
}

/// Returns how many of `width` columns a rank has; all, where some ranks would get none.
constexpr int PartitionedWidth(int width, const RankShare& share) {
  const auto columns = static_cast<size_t>(width), units = ColumnUnits(columns);
  if (!ArePartitioned(units, share.ranks)) return width;
  return static_cast<int>(Partition(units, share).size() * (columns / units));
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_PARTITIONED_COLUMNS_H_
