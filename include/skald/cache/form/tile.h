// SPDX-License-Identifier: Apache-2.0
//
// Tiles: what kTile tokens added to one attention group, in a form that no block size shows in. A tile is laid out as a
// block of kTile tokens is, so it is a block's content cut at fixed positions, and copying it is copying a few long
// runs of bytes.

#ifndef SKALD_CACHE_FORM_TILE_H_
#define SKALD_CACHE_FORM_TILE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/cache/form/layout.h"

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

// `bytes` may lie anywhere: a snapshot's buffer has no elements, only bytes.
template <class T>
void ClearTileTokens(const BlockGeometry& tile, size_t begin, size_t end, std::byte* bytes) {
  const size_t padded_dim = RoundUp(tile.head_dim, kTile);
  const size_t rows = tile.value_bytes == 0 ? 0 : RoundUp(tile.head_dim, kLanes);
  const auto clear = [](std::byte* elements, size_t index) { std::memset(elements + index * sizeof(T), 0, sizeof(T)); };
  for (size_t layer = 0; layer < tile.layers; ++layer) {
    for (size_t head = 0; head < tile.kv_heads; ++head) {
      std::byte* const keys = bytes + tile.KeyOffset(layer) + head * kTile * padded_dim * sizeof(T);
      std::byte* const values = bytes + tile.ValueOffset(layer) + head * rows * kTile * sizeof(T);
      for (size_t token = begin; token < end; ++token) {
        for (size_t k = 0; k < padded_dim; ++k) clear(keys, PackedIndex<T>(token, k, padded_dim));
        for (size_t row = 0; row < rows; ++row) clear(values, PackedIndex<T>(row, token, kTile));
      }
      if (tile.key_scale_bytes == 0) continue;
      const size_t first = (head * kTile + begin) * sizeof(float), size = (end - begin) * sizeof(float);
      std::memset(bytes + tile.KeyScaleOffset(layer) + first, 0, size);
      if (tile.value_scale_bytes == 0) continue;
      std::memset(bytes + tile.ValueScaleOffset(layer) + first, 0, size);
    }
  }
}

}  // namespace internal

// Returns where a tile of an attention group keeps what.
inline BlockGeometry TileGeometry(const CacheGroup& group, DType type) { return BlockGeometry::Of(group, kTile, type); }

// Copies the tile at tokens [slot, slot + kTile) of a block, slot a multiple of kTile, out of the block.
inline void ReadTile(const BlockGeometry& block, const BlockGeometry& tile, DType type, size_t slot,
                     const std::byte* block_bytes, std::byte* tile_bytes) {
  internal::ForEachTileRun(block, tile, SizeOf(type), slot, [&](size_t in_block, size_t in_tile, size_t bytes) {
    std::memcpy(tile_bytes + in_tile, block_bytes + in_block, bytes);
  });
}

// The other way.
inline void WriteTile(const BlockGeometry& block, const BlockGeometry& tile, DType type, size_t slot,
                      const std::byte* tile_bytes, std::byte* block_bytes) {
  internal::ForEachTileRun(block, tile, SizeOf(type), slot, [&](size_t in_block, size_t in_tile, size_t bytes) {
    std::memcpy(block_bytes + in_block, tile_bytes + in_tile, bytes);
  });
}

// Clears tokens [begin, end) of a tile, so that it holds nothing that its sequence does not.
inline void ClearTileTokens(const BlockGeometry& tile, DType type, size_t begin, size_t end, std::byte* tile_bytes) {
  if (type == DType::kF32) return internal::ClearTileTokens<float>(tile, begin, end, tile_bytes);
  if (type == DType::kI8) return internal::ClearTileTokens<int8_t>(tile, begin, end, tile_bytes);
  internal::ClearTileTokens<bf16>(tile, begin, end, tile_bytes);
}

}  // namespace skald

#endif  // SKALD_CACHE_FORM_TILE_H_
