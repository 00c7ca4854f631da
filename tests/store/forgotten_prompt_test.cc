// SPDX-License-Identifier: Apache-2.0
//
// Prompts that may not be remembered: nothing is left of them in memory or stores but what others share.

#include <algorithm>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/store/backends/memory_store.h"
#include "skald/store/prompts/prompt_cache.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace forgotten_prompt_test {

std::vector<int32_t> Tokens(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random() % 20);
  return tokens;
}

std::vector<int32_t> Joined(std::vector<int32_t> front, const std::vector<int32_t>& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

TEST_CASE("a prompt is forgotten in memory and in stores, but for what another shares with it") {
  for (const char* const name : {"one-layer", "small-mamba2"}) {
    CAPTURE(name);
    const SmallModel& small = SmallModelNamed(name);
    RandomModel model(small, 6);
    Workspace workspace = *CreateWorkspace({.threads = 1});
    const auto pool = NewPool(small, {.block_tokens = 32, .resume_point_every = 32, .max_resume_points = 20});
    MemoryStore store(kUnlimited);
    const auto make = [&] { return *PromptCache::Create(pool, {}, {}, {store}); };
    auto prompts = make();
    const auto keep = [&](const std::vector<int32_t>& tokens, const std::optional<std::string>& salt = {}) {
      PromptPrefix prefix = *prompts->Lookup(tokens, salt);
      REQUIRE(model.Forward(prefix.cache, std::span(tokens).subspan(prefix.cache.size()), workspace, {}));
      REQUIRE(prompts->Insert(prefix.cache, {}, salt));
    };
    const auto known = [&](const std::vector<int32_t>& tokens, const std::optional<std::string>& salt = {}) {
      return prompts->Lookup(tokens, salt)->matched;
    };
    const std::vector<int32_t> shared = Tokens(160, 1);
    const std::vector<int32_t> mine = Joined(shared, Tokens(150, 2)), others = Joined(shared, Tokens(150, 3));
    keep(others);
    const std::vector<ChunkKey> before = *store.List();
    keep(std::vector(mine.begin(), mine.begin() + 220));
    keep(mine);
    keep(mine, "salt");
    REQUIRE(store.List()->size() > before.size());
    uint32_t common = 160;
    while (mine[common] == others[common]) ++common;
    REQUIRE(prompts->Forget(mine, common));
    CHECK(known(mine) == common);
    CHECK(known(others) == others.size());
    CHECK(known(mine, "salt") == mine.size());
    REQUIRE(prompts->Forget(mine, 0, "salt"));
    CHECK(known(mine, "salt") == 0);
    prompts = make();  // with nothing in memory
    CHECK(known(mine) <= common);
    CHECK(known(others) >= others.size() - 64);
    std::vector<ChunkKey> after = *store.List();
    for (const ChunkKey& key : before) CHECK(std::ranges::find(after, key) != after.end());
    REQUIRE(prompts->Forget(others, 0));
    CHECK(known(others) == 0);
  }
}

}  // namespace forgotten_prompt_test
}  // namespace skald::testing
