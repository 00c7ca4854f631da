// SPDX-License-Identifier: Apache-2.0
//
// Pools, caches, workspaces and models when memory runs out.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/cache/steps/step.h"
#include "skald/cache/steps/step_plan_bytes.h"
#include "tests/allocation/fail_each.h"
#include "tests/allocation/the_model.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace {

// The tokens of a cache, where it can go back to, and the blocks that it holds.
std::string Describe(const KVCache& cache) {
  std::string text = BytesIn(cache.tokens()) + " exact " + std::to_string(cache.exact_tokens());
  const auto points = cache.ResumePoints();
  REQUIRE(points);
  for (const ResumeRange& range : *points) {
    text += " " + std::to_string(range.first) + "-" + std::to_string(range.last);
  }
  const CacheUsage usage = cache.usage();
  return text + " bytes " + std::to_string(usage.exclusive_bytes) + "+" + std::to_string(usage.shared_bytes);
}

// A conversation some way on, and one that shares its beginning.
template <class C>
struct Conversation {
  Conversation() {
    REQUIRE(TheModel<C>().Forward(cache, RandomTokens<C>(1, 45), workspace, {.pass_tokens = 16}));
    fork.emplace(*cache.Fork());
    REQUIRE(TheModel<C>().Forward(*fork, RandomTokens<C>(2, 5), workspace));
    REQUIRE(TheModel<C>().Forward(cache, RandomTokens<C>(3, 7), workspace));
  }

  // Both conversations, and what the pool gave out.
  std::string State() const {
    return Describe(cache) + (fork ? Describe(*fork) : "") + " of " + std::to_string(pool->usage().used_bytes);
  }

  // The tokens of both and the logits of going on; and what the pool holds when they have gone. Resume points may have
  // given way to what was to be computed.
  std::string GoOn() {
    std::string text;
    for (KVCache* past : {&cache, fork ? &*fork : &cache}) {
      const auto logits = TheModel<C>().Forward(*past, RandomTokens<C>(4, 3), workspace);
      REQUIRE(logits);
      text += BytesIn(past->tokens()) + std::to_string(past->exact_tokens()) + BytesIn(*logits);
    }
    cache.Clear();
    fork.reset();
    return text + std::to_string(pool->usage().used_bytes);
  }

  std::shared_ptr<BlockPool> pool = *CreateBlockPool<C>(kRuntime);
  KVCache cache = *CreateKVCache(pool);
  std::optional<KVCache> fork;
  Workspace workspace = *CreateWorkspace({.threads = 1});
};

template <class C, class Call>
void FailEachInConversation(const std::string& name, Call call) {
  FailEachAllocation(
      std::string(C::kName) + ": " + name, [] { return std::make_unique<Conversation<C>>(); }, call,
      [](Conversation<C>& scene, const auto&) { return scene.GoOn(); });
}

// What planner and executor do, but for the way between them.
template <class C>
Result<void> ExecuteElsewhere(Conversation<C>& scene, std::span<const int32_t> tokens) {
  const auto step = Step::Begin(Batch().Add(scene.cache, tokens), 16);
  if (!step) return Failure(step.error());
  const auto bytes = StepPlanToBytes(step->plan());
  if (!bytes) return Failure(bytes.error());
  const auto pool = CreateBlockPool<C>(kRuntime);
  if (!pool) return Failure(pool.error());
  const auto plan = StepPlanFromBytes(*bytes, **pool);
  if (!plan) return Failure(plan.error());
  const auto outputs = TheModel<C>().Execute(*plan, tokens, **pool, scene.workspace);
  if (!outputs) return Failure(outputs.error());
  return {};
}

TEST_CASE_TEMPLATE("a conversation survives every allocation that fails", C, SKALD_SMALL_MODELS) {
  const bool recurrent = LayoutOf<C>().has_recurrence();
  FailEachInConversation<C>("Forward of one token", [one = std::vector<int32_t>{1}](Conversation<C>& scene) {
    return TheModel<C>().Forward(scene.cache, one, scene.workspace);
  });
  FailEachInConversation<C>("Forward of a prompt", [tokens = RandomTokens<C>(5, 60)](Conversation<C>& scene) {
    return TheModel<C>().Forward(scene.cache, tokens, scene.workspace, {.pass_tokens = 16});
  });
  FailEachInConversation<C>("Forward with a new workspace",
                            [two = std::vector<int32_t>{1, 2}](Conversation<C>& scene) -> Result<void> {
                              auto workspace = CreateWorkspace({.threads = 1});
                              if (!workspace) return Failure(workspace.error());
                              auto logits = TheModel<C>().Forward(scene.cache, two, *workspace);
                              if (!logits) return Failure(logits.error());
                              return {};
                            });
  FailEachInConversation<C>(
      "Forward of a batch", [one = RandomTokens<C>(6, 33), wants = std::vector<Want>(4, Want::kHidden),
                             two = RandomTokens<C>(7, 4)](Conversation<C>& scene) {
        return TheModel<C>().Forward(Batch().Add(scene.cache, one).Add(*scene.fork, two, wants), scene.workspace);
      });
  FailEachInConversation<C>("a plan sent elsewhere", [tokens = RandomTokens<C>(5, 60)](Conversation<C>& scene) {
    return ExecuteElsewhere(scene, tokens);
  });
  FailEachInConversation<C>(
      "Logits", [row = std::vector<float>(static_cast<size_t>(SpecOf<C>().model_dim), 0.5f)](Conversation<C>& scene) {
        return TheModel<C>().Logits(row, scene.workspace);
      });
  FailEachInConversation<C>("Fork", [](Conversation<C>& scene) { return scene.cache.Fork(); });
  FailEachInConversation<C>("Truncate",
                            [](Conversation<C>& scene) { return scene.cache.Truncate(scene.cache.size()); });
  FailEachInConversation<C>("Truncate to a checkpoint",
                            [](Conversation<C>& scene) { return scene.cache.Truncate(40); });
  FailEachInConversation<C>("Truncate to nothing", [](Conversation<C>& scene) { return scene.cache.Truncate(0); });
  FailEachInConversation<C>("ResumePoints", [](Conversation<C>& scene) { return scene.cache.ResumePoints(); });
  FailEachInConversation<C>("Clear", [](Conversation<C>& scene) -> Result<void> {
    scene.cache.Clear();
    return {};
  });
  FailEachInConversation<C>("the end of a cache", [](Conversation<C>& scene) -> Result<void> {
    scene.fork.reset();
    return {};
  });
  if (recurrent) return;
  FailEachInConversation<C>("Erase", [](Conversation<C>& scene) { return scene.cache.Erase(47, 50); });
  FailEachInConversation<C>("Shift", [](Conversation<C>& scene) { return scene.cache.Shift(48, 50, 47); });
}

}  // namespace
}  // namespace skald::testing
