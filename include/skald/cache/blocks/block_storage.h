// SPDX-License-Identifier: Apache-2.0
//
// BlockStorage: the bytes of a pool's blocks, found by (group, id). Blocks are allocated one by one when first
// needed and never move. Whoever takes a block fills it or clears it. Not thread-safe; BlockPool adds the lock.

#ifndef SKALD_CACHE_BLOCKS_BLOCK_STORAGE_H_
#define SKALD_CACHE_BLOCKS_BLOCK_STORAGE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "skald/base/aligned_buffer.h"
#include "skald/cache/blocks/block_table.h"

namespace skald {

class BlockStorage {
 public:
  explicit BlockStorage(size_t num_groups) : groups_(num_groups) {}

  // Bytes that the system has lent us, for blocks in use and for free ones kept for reuse.
  uint64_t resident_bytes() const { return resident_bytes_; }

  bool IsResident(size_t group, BlockId id) const { return id < groups_[group].size() && !groups_[group][id].empty(); }

  // Gives a block memory, of unspecified content, if it has none. Throws std::bad_alloc.
  void MakeResident(size_t group, BlockId id, size_t block_bytes) {
    auto& blocks = groups_[group];
    if (id >= blocks.size()) blocks.resize(size_t{id} + 1);
    if (!blocks[id].empty()) return;
    blocks[id] = AlignedBuffer<std::byte>(block_bytes, Unfilled{});
    resident_bytes_ += block_bytes;
  }

  // The bytes of a resident block.
  std::byte* Bytes(size_t group, BlockId id) { return groups_[group][id].data(); }

  // Returns a block's memory to the system. Its content is gone.
  void Evict(size_t group, BlockId id) {
    resident_bytes_ -= groups_[group][id].size();
    groups_[group][id] = {};
  }

 private:
  std::vector<std::vector<AlignedBuffer<std::byte>>> groups_;  // [group][id]
  uint64_t resident_bytes_ = 0;
};

}  // namespace skald

#endif  // SKALD_CACHE_BLOCKS_BLOCK_STORAGE_H_
