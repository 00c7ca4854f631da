// SPDX-License-Identifier: Apache-2.0
//
// TableLease: a block table together with one reference to each of its blocks. The only way anything holds blocks,
// so that nothing is freed early and nothing leaks. Move-only; copying is Share(), which is O(blocks) and copies no
// token state. Used by one thread at a time.

#ifndef SKALD_CACHE_BLOCKS_TABLE_LEASE_H_
#define SKALD_CACHE_BLOCKS_TABLE_LEASE_H_

#include <memory>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/blocks/block_table.h"

namespace skald {

class TableLease {
 public:
  // An empty sequence. Throws std::bad_alloc as a vector does.
  explicit TableLease(std::shared_ptr<BlockPool> pool) : pool_(std::move(pool)) {
    if (pool_ != nullptr) table_.groups.resize(pool_->layout().groups().size());
  }

  // Takes over `table`, whose references the caller owned.
  TableLease(std::shared_ptr<BlockPool> pool, BlockTable table) : pool_(std::move(pool)), table_(std::move(table)) {}

  TableLease(TableLease&& other) noexcept : pool_(std::move(other.pool_)), table_(std::move(other.table_)) {
    other.table_.tokens = 0;
  }
  // What this held goes back at once, so that what is moved from holds nothing.
  TableLease& operator=(TableLease&& other) noexcept {
    const TableLease former(std::move(*this));
    pool_ = std::move(other.pool_);
    table_ = std::move(other.table_);
    other.table_.tokens = 0;
    return *this;
  }
  ~TableLease() {
    if (pool_) pool_->DropReferences(table_);
  }

  const BlockTable& table() const { return table_; }
  const std::shared_ptr<BlockPool>& pool() const { return pool_; }

  // Gives the blocks back; what is left is an empty sequence.
  void Clear() noexcept {
    if (pool_ != nullptr) pool_->DropReferences(table_);
    for (GroupTable& group : table_.groups) {
      group.first_token = 0;
      group.blocks.clear();
    }
    table_.tokens = 0;
    table_.edits.clear();
  }

  TableLease Share() const { return Share(table_); }

  // Takes a block of the pool and appends it to `group`. Errors: those of BlockPool::Allocate.
  Result<BlockId> Take(size_t group, BlockContent content = BlockContent::kCleared) {
    return NoThrow("the block pool", [&]() -> Result<BlockId> {
      std::vector<BlockId>& blocks = table_.groups[group].blocks;
      blocks.push_back(0);  // so that the block cannot be lost
      auto id = pool_->Allocate(group, content);
      id ? void(blocks.back() = *id) : blocks.pop_back();
      return id;
    });
  }

  // Makes room for `count` blocks more of `group`.
  void Reserve(size_t group, size_t count) {
    table_.groups[group].blocks.reserve(table_.groups[group].blocks.size() + count);
  }

  // A lease on `part`, whose blocks must all be blocks of this lease.
  TableLease Share(BlockTable part) const {
    pool_->AddReferences(part);
    return TableLease(pool_, std::move(part));
  }

 private:
  friend class BlockExchange;

  std::shared_ptr<BlockPool> pool_;
  BlockTable table_;
};

}  // namespace skald

#endif  // SKALD_CACHE_BLOCKS_TABLE_LEASE_H_
