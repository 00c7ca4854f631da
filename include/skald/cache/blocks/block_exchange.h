// SPDX-License-Identifier: Apache-2.0
//
// BlockExchange: takes the blocks that all sequences of a batch need, or none. A sequence may give up its resume points
// for them. They go back to the pool only if the whole batch fits: they are counted as free at first, and counted back
// after a shortage; their bytes are not touched until the batch fits. All of that happens under the locks of all pools
// of the batch, so that no other thread sees or takes blocks that may yet be counted back.

#ifndef SKALD_CACHE_BLOCKS_BLOCK_EXCHANGE_H_
#define SKALD_CACHE_BLOCKS_BLOCK_EXCHANGE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/blocks/table_lease.h"

namespace skald {

/// The blocks that one sequence needs.
struct BlockClaim {
  TableLease fresh;                            ///< gets the blocks; empty at first
  std::vector<uint32_t> counts = {};           ///< [groups], how many blocks
  std::span<TableLease* const> given_up = {};  ///< leases that it gives up for them
};

/// Why a batch did not fit.
struct BlockShortage {
  size_t claim;                      ///< the first for which there was no room
  uint64_t needed_bytes;             ///< of that claim
  uint64_t used_bytes, limit_bytes;  ///< of its pool, with the earlier claims of the batch
  bool is_of_system;                 ///< the pool would have room, but the system has no memory

  /// Bytes that must be given back before the claims fit; 0 if they fit.
  uint64_t missing_bytes() const { return needed_bytes - std::min(needed_bytes, limit_bytes - used_bytes); }
};

class BlockExchange {
 public:
  /// `pools` are all pools of the claims, each once, ascending by address: two threads lock them in the same order.
  /// Each `fresh` must have reserved room for its blocks. Afterwards the leases that were given up are empty; after a
  /// shortage everything is unchanged. The blocks' content is unspecified.
  static std::optional<BlockShortage> Take(std::span<BlockClaim> claims, std::span<BlockPool* const> pools) noexcept {
    for (BlockPool* const pool : pools) pool->mutex_.lock();
    std::optional<BlockShortage> shortage;
    for (size_t i = 0; i < claims.size() && !shortage; ++i) shortage = TakeFor(claims[i], i);
    if (shortage) {
      for (size_t i = shortage->claim; i-- > 0;) PutBack(claims[i]);
    } else {
      for (BlockClaim& claim : claims) Settle(claim);
    }
    for (BlockPool* const pool : pools) {
      pool->EvictSurplus();
      pool->mutex_.unlock();
    }
    return shortage;
  }

 private:
  static BlockPool& PoolOf(const BlockClaim& claim) { return *claim.fresh.pool(); }

  static uint64_t BytesOf(const BlockClaim& claim) {
    uint64_t bytes = 0;
    for (size_t g = 0; g < claim.counts.size(); ++g) bytes += claim.counts[g] * PoolOf(claim).ledger_.block_bytes(g);
    return bytes;
  }

  /// After a shortage nothing has changed.
  static std::optional<BlockShortage> TakeFor(BlockClaim& claim, size_t index) {
    BlockLedger& ledger = PoolOf(claim).ledger_;
    for (const TableLease* const lease : claim.given_up) {
      lease->table().ForEachBlock([&](size_t group, BlockId id) { ledger.DropReference(group, id); });
    }
    const uint64_t needed = BytesOf(claim);
    const bool fits = needed <= ledger.available_bytes();
    if (fits && Fill(claim)) return std::nullopt;
    PutBack(claim);
    return BlockShortage{index, needed, ledger.used_bytes(), ledger.limit_bytes(), fits};
  }

  /// Returns false if the system has no memory; some of the blocks may have been taken.
  static bool Fill(BlockClaim& claim) {
    BlockPool& pool = PoolOf(claim);
    return NoThrow("the block pool",
                   [&]() -> Result<void> {
                     for (size_t g = 0; g < claim.counts.size(); ++g) {
                       for (uint32_t i = 0; i < claim.counts[g]; ++i) {
                         const BlockId id = *pool.ledger_.Allocate(g);
                         claim.fresh.table_.groups[g].blocks.push_back(id);
                         pool.MakeResident(g, id);
                       }
                     }
                     return {};
                   })
        .has_value();
  }

  /// Undoes a claim step by step, the latest first.
  static void PutBack(BlockClaim& claim) {
    BlockLedger& ledger = PoolOf(claim).ledger_;
    for (size_t g = 0; g < claim.counts.size(); ++g) {
      std::vector<BlockId>& fresh = claim.fresh.table_.groups[g].blocks;
      for (; !fresh.empty(); fresh.pop_back()) ledger.DropReference(g, fresh.back());
      for (auto lease = claim.given_up.rbegin(); lease != claim.given_up.rend(); ++lease) {
        const std::vector<BlockId>& blocks = (*lease)->table().groups[g].blocks;
        for (auto id = blocks.rbegin(); id != blocks.rend(); ++id) ledger.RestoreReference(g, *id);
      }
    }
  }

  /// The given-up blocks now belong to others.
  static void Settle(BlockClaim& claim) {
    for (TableLease* const lease : claim.given_up) lease->table_.groups.clear();
  }
};

}  // namespace skald

#endif  // SKALD_CACHE_BLOCKS_BLOCK_EXCHANGE_H_
