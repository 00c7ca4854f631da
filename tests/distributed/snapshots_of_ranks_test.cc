// SPDX-License-Identifier: Apache-2.0
//
// Any number of ranks loads conversations that any other number has saved; the bytes are those of one process.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/store/backends/memory_store.h"
#include "skald/store/prompts/prompt_cache.h"
#include "skald/store/snapshots/snapshot.h"
#include "tests/distributed/led_ranks.h"
#include "tests/support/check_error.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace snapshots_of_ranks_test {

constexpr RuntimeConfig kRuntime = {
    .max_tokens = 200, .cache_bytes = 64 << 20, .block_tokens = 32, .resume_point_every = 30, .rewind_tokens = 4};

Identity AnyIdentity() {
  Identity identity;
  identity.weights[0] = std::byte{7};
  return identity;
}

std::vector<float> Next(const auto& model, KVCache& cache, std::span<const int32_t> tokens, Workspace& workspace) {
  const auto logits = model.Forward(cache, tokens, workspace);
  REQUIRE_MESSAGE(logits, logits.error().message);
  return {logits->begin(), logits->end()};
}

SKALD_LAW("a snapshot of some ranks is that of one process, and goes on on any other number of ranks", small) {
  const RandomModel model(small, 5);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const std::vector<int32_t> tokens = RandomTokens(small, 9, 100), more = {3, 1, 4};
  KVCache whole = NewCache(small, kRuntime);
  Next(model, whole, tokens, workspace);
  MemoryStore store(uint64_t{1} << 30);
  const auto expected_key = *SaveSnapshot(whole, AnyIdentity(), {}, ChunkStoreRef(store));
  const std::vector<float> expected = Next(model, whole, more, workspace);

  const LedRanks two(small, 2, 5, kRuntime), three(small, 3, 5, kRuntime);
  KVCache cache = *CreateKVCache(two.pool());
  Next(two.model(), cache, tokens, workspace);
  const auto key = SaveSnapshot(cache, AnyIdentity(), {}, ChunkStoreRef(store));
  REQUIRE_MESSAGE(key, key.error().message);
  CHECK((*key == expected_key));
  for (const LedRanks* ranks : {&two, &three}) {
    auto loaded = LoadSnapshot(ChunkStoreRef(store), *key, AnyIdentity(), ranks->pool());
    REQUIRE_MESSAGE(loaded, loaded.error().message);
    CHECK((Next(ranks->model(), loaded->cache, more, workspace) == expected));
  }
  CHECK((Next(two.model(), cache, more, workspace) == expected));
}

TEST_CASE("a prompt that ranks computed is known to one process") {
  const SmallModel& small = SmallModels()[0];
  const RandomModel model(small, 5);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  MemoryStore store(uint64_t{1} << 30);
  const std::vector<int32_t> tokens = RandomTokens(small, 9, 100);
  const LedRanks ranks(small, 2, 5, kRuntime);
  {
    auto prompts = PromptCache::Create(ranks.pool(), AnyIdentity(), {}, {ChunkStoreRef(store)});
    REQUIRE(prompts);
    KVCache cache = *CreateKVCache(ranks.pool());
    Next(ranks.model(), cache, tokens, workspace);
    REQUIRE((*prompts)->Insert(cache));
  }
  const auto pool = NewPool(small, kRuntime);
  auto prompts = PromptCache::Create(pool, AnyIdentity(), {}, {ChunkStoreRef(store)});
  REQUIRE(prompts);
  auto prefix = (*prompts)->Lookup(tokens);
  REQUIRE(prefix);
  CHECK(prefix->cache.size() >= 64);
}

TEST_CASE("one rank's part alone is not saved") {
  const SmallModel& small = SmallModels()[0];
  const KVCache cache = *CreateKVCache(LayoutOf(small.spec, {0, 2}), kRuntime);
  MemoryStore store(uint64_t{1} << 30);
  CheckError(SaveSnapshot(cache, AnyIdentity(), {}, ChunkStoreRef(store)), ErrorCode::kUnsupported, "one rank's part");
}

}  // namespace snapshots_of_ranks_test
}  // namespace skald::testing
