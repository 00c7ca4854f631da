// SPDX-License-Identifier: Apache-2.0
//
// Tiles: the state that kTile tokens added to one attention group, in a form that does not depend on the block size. A
// tile is laid out like a block of kTile tokens. It is thus a block's content cut at fixed positions, and copying it is
// copying a few long runs of bytes.

#ifndef SKALD_CACHE_LAYOUT_TILE_H_
#define SKALD_CACHE_LAYOUT_TILE_H_

#include <cstddef>
#include <cstring>

#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/cache/layout/layout.h"

namespace skald {

namespace internal {

/// `bytes` may be unaligned: a snapshot's buffer has no elements, only bytes.
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

/// Returns where a tile of an attention group keeps its parts.
inline BlockGeometry TileGeometry(const CacheGroup& group, DType type) { return BlockGeometry::Of(group, kTile, type); }

/// Copies the tile at tokens [slot, slot + kTile) of a block, slot a multiple of kTile, out of the block.
void ReadTile(const BlockGeometry& block, const BlockGeometry& tile, DType type, size_t slot,
              const std::byte* block_bytes, std::byte* tile_bytes);

/// The inverse: copies the tile into the block.
void WriteTile(const BlockGeometry& block, const BlockGeometry& tile, DType type, size_t slot,
               const std::byte* tile_bytes, std::byte* block_bytes);

/// Clears tokens [begin, end) of a tile, so that it holds only its sequence's data.
void ClearTileTokens(const BlockGeometry& tile, DType type, size_t begin, size_t end, std::byte* tile_bytes);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/cache/layout/detail/tile.h"
#endif

#endif  // SKALD_CACHE_LAYOUT_TILE_H_
