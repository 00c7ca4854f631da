// SPDX-License-Identifier: Apache-2.0
//
// TableLease: a block table together with one reference to each of its blocks. The only way anything holds blocks,
// so that nothing is freed early and nothing leaks. Move-only; copying is Share(), which is O(blocks) and copies no
// token state. Used by one thread at a time.

#ifndef SKALD_CACHE_TABLE_LEASE_H_
#define SKALD_CACHE_TABLE_LEASE_H_

#include <memory>
#include <utility>

#include "skald/cache/block_pool.h"
#include "skald/cache/block_table.h"

namespace skald {

class TableLease {
 public:
  // An empty sequence.
  explicit TableLease(std::shared_ptr<BlockPool> pool) : pool_(std::move(pool)) {
    table_.groups.resize(pool_->layout().groups().size());
  }

  // Takes over `table`, whose references the caller owned.
  TableLease(std::shared_ptr<BlockPool> pool, BlockTable table) : pool_(std::move(pool)), table_(std::move(table)) {}

  TableLease(TableLease&& other) noexcept
      : pool_(std::move(other.pool_)), table_(std::exchange(other.table_, BlockTable{})) {}
  TableLease& operator=(TableLease&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(table_, other.table_);
    return *this;
  }
  ~TableLease() {
    if (pool_) pool_->DropReferences(table_);
  }

  const BlockTable& table() const { return table_; }
  const std::shared_ptr<BlockPool>& pool() const { return pool_; }

  TableLease Share() const { return Share(table_); }

  // Takes over one reference to a block, appended to `group`.
  void Adopt(size_t group, BlockId id) { table_.groups[group].blocks.push_back(id); }

  // A lease on `part`, whose blocks must all be blocks of this lease.
  TableLease Share(BlockTable part) const {
    pool_->AddReferences(part);
    return TableLease(pool_, std::move(part));
  }

 private:
  std::shared_ptr<BlockPool> pool_;
  BlockTable table_;
};

}  // namespace skald

#endif  // SKALD_CACHE_TABLE_LEASE_H_
