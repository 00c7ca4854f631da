// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/distributed/follow_ranks.h.

#ifndef SKALD_DISTRIBUTED_DETAIL_FOLLOW_RANKS_H_
#define SKALD_DISTRIBUTED_DETAIL_FOLLOW_RANKS_H_

#include "skald/distributed/follow_ranks.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/byte_codec.h"
#include "skald/base/ranks/agreement.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/create.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/cache/steps/step_plan_bytes.h"
#include "skald/distributed/detail/handshake.h"
#include "skald/distributed/detail/rank_hooks.h"
#include "skald/distributed/partitioned_state.h"
#include "skald/distributed/rank_messages.h"
#include "skald/distributed/rank_pool.h"
#include "skald/model/forward_options.h"

namespace skald {

namespace internal {

class Follower {
 public:
  Follower(const AnyModel& model, const CommunicatorRef& ranks, Workspace& workspace,
           std::vector<const Adapter*> adapters)
      : model_(model), ranks_(ranks), workspace_(workspace), adapters_(std::move(adapters)) {}

  // Does what rank 0 says until that is to stop.
  Result<void> Follow() {
    for (;;) {
      std::vector<std::byte> bytes;
      SKALD_TRY(ranks_.Broadcast(bytes));
      ByteReader reader(bytes);
      const auto what = reader.Get<RankOrder>();
      if (what == RankOrder::kStop) return {};
      SKALD_TRY(CarryOut(what, reader));
    }
  }

 private:
  struct Pool {
    std::shared_ptr<BlockPool> blocks;
    PartitionedState state;
  };

  // An error is one of the ranks' exchange; all else rank 0 hears of as well, and goes on or not.
  Result<void> CarryOut(RankOrder what, ByteReader& reader) {
    switch (what) {
      case RankOrder::kPool:
        return MakePool(GetPoolOrder(reader));
      case RankOrder::kDrop:
        pools_.erase(reader.Get<uint64_t>());
        return {};
      case RankOrder::kStep:
        return Compute(GetStepOrder(reader));
      case RankOrder::kCollect:
        return Collect(GetBlocksOrder(reader));
      case RankOrder::kFill:
        return Fill(GetBlocksOrder(reader));
      case RankOrder::kStop:
        break;
    }
    return Fail(ErrorCode::kDataLoss, "rank 0 says what no rank of this version knows");
  }

  // Without a limit of its own: rank 0's decides what both have.
  Result<void> MakePool(PoolOrder order) {
    order.runtime.cache_bytes = kUnlimited;
    const auto made = NoThrow("a pool", [&]() -> Result<void> {
      SKALD_ASSIGN(auto pool, CreateBlockPool(model_.layout(), order.runtime));
      pools_.emplace(order.pool, Pool{pool, PartitionedState(model_.spec(), ranks_.share().ranks, order.runtime)});
      return {};
    });
    auto agreed = Agree(ranks_, made);
    return made ? agreed : Result<void>();
  }

  Result<void> Compute(const StepOrder& order) {
    BlockPool& pool = *pools_.at(order.pool).blocks;
    HookedRanks hooked(ranks_);
    const CommunicatorRef ranks(hooked);
    const ForwardOptions options = {.pass_tokens = order.pass_tokens,
                                    .hooks = hooked.HooksAt(order.hooked),
                                    .adapters = adapters_,
                                    .ranks = &ranks};
    const auto plan = StepPlanFromBytes(order.plan, pool);
    if (!plan) {
      static_cast<void>(Agree(ranks_, plan));
      return {};
    }
    const auto outputs = model_.Execute(*plan, order.tokens, pool, workspace_, options);
    static_cast<void>(outputs);
    return {};
  }

  Result<void> Collect(const BlocksOrder& order) {
    const Pool& pool = pools_.at(order.pool);
    std::vector<std::byte> all;
    std::vector<size_t> begins;
    return ExchangeBlocks(ranks_, pool.state, order.group, order.blocks, *pool.blocks, all, begins);
  }

  Result<void> Fill(const BlocksOrder& order) {
    const Pool& pool = pools_.at(order.pool);
    std::vector<std::byte> bytes;
    SKALD_TRY(ranks_.Broadcast(bytes));
    const size_t whole = pool.state.whole_bytes(order.group);
    for (size_t i = 0; i < order.blocks.size(); ++i) {
      pool.state.Cut(order.group, ranks_.share().rank, bytes.data() + i * whole,
                     pool.blocks->ResolveOne(order.group, order.blocks[i]));
    }
    return {};
  }

  const AnyModel& model_;
  const CommunicatorRef& ranks_;
  Workspace& workspace_;
  const std::vector<const Adapter*> adapters_;
  std::map<uint64_t, Pool> pools_;
};

}  // namespace internal

SKALD_INLINE Result<void> FollowRanks(const AnyModel& model, const CommunicatorRef& ranks, Workspace& workspace,
                                      std::vector<const Adapter*> adapters) {
  return NoThrow("FollowRanks", [&]() -> Result<void> {
    if (ranks.share().rank == 0) {
      return Fail(ErrorCode::kInvalidArgument, "rank 0 follows no other; it has a RankedModel");
    }
    SKALD_TRY(internal::CompareFacts(ranks, internal::FactsOf(model.weights())));
    return internal::Follower(model, ranks, workspace, std::move(adapters)).Follow();
  });
}

}  // namespace skald

#endif  // SKALD_DISTRIBUTED_DETAIL_FOLLOW_RANKS_H_
