// SPDX-License-Identifier: Apache-2.0
//
// Small models with random weights for tests of Forward and caches, and the one-line way to run them. Which models they
// are is known at run time, and what computes them is compiled once, in small_models.cc: a test costs its compiler what
// it says itself, however many models it runs.

#ifndef SKALD_TESTS_SUPPORT_SMALL_MODELS_H_
#define SKALD_TESTS_SUPPORT_SMALL_MODELS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/cache/steps/batch.h"
#include "skald/cache/steps/step_plan.h"
#include "skald/layers/model_spec.h"
#include "skald/model/forward_options.h"
#include "skald/model/outputs.h"
#include "skald/model/workspace.h"

namespace skald {
class AnyModel;
struct ModelWeights;
}  // namespace skald

namespace skald::testing {

// A small model before it has weights.
struct SmallModel {
  std::string name;
  ModelSpec spec;
  CacheLayout layout;  // that follows from the spec
};

// Those of SKALD_SMALL_MODELS (small_configs.h), which cover every kind of cache, norm and feed-forward layer.
const std::vector<SmallModel>& SmallModels();

// One of them, or "one-layer", by the name of its Config.
const SmallModel& SmallModelNamed(std::string_view name);

// Runs `law` on each of SmallModels(), as a SUBCASE of that name.
void ForEachSmallModel(void (*law)(const SmallModel& small));

// The same, but for models whose caches keep what those of a model before them keep (with SKALD_LONG_TESTS, for all):
// enough for laws of what knows caches alone.
void ForEachKindOfCache(void (*law)(const SmallModel& small));

// A TEST_CASE of what holds for every small model: SKALD_LAW("what holds", small) { ... }
#define SKALD_LAW(words, small) SKALD_LAW_IN(DOCTEST_ANONYMOUS(SkaldLaw), ForEachSmallModel, words, small)
// For every kind of cache.
#define SKALD_CACHE_LAW(words, small) SKALD_LAW_IN(DOCTEST_ANONYMOUS(SkaldLaw), ForEachKindOfCache, words, small)
#define SKALD_LAW_IN(function, for_each, words, small)             \
  static void function(const ::skald::testing::SmallModel& small); \
  TEST_CASE(words) { ::skald::testing::for_each(&function); }      \
  static void function(const ::skald::testing::SmallModel& small)

// An AnyModel with weights that are a function of `seed`. Its calls are those of AnyModel.
class RandomModel {
 public:
  RandomModel(const SmallModel& small, uint64_t seed, DType weights = DType::kBF16);
  // With these weights, which are not random.
  RandomModel(const SmallModel& small, ModelWeights weights);
  RandomModel(RandomModel&& other) noexcept;
  ~RandomModel();

  const SmallModel& small() const { return small_; }
  const ModelSpec& spec() const { return small_.spec; }
  const ModelWeights& weights() const;
  const AnyModel& any() const { return *model_; }
  Result<void> CheckPool(const BlockPool& pool) const;

  Result<Outputs> Forward(const Batch& batch, Workspace& workspace, const ForwardOptions& options = {}) const;
  Result<std::span<const float>> Forward(KVCache& cache, std::span<const int32_t> tokens, Workspace& workspace,
                                         const ForwardOptions& options = {}) const;
  Result<Outputs> Execute(const StepPlan& plan, std::span<const int32_t> tokens, BlockPool& pool, Workspace& workspace,
                          const ForwardOptions& options = {}) const;
  Result<Outputs> Logits(std::span<const float> residual, Workspace& workspace) const;

 private:
  SmallModel small_;
  std::unique_ptr<AnyModel> model_;
};

// Returns the layout of the same state with states kept where `layout` replays inputs.
CacheLayout KeepingStates(const CacheLayout& layout);

// Caches and pools that fit; it is an error of the test if they cannot be had.
KVCache NewCache(const SmallModel& small, const RuntimeConfig& runtime = {});
std::shared_ptr<BlockPool> NewPool(const SmallModel& small, const RuntimeConfig& runtime = {});
std::shared_ptr<BlockPool> NewLedgerPool(const SmallModel& small, const RuntimeConfig& runtime = {});

// Tokens from a seed.
std::vector<int32_t> RandomTokens(const SmallModel& small, uint64_t seed, size_t count);

// Appends tokens in runs of `chunk` and returns the logits of every one of them, one after the other.
std::vector<float> AllLogits(const RandomModel& model, KVCache& cache, std::span<const int32_t> tokens, size_t chunk,
                             Workspace& workspace, const ForwardOptions& options = {});

// The same from an empty cache made for `runtime`, in one run.
std::vector<float> AllLogits(const RandomModel& model, std::span<const int32_t> tokens,
                             const RuntimeConfig& runtime = {}, const ForwardOptions& options = {},
                             uint32_t threads = 1);

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_SMALL_MODELS_H_
