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
namespace conversation_test {

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
struct Conversation {
  explicit Conversation(const SmallModel& of) : small(of) {
    REQUIRE(model.Forward(cache, RandomTokens(small, 1, 45), workspace, {.pass_tokens = 16}));
    fork.emplace(*cache.Fork());
    REQUIRE(model.Forward(*fork, RandomTokens(small, 2, 5), workspace));
    REQUIRE(model.Forward(cache, RandomTokens(small, 3, 7), workspace));
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
      const auto logits = model.Forward(*past, RandomTokens(small, 4, 3), workspace);
      REQUIRE(logits);
      text += BytesIn(past->tokens()) + std::to_string(past->exact_tokens()) + BytesIn(*logits);
    }
    cache.Clear();
    fork.reset();
    return text + std::to_string(pool->usage().used_bytes);
  }

  const SmallModel& small;
  const RandomModel& model = TheModel(small);
  std::shared_ptr<BlockPool> pool = NewPool(small, kRuntime);
  KVCache cache = *CreateKVCache(pool);
  std::optional<KVCache> fork;
  Workspace workspace = *CreateWorkspace({.threads = 1});
};

template <class Call>
void FailEachInConversation(const SmallModel& small, const std::string& name, Call call) {
  FailEachAllocation(
      small.name + ": " + name, [&] { return std::make_unique<Conversation>(small); }, call,
      [](Conversation& scene, const auto&) { return scene.GoOn(); });
}

// The work of planner and executor, without the transport between them.
Result<void> ExecuteElsewhere(Conversation& scene, std::span<const int32_t> tokens) {
  const auto step = Step::Begin(Batch().Add(scene.cache, tokens), 16);
  if (!step) return Failure(step.error());
  const auto bytes = StepPlanToBytes(step->plan());
  if (!bytes) return Failure(bytes.error());
  const auto pool = CreateBlockPool(scene.small.layout, kRuntime);
  if (!pool) return Failure(pool.error());
  const auto plan = StepPlanFromBytes(*bytes, **pool);
  if (!plan) return Failure(plan.error());
  const auto outputs = scene.model.Execute(*plan, tokens, **pool, scene.workspace);
  if (!outputs) return Failure(outputs.error());
  return {};
}

SKALD_LAW("a conversation survives every allocation that fails", small) {
  FailEachInConversation(small, "Forward of one token", [one = std::vector<int32_t>{1}](Conversation& scene) {
    return scene.model.Forward(scene.cache, one, scene.workspace);
  });
  FailEachInConversation(small, "Forward of a prompt", [tokens = RandomTokens(small, 5, 60)](Conversation& scene) {
    return scene.model.Forward(scene.cache, tokens, scene.workspace, {.pass_tokens = 16});
  });
  FailEachInConversation(small, "Forward with a new workspace",
                         [two = std::vector<int32_t>{1, 2}](Conversation& scene) -> Result<void> {
                           auto workspace = CreateWorkspace({.threads = 1});
                           if (!workspace) return Failure(workspace.error());
                           auto logits = scene.model.Forward(scene.cache, two, *workspace);
                           if (!logits) return Failure(logits.error());
                           return {};
                         });
  FailEachInConversation(small, "Forward of a batch",
                         [one = RandomTokens(small, 6, 33), wants = std::vector<Want>(4, Want::kHidden),
                          two = RandomTokens(small, 7, 4)](Conversation& scene) {
                           return scene.model.Forward(Batch().Add(scene.cache, one).Add(*scene.fork, two, wants),
                                                      scene.workspace);
                         });
  FailEachInConversation(small, "a plan sent elsewhere", [tokens = RandomTokens(small, 5, 60)](Conversation& scene) {
    return ExecuteElsewhere(scene, tokens);
  });
  FailEachInConversation(small, "Logits",
                         [row = std::vector<float>(static_cast<size_t>(small.spec.model_dim), 0.5f)](
                             Conversation& scene) { return scene.model.Logits(row, scene.workspace); });
  FailEachInConversation(small, "Fork", [](Conversation& scene) { return scene.cache.Fork(); });
  FailEachInConversation(small, "Truncate",
                         [](Conversation& scene) { return scene.cache.Truncate(scene.cache.size()); });
  FailEachInConversation(small, "Truncate to a checkpoint",
                         [](Conversation& scene) { return scene.cache.Truncate(40); });
  FailEachInConversation(small, "Truncate to nothing", [](Conversation& scene) { return scene.cache.Truncate(0); });
  FailEachInConversation(small, "ResumePoints", [](Conversation& scene) { return scene.cache.ResumePoints(); });
  FailEachInConversation(small, "Clear", [](Conversation& scene) -> Result<void> {
    scene.cache.Clear();
    return {};
  });
  FailEachInConversation(small, "the end of a cache", [](Conversation& scene) -> Result<void> {
    scene.fork.reset();
    return {};
  });
  if (!small.layout.moves_tokens()) return;
  FailEachInConversation(small, "Erase", [](Conversation& scene) { return scene.cache.Erase(47, 50); });
  FailEachInConversation(small, "Shift", [](Conversation& scene) { return scene.cache.Shift(48, 50, 47); });
}

}  // namespace conversation_test
}  // namespace skald::testing
