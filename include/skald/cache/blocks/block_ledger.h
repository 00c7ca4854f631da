// SPDX-License-Identifier: Apache-2.0
//
// BlockLedger: the bookkeeping of a pool. Which blocks of each group are in use, how many tables refer to each, and how
// many bytes that makes against the limit. It decides everything about a block except where its bytes are, so a
// scheduler can keep one without the memory. Giving back never allocates. Not thread-safe; BlockPool adds the lock.

#ifndef SKALD_CACHE_BLOCKS_BLOCK_LEDGER_H_
#define SKALD_CACHE_BLOCKS_BLOCK_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "skald/cache/blocks/block_table.h"

namespace skald {

class BlockLedger {
 public:
  /// `block_bytes[g]` is the size of a block of group g.
  BlockLedger(std::vector<uint64_t> block_bytes, uint64_t limit_bytes);

  /// The most bytes that blocks may take.
  uint64_t limit_bytes() const { return limit_bytes_; }
  /// Bytes of the blocks that have a reference.
  uint64_t used_bytes() const { return used_bytes_; }
  /// Bytes that blocks may still take.
  uint64_t available_bytes() const { return limit_bytes_ - used_bytes_; }
  /// Bytes of one block of a group.
  uint64_t block_bytes(size_t group) const { return groups_[group].block_bytes; }
  /// Groups of the cache's layout.
  size_t num_groups() const { return groups_.size(); }

  /// Takes a block with one reference, or nothing if that would exceed the limit. Throws std::bad_alloc, and nothing
  /// has changed then.
  std::optional<BlockId> Allocate(size_t group);

  /// Adds one reference to a block that has one already.
  void AddReference(size_t group, BlockId id);

  /// Gives back one reference; the last one frees the block.
  void DropReference(size_t group, BlockId id) noexcept;

  /// Undoes DropReference. Later changes to the group must have been undone before, latest first.
  void RestoreReference(size_t group, BlockId id) noexcept;

  /// References to a block; 0: it is free.
  uint32_t references(size_t group, BlockId id) const { return groups_[group].references[id]; }

  /// Blocks that were used before and are free now.
  std::span<const BlockId> free_blocks(size_t group) const { return groups_[group].free; }

 private:
  struct Group {
    uint64_t block_bytes;
    std::vector<uint32_t> references;  ///< [blocks ever used]; 0 = free
    std::vector<BlockId> free;         ///< has room for all of them
  };

  static void AddBlock(Group& g);

  std::vector<Group> groups_;
  uint64_t limit_bytes_;
  uint64_t used_bytes_ = 0;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/cache/blocks/detail/block_ledger.h"
#endif

#endif  // SKALD_CACHE_BLOCKS_BLOCK_LEDGER_H_
