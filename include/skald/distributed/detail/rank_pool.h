// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/distributed/rank_pool.h.

#ifndef SKALD_DISTRIBUTED_DETAIL_RANK_POOL_H_
#define SKALD_DISTRIBUTED_DETAIL_RANK_POOL_H_

#include "skald/distributed/rank_pool.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/cache/create.h"
#include "skald/distributed/rank_messages.h"

namespace skald {

namespace internal {

// Bytes of whole blocks that are exchanged at once, about.
inline constexpr size_t kBlocksTogetherBytes = size_t{32} << 20;

SKALD_INLINE Result<void> ExchangeBlocks(const CommunicatorRef& ranks, const PartitionedState& state, uint32_t group,
                                         std::span<const BlockId> blocks, BlockPool& pool, std::vector<std::byte>& all,
                                         std::vector<size_t>& begins) {
  begins.assign(1, 0);
  for (size_t r = 0; r < state.ranks(); ++r) {
    begins.push_back(begins.back() + blocks.size() * state.part_bytes(group, r));
  }
  all.resize(begins.back());
  const size_t rank = ranks.share().rank, bytes = state.part_bytes(group, rank);
  for (size_t i = 0; i < blocks.size(); ++i) {
    std::memcpy(all.data() + begins[rank] + i * bytes, pool.ResolveOne(group, blocks[i]), bytes);
  }
  return ranks.AllGather(all, begins);
}

SKALD_INLINE RankPool::RankPool(std::shared_ptr<RankLead> lead, uint64_t number, const ModelSpec& spec,
                                const RuntimeConfig& runtime)
    : lead_(std::move(lead)), number_(number), state_(spec, lead_->ranks().share().ranks, runtime) {}

SKALD_INLINE RankPool::~RankPool() { lead_->Leave(RankOrder::kDrop, number_); }

SKALD_INLINE Result<KVCache> RankPool::Gather(const KVCache& part) {
  return NoThrow("gathering a cache from ranks", [&]() -> Result<KVCache> {
    RuntimeConfig runtime = part.pool()->runtime();
    runtime.cache_bytes = kUnlimited;
    SKALD_ASSIGN(const auto pool, CreateBlockPool(whole(), runtime));
    return RebuildCache(part, pool,
                        [&](uint32_t group, const BlockMoves& blocks) { return Join(group, blocks, part, *pool); });
  });
}

SKALD_INLINE Result<KVCache> RankPool::Scatter(const KVCache& whole, const std::shared_ptr<BlockPool>& pool) {
  return NoThrow("partitioning a cache to ranks", [&]() -> Result<KVCache> {
    return RebuildCache(whole, pool,
                        [&](uint32_t group, const BlockMoves& blocks) { return Cut(group, blocks, whole, *pool); });
  });
}

SKALD_INLINE Result<void> RankPool::Join(uint32_t group, const BlockMoves& blocks, const KVCache& part,
                                         BlockPool& pool) {
  if (!state_.is_partitioned(group)) {
    for (const auto& [from, to] : blocks) {
      std::memcpy(pool.ResolveOne(group, to), part.pool()->ResolveOne(group, from), state_.whole_bytes(group));
    }
    return {};
  }
  return ForRuns(group, blocks, [&](const BlocksOrder& order, std::span<const BlockId> targets) -> Result<void> {
    SKALD_TRY(lead_->Give(BytesOf(RankOrder::kCollect, order)));
    std::vector<std::byte> all;
    std::vector<size_t> begins;
    SKALD_TRY(ExchangeBlocks(lead_->ranks(), state_, group, order.blocks, *part.pool(), all, begins));
    for (size_t r = 0; r < state_.ranks(); ++r) {
      for (size_t i = 0; i < targets.size(); ++i) {
        const std::byte* const from = all.data() + begins[r] + i * state_.part_bytes(group, r);
        state_.Join(group, r, from, pool.ResolveOne(group, targets[i]));
      }
    }
    return {};
  });
}

SKALD_INLINE Result<void> RankPool::Cut(uint32_t group, const BlockMoves& blocks, const KVCache& whole,
                                        BlockPool& pool) {
  return ForRuns(group, blocks, [&](const BlocksOrder& sources, std::span<const BlockId> targets) -> Result<void> {
    const BlocksOrder order = {number_, group, {targets.begin(), targets.end()}};
    SKALD_TRY(lead_->Give(BytesOf(RankOrder::kFill, order)));
    std::vector<std::byte> bytes;
    for (size_t i = 0; i < targets.size(); ++i) {
      const std::byte* const from = whole.pool()->ResolveOne(group, sources.blocks[i]);
      bytes.insert(bytes.end(), from, from + state_.whole_bytes(group));
      state_.Cut(group, 0, from, pool.ResolveOne(group, targets[i]));
    }
    return lead_->ranks().Broadcast(bytes);
  });
}

template <class Exchange>
Result<void> RankPool::ForRuns(uint32_t group, const BlockMoves& blocks, Exchange exchange) {
  const size_t most = std::max<size_t>(1, kBlocksTogetherBytes / state_.whole_bytes(group));
  const auto turn = lead_->Turn();
  for (auto next = blocks.begin(); next != blocks.end();) {
    BlocksOrder order = {number_, group, {}};
    std::vector<BlockId> targets;
    for (; next != blocks.end() && targets.size() < most; ++next) {
      order.blocks.push_back(next->first);
      targets.push_back(next->second);
    }
    SKALD_TRY(exchange(order, targets));
  }
  return {};
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_DISTRIBUTED_DETAIL_RANK_POOL_H_
