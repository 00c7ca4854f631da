// SPDX-License-Identifier: Apache-2.0
//
// State that was computed with an adapter is that adapter's: snapshots and prompts of one are never another's.

#include <cstdint>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/store/backends/memory_store.h"
#include "skald/store/prompts/prompt_cache.h"
#include "skald/store/snapshots/snapshot.h"
#include "tests/adapters/adapter_files.h"
#include "tests/support/check_error.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace state_test {

struct Conversation {
  explicit Conversation(const SmallModel& small)
      : model(small, 7),
        tokens(RandomTokens(small, 3, 150)),
        adapter(RandomAdapter(small.spec, 20, 4)),
        pool(NewPool(small, {.resume_point_every = 64})),
        cache(CreateKVCache(pool, adapter.digest)) {
    REQUIRE(model.Forward(*cache, tokens, workspace, {.adapters = {&adapter}}));
  }

  // Its logits after a further token.
  std::vector<float> Next(KVCache& of) {
    const std::vector<int32_t> token = {1};
    const auto logits = model.Forward(of, token, workspace, {.adapters = {&adapter}});
    REQUIRE(logits);
    return {logits->begin(), logits->end()};
  }

  RandomModel model;
  std::vector<int32_t> tokens;
  Adapter adapter;
  Workspace workspace = *CreateWorkspace({.threads = 1});
  std::shared_ptr<BlockPool> pool;
  Result<KVCache> cache;
};

SKALD_LAW("a conversation with an adapter is saved and taken up again, by that adapter alone", small) {
  Conversation conversation(small);
  MemoryStore store(kUnlimited);
  const Identity identity = {.adapter = conversation.adapter.digest};
  CheckError(SaveSnapshot(*conversation.cache, {}, {}, store), ErrorCode::kFailedPrecondition,
             "the cache is for the adapter ");
  const auto key = SaveSnapshot(*conversation.cache, identity, {}, store);
  REQUIRE(key);
  CheckError(LoadSnapshot(store, *key, {}, conversation.pool), ErrorCode::kFailedPrecondition,
             "the snapshot was made with another adapter");
  auto loaded = LoadSnapshot(store, *key, identity, conversation.pool);
  REQUIRE(loaded);
  CHECK(loaded->cache.adapter() == conversation.adapter.digest);
  CHECK(conversation.Next(loaded->cache) == conversation.Next(*conversation.cache));
  KVCache plain = *CreateKVCache(conversation.pool);
  REQUIRE(conversation.model.Forward(plain, conversation.tokens, conversation.workspace));
  CheckError(SaveSnapshot(plain, identity, {}, store), ErrorCode::kFailedPrecondition, "the cache is for the adapter ");
}

SKALD_LAW("prompts of an adapter are found by nobody else", small) {
  Conversation conversation(small);
  MemoryStore store(kUnlimited);
  const std::vector<ChunkStoreRef> stores = {ChunkStoreRef(store)};
  const Identity identity = {.adapter = conversation.adapter.digest};
  const auto own = PromptCache::Create(conversation.pool, identity, {}, stores);
  const auto plain = PromptCache::Create(conversation.pool, {}, {}, stores);
  REQUIRE((own && plain));
  CheckError((*plain)->Insert(*conversation.cache), ErrorCode::kFailedPrecondition, "the cache is for the adapter ");
  REQUIRE((*own)->Insert(*conversation.cache));
  CHECK((*plain)->Lookup(conversation.tokens)->cache.size() == 0);
  const auto check = [&](PromptCache& prompts, std::span<const int32_t> tokens) {
    auto found = prompts.Lookup(tokens);
    REQUIRE(found);
    CHECK(found->cache.adapter() == conversation.adapter.digest);
    return std::move(found->cache);
  };
  const std::vector<int32_t> unknown = {2, 1};
  CHECK(check(**own, unknown).size() == 0);
  CHECK(check(**own, conversation.tokens).size() > 0);
  const auto elsewhere = PromptCache::Create(conversation.pool, identity, {}, stores);
  KVCache stored = check(**elsewhere, conversation.tokens);
  CHECK(stored.size() > 0);
  const std::span<const int32_t> rest = std::span(conversation.tokens).subspan(stored.size());
  REQUIRE(conversation.model.Forward(stored, rest, conversation.workspace, {.adapters = {&conversation.adapter}}));
  CHECK(conversation.Next(stored) == conversation.Next(*conversation.cache));
}

}  // namespace state_test
}  // namespace skald::testing
