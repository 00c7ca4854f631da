// SPDX-License-Identifier: Apache-2.0
//
// Engines whose pools hold hardly more than one conversation: what was accepted comes to its end, token for token what
// it would be in a large pool, and no step passes in which nothing happens.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/engine/engine.h"
#include "skald/engine/plan/memory_model.h"
#include "skald/engine/speculation/prompt_lookup.h"
#include "skald/families/config/create.h"
#include "skald/families/config/model_config.h"
#include "skald/store/backends/memory_store.h"
#include "tests/engine/alone.h"
#include "tests/engine/run_engine.h"
#include "tests/support/golden_configs.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace little_memory_test {

Request NewRequest(const SmallModel& small, uint64_t seed, uint32_t prompt, uint32_t max_tokens) {
  Request request;
  request.prompt = RandomTokens(small, seed, prompt);
  request.sampler = {.temperature = 0.8f, .random = {.seed = seed}};
  request.max_tokens = max_tokens;
  return request;
}

struct Scene {
  const RandomModel& model;
  std::shared_ptr<BlockPool> pool;
  Workspace& workspace;
  EngineOptions options = {};

  std::unique_ptr<Engine> NewEngine() const {
    auto engine = Engine::Create(model, pool, workspace, options);
    REQUIRE(engine);
    return std::move(*engine);
  }
};

void CheckAnswer(const Scene& scene, const Request& request, const Ended& ended) {
  if (ended.error) FAIL(ended.error->message);
  CHECK(*ended.finish == FinishReason::kMaxTokens);
  CHECK(ended.tokens == Alone(scene.model, request, 0, *request.max_tokens, scene.workspace).tokens);
}

SKALD_LAW("a request of as many tokens as the capacity, alone on its pool, comes to its end", small) {
  Workspace workspace = *CreateWorkspace({.threads = 1});
  for (const DType weights : {DType::kF32, DType::kBF16}) {
    const RandomModel model(small, 5, weights);
    for (uint32_t seed = weights == DType::kF32 ? 1 : 4, last = seed + 2; seed <= last; ++seed) {
      CAPTURE(seed);
      std::minstd_rand random(seed);
      const auto pick = [&](uint32_t low, uint32_t high) {
        return low + static_cast<uint32_t>(random() % (high - low + 1));
      };
      RuntimeConfig runtime = {.max_tokens = 128, .kv_type = DType::kF32, .block_tokens = 32u << pick(0, 2)};
      runtime.rewind_tokens = pick(0, 1) * pick(1, 8);
      if (seed % 2 == 0) runtime.resume_point_every = pick(1, 40);
      const MemoryModel memory = MemoryModel::Of(*NewLedgerPool(small, runtime));
      runtime.cache_bytes = memory.BytesToReach(pick(2, 100)) + pick(0, 3000);
      Scene scene = {model, NewPool(small, runtime), workspace};
      scene.options.step_tokens = seed % 3 == 0 ? 17 : 1;
      PromptLookup lookup({.longest = 3, .shortest = 1});
      if (seed % 4 == 0) scene.options.drafter = &lookup;
      std::unique_ptr<PromptCache> prompts;
      if (seed % 4 == 1) {
        prompts = PromptCache::Create(scene.pool, {}).value();
        scene.options.prompts = {prompts.get()};
      }
      const auto engine = scene.NewEngine();
      const uint32_t capacity = engine->capacity(), prompt = pick(1, capacity);
      const Request request = NewRequest(small, seed, prompt, capacity - prompt + 1);
      REQUIRE(engine->Submit(request));
      const Endings endings = RunToTheEnd(*engine);
      CheckAnswer(scene, request, endings.begin()->second);
    }
  }
}

SKALD_LAW("many requests share a pool of little more than one of them, with resume points", small) {
  const RandomModel model(small, 5);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  for (uint32_t seed = 1; seed <= 2; ++seed) {
    CAPTURE(seed);
    RuntimeConfig runtime = {
        .max_tokens = 128, .kv_type = DType::kF32, .block_tokens = 32, .resume_point_every = 7 * seed};
    runtime.rewind_tokens = seed % 2 * 3;
    runtime.cache_bytes = MemoryModel::Of(*NewLedgerPool(small, runtime)).BytesToReach(70) * (3 + seed) / 4;
    Scene scene = {model, NewPool(small, runtime), workspace};
    scene.options.step_tokens = seed == 1 ? 1 : 32;
    const auto engine = scene.NewEngine();
    std::vector<Request> requests;
    std::vector<RequestId> ids;
    for (uint32_t i = 0; i < 3; ++i) {
      requests.push_back(NewRequest(small, 10 * seed + i, 5 + 10 * i, engine->capacity() - 5 - 10 * i));
      ids.push_back(*engine->Submit(requests.back()));
    }
    const Endings endings = RunToTheEnd(*engine);
    for (size_t i = 0; i < ids.size(); ++i) CheckAnswer(scene, requests[i], endings.at({ids[i], 0}));
  }
}

template <class C>
SmallModel SmallModelLike() {
  return {std::string(C::kName), SpecOf<C>(), LayoutOf<C>()};
}

TEST_CASE("pools that a request once stalled in, or found full, take it to its end") {
  struct Case {
    SmallModel small;
    RuntimeConfig runtime;
    uint32_t step_tokens, prompt, capacity;
  };
  const Case cases[] = {
      {SmallModelLike<GoldenLlama>(),
       {.max_tokens = 128, .cache_bytes = 72150, .block_tokens = 32, .resume_point_every = 16},
       1,
       1,
       128},
      {SmallModelLike<GoldenMamba2>(),
       {.max_tokens = 128, .cache_bytes = 115571, .block_tokens = 128, .rewind_tokens = 4},
       1,
       1,
       128},
      {SmallModelLike<GoldenRecurrentGemma>(),
       {.max_tokens = 128, .cache_bytes = 24000, .block_tokens = 32, .resume_point_every = 5},
       1,
       40,
       128},
  };
  Workspace workspace = *CreateWorkspace({.threads = 1});
  for (const Case& one : cases) {
    CAPTURE(one.small.name);
    const RandomModel model(one.small, 5);
    Scene scene = {model, NewPool(one.small, one.runtime), workspace};
    scene.options.step_tokens = one.step_tokens;
    const auto engine = scene.NewEngine();
    CHECK(engine->capacity() == one.capacity);
    const uint32_t room = engine->capacity() - one.prompt + 1;
    REQUIRE(engine->Submit(NewRequest(one.small, 1, one.prompt, room)));
    const Ended ended = RunToTheEnd(*engine).begin()->second;
    if (ended.error) FAIL(ended.error->message);
    CHECK(ended.tokens.size() == room);
  }
}

TEST_CASE("a request that cannot get on, since others hold the memory, says so, and the rest goes on") {
  const SmallModel& small = SmallModelNamed("one-layer");
  const RandomModel model(small, 5);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  RuntimeConfig runtime = {.max_tokens = 128, .block_tokens = 32};
  runtime.cache_bytes = MemoryModel::Of(*NewLedgerPool(small, runtime)).BytesToReach(128);
  Scene scene = {model, NewPool(small, runtime), workspace};
  KVCache foreign = *CreateKVCache(scene.pool);
  REQUIRE(model.Forward(foreign, RandomTokens(small, 1, 80), workspace));  // three blocks of four
  const auto engine = scene.NewEngine();
  const RequestId large = *engine->Submit(NewRequest(small, 1, 60, 5));
  const Request fitting = NewRequest(small, 2, 20, 5);
  const RequestId little = *engine->Submit(fitting);
  const Endings endings = RunToTheEnd(*engine);
  CHECK(endings.at({large, 0}).finish == FinishReason::kError);
  CHECK(endings.at({large, 0}).error->message.find("the block pool is full") != std::string::npos);
  CHECK(endings.at({little, 0}).finish == FinishReason::kMaxTokens);
}

SKALD_LAW("what was suspended goes on with any other RuntimeConfig", small) {
  const RandomModel model(small, 5);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  for (const uint32_t rewind : {1u, 6u}) {
    MemoryStore store(1 << 24);
    const RuntimeConfig before = {.max_tokens = 128,
                                  .kv_type = DType::kF32,
                                  .block_tokens = 32,
                                  .resume_point_every = 9,
                                  .rewind_tokens = rewind};
    Scene scene = {model, NewPool(small, before), workspace};
    scene.options.swap.emplace(store);
    const auto first = scene.NewEngine();
    const Request request = NewRequest(small, 3, 40, 60);
    REQUIRE(first->Submit(request));
    Endings endings;
    StepOnce(*first, endings);
    const auto suspended = first->Suspend();
    REQUIRE(suspended);
    RuntimeConfig after = {.max_tokens = 128, .kv_type = DType::kF32, .block_tokens = 64};
    after.cache_bytes = MemoryModel::Of(*NewLedgerPool(small, after)).BytesToReach(99);
    scene.pool = NewPool(small, after);
    const auto second = scene.NewEngine();
    REQUIRE(second->Resume(*suspended));
    while (second->has_work()) StepOnce(*second, endings);
    CheckAnswer(scene, request, endings.begin()->second);
  }
}

SKALD_LAW("what a prompt cache kept under another RuntimeConfig does no harm", small) {
  const RandomModel model(small, 5);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  MemoryStore store(1 << 24);
  const Request request = NewRequest(small, 3, 70, 20);
  for (const bool is_little : {false, true}) {
    RuntimeConfig runtime = {.max_tokens = 128, .kv_type = DType::kF32, .block_tokens = 32, .rewind_tokens = 6};
    if (is_little) {
      runtime.rewind_tokens = 0;
      runtime.cache_bytes = MemoryModel::Of(*NewLedgerPool(small, runtime)).BytesToReach(89);
    } else {
      runtime.resume_point_every = 9;
    }
    Scene scene = {model, NewPool(small, runtime), workspace};
    const auto prompts = PromptCache::Create(scene.pool, {}, {}, {ChunkStoreRef(store)}).value();
    scene.options.prompts = {prompts.get()};
    const auto engine = scene.NewEngine();
    REQUIRE(engine->Submit(request));
    CheckAnswer(scene, request, RunToTheEnd(*engine).begin()->second);
  }
}

}  // namespace little_memory_test
}  // namespace skald::testing
