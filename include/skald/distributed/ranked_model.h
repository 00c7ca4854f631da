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
  // this, as `ranks` does. Caches are made from pool(), which holds rank 0's part of each; `runtime` is that of every
  // rank's pool, and cache_bytes the limit of this one: the others follow it, with blocks about as large.
  // Errors: kInvalidArgument (a rank other than 0; ranks that have another model or other weights; `runtime`), and a
  // rank that does not answer.
  static Result<RankedModel> Create(const AnyModel& model, const CommunicatorRef& ranks,
                                    const RuntimeConfig& runtime = {}) {
    return NoThrow("RankedModel", [&]() -> Result<RankedModel> {
      if (ranks.share().rank != 0) {
        return Fail(ErrorCode::kInvalidArgument,
                    "rank " + std::to_string(ranks.share().rank) + " leads no others; it calls FollowRanks");
      }
      if (auto same = internal::CompareFacts(ranks, internal::FactsOf(model.weights())); !same) {
        return Failure(same.error());
      }
      const auto pool = CreateBlockPool(model.layout(), runtime);
      Result<void> own;
      if (!pool) own = Failure(pool.error());
      if (auto agreed = Agree(ranks, own); !agreed) return Failure(agreed.error());
      ByteWriter writer;
      writer.Put(runtime);
      std::vector<std::byte> settings = writer.bytes();
      if (auto told = ranks.Broadcast(settings); !told) return Failure(told.error());
      if (auto agreed = Agree(ranks, {}); !agreed) return Failure(agreed.error());
      const auto lead = std::make_shared<internal::RankLead>(ranks, model.spec(), runtime);
      (*pool)->SetPeers(lead);
      return RankedModel(model, lead, *pool);
    });
  }

  RankedModel(RankedModel&&) noexcept = default;
  RankedModel& operator=(RankedModel&&) = delete;
  // Lets the others go. Caches may live on; nothing more can be computed, saved or loaded with them.
  ~RankedModel() {
    if (lead_ != nullptr) lead_->Stop();
  }

  const ModelSpec& spec() const { return model_->spec(); }
  const std::string& name() const { return model_->name(); }
  // Snapshots of its caches are of their whole state, as one process would save it, and any number of ranks loads them.
  const std::shared_ptr<BlockPool>& pool() const { return pool_; }

  // As AnyModel::Forward, and with the same bits as a model that is whole. All caches are of pool(). A failure, also of
  // another rank, leaves every cache as it was; after that of an exchange no further call succeeds, and the caches'
  // tokens are what is left. Further errors: kInvalidArgument (a cache of another pool), kUnsupported (an observer: it
  // would see one rank's stream alone).
  Result<Outputs> Forward(const Batch& batch, Workspace& workspace, const ForwardOptions& options = {}) const {
    return NoThrow("Forward", [&]() -> Result<Outputs> {
      const auto turn = lead_->Turn();
      if (options.observer) {
        return Fail(ErrorCode::kUnsupported, "observers are for models that one process computes, not for ranks");
      }
      auto step = Step::Begin(batch, options.pass_tokens);
      if (!step) return Failure(step.error());
      if (auto ours = CheckPools(*step); !ours) return Failure(ours.error());
      const auto plan = StepPlanToBytes(step->plan());
      if (!plan) return Failure(plan.error());
      internal::StepOrder order = {options.pass_tokens, *plan, {}};
      for (const StepRequest& request : batch.requests()) {
        order.tokens.insert(order.tokens.end(), request.tokens.begin(), request.tokens.end());
      }
      if (auto given = lead_->Give(internal::BytesOf(order)); !given) return Failure(given.error());
      ForwardOptions own = options;
      own.ranks = &lead_->ranks();
      auto outputs = model_->Execute(step->plan(), order.tokens, *pool_, workspace, own);
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
  RankedModel(const AnyModel& model, std::shared_ptr<internal::RankLead> lead, std::shared_ptr<BlockPool> pool)
      : model_(&model), lead_(std::move(lead)), pool_(std::move(pool)) {}

  Result<void> CheckPools(const Step& step) const {
    if (step.pools().size() == 1 && step.pools().front() == pool_.get()) return {};
    return Fail(ErrorCode::kInvalidArgument, "a cache is not of the pool that the ranks have in common (pool())");
  }

  const AnyModel* model_;
  std::shared_ptr<internal::RankLead> lead_;  // null where moved from
  std::shared_ptr<BlockPool> pool_;
};

}  // namespace skald

#endif  // SKALD_DISTRIBUTED_RANKED_MODEL_H_
