// SPDX-License-Identifier: Apache-2.0
//
// TableLease: a block table together with one reference to each of its blocks. It is the only owner of blocks, so that
// nothing is freed early and nothing leaks. Move-only; copying is Share(), which is O(blocks) and copies no token
// state. Used by one thread at a time.

#ifndef SKALD_CACHE_BLOCKS_TABLE_LEASE_H_
#define SKALD_CACHE_BLOCKS_TABLE_LEASE_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/blocks/block_table.h"

namespace skald {

class TableLease {
 public:
  /// An empty sequence. Throws std::bad_alloc as a vector does.
  explicit TableLease(std::shared_ptr<BlockPool> pool);

  /// Takes over `table`, whose references the caller owned.
  TableLease(std::shared_ptr<BlockPool> pool, BlockTable table) : pool_(std::move(pool)), table_(std::move(table)) {}

  TableLease(TableLease&& other) noexcept;
  /// Gives the old blocks back at once, so that the moved-from lease holds nothing.
  TableLease& operator=(TableLease&& other) noexcept;
  ~TableLease();

  /// Valid as long as the lease; the lease owns the references to its blocks.
  const BlockTable& table() const { return table_; }
  /// The pool of the blocks; null after the lease was moved from.
  const std::shared_ptr<BlockPool>& pool() const { return pool_; }

  /// Gives the blocks back; the lease is then an empty sequence.
  void Clear() noexcept;

  /// Returns a second lease on the same blocks. Throws std::bad_alloc.
  TableLease Share() const { return Share(table_); }

  /// Takes a block of the pool and appends it to `group`. Errors: those of BlockPool::Allocate.
  Result<BlockId> Take(size_t group, BlockContent content = BlockContent::kCleared);

  /// Makes room for `count` blocks more of `group`. Throws std::bad_alloc.
  void Reserve(size_t group, size_t count);

  /// A lease on `part`, whose blocks must all be blocks of this lease.
  TableLease Share(BlockTable part) const;

 private:
  friend class BlockExchange;

  std::shared_ptr<BlockPool> pool_;
  BlockTable table_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/cache/blocks/detail/table_lease.h"
#endif

#endif  // SKALD_CACHE_BLOCKS_TABLE_LEASE_H_
