// SPDX-License-Identifier: Apache-2.0
//
// ServedModel: a model and all that requests for it need: how it reads and writes text, memory for conversations,
// adapters under names of their own, and whose state its caches hold.

#ifndef SKALD_SERVING_SERVED_MODEL_H_
#define SKALD_SERVING_SERVED_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/ranks/communicator.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/engine/requests/model_ref.h"
#include "skald/open/model_text.h"
#include "skald/open/open_model.h"
#include "skald/store/snapshots/identity.h"
#include "skald/weights/adapters/adapter.h"

namespace skald {

/// An adapter, and the name by which clients ask for the model with it.
struct NamedAdapter {
  std::string name;  ///< not that of the model
  Adapter adapter;   ///< for the model's spec, and for the rank's part of it
};

/// Immutable while it is served. `model` may be any type that an Engine takes: one of ServeModel, or a Model<Config> or
/// a model of the caller's own, which `owner` keeps alive.
struct ServedModel {
  std::string name;                   ///< by which clients call it
  std::shared_ptr<const void> owner;  ///< of what `model` refers to; null: the caller keeps that alive
  ModelRef model;                     ///< computes the batches
  int64_t model_dim = 0;              ///< elements of an embedding (Event::embedding)
  ModelText text;                     ///< tokenizer, chat template, ids that end a turn, sampling, forms of answers
  std::shared_ptr<BlockPool> pool;    ///< memory of all conversations; of the layout of `model`
  /// Without the adapter. State in stores is found by it: where it is empty, models that share a store must not differ.
  Identity identity = {};
  std::vector<NamedAdapter> adapters = {};  ///< different ones, under different names; see CheckAdapters
};

/// How a model is served.
struct ServedModelOptions {
  std::string name = {};                      ///< by which clients call it; empty: ModelInfo::name
  RuntimeConfig runtime = {};                 ///< of the pool: most tokens of a conversation, bytes of all
  Identity identity = {};                     ///< see ServedModel::identity, and IdentityOfModel
  std::vector<NamedAdapter> adapters = {};    ///< see ServedModel::adapters
  std::optional<CommunicatorRef> ranks = {};  ///< that compute the model together; must outlive it
};

/// Refuses adapters of a model called `name` with names or digests that are not all different: kInvalidArgument, with
/// the names.
Result<void> CheckAdapters(std::string_view name, const std::vector<NamedAdapter>& adapters);

/// Makes a model to be served of an opened one, which it owns from now on. With ranks this is rank 0's call, the
/// weights are rank 0's part of them, and the other ranks call FollowRanks. Errors: those of CheckAdapters, of
/// CreateBlockPool, and with ranks those of RankedModel.
Result<ServedModel> ServeModel(LanguageModel model, ServedModelOptions options = {});

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/serving/detail/served_model.h"
#endif

#endif  // SKALD_SERVING_SERVED_MODEL_H_
