// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/distributed/ranked_model.h.

#ifndef SKALD_DISTRIBUTED_DETAIL_RANKED_MODEL_H_
#define SKALD_DISTRIBUTED_DETAIL_RANKED_MODEL_H_

#include "skald/distributed/ranked_model.h"

#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/byte_codec.h"
#include "skald/base/ranks/agreement.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/cache/create.h"
#include "skald/cache/steps/step.h"
#include "skald/cache/steps/step_plan_bytes.h"
#include "skald/distributed/detail/handshake.h"
#include "skald/distributed/detail/rank_hooks.h"
#include "skald/distributed/machine_share.h"
#include "skald/distributed/rank_messages.h"

namespace skald {

SKALD_INLINE Result<RankedModel> RankedModel::Create(const AnyModel& model, const CommunicatorRef& ranks) {
  return NoThrow("RankedModel", [&]() -> Result<RankedModel> {
    if (ranks.share().rank != 0) {
      return Fail(ErrorCode::kInvalidArgument,
                  "rank " + std::to_string(ranks.share().rank) + " leads no others; it calls FollowRanks");
    }
    SKALD_TRY(internal::CompareFacts(ranks, internal::FactsOf(model.weights())));
    return RankedModel(model, std::make_shared<internal::RankLead>(ranks));
  });
}

SKALD_INLINE RankedModel::~RankedModel() {
  if (lead_ != nullptr) lead_->Leave(internal::RankOrder::kStop);
}

SKALD_INLINE Result<std::shared_ptr<BlockPool>> RankedModel::CreatePool(const RuntimeConfig& runtime) const {
  return NoThrow("RankedModel::CreatePool", [&]() -> Result<std::shared_ptr<BlockPool>> {
    SKALD_ASSIGN(auto pool, CreateBlockPool(model_->layout(), runtime));
    const auto turn = lead_->Turn();
    const uint64_t number = (*next_pool_)++;
    SKALD_TRY(lead_->Give(BytesOf(internal::PoolOrder{number, runtime})));
    SKALD_TRY(Agree(lead_->ranks()));
    pool->SetPeers(std::make_shared<internal::RankPool>(lead_, number, spec(), runtime));
    return pool;
  });
}

SKALD_INLINE Result<Outputs> RankedModel::Forward(const Batch& batch, Workspace& workspace,
                                                  const ForwardOptions& options) const {
  return NoThrow("Forward", [&]() -> Result<Outputs> {
    const auto turn = lead_->Turn();
    SKALD_ASSIGN(auto step, Step::Plan(batch, options.pass_tokens));
    BlockPool& pool = *step.pools().front();
    const auto* const peers = step.pools().size() == 1 ? PeersOf(pool) : nullptr;
    if (peers == nullptr) {
      return Fail(ErrorCode::kInvalidArgument, "the caches are not all of one pool that the ranks have (CreatePool)");
    }
    SKALD_TRY(step.Reserve());
    SKALD_ASSIGN(const auto plan, StepPlanToBytes(step.plan()));
    internal::StepOrder order = {peers->number(), options.pass_tokens, plan, {}, internal::PlacesOf(options.hooks)};
    for (const StepRequest& request : batch.requests()) {
      order.tokens.insert(order.tokens.end(), request.tokens.begin(), request.tokens.end());
    }
    SKALD_TRY(lead_->Give(internal::BytesOf(order)));
    ForwardOptions own = options;
    internal::HookedRanks hooked(lead_->ranks());
    const CommunicatorRef ranks(hooked);
    own.ranks = &ranks;
    own.hooks = hooked.ShownToAll(options.hooks);
    auto outputs = model_->Execute(step.plan(), order.tokens, pool, workspace, own);
    if (outputs && !outputs->stopped()) step.Commit();
    return outputs;
  });
}

SKALD_INLINE Result<std::span<const float>> RankedModel::Forward(KVCache& cache, std::span<const int32_t> tokens,
                                                                 Workspace& workspace,
                                                                 const ForwardOptions& options) const {
  SKALD_ASSIGN(auto outputs, Forward(Batch().Add(cache, tokens), workspace, options));
  if (outputs.stopped()) return std::span<const float>();
  return outputs[0];
}

SKALD_INLINE RankedModel::RankedModel(const AnyModel& model, std::shared_ptr<internal::RankLead> lead)
    : model_(&model), lead_(std::move(lead)), next_pool_(std::make_unique<uint64_t>(0)) {}

SKALD_INLINE Result<void> RankedModel::CheckPool(const BlockPool& pool) const {
  if (PeersOf(pool) != nullptr) return {};
  return Fail(ErrorCode::kInvalidArgument, "the pool is none that the ranks have (CreatePool)");
}

SKALD_INLINE const internal::RankPool* RankedModel::PeersOf(const BlockPool& pool) const {
  const auto* const peers = dynamic_cast<const internal::RankPool*>(pool.peers().get());
  return peers != nullptr && peers->lead() == lead_.get() ? peers : nullptr;
}

}  // namespace skald

#endif  // SKALD_DISTRIBUTED_DETAIL_RANKED_MODEL_H_
