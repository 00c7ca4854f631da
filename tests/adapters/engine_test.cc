// SPDX-License-Identifier: Apache-2.0
//
// An engine whose requests have adapters or none: each gets what its adapter gives alone, and finds in the prompt cache
// what was computed with its own adapter and with no other.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/numbers/xxh64.h"
#include "skald/engine/engine.h"
#include "skald/families/config/create.h"
#include "skald/store/prompts/prompt_cache.h"
#include "tests/adapters/adapter_files.h"
#include "tests/support/check_error.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace adapters_engine_test {

constexpr uint32_t kTokens = 6;
const RuntimeConfig kRuntime = {.max_tokens = 200};

struct Told {
  std::vector<int32_t> tokens;
  uint64_t digest = 0;
  uint32_t cached = 0;
};

// Greedy, token by token, without an engine.
Told Alone(const RandomModel& model, std::vector<int32_t> next, const Adapter* adapter) {
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const Sha256Digest digest = adapter == nullptr ? Sha256Digest{} : adapter->digest;
  KVCache cache = *CreateKVCache(NewPool(model.small(), kRuntime), digest);
  Told told;
  while (told.tokens.size() < kTokens) {
    const auto logits = model.Forward(cache, next, workspace, {.adapters = {adapter}});
    REQUIRE(logits);
    told.digest = Xxh64(std::as_bytes(*logits), told.digest);
    next = {static_cast<int32_t>(std::ranges::max_element(*logits) - logits->begin())};
    told.tokens.push_back(next[0]);
  }
  return told;
}

std::vector<Told> AskAll(Engine& engine, const std::vector<int32_t>& prompt, std::span<const Sha256Digest> adapters) {
  std::vector<RequestId> ids;
  for (const Sha256Digest& adapter : adapters) {
    Request request = {.prompt = prompt, .max_tokens = kTokens, .digest_logits = true, .adapter = adapter};
    request.sampler.temperature = 0.0f;
    ids.push_back(*engine.Submit(std::move(request)));
  }
  std::vector<Told> told(adapters.size());
  while (engine.has_work()) {
    const auto report = engine.Step();
    REQUIRE(report);
    for (const Event& event : report->events) {
      Told& one = told[static_cast<size_t>(std::ranges::find(ids, event.request) - ids.begin())];
      for (const SampledToken& token : event.tokens) one.tokens.push_back(token.id);
      one.digest = event.usage.logits_digest;
      one.cached = event.usage.cached_tokens;
    }
  }
  return told;
}

SKALD_LAW("an engine gives each adapter's requests what it gives alone, and prompts of its own", small) {
  const RandomModel model(small, 7);
  const Adapter first = RandomAdapter(small.spec, 20, 4), second = RandomAdapter(small.spec, 21, 5);
  const Adapter* const all[] = {nullptr, &first, &second};
  const Sha256Digest digests[] = {{}, first.digest, second.digest};
  const auto pool = NewPool(small, kRuntime);
  Workspace workspace = *CreateWorkspace({.threads = 2});
  EngineOptions options = {.adapters = {&first, &second}};
  std::vector<std::unique_ptr<PromptCache>> prompts;
  for (const Sha256Digest& digest : digests) {
    prompts.push_back(*PromptCache::Create(pool, {.adapter = digest}));
    options.prompts.push_back(prompts.back().get());
  }
  auto engine = Engine::Create(model, pool, workspace, options);
  REQUIRE(engine);
  const std::vector<int32_t> prompt = RandomTokens(small, 3, 70);
  for (int round = 0; round < 2; ++round) {
    const std::vector<Told> told = AskAll(**engine, prompt, digests);
    for (size_t i = 0; i < told.size(); ++i) {
      const Told alone = Alone(model, prompt, all[i]);
      CHECK(told[i].tokens == alone.tokens);
      CHECK(told[i].digest == alone.digest);
      CHECK((told[i].cached > 0) == (round > 0));
    }
  }
}

TEST_CASE("a prompt cache that is null is refused") {
  const SmallModel& small = SmallModelNamed("one-layer");
  const RandomModel model(small, 7);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  CheckError(Engine::Create(model, NewPool(small, kRuntime), workspace, {.prompts = {nullptr}}),
             ErrorCode::kInvalidArgument, "EngineOptions::prompts has a null pointer");
}

}  // namespace adapters_engine_test
}  // namespace skald::testing
