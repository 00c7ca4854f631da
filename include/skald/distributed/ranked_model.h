// SPDX-License-Identifier: Apache-2.0
//
// RankedModel: a model that several ranks compute together, in the hands of rank 0. It is used as any model is, by an
// Engine too: caches, forks and rewinds are rank 0's alone, since they are tables; a step is planned here and carried
// out by all ranks, each on the blocks of the same numbers that have its part of the state.

#ifndef SKALD_DISTRIBUTED_RANKED_MODEL_H_
#define SKALD_DISTRIBUTED_RANKED_MODEL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "skald/base/ranks/communicator.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/cache/steps/batch.h"
#include "skald/distributed/rank_lead.h"
#include "skald/distributed/rank_pool.h"
#include "skald/layers/model_spec.h"
#include "skald/model/any_model.h"
#include "skald/model/forward_options.h"
#include "skald/model/outputs.h"
#include "skald/model/workspace.h"

namespace skald {

/// Rank 0's end. Safe for concurrent calls, which take turns; const as AnyModel is.
class RankedModel {
 public:
  /// Meets the other ranks, which call FollowRanks. `model` has the weights of rank 0 (LoadOptions::share) and outlives
  /// this, as `ranks` does. Errors: kInvalidArgument (a rank other than 0; ranks that have another model or other
  /// weights), and a rank that does not answer.
  static Result<RankedModel> Create(const AnyModel& model, const CommunicatorRef& ranks);

  RankedModel(RankedModel&&) noexcept = default;
  RankedModel& operator=(RankedModel&&) = delete;
  /// Lets the others go. Caches may live on; nothing more can be computed, saved or loaded with them.
  ~RankedModel();

  /// That of the whole model, not of a rank's part.
  const ModelSpec& spec() const { return model_->spec(); }
  /// As AnyModel::name.
  const std::string& name() const { return model_->name(); }

  /// Returns storage for conversations, which all ranks have: here rank 0's part of it, within runtime.cache_bytes; the
  /// others' are about as large. Snapshots of its caches are of their whole state, as one process saves it, and any
  /// number of ranks loads them. Errors: those of CreateBlockPool, on any rank.
  Result<std::shared_ptr<BlockPool>> CreatePool(const RuntimeConfig& runtime = {}) const;

  /// Whether the pool is one of CreatePool. Error: kInvalidArgument.
  Result<void> CheckPool(const BlockPool& pool) const;

  /// As AnyModel::Forward, and with the same bits as a model that is whole. All caches are of one pool of CreatePool. A
  /// failure, also of another rank, leaves every cache as it was, but for resume points that gave way to the batch's
  /// tokens; after that of an exchange no further call succeeds, and the caches' tokens are what is left. Hooks
  /// see whole rows, also inside layers, of which ranks have parts; their changes are sent to all ranks. Further error:
  /// kInvalidArgument (a cache of another pool, or caches of several).
  Result<Outputs> Forward(const Batch& batch, Workspace& workspace, const ForwardOptions& options = {}) const;

  /// One conversation, as AnyModel::Forward.
  Result<std::span<const float>> Forward(KVCache& cache, std::span<const int32_t> tokens, Workspace& workspace,
                                         const ForwardOptions& options = {}) const;

 private:
  RankedModel(const AnyModel& model, std::shared_ptr<internal::RankLead> lead);

  /// Of a pool that these ranks have; else null.
  const internal::RankPool* PeersOf(const BlockPool& pool) const;

  const AnyModel* model_;
  std::shared_ptr<internal::RankLead> lead_;  ///< null where moved from
  std::unique_ptr<uint64_t> next_pool_;       ///< guarded by a turn
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/distributed/detail/ranked_model.h"
#endif

#endif  // SKALD_DISTRIBUTED_RANKED_MODEL_H_
