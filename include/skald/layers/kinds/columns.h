// SPDX-License-Identifier: Apache-2.0
//
// The axis of columns or channels that do not need each other, as feed-forward layers have them.

#ifndef SKALD_LAYERS_KINDS_COLUMNS_H_
#define SKALD_LAYERS_KINDS_COLUMNS_H_

#include <cstddef>

#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/ranks/rank_share.h"

namespace skald {

/// Returns an axis of so many columns. Its units are what is prepared by itself (PreparedUnit), so that ranks exchange
/// columns as they are multiplied by, but not so large that some ranks would have much more than others; or whole
/// panels, so that no rank computes a part of one.
constexpr Axis Columns(int count) {
  constexpr size_t kManyBlocks = 32, kManyTiles = 8;
  const auto columns = static_cast<size_t>(count);
  const bool has_blocks = columns % kActivationBlock == 0 && columns / kActivationBlock >= kManyBlocks;
  if (has_blocks) return {columns, columns / kActivationBlock};
  if (columns % kTile == 0 && columns / kTile >= kManyTiles) return {columns, columns / kTile};
  return {columns, columns % kLanes == 0 ? columns / kLanes : columns};
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_COLUMNS_H_
