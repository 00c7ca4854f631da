// SPDX-License-Identifier: Apache-2.0
//
// RankPool: what becomes of a conversation's state that ranks have parts of when it is to be written down, or comes
// back.

#ifndef SKALD_DISTRIBUTED_RANK_POOL_H_
#define SKALD_DISTRIBUTED_RANK_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "skald/base/ranks/communicator.h"
#include "skald/base/result.h"
#include "skald/cache/block_peers.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/blocks/block_table.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/cache/rebuild.h"
#include "skald/distributed/partitioned_state.h"
#include "skald/distributed/rank_lead.h"
#include "skald/layers/model_spec.h"

namespace skald::internal {

/// Exchanges the parts of blocks [begin, end) of an order: `all` has room for those of each rank, one after the other.
/// The same call on every rank.
Result<void> ExchangeBlocks(const CommunicatorRef& ranks, const PartitionedState& state, uint32_t group,
                            std::span<const BlockId> blocks, BlockPool& pool, std::vector<std::byte>& all,
                            std::vector<size_t>& begins);

/// Rank 0's end of a pool that all ranks have under one number; the others drop theirs when it goes.
class RankPool final : public BlockPeers {
 public:
  RankPool(std::shared_ptr<RankLead> lead, uint64_t number, const ModelSpec& spec, const RuntimeConfig& runtime);
  RankPool(const RankPool&) = delete;
  RankPool& operator=(const RankPool&) = delete;
  ~RankPool() override;

  const RankLead* lead() const { return lead_.get(); }
  uint64_t number() const { return number_; }
  const CacheLayout& whole() const override { return state_.whole(); }

  Result<KVCache> Gather(const KVCache& part) override;

  Result<KVCache> Scatter(const KVCache& whole, const std::shared_ptr<BlockPool>& pool) override;

 private:
  Result<void> Join(uint32_t group, const BlockMoves& blocks, const KVCache& part, BlockPool& pool);

  Result<void> Cut(uint32_t group, const BlockMoves& blocks, const KVCache& whole, BlockPool& pool);

  /// Calls exchange(order of some source blocks, the blocks that replace them) until all blocks are exchanged.
  template <class Exchange>
  Result<void> ForRuns(uint32_t group, const BlockMoves& blocks, Exchange exchange);

  const std::shared_ptr<RankLead> lead_;
  const uint64_t number_;
  const PartitionedState state_;
};

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/distributed/detail/rank_pool.h"
#endif

#endif  // SKALD_DISTRIBUTED_RANK_POOL_H_
