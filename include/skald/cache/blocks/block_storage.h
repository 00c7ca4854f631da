// SPDX-License-Identifier: Apache-2.0
//
// BlockStorage: the bytes of a pool's blocks, found by (group, id). Blocks are allocated one by one when first needed
// and never move. Ids need not be dense, because plans made elsewhere may name any. The caller that takes a block fills
// or clears it. Not thread-safe; BlockPool adds the lock.

#ifndef SKALD_CACHE_BLOCKS_BLOCK_STORAGE_H_
#define SKALD_CACHE_BLOCKS_BLOCK_STORAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "skald/base/aligned_buffer.h"
#include "skald/cache/blocks/block_table.h"

namespace skald {

class BlockStorage {
 public:
  /// Has no blocks yet.
  explicit BlockStorage(size_t num_groups) : groups_(num_groups) {}

  /// Bytes allocated for blocks in use and for free ones kept for reuse.
  uint64_t resident_bytes() const { return resident_bytes_; }

  /// Whether the block has memory.
  bool IsResident(size_t group, BlockId id) const;

  /// Gives a block memory, of unspecified content, if it has none. Throws std::bad_alloc.
  void MakeResident(size_t group, BlockId id, size_t block_bytes);

  /// The bytes of a resident block.
  std::byte* Bytes(size_t group, BlockId id) { return At(group, id).data(); }

  /// Returns a block's memory to the system. Its content is gone.
  void Evict(size_t group, BlockId id);

 private:
  // Blocks with consecutive numbers, so that a block with a large number needs no list of all smaller ones.
  static constexpr size_t kPageBlocks = 256;
  using Page = std::array<AlignedBuffer<std::byte>, kPageBlocks>;

  AlignedBuffer<std::byte>& At(size_t group, BlockId id) const;

  std::vector<std::vector<std::unique_ptr<Page>>> groups_;  ///< [group][id / kPageBlocks]
  uint64_t resident_bytes_ = 0;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/cache/blocks/detail/block_storage.h"
#endif

#endif  // SKALD_CACHE_BLOCKS_BLOCK_STORAGE_H_
