// SPDX-License-Identifier: Apache-2.0
//
// Step: a transaction that appends tokens to several caches at once. Plan decides the use of every block; Reserve takes
// all the blocks, or none; the caller then computes and fills them; Commit publishes. A step that is not committed
// leaves every cache unchanged. Between Plan and Commit the caches must not be changed. Used by one thread at a time.
//
// Resume points give way to tokens: when the pool is full, a cache gives up its own, oldest first, before a step fails.
// They are chosen without being touched, and are dropped only together with the blocks that the whole batch needs: a
// step that Reserve refuses has cost no sequence anything. After Reserve nothing here allocates or fails. Allocate the
// memory for computing before it: resume points that were given up are gone even if computing then fails.

#ifndef SKALD_CACHE_STEPS_STEP_H_
#define SKALD_CACHE_STEPS_STEP_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_exchange.h"
#include "skald/cache/blocks/table_lease.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/steps/batch.h"
#include "skald/cache/steps/sequence_planner.h"
#include "skald/cache/steps/step_plan.h"

namespace skald {

class Step {
 public:
  /// Plans to append the batch's tokens to their caches, computed at most `pass_tokens` at a time. Errors name the
  /// sequence by its index: kInvalidArgument (an empty batch or sequence, a cache that is listed twice or whose storage
  /// format differs from the first one's, wants that do not match the tokens, passes of 0 tokens), kOutOfRange (a
  /// cache's token limit), kFailedPrecondition (a cache that was moved from), kResourceExhausted (no memory for the
  /// batch or the plan).
  static Result<Step> Plan(const Batch& batch, uint32_t pass_tokens) {
    return NoThrow("planning a step", [&]() -> Result<Step> {
      SKALD_TRY(CheckBatch(batch, pass_tokens));
      Step step;
      for (size_t i = 0; i < batch.requests().size(); ++i) step.AddSequence(batch, i);
      step.plan_.passes = SplitIntoPasses(step.plan_.sequences, pass_tokens);
      for (const StepRequest& request : batch.requests()) step.Add(request);
      step.SortPools();
      return step;
    });
  }

  /// Takes the blocks, if necessary from prompts kept in memory and from the caches' own resume points. From here on
  /// the plan names real blocks, and can be carried out here or elsewhere. Error: kResourceExhausted (the pool's byte
  /// limit, or the system's), naming the request.
  Result<void> Reserve() {
    return NoThrow("reserving a step", [&]() -> Result<void> {
      while (const auto shortage = BlockExchange::Take(claims_, sorted_pools_)) {
        const std::shared_ptr<BlockPool>& pool = claims_[shortage->claim].fresh.pool();
        const bool can_ever_fit = shortage->needed_bytes <= shortage->limit_bytes;
        if (can_ever_fit && pool->Reclaim(shortage->missing_bytes()) > 0) {
          PlanSequence(static_cast<uint32_t>(shortage->claim));  // what was shared with those need not be copied now
          continue;
        }
        if (!GiveWay(shortage->claim)) return OfSequence(shortage->claim, Explain(*shortage));
      }
      for (size_t i = 0; i < pending_.size(); ++i) Settle(i);
      return {};
    });
  }

  /// Plan, then Reserve.
  static Result<Step> Begin(const Batch& batch, uint32_t pass_tokens) {
    SKALD_ASSIGN(auto step, Plan(batch, pass_tokens));
    SKALD_TRY(step.Reserve());
    return step;
  }

  /// Plain data: it can be sent to another process. Valid as long as the step.
  const StepPlan& plan() const { return plan_; }
  /// The pools of the caches, each once, as SequencePlan::pool counts them.
  std::span<BlockPool* const> pools() const { return pools_; }
  /// The cache of a sequence of the batch.
  KVCache& cache(size_t sequence) const { return *pending_[sequence].request.cache; }

  /// Makes the new tokens part of every cache. Everything the plan says must have been carried out.
  void Commit() noexcept {
    for (Pending& pending : pending_) {
      KVCache& cache = *pending.request.cache;
      cache.lease_ = std::move(pending.next);
      cache.tokens_.insert(cache.tokens_.end(), pending.request.tokens.begin(), pending.request.tokens.end());
      std::vector<TableLease>& points = cache.resume_points_;
      const size_t most = cache.pool()->runtime().max_resume_points;
      const size_t kept = std::min(points.size(), most - std::min(most, pending.points.size()));
      points.erase(points.begin(), points.end() - static_cast<ptrdiff_t>(kept));
      for (NewPoint& point : pending.points) points.push_back(std::move(point.lease));
    }
    pending_.clear();
    claims_.clear();
  }

 private:
  // A resume point among the new tokens: its table until Reserve, its lease from then on.
  struct NewPoint {
    BlockTable table;
    TableLease lease;
  };
  /// The result of the step for one cache. Its claim's lease keeps the step's new blocks alive until the commit.
  struct Pending {
    StepRequest request;
    std::vector<uint32_t> positions;  ///< of the resume points among the new tokens
    std::vector<TableLease*> former;  ///< resume points that may give way, oldest first
    BlockTable next_table;            ///< until Reserve
    TableLease next;                  ///< from then on
    std::vector<NewPoint> points;
  };

  static Failure Explain(const BlockShortage& shortage) {
    if (shortage.is_of_system) {
      return Fail(ErrorCode::kResourceExhausted, "the system does not have enough memory for the block pool");
    }
    return BlockPool::FailFull(shortage.used_bytes, shortage.limit_bytes, shortage.needed_bytes);
  }

  static Result<void> CheckBatch(const Batch& batch, uint32_t pass_tokens) {
    if (pass_tokens == 0) return Fail(ErrorCode::kInvalidArgument, "pass_tokens is 0, expected at least 1 token");
    if (!batch.is_complete()) return Fail(ErrorCode::kResourceExhausted, "memory ran out while the batch was filled");
    if (batch.requests().empty()) return Fail(ErrorCode::kInvalidArgument, "the batch has no sequences");
    for (size_t i = 0; i < batch.requests().size(); ++i) {
      if (auto valid = CheckRequest(batch, i); !valid) return OfSequence(i, valid);
    }
    return {};
  }

  static Result<void> CheckRequest(const Batch& batch, size_t index) {
    const std::span<const StepRequest> requests = batch.requests();
    const StepRequest& request = requests[index];
    if (!request.cache->is_valid()) return Fail(ErrorCode::kFailedPrecondition, "its cache was moved from");
    SKALD_TRY(CheckPool(*request.cache->pool(), *requests[0].cache->pool()));
    if (request.tokens.empty()) return Fail(ErrorCode::kInvalidArgument, "there are no tokens to compute");
    if (batch.wants(index).size() != request.tokens.size()) {
      return Fail(ErrorCode::kInvalidArgument, "the batch has wishes for " + std::to_string(batch.wants(index).size()) +
                                                   " tokens but has " + std::to_string(request.tokens.size()));
    }
    for (size_t earlier = 0; earlier < index; ++earlier) {
      if (requests[earlier].cache != request.cache) continue;
      return Fail(ErrorCode::kInvalidArgument, "its cache is already that of sequence " + std::to_string(earlier) +
                                                   "; a cache can take one run of tokens per step");
    }
    const KVCache& cache = *request.cache;
    if (request.tokens.size() > cache.max_tokens() - cache.size()) {
      return Fail(ErrorCode::kOutOfRange,
                  std::to_string(request.tokens.size()) + " tokens after " + std::to_string(cache.size()) +
                      " exceed the limit of " + std::to_string(cache.max_tokens()) +
                      " tokens (RuntimeConfig::max_tokens)",
                  {.needed_tokens = request.tokens.size(), .available_tokens = cache.max_tokens() - cache.size()});
    }
    return {};
  }

  /// A plan has one block size and element type for all pools.
  static Result<void> CheckPool(const BlockPool& pool, const BlockPool& first) {
    if (pool.fingerprint() != first.fingerprint() || pool.layout().groups().size() != first.layout().groups().size()) {
      return Fail(ErrorCode::kInvalidArgument, "its cache has another layout than that of sequence 0");
    }
    if (pool.runtime().kv_type != first.runtime().kv_type ||
        pool.runtime().block_tokens != first.runtime().block_tokens) {
      return Fail(ErrorCode::kInvalidArgument,
                  "its cache has another kv_type or block_tokens than that of sequence 0; a batch needs them equal");
    }
    return {};
  }

  /// Adds the properties of a sequence that are known before passes are made.
  void AddSequence(const Batch& batch, size_t index) {
    const KVCache& cache = *batch.requests()[index].cache;
    plan_.model = cache.pool()->layout().model();
    plan_.block_tokens = cache.pool()->runtime().block_tokens;
    const auto pool = std::ranges::find(pools_, cache.pool().get());
    const std::span<const Want> wants = batch.wants(index);
    plan_.sequences.push_back({.pool = static_cast<uint32_t>(pool - pools_.begin()),
                               .first_position = cache.size(),
                               .num_tokens = static_cast<uint32_t>(wants.size()),
                               .adapter = cache.adapter(),
                               .wants = {wants.begin(), wants.end()}});
    if (pool == pools_.end()) pools_.push_back(cache.pool().get());
  }

  void Add(const StepRequest& request) {
    KVCache& cache = *request.cache;
    const auto num_tokens = static_cast<uint32_t>(request.tokens.size());
    Pending pending{
        request, ResumePointPositions(cache.pool()->runtime(), cache.size(), num_tokens), {}, {}, TableLease(nullptr),
        {}};
    // Allocates everything for Commit, which must not fail.
    MakeRoom(cache.tokens_, num_tokens);
    MakeRoom(cache.resume_points_, pending.positions.size());
    for (TableLease& point : cache.resume_points_) pending.former.push_back(&point);
    pending_.push_back(std::move(pending));
    claims_.push_back({TableLease(cache.pool())});
    PlanSequence(static_cast<uint32_t>(pending_.size() - 1));
  }

  template <class T>
  static void MakeRoom(std::vector<T>& list, size_t more) {
    const size_t needed = list.size() + more;
    if (needed > list.capacity()) list.reserve(std::max(needed, 2 * list.capacity()));
  }

  /// The pools of the claims in the order that BlockExchange expects.
  void SortPools() {
    sorted_pools_ = pools_;
    std::sort(sorted_pools_.begin(), sorted_pools_.end(), std::less<>());
  }

  /// Plans for one sequence, with the resume points that it gives up at present.
  void PlanSequence(uint32_t index) {
    Pending& pending = pending_[index];
    BlockClaim& claim = claims_[index];
    const KVCache& cache = *pending.request.cache;
    SequencePlanner planner(*cache.pool(), cache.table(), plan_.sequences[index].num_tokens, claim.given_up);
    planner.Plan(SliceBegins(index), pending.positions);
    pending.next_table = planner.FinalTable();
    pending.points.clear();
    for (const uint32_t position : pending.positions) {
      pending.points.push_back({planner.ResumePointAt(position), TableLease(nullptr)});
    }
    claim.counts = planner.num_new();
    for (size_t g = 0; g < claim.counts.size(); ++g) claim.fresh.Reserve(g, claim.counts[g]);
    planner.TakePlan(plan_.sequences[index]);
  }

  /// Plans again with one resume point less; false if the sequence has none left to give up.
  bool GiveWay(size_t index) {
    Pending& pending = pending_[index];
    BlockClaim& claim = claims_[index];
    if (claim.given_up.size() < pending.former.size()) {
      claim.given_up = std::span(pending.former).first(claim.given_up.size() + 1);
    } else if (!pending.positions.empty()) {
      pending.positions.erase(pending.positions.begin());
    } else {
      return false;
    }
    PlanSequence(static_cast<uint32_t>(index));
    return true;
  }

  /// Replaces provisional numbers by the real blocks.
  void Settle(size_t index) noexcept {
    Pending& pending = pending_[index];
    const TableLease& fresh = claims_[index].fresh;
    const auto settle = [&fresh](size_t group, BlockId& id) {
      if (IsNewBlock(id)) id = fresh.table().groups[group].blocks[id - kFirstNewBlock];
    };
    const auto settle_groups = [&settle](std::vector<GroupTable>& groups) {
      for (size_t g = 0; g < groups.size(); ++g) {
        for (BlockId& id : groups[g].blocks) settle(g, id);
      }
    };
    SequencePlan& plan = plan_.sequences[index];
    settle_groups(plan.groups);
    for (StateSave& save : plan.saves) settle(save.group, save.block);
    for (BlockCopy& copy : plan.copies) settle(copy.group, copy.target);
    for (BlockClear& clear : plan.clears) settle(clear.group, clear.block);
    for (TokenMove& move : plan.moves) settle(move.group, move.target);

    settle_groups(pending.next_table.groups);
    pending.next = fresh.Share(std::move(pending.next_table));
    for (NewPoint& point : pending.points) {
      settle_groups(point.table.groups);
      point.lease = fresh.Share(std::move(point.table));
    }
    const auto gave_way = [](const TableLease& point) { return point.table().groups.empty(); };
    std::erase_if(pending.request.cache->resume_points_, gave_way);
  }

  /// Positions at which each pass begins for this sequence.
  std::vector<uint32_t> SliceBegins(uint32_t sequence) const {
    std::vector<uint32_t> begins;
    for (const Pass& pass : plan_.passes) {
      for (const PassSlice& slice : pass) {
        if (slice.sequence == sequence) begins.push_back(plan_.sequences[sequence].first_position + slice.begin);
      }
    }
    return begins;
  }

  /// The positions of the resume points that the runtime asks for among the new tokens; only as many as will be kept.
  static std::vector<uint32_t> ResumePointPositions(const RuntimeConfig& runtime, uint32_t size, uint32_t num_tokens) {
    std::vector<uint32_t> positions;
    if (runtime.resume_point_every == 0) return positions;
    const uint32_t every = runtime.resume_point_every;
    const uint32_t last = (size + num_tokens) / every;
    const uint32_t first = std::max(size / every + 1, last + 1 - std::min(last, runtime.max_resume_points));
    for (uint32_t i = first; i <= last; ++i) positions.push_back(i * every);
    return positions;
  }

  StepPlan plan_;
  std::vector<Pending> pending_;          ///< [sequences]
  std::vector<BlockClaim> claims_;        ///< [sequences]
  std::vector<BlockPool*> pools_;         ///< of all claims, each once
  std::vector<BlockPool*> sorted_pools_;  ///< ascending by address
};

}  // namespace skald

#endif  // SKALD_CACHE_STEPS_STEP_H_
