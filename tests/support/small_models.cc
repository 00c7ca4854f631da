// SPDX-License-Identifier: Apache-2.0

#include "tests/support/small_models.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "skald/cache/create.h"
#include "skald/layers/model_weights.h"
#include "skald/layers/standard_layers.h"
#include "skald/model/any_model.h"
#include "skald/model/load.h"
#include "skald/weights/random_weights.h"
#include "tests/support/long_tests.h"
#include "tests/support/small_configs.h"

namespace skald::testing {
namespace {

template <class... Configs>
std::vector<SmallModel> SmallModelsOf() {
  return {SmallModelOf<Configs>()...};
}

// Of all types that a small model may have.
const std::vector<LayerFunction>& Functions() {
  static const std::vector<LayerFunction> functions = [] {
    std::vector<LayerFunction> all = StandardLayers::Functions();
    for (const LayerFunction& own : OwnTypes::Layers::Functions()) all.push_back(own);
    return all;
  }();
  return functions;
}

// The differences between groups of a cache that copying, saving and counting know.
std::set<std::array<bool, 5>> KindsOf(const CacheLayout& layout) {
  std::set<std::array<bool, 5>> kinds;
  for (const CacheGroup& group : layout.groups()) {
    kinds.insert(
        {group.is_attention(), group.window > 0, group.latent_dim > 0, group.is_replayed(), group.is_inputs()});
  }
  return kinds;
}

}  // namespace

const std::vector<SmallModel>& SmallModels() {
  static const std::vector<SmallModel> models = SmallModelsOf<SKALD_SMALL_MODELS>();
  return models;
}

const SmallModel& SmallModelNamed(std::string_view name) {
  static const SmallModel one_layer = SmallModelOf<OneLayer>();
  if (name == one_layer.name) return one_layer;
  const auto found = std::ranges::find(SmallModels(), name, &SmallModel::name);
  REQUIRE_MESSAGE(found != SmallModels().end(), name);
  return *found;
}

void ForEachSmallModel(void (*law)(const SmallModel& small)) {
  for (const SmallModel& small : SmallModels()) {
    SUBCASE(small.name.c_str()) { law(small); }
  }
}

void ForEachKindOfCache(void (*law)(const SmallModel& small)) {
  std::set<std::set<std::array<bool, 5>>> seen;
  for (const SmallModel& small : SmallModels()) {
    if (!seen.insert(KindsOf(small.layout)).second && !LongTests()) continue;
    SUBCASE(small.name.c_str()) { law(small); }
  }
}

CacheLayout KeepingStates(const CacheLayout& layout) {
  CacheLayout keeping(layout.model());
  for (const LayerSlot& slot : layout.layers()) {
    CacheGroup group = layout.groups()[slot.group];
    group.input_floats = 0;
    keeping.AddLayer(group);
  }
  return keeping;
}

RandomModel::RandomModel(const SmallModel& small, uint64_t seed, DType weights)
    : RandomModel(small, *RandomWeights(small.spec, seed, weights)) {}
RandomModel::RandomModel(const SmallModel& small, ModelWeights weights)
    : small_(small), model_(std::make_unique<AnyModel>(small.name, std::move(weights), Functions())) {}
RandomModel::RandomModel(RandomModel&& other) noexcept
    : small_(other.small_), model_(std::make_unique<AnyModel>(std::move(*other.model_))) {}
RandomModel::~RandomModel() = default;

const ModelWeights& RandomModel::weights() const { return model_->weights(); }

Result<void> RandomModel::CheckPool(const BlockPool& pool) const { return model_->CheckPool(pool); }

Result<Outputs> RandomModel::Forward(const Batch& batch, Workspace& workspace, const ForwardOptions& options) const {
  return model_->Forward(batch, workspace, options);
}
Result<std::span<const float>> RandomModel::Forward(KVCache& cache, std::span<const int32_t> tokens,
                                                    Workspace& workspace, const ForwardOptions& options) const {
  return model_->Forward(cache, tokens, workspace, options);
}
Result<Outputs> RandomModel::Execute(const StepPlan& plan, std::span<const int32_t> tokens, BlockPool& pool,
                                     Workspace& workspace, const ForwardOptions& options) const {
  return model_->Execute(plan, tokens, pool, workspace, options);
}
Result<Outputs> RandomModel::Logits(std::span<const float> residual, Workspace& workspace) const {
  return model_->Logits(residual, workspace);
}

KVCache NewCache(const SmallModel& small, const RuntimeConfig& runtime) {
  return *CreateKVCache(small.layout, runtime);
}
std::shared_ptr<BlockPool> NewPool(const SmallModel& small, const RuntimeConfig& runtime) {
  return *CreateBlockPool(small.layout, runtime);
}
std::shared_ptr<BlockPool> NewLedgerPool(const SmallModel& small, const RuntimeConfig& runtime) {
  return *CreateLedgerPool(small.layout, runtime);
}

std::vector<int32_t> RandomTokens(const SmallModel& small, uint64_t seed, size_t count) {
  std::vector<int32_t> tokens(count);
  for (size_t i = 0; i < count; ++i) {
    tokens[i] = static_cast<int32_t>((internal::UniformAt(seed, i) + 1.0f) * 0.499f *
                                     static_cast<float>(small.spec.vocab_size));
  }
  return tokens;
}

std::vector<float> AllLogits(const RandomModel& model, KVCache& cache, std::span<const int32_t> tokens, size_t chunk,
                             Workspace& workspace, const ForwardOptions& options) {
  std::vector<float> all;
  for (size_t begin = 0; begin < tokens.size(); begin += chunk) {
    const auto run = tokens.subspan(begin, std::min(chunk, tokens.size() - begin));
    const std::vector<Want> wants(run.size(), Want::kLogits);
    const auto outputs = model.Forward(Batch().Add(cache, run, wants), workspace, options);
    REQUIRE(outputs);
    for (size_t i = 0; i < outputs->size(); ++i) all.insert(all.end(), (*outputs)[i].begin(), (*outputs)[i].end());
  }
  return all;
}

std::vector<float> AllLogits(const RandomModel& model, std::span<const int32_t> tokens, const RuntimeConfig& runtime,
                             const ForwardOptions& options, uint32_t threads) {
  KVCache cache = NewCache(model.small(), runtime);
  Workspace workspace = *CreateWorkspace({.threads = threads});
  return AllLogits(model, cache, tokens, tokens.size(), workspace, options);
}

}  // namespace skald::testing
