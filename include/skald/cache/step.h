// SPDX-License-Identifier: Apache-2.0
//
// Step: a transaction that appends tokens to several caches at once. Begin reserves every block the step will need
// and plans it; whoever computes fills those blocks; Commit publishes. A step that is not committed leaves every
// cache as it was. Between Begin and Commit the caches must not be changed. Used by one thread at a time.
//
// Checkpoints yield to tokens: where the pool is full, a cache gives up its own, oldest first, before a step fails.

#ifndef SKALD_CACHE_STEP_H_
#define SKALD_CACHE_STEP_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/sequence_planner.h"
#include "skald/cache/step_plan.h"
#include "skald/cache/table_lease.h"

namespace skald {

// Tokens to append to one cache. Both must outlive the step.
struct StepRequest {
  KVCache* cache;
  std::span<const int32_t> tokens;
};

class Step {
 public:
  // Plans to append each request's tokens, computed at most `pass_tokens` at a time. Errors name the request by its
  // index: kInvalidArgument (no tokens, a cache listed twice), kOutOfRange (a cache's token limit),
  // kResourceExhausted (the pool's byte limit).
  static Result<Step> Begin(std::span<const StepRequest> requests, uint32_t pass_tokens) {
    Step step;
    for (size_t i = 0; i < requests.size(); ++i) {
      if (auto valid = CheckRequest(requests, i); !valid) return OfSequence(i, valid);
      step.plan_.sequences.push_back({.first_position = requests[i].cache->size(),
                                      .num_tokens = static_cast<uint32_t>(requests[i].tokens.size())});
    }
    step.plan_.passes = SplitIntoPasses(step.plan_.sequences, pass_tokens);
    for (uint32_t i = 0; i < requests.size(); ++i) {
      if (auto reserved = step.Reserve(requests[i], i); !reserved) return OfSequence(i, reserved);
    }
    return step;
  }

  const StepPlan& plan() const { return plan_; }
  KVCache& cache(size_t sequence) const { return *pending_[sequence].request.cache; }

  // Makes the new tokens part of every cache. Everything the plan says must have been carried out.
  void Commit() {
    for (Pending& pending : pending_) {
      KVCache& cache = *pending.request.cache;
      cache.lease_ = std::move(pending.next);
      cache.tokens_.insert(cache.tokens_.end(), pending.request.tokens.begin(), pending.request.tokens.end());
      cache.checkpoints_ = std::move(pending.checkpoints);
    }
    pending_.clear();
  }

 private:
  // What one cache becomes on commit. Until then these leases keep the step's new blocks alive.
  struct Pending {
    StepRequest request;
    TableLease fresh;
    TableLease next;
    std::vector<SharedLease> checkpoints;
  };

  static Failure OfSequence(size_t index, const Result<void>& result) {
    return Annotate("sequence " + std::to_string(index) + " of the batch", result);
  }

  static Result<void> CheckRequest(std::span<const StepRequest> requests, size_t index) {
    const StepRequest& request = requests[index];
    if (request.tokens.empty()) return Fail(ErrorCode::kInvalidArgument, "there are no tokens to compute");
    for (size_t earlier = 0; earlier < index; ++earlier) {
      if (requests[earlier].cache != request.cache) continue;
      return Fail(ErrorCode::kInvalidArgument,
                  "its cache is already that of sequence " + std::to_string(earlier) + "; a cache can take one run of "
                  "tokens per step");
    }
    const KVCache& cache = *request.cache;
    if (request.tokens.size() > cache.max_tokens() - cache.size()) {
      return Fail(ErrorCode::kOutOfRange,
                  std::to_string(request.tokens.size()) + " tokens after " + std::to_string(cache.size()) +
                      " exceed the limit of " + std::to_string(cache.max_tokens()) +
                      " tokens (RuntimeConfig::max_tokens)");
    }
    return {};
  }

  Result<void> Reserve(const StepRequest& request, uint32_t index) {
    KVCache& cache = *request.cache;
    const auto num_tokens = static_cast<uint32_t>(request.tokens.size());
    std::vector<uint32_t> positions = CheckpointPositions(cache.pool()->runtime(), cache.size(), num_tokens);
    while (true) {
      auto reserved = Reserve(request, index, positions);
      if (reserved || reserved.error().code != ErrorCode::kResourceExhausted) return reserved;
      if (!cache.checkpoints_.empty()) {
        cache.checkpoints_.erase(cache.checkpoints_.begin());
      } else if (!positions.empty()) {
        positions.erase(positions.begin());
      } else {
        return reserved;
      }
    }
  }

  Result<void> Reserve(const StepRequest& request, uint32_t index, const std::vector<uint32_t>& positions) {
    KVCache& cache = *request.cache;
    const auto& pool = cache.lease_.pool();
    const auto num_tokens = static_cast<uint32_t>(request.tokens.size());

    SequencePlanner planner(pool, cache.table(), num_tokens);
    if (auto planned = planner.Plan(SliceBegins(index), positions); !planned) return planned;

    TableLease fresh = planner.TakeFresh();
    auto checkpoints = cache.checkpoints_;
    for (const uint32_t position : positions) {
      checkpoints.push_back(std::make_shared<TableLease>(fresh.Share(planner.CheckpointAt(position))));
    }
    const size_t kept = std::min<size_t>(checkpoints.size(), pool->runtime().max_checkpoints);
    checkpoints.erase(checkpoints.begin(), checkpoints.end() - static_cast<ptrdiff_t>(kept));

    TableLease next = fresh.Share(planner.FinalTable());
    plan_.sequences[index] = planner.TakePlan();
    pending_.push_back({request, std::move(fresh), std::move(next), std::move(checkpoints)});
    // So that Commit has nothing left that could fail.
    cache.tokens_.reserve(cache.tokens_.size() + num_tokens);
    return {};
  }

  // Positions at which each pass begins for this sequence.
  std::vector<uint32_t> SliceBegins(uint32_t sequence) const {
    std::vector<uint32_t> begins;
    for (const Pass& pass : plan_.passes) {
      for (const PassSlice& slice : pass) {
        if (slice.sequence == sequence) begins.push_back(plan_.sequences[sequence].first_position + slice.begin);
      }
    }
    return begins;
  }

  // Where the runtime wants resume points among the new tokens; only as many as will be kept.
  static std::vector<uint32_t> CheckpointPositions(const RuntimeConfig& runtime, uint32_t size, uint32_t num_tokens) {
    std::vector<uint32_t> positions;
    if (runtime.checkpoint_every == 0) return positions;
    const uint32_t every = runtime.checkpoint_every;
    const uint32_t last = (size + num_tokens) / every;
    const uint32_t first = std::max(size / every + 1, last + 1 - std::min(last, runtime.max_checkpoints));
    for (uint32_t i = first; i <= last; ++i) positions.push_back(i * every);
    return positions;
  }

  StepPlan plan_;
  std::vector<Pending> pending_;
};

}  // namespace skald

#endif  // SKALD_CACHE_STEP_H_
