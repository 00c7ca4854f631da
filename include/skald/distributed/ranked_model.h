// SPDX-License-Identifier: Apache-2.0
//
// RankedModel: a model that several ranks compute together, in the hands of rank 0. It is used as any model is, by an
// Engine too: caches, forks and rewinds are rank 0's alone, since they are tables; a step is planned here and carried
// out by all ranks, each on the blocks of the same numbers that have its part of the state.

#ifndef SKALD_DISTRIBUTED_RANKED_MODEL_H_
#define SKALD_DISTRIBUTED_RANKED_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/numbers/byte_codec.h"
#include "skald/base/ranks/agreement.h"
#include "skald/base/ranks/communicator.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/create.h"
#include "skald/cache/form/runtime_config.h"
#include "skald/cache/steps/batch.h"
#include "skald/cache/steps/step.h"
#include "skald/cache/steps/step_plan_bytes.h"
#include "skald/distributed/handshake.h"
#include "skald/distributed/rank_lead.h"
#include "skald/distributed/rank_messages.h"
#include "skald/distributed/rank_observers.h"
#include "skald/distributed/rank_pool.h"
#include "skald/layers/model_spec.h"
#include "skald/model/any_model.h"
#include "skald/model/forward_options.h"
#include "skald/model/outputs.h"
#include "skald/model/workspace.h"

namespace skald {

// Rank 0's end. Safe for concurrent calls, which take turns; const as AnyModel is.
class RankedModel {
 public:
  // Meets the other ranks, which call FollowRanks. `model` has the weights of rank 0 (LoadOptions::share) and outlives
  // this, as `ranks` does. Errors: kInvalidArgument (a rank other than 0; ranks that have another model or other
  // weights), and a rank that does not answer.
  static Result<RankedModel> Create(const AnyModel& model, const CommunicatorRef& ranks) {
    return NoThrow("RankedModel", [&]() -> Result<RankedModel> {
      if (ranks.share().rank != 0) {
        return Fail(ErrorCode::kInvalidArgument,
                    "rank " + std::to_string(ranks.share().rank) + " leads no others; it calls FollowRanks");
      }
      const auto same = internal::CompareFacts(ranks, internal::FactsOf(model.weights()));
      if (!same) return Failure(same.error());
      return RankedModel(model, std::make_shared<internal::RankLead>(ranks));
    });
  }

  RankedModel(RankedModel&&) noexcept = default;
  RankedModel& operator=(RankedModel&&) = delete;
  // Lets the others go. Caches may live on; nothing more can be computed, saved or loaded with them.
  ~RankedModel() {
    if (lead_ != nullptr) lead_->Leave(internal::RankOrder::kStop);
  }

  const ModelSpec& spec() const { return model_->spec(); }
  const std::string& name() const { return model_->name(); }

  // Returns storage for conversations, which all ranks have: here rank 0's part of it, within runtime.cache_bytes; the
  // others' are about as large. Snapshots of its caches are of their whole state, as one process saves it, and any
  // number of ranks loads them. Errors: those of CreateBlockPool, on any rank.
  Result<std::shared_ptr<BlockPool>> CreatePool(const RuntimeConfig& runtime = {}) const {
    return NoThrow("RankedModel::CreatePool", [&]() -> Result<std::shared_ptr<BlockPool>> {
      auto pool = CreateBlockPool(model_->layout(), runtime);
      if (!pool) return pool;
      const auto turn = lead_->Turn();
      const uint64_t number = (*next_pool_)++;
      if (auto given = lead_->Give(BytesOf(internal::PoolOrder{number, runtime})); !given)
        return Failure(given.error());
      if (auto agreed = Agree(lead_->ranks()); !agreed) return Failure(agreed.error());
      (*pool)->SetPeers(std::make_shared<internal::RankPool>(lead_, number, spec(), runtime));
      return pool;
    });
  }

  // As AnyModel::Forward, and with the same bits as a model that is whole. All caches are of one pool of CreatePool. A
  // failure, also of another rank, leaves every cache as it was, but for resume points that gave way to the batch's
  // tokens; after that of an exchange no further call succeeds, and the caches' tokens are what is left. What an
  // observer makes of the stream is sent to all ranks, before each block. Further error: kInvalidArgument (a cache of
  // another pool, or caches of several).
  Result<Outputs> Forward(const Batch& batch, Workspace& workspace, const ForwardOptions& options = {}) const {
    return NoThrow("Forward", [&]() -> Result<Outputs> {
      const auto turn = lead_->Turn();
      auto step = Step::Plan(batch, options.pass_tokens);
      if (!step) return Failure(step.error());
      BlockPool& pool = *step->pools().front();
      const auto* const peers = step->pools().size() == 1 ? PeersOf(pool) : nullptr;
      if (peers == nullptr) {
        return Fail(ErrorCode::kInvalidArgument, "the caches are not all of one pool that the ranks have (CreatePool)");
      }
      if (auto reserved = step->Reserve(); !reserved) return Failure(reserved.error());
      const auto plan = StepPlanToBytes(step->plan());
      if (!plan) return Failure(plan.error());
      internal::StepOrder order = {peers->number(), options.pass_tokens, options.observer != nullptr, *plan, {}};
      for (const StepRequest& request : batch.requests()) {
        order.tokens.insert(order.tokens.end(), request.tokens.begin(), request.tokens.end());
      }
      if (auto given = lead_->Give(internal::BytesOf(order)); !given) return Failure(given.error());
      ForwardOptions own = options;
      own.ranks = &lead_->ranks();
      if (options.observer) own.observer = internal::ShownToAll(options.observer, lead_->ranks());
      auto outputs = model_->Execute(step->plan(), order.tokens, pool, workspace, own);
      if (outputs) step->Commit();
      return outputs;
    });
  }

  // One conversation, as AnyModel::Forward.
  Result<std::span<const float>> Forward(KVCache& cache, std::span<const int32_t> tokens, Workspace& workspace,
                                         const ForwardOptions& options = {}) const {
    auto outputs = Forward(Batch().Add(cache, tokens), workspace, options);
    if (!outputs) return Failure(std::move(outputs.error()));
    return (*outputs)[0];
  }

 private:
  RankedModel(const AnyModel& model, std::shared_ptr<internal::RankLead> lead)
      : model_(&model), lead_(std::move(lead)), next_pool_(std::make_unique<uint64_t>(0)) {}

  // Of a pool that these ranks have; else null.
  const internal::RankPool* PeersOf(const BlockPool& pool) const {
    const auto* const peers = dynamic_cast<const internal::RankPool*>(pool.peers().get());
    return peers != nullptr && peers->lead() == lead_.get() ? peers : nullptr;
  }

  const AnyModel* model_;
  std::shared_ptr<internal::RankLead> lead_;  // null where moved from
  std::unique_ptr<uint64_t> next_pool_;       // guarded by a turn
};

}  // namespace skald

#endif  // SKALD_DISTRIBUTED_RANKED_MODEL_H_
