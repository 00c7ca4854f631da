// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/cache/blocks/table_lease.h.

#ifndef SKALD_CACHE_BLOCKS_DETAIL_TABLE_LEASE_H_
#define SKALD_CACHE_BLOCKS_DETAIL_TABLE_LEASE_H_

#include "skald/cache/blocks/table_lease.h"

#include <vector>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/cache/layout/layout.h"

namespace skald {

SKALD_INLINE TableLease::TableLease(std::shared_ptr<BlockPool> pool) : pool_(std::move(pool)) {
  if (pool_ != nullptr) table_.groups.resize(pool_->layout().groups().size());
}

SKALD_INLINE TableLease::TableLease(TableLease&& other) noexcept
    : pool_(std::move(other.pool_)), table_(std::move(other.table_)) {
  other.table_.tokens = 0;
}

SKALD_INLINE TableLease& TableLease::operator=(TableLease&& other) noexcept {
  const TableLease former(std::move(*this));
  pool_ = std::move(other.pool_);
  table_ = std::move(other.table_);
  other.table_.tokens = 0;
  return *this;
}

SKALD_INLINE TableLease::~TableLease() {
  if (pool_) pool_->DropReferences(table_);
}

SKALD_INLINE void TableLease::Clear() noexcept {
  if (pool_ != nullptr) pool_->DropReferences(table_);
  for (GroupTable& group : table_.groups) {
    group.first_token = 0;
    group.blocks.clear();
  }
  table_.tokens = 0;
  table_.edits.clear();
}

SKALD_INLINE Result<BlockId> TableLease::Take(size_t group, BlockContent content) {
  return NoThrow("the block pool", [&]() -> Result<BlockId> {
    std::vector<BlockId>& blocks = table_.groups[group].blocks;
    blocks.push_back(0);  // so that the block cannot leak
    auto id = pool_->Allocate(group, content);
    id ? void(blocks.back() = *id) : blocks.pop_back();
    return id;
  });
}

SKALD_INLINE void TableLease::Reserve(size_t group, size_t count) {
  table_.groups[group].blocks.reserve(table_.groups[group].blocks.size() + count);
}

SKALD_INLINE TableLease TableLease::Share(BlockTable part) const {
  pool_->AddReferences(part);
  return TableLease(pool_, std::move(part));
}

}  // namespace skald

#endif  // SKALD_CACHE_BLOCKS_DETAIL_TABLE_LEASE_H_
