// SPDX-License-Identifier: Apache-2.0
//
// BlockLedger: the bookkeeping of a pool. Which blocks of each group are in use, how many tables refer to each, and
// how many bytes that makes against the limit. It decides everything about a block except where its bytes are, so a
// scheduler can keep one without the memory. Giving back never allocates. Not thread-safe; BlockPool adds the lock.

#ifndef SKALD_CACHE_BLOCKS_BLOCK_LEDGER_H_
#define SKALD_CACHE_BLOCKS_BLOCK_LEDGER_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hwy/base.h"
#include "skald/cache/blocks/block_table.h"

namespace skald {

class BlockLedger {
 public:
  // `block_bytes[g]` is the size of a block of group g.
  BlockLedger(std::vector<uint64_t> block_bytes, uint64_t limit_bytes) : limit_bytes_(limit_bytes) {
    for (const uint64_t bytes : block_bytes) groups_.push_back({bytes, {}, {}});
  }

  uint64_t limit_bytes() const { return limit_bytes_; }
  uint64_t used_bytes() const { return used_bytes_; }
  uint64_t available_bytes() const { return limit_bytes_ - used_bytes_; }
  uint64_t block_bytes(size_t group) const { return groups_[group].block_bytes; }
  size_t num_groups() const { return groups_.size(); }

  // Takes a block with one reference, or nothing when that would pass the limit. Throws std::bad_alloc, and nothing has
  // changed then.
  std::optional<BlockId> Allocate(size_t group) {
    Group& g = groups_[group];
    if (g.block_bytes > available_bytes()) return std::nullopt;
    if (g.free.empty()) AddBlock(g);
    const BlockId id = g.free.back();
    g.free.pop_back();
    g.references[id] = 1;
    used_bytes_ += g.block_bytes;
    return id;
  }

  void AddReference(size_t group, BlockId id) {
    HWY_DASSERT(groups_[group].references[id] > 0);
    ++groups_[group].references[id];
  }

  // Gives back one reference; the last one frees the block.
  void DropReference(size_t group, BlockId id) noexcept {
    Group& g = groups_[group];
    HWY_DASSERT(g.references[id] > 0);
    if (--g.references[id] > 0) return;
    g.free.push_back(id);
    used_bytes_ -= g.block_bytes;
  }

  // Undoes DropReference. What was done to the group since must have been undone before, latest first.
  void RestoreReference(size_t group, BlockId id) noexcept {
    Group& g = groups_[group];
    if (g.references[id]++ > 0) return;
    HWY_DASSERT(g.free.back() == id);
    g.free.pop_back();
    used_bytes_ += g.block_bytes;
  }

  uint32_t references(size_t group, BlockId id) const { return groups_[group].references[id]; }

  // Blocks that were used before and are free now.
  std::span<const BlockId> free_blocks(size_t group) const { return groups_[group].free; }

 private:
  struct Group {
    uint64_t block_bytes;
    std::vector<uint32_t> references;  // [blocks ever used]; 0 = free
    std::vector<BlockId> free;         // has room for all of them
  };

  static void AddBlock(Group& g) {
    if (g.references.size() == std::min(g.references.capacity(), g.free.capacity())) {
      const size_t room = std::max<size_t>(16, 2 * g.references.size());
      g.free.reserve(room);
      g.references.reserve(room);
    }
    g.free.push_back(static_cast<BlockId>(g.references.size()));
    g.references.push_back(0);
  }

  std::vector<Group> groups_;
  uint64_t limit_bytes_;
  uint64_t used_bytes_ = 0;
};

}  // namespace skald

#endif  // SKALD_CACHE_BLOCKS_BLOCK_LEDGER_H_
