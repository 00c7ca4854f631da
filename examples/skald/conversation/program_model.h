// SPDX-License-Identifier: Apache-2.0
//
// ProgramModel: the weights of the program's model, with an adapter, computed by one process or by ranks.

#ifndef SKALD_EXAMPLES_SKALD_CONVERSATION_PROGRAM_MODEL_H_
#define SKALD_EXAMPLES_SKALD_CONVERSATION_PROGRAM_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "model_files/known_models.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/ranks/communicator.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/distributed/ranked_model.h"
#include "skald/layers/model_cost.h"
#include "skald/model/any_model.h"
#include "skald/model/control_vector.h"
#include "skald/model/forward_options.h"
#include "skald/model/hooks.h"
#include "skald/model/outputs.h"
#include "skald/model/workspace.h"
#include "skald/weights/adapters/adapter.h"
#include "skald/weights/load_options.h"

namespace skald::program {

class ProgramModel {
 public:
  explicit ProgramModel(AnyModel model) : model_(std::move(model)) {}

  // From now on conversations are for the adapter at `path`. Errors: see OpenAdapter.
  Result<void> UseAdapter(const std::filesystem::path& path);

  // From now on the directions are added to the residual stream of every row.
  Result<void> Steer(const ControlVector& vector);

  // From now on all ranks compute, where the weights are rank 0's; other ranks have nothing to call this for. Errors:
  // see RankedModel::Create.
  Result<void> ComputeOn(const CommunicatorRef& ranks);

  // Memory for conversations; see CreateBlockPool.
  Result<std::shared_ptr<BlockPool>> CreatePool(const RuntimeConfig& runtime) const;
  // See AnyModel::CheckPool.
  Result<void> CheckPool(const BlockPool& pool) const {
    return ranked_ ? ranked_->CheckPool(pool) : model_.CheckPool(pool);
  }
  // See AnyModel::Forward.
  Result<Outputs> Forward(const Batch& batch, Workspace& workspace) const;
  // The same with options of the caller's, as an engine computes.
  Result<Outputs> Forward(const Batch& batch, Workspace& workspace, const ForwardOptions& options) const;
  const ModelSpec& spec() const { return model_.spec(); }

  ModelCost Cost() const;
  // Without the adapter, and of this rank alone.
  const AnyModel& model() const { return model_; }
  // Of this rank alone, too; with a digest of zeros if there is none.
  const Adapter& adapter() const { return adapter_; }
  // The same; null if there is none.
  const Adapter* chosen_adapter() const { return adapter_.digest == Sha256Digest{} ? nullptr : &adapter_; }

 private:
  // On all ranks, if there are several, without hooks of its own.
  Result<Outputs> Compute(const Batch& batch, Workspace& workspace, const ForwardOptions& options) const;

  ForwardOptions options() const { return {.adapters = {&adapter_}}; }

  AnyModel model_;
  std::optional<RankedModel> ranked_;
  Adapter adapter_;
  std::vector<Hook> hooks_;  // of all steps, before those of the caller's
};

// Loads an adapter for models of the spec, and what a rank adds of it. Errors: see LoadAdapter; kUnsupported in a
// program without skald::store.
Result<Adapter> OpenAdapter(const std::filesystem::path& path, const ModelSpec& spec, const RankShare& share);

// Loads the weights of the model that IdentifyModel opened. Errors: see LoadWeights.
Result<std::unique_ptr<ProgramModel>> LoadProgramModel(const ModelInfo& info, const LoadOptions& options);

// Returns what a model of random weights would be. Errors: no known Config has that name, or the type is none of
// weights in memory.
Result<ModelSpec> SpecOfRandomModel(std::string_view name, DType weight_type);

// Makes a model of the known Config of that name with random weights. Errors: those of SpecOfRandomModel.
Result<std::unique_ptr<ProgramModel>> RandomProgramModel(std::string_view name, DType weight_type,
                                                         const RankShare& share = {});

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_CONVERSATION_PROGRAM_MODEL_H_
