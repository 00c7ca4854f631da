// SPDX-License-Identifier: Apache-2.0

#include "conversation/program_model.h"

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/cache/create.h"
#include "skald/layers/standard_layers.h"
#include "skald/model/load.h"
#ifdef SKALD_HAS_STORE
#include "skald/model/load_adapter.h"
#endif

namespace skald::program {

Result<void> ProgramModel::ComputeOn(const CommunicatorRef& ranks) {
  if (ranks.share().rank != 0) return {};
  SKALD_ASSIGN(auto ranked, RankedModel::Create(model_, ranks));
  ranked_.emplace(std::move(ranked));
  return {};
}

Result<std::shared_ptr<BlockPool>> ProgramModel::CreatePool(const RuntimeConfig& runtime) const {
  if (ranked_) return ranked_->CreatePool(runtime);
  return CreateBlockPool(LayoutOf(model_.spec()), runtime);
}

Result<void> ProgramModel::Steer(const ControlVector& vector) {
  SKALD_ASSIGN(hooks_, HooksOf(vector, spec()));
  return {};
}

Result<void> ProgramModel::UseAdapter(const std::filesystem::path& path) {
  SKALD_ASSIGN(auto adapter, OpenAdapter(path, model_.spec(), model_.weights().share));
  adapter_ = std::move(adapter);
  return {};
}

#ifdef SKALD_HAS_STORE
Result<Adapter> OpenAdapter(const std::filesystem::path& path, const ModelSpec& spec, const RankShare& share) {
  return LoadAdapter(path, spec, share);
}
#else
Result<Adapter> OpenAdapter(const std::filesystem::path& path, const ModelSpec&, const RankShare&) {
  return Fail(ErrorCode::kUnsupported,
              path.string() + ": this program was built without OpenSSL, so it has no adapters");
}
#endif

Result<Outputs> ProgramModel::Forward(const Batch& batch, Workspace& workspace) const {
  return Forward(batch, workspace, options());
}
Result<Outputs> ProgramModel::Forward(const Batch& batch, Workspace& workspace, const ForwardOptions& options) const {
  if (!hooks_.empty()) {
    ForwardOptions steered = options;
    steered.hooks.insert(steered.hooks.begin(), hooks_.begin(), hooks_.end());
    return Compute(batch, workspace, steered);
  }
  return Compute(batch, workspace, options);
}
Result<Outputs> ProgramModel::Compute(const Batch& batch, Workspace& workspace, const ForwardOptions& options) const {
  return ranked_ ? ranked_->Forward(batch, workspace, options) : model_.Forward(batch, workspace, options);
}

ModelCost ProgramModel::Cost() const { return CostOf(model_.weights()); }

Result<std::unique_ptr<ProgramModel>> LoadProgramModel(const ModelInfo& info, const LoadOptions& options) {
  return NoThrow(info.model.path().native(), [&]() -> Result<std::unique_ptr<ProgramModel>> {
    SKALD_ASSIGN(auto weights, LoadWeights(info.model, info.spec, info.name, options));
    return std::make_unique<ProgramModel>(AnyModel(info.name, std::move(weights), StandardLayers::Functions()));
  });
}

Result<ModelSpec> SpecOfRandomModel(std::string_view name, DType weight_type) {
  if (IsWeightType(weight_type)) return FindModelByName(name);
  return Fail(ErrorCode::kUnsupported, std::string(NameOf(weight_type)) + " is no type of weights in memory");
}

Result<std::unique_ptr<ProgramModel>> RandomProgramModel(std::string_view name, DType weight_type,
                                                         const RankShare& share) {
  SKALD_ASSIGN(const auto spec, SpecOfRandomModel(name, weight_type));
  return NoThrow(name, [&]() -> Result<std::unique_ptr<ProgramModel>> {
    SKALD_ASSIGN(auto weights, RandomWeights(spec, 1, weight_type, std::thread::hardware_concurrency(), share));
    return std::make_unique<ProgramModel>(AnyModel(std::string(name), std::move(weights), StandardLayers::Functions()));
  });
}

}  // namespace skald::program
