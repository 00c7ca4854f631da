// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/cache/layout/tile.h.

#ifndef SKALD_CACHE_LAYOUT_DETAIL_TILE_H_
#define SKALD_CACHE_LAYOUT_DETAIL_TILE_H_

#include "skald/cache/layout/tile.h"

#include <cstdint>

#include "skald/base/inline.h"
#include "skald/base/numbers/bf16.h"

namespace skald {

namespace internal {

// Calls run(offset in the block, offset in the tile, bytes) for every run of bytes that a tile at token `slot` of a
// block consists of.
template <class Run>
void ForEachTileRun(const BlockGeometry& block, const BlockGeometry& tile, size_t element_bytes, size_t slot, Run run) {
  const size_t padded_dim = RoundUp(block.head_dim, kTile);
  const size_t panels = block.value_bytes == 0 ? 0 : RoundUp(block.head_dim, kLanes) / kLanes;
  const size_t key_run = kTile * padded_dim * element_bytes, value_run = kLanes * kTile * element_bytes;
  const size_t block_panel = kLanes * block.block_tokens * element_bytes;
  for (size_t layer = 0; layer < block.layers; ++layer) {
    for (size_t head = 0; head < block.kv_heads; ++head) {
      const size_t head_keys = head * block.block_tokens * padded_dim * element_bytes;
      run(block.KeyOffset(layer) + head_keys + slot * padded_dim * element_bytes,
          tile.KeyOffset(layer) + head * key_run, key_run);
    }
    for (size_t panel = 0; panel < block.kv_heads * panels; ++panel) {
      run(block.ValueOffset(layer) + panel * block_panel + slot * kLanes * element_bytes,
          tile.ValueOffset(layer) + panel * value_run, value_run);
    }
    if (block.key_scale_bytes == 0) continue;
    for (size_t head = 0; head < block.kv_heads; ++head) {
      const size_t in_block = (head * block.block_tokens + slot) * sizeof(float), scale_run = kTile * sizeof(float);
      const size_t in_tile = head * scale_run;
      run(block.KeyScaleOffset(layer) + in_block, tile.KeyScaleOffset(layer) + in_tile, scale_run);
      if (block.value_scale_bytes == 0) continue;
      run(block.ValueScaleOffset(layer) + in_block, tile.ValueScaleOffset(layer) + in_tile, scale_run);
    }
  }
}

}  // namespace internal

SKALD_INLINE void ReadTile(const BlockGeometry& block, const BlockGeometry& tile, DType type, size_t slot,
                           const std::byte* block_bytes, std::byte* tile_bytes) {
  internal::ForEachTileRun(block, tile, SizeOf(type), slot, [&](size_t in_block, size_t in_tile, size_t bytes) {
    std::memcpy(tile_bytes + in_tile, block_bytes + in_block, bytes);
  });
}

SKALD_INLINE void WriteTile(const BlockGeometry& block, const BlockGeometry& tile, DType type, size_t slot,
                            const std::byte* tile_bytes, std::byte* block_bytes) {
  internal::ForEachTileRun(block, tile, SizeOf(type), slot, [&](size_t in_block, size_t in_tile, size_t bytes) {
    std::memcpy(block_bytes + in_block, tile_bytes + in_tile, bytes);
  });
}

SKALD_INLINE void ClearTileTokens(const BlockGeometry& tile, DType type, size_t begin, size_t end,
                                  std::byte* tile_bytes) {
  if (type == DType::kF32) return internal::ClearTileTokens<float>(tile, begin, end, tile_bytes);
  if (type == DType::kI8) return internal::ClearTileTokens<int8_t>(tile, begin, end, tile_bytes);
  internal::ClearTileTokens<bf16>(tile, begin, end, tile_bytes);
}

}  // namespace skald

#endif  // SKALD_CACHE_LAYOUT_DETAIL_TILE_H_
