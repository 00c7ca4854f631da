// SPDX-License-Identifier: Apache-2.0
//
// The prompt cache: what it gives goes on with the bits of computing the whole prompt, it shares what it can, and it
// never holds more than it may.

#include "skald/store/prompts/prompt_cache.h"

#include <cstddef>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/threads/background_queue.h"
#include "skald/cache/create.h"
#include "skald/store/backends/memory_store.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace prompt_cache_test {

constexpr RuntimeConfig kRuntime = {.block_tokens = 32, .resume_point_every = 32, .max_resume_points = 20};

const SmallModel& OneLayer() { return SmallModelNamed("one-layer"); }
const SmallModel& Mamba2() { return SmallModelNamed("small-mamba2"); }

struct Server {
  const SmallModel& small;
  RandomModel model{small, 6};
  std::shared_ptr<BlockPool> pool = NewPool(small, kRuntime);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  MemoryStore disk{kUnlimited};

  std::unique_ptr<PromptCache> MakePrompts(const PromptCacheOptions& options = {}, bool with_disk = false) {
    return *PromptCache::Create(pool, {}, options,
                                with_disk ? std::vector<ChunkStoreRef>{disk} : std::vector<ChunkStoreRef>{});
  }

  // Computes a prompt as a server would: from what is known, then keeping it. Checks the logits.
  PromptPrefix Serve(PromptCache& prompts, const std::vector<int32_t>& prompt, std::optional<std::string> salt = {}) {
    PromptPrefix prefix = *prompts.Lookup(prompt, salt);
    CHECK(std::equal(prefix.cache.tokens().begin(), prefix.cache.tokens().end(), prompt.begin()));
    std::vector<float> logits = prefix.logits;
    PromptPrefix result{*prefix.cache.Fork(), prefix.matched, prefix.logits};
    if (logits.empty()) {
      const auto rest = std::span<const int32_t>(prompt).subspan(prefix.cache.size());
      const auto computed = model.Forward(prefix.cache, rest, workspace, {.pass_tokens = 100});
      REQUIRE(computed);
      logits.assign(computed->begin(), computed->end());
    }
    const std::vector<float> all = AllLogits(model, prompt);
    const std::vector<float> expected(all.end() - small.spec.vocab_size, all.end());
    CHECK(logits == expected);
    const auto kept = prompts.Insert(prefix.cache, logits, salt);
    if (!kept) CHECK(kept.error().code == ErrorCode::kResourceExhausted);
    return result;
  }
};

std::vector<int32_t> Prompt(const SmallModel& small, std::initializer_list<std::pair<uint64_t, size_t>> parts) {
  std::vector<int32_t> prompt;
  for (const auto& [seed, count] : parts) {
    const std::vector<int32_t> part = RandomTokens(small, seed, count);
    prompt.insert(prompt.end(), part.begin(), part.end());
  }
  return prompt;
}

SKALD_LAW("a prompt is computed once, and so is what two prompts begin with", small) {
  Server server{small};
  auto prompts = server.MakePrompts();
  const std::vector<int32_t> first = Prompt(small, {{1, 150}, {2, 40}}), second = Prompt(small, {{1, 150}, {3, 30}});
  CHECK(server.Serve(*prompts, first).cache.size() == 0);
  const PromptPrefix again = server.Serve(*prompts, first);
  CHECK(again.cache.size() == 190);
  CHECK(!again.logits.empty());
  const PromptPrefix other = server.Serve(*prompts, second);
  CHECK(other.matched == 150);
  const bool is_anywhere = !small.layout.has_recurrence() && small.layout.groups().size() == 1;
  CHECK(other.cache.size() >= (is_anywhere ? 150u : 128u));
  CHECK(other.cache.size() <= 150);
  const PromptCacheStats stats = prompts->stats();
  CHECK(stats.lookups == 3);
  CHECK(stats.tokens_asked == 190 + 190 + 180);
  CHECK(stats.tokens_matched == 190 + 150);
  CHECK(stats.tokens_reused == 190 + other.cache.size());
  CHECK(stats.memory_hits == 2);
  CHECK(stats.entries == 2);
}

TEST_CASE("a hit shares its blocks") {
  Server server{OneLayer()};
  auto prompts = server.MakePrompts();
  const std::vector<int32_t> prompt = Prompt(OneLayer(), {{1, 200}});
  server.Serve(*prompts, prompt);
  const uint64_t used = server.pool->usage().used_bytes;
  const PromptPrefix hit = *prompts->Lookup(prompt);
  CHECK(server.pool->usage().used_bytes == used);
  CHECK(hit.cache.usage().exclusive_bytes == 0);
}

SKALD_LAW("prompts outlive the process in a store", small) {
  Server server{small};
  const std::vector<int32_t> first = Prompt(small, {{1, 150}, {2, 40}}), second = Prompt(small, {{1, 150}, {3, 90}});
  server.Serve(*server.MakePrompts({}, true), first);
  auto prompts = server.MakePrompts({}, true);  // another process, with nothing in memory
  const PromptPrefix again = server.Serve(*prompts, first);
  CHECK(again.cache.size() == 190);
  CHECK(!again.logits.empty());
  prompts = server.MakePrompts({}, true);
  const PromptPrefix other = server.Serve(*prompts, second);
  CHECK(other.matched == 150);
  CHECK(other.cache.size() >= 128);
  CHECK(prompts->stats().store_hits == 1);
  // Now it is in memory too.
  CHECK(server.Serve(*prompts, second).cache.size() == 240);
  CHECK(prompts->stats().memory_hits == 1);
}

TEST_CASE("a store that lost chunks is a miss, not a failure") {
  Server server{SmallModelNamed("hybrid")};
  const std::vector<int32_t> prompt = Prompt(server.small, {{1, 150}});
  server.Serve(*server.MakePrompts({}, true), prompt);
  const std::vector<ChunkKey> keys = *server.disk.List();
  for (const ChunkKey& key : keys) {
    REQUIRE(server.disk.Drop(key));
    server.Serve(*server.MakePrompts({}, true), prompt);
  }
}

TEST_CASE("tenants with different salts never share") {
  Server server{OneLayer()};
  auto prompts = server.MakePrompts({}, true);
  const std::vector<int32_t> prompt = Prompt(OneLayer(), {{1, 200}});
  server.Serve(*prompts, prompt, "alice");
  CHECK(server.Serve(*prompts, prompt, "bob").matched == 0);
  CHECK(server.Serve(*prompts, prompt).matched == 0);
  CHECK(server.Serve(*prompts, prompt, "alice").cache.size() == 200);
  CHECK(server.Serve(*server.MakePrompts({}, true), prompt, "carol").matched == 0);
}

TEST_CASE("the oldest prompts go first, and one too large is refused with a word") {
  Server server{OneLayer()};
  const std::vector<int32_t> a = Prompt(OneLayer(), {{1, 64}}), b = Prompt(OneLayer(), {{2, 64}}),
                             c = Prompt(OneLayer(), {{3, 64}});
  const uint64_t block = server.pool->geometry(0).block_bytes();
  auto prompts = server.MakePrompts({.max_bytes = 4 * block + 2000});
  server.Serve(*prompts, a);
  server.Serve(*prompts, b);
  server.Serve(*prompts, a);  // used again: b is now the oldest
  server.Serve(*prompts, c);
  CHECK(prompts->stats().evictions == 1);
  CHECK(prompts->stats().bytes <= 4 * block + 2000);
  CHECK(prompts->Lookup(b)->matched == 0);
  CHECK(prompts->Lookup(a)->matched == 64);

  KVCache large = *CreateKVCache(server.pool);
  REQUIRE(server.model.Forward(large, Prompt(OneLayer(), {{4, 200}}), server.workspace));
  const auto refused = prompts->Insert(large);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("a prompt of 200 tokens takes") != std::string::npos);
  CHECK(prompts->stats().entries == 2);
  prompts->Trim(0);
  CHECK(prompts->stats().bytes == 0);
}

TEST_CASE("where the pool is full, prompts make room for conversations") {
  RuntimeConfig runtime = kRuntime;
  const RandomModel model(OneLayer(), 6);
  runtime.cache_bytes = 8 * BlockGeometry::Of(OneLayer().layout.groups()[0], 32, DType::kBF16).block_bytes();
  auto pool = NewPool(OneLayer(), runtime);
  auto prompts = *PromptCache::Create(pool, {});
  Workspace workspace = *CreateWorkspace({.threads = 1});
  for (uint64_t seed = 0; seed < 10; ++seed) {
    KVCache cache = *CreateKVCache(pool);
    REQUIRE(model.Forward(cache, RandomTokens(OneLayer(), seed, 90), workspace));
    REQUIRE(prompts->Insert(cache));
    CHECK(pool->usage().used_bytes <= runtime.cache_bytes);
  }
  CHECK(prompts->stats().evictions >= 7);
}

// A pool of so many blocks of OneLayer.
RuntimeConfig BlocksOf(uint64_t count) {
  RuntimeConfig runtime = kRuntime;
  runtime.cache_bytes = count * BlockGeometry::Of(OneLayer().layout.groups()[0], 32, DType::kBF16).block_bytes();
  return runtime;
}

TEST_CASE("several prompt caches of one pool all make room, the first made first") {
  const RandomModel model(OneLayer(), 6);
  auto pool = NewPool(OneLayer(), BlocksOf(8));
  Workspace workspace = *CreateWorkspace({.threads = 1});
  auto first = *PromptCache::Create(pool, {.salt = "a"}), second = *PromptCache::Create(pool, {.salt = "b"});
  const auto keep = [&](PromptCache& prompts, uint64_t seed, size_t tokens) {
    KVCache cache = *CreateKVCache(pool);
    REQUIRE(model.Forward(cache, RandomTokens(OneLayer(), seed, tokens), workspace));
    REQUIRE(prompts.Insert(cache));
  };
  keep(*second, 1, 64), keep(*first, 2, 64), keep(*first, 3, 64);
  {
    KVCache talk = *CreateKVCache(pool);
    REQUIRE(model.Forward(talk, RandomTokens(OneLayer(), 4, 128), workspace));
    CHECK(first->stats().entries == 1);
    CHECK(second->stats().entries == 1);
    REQUIRE(model.Forward(talk, RandomTokens(OneLayer(), 5, 128), workspace));
    CHECK(first->stats().entries + second->stats().entries == 0);
  }
  keep(*first, 6, 64), keep(*second, 7, 64), keep(*second, 8, 64);
  first.reset();
  KVCache talk = *CreateKVCache(pool);
  REQUIRE(model.Forward(talk, RandomTokens(OneLayer(), 9, 256), workspace));
  CHECK(second->stats().entries == 0);
  CHECK(second->stats().bytes == 0);
}

TEST_CASE("a block that a forgotten prompt shared is not copied") {
  const SmallModel& small = SmallModelNamed("own-types");  // keys and values, and a small state
  const RandomModel model(small, 6);
  RuntimeConfig runtime = {.block_tokens = 32, .resume_point_every = 16, .max_resume_points = 1};
  const auto counted = NewLedgerPool(small, runtime);
  runtime.cache_bytes = counted->geometry(0).block_bytes() + 3 * counted->geometry(1).block_bytes();
  auto pool = NewPool(small, runtime);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  auto prompts = *PromptCache::Create(pool, {});
  KVCache talk = *CreateKVCache(pool);
  REQUIRE(model.Forward(talk, RandomTokens(small, 1, 20), workspace));
  REQUIRE(prompts->Insert(talk));
  talk.DropResumePoints();
  // The prompt's own bytes are few. Without it the half-filled block is the conversation's alone.
  const auto more = model.Forward(talk, RandomTokens(small, 2, 1), workspace);
  REQUIRE_MESSAGE(more, more.error().message);
  CHECK(prompts->stats().entries == 0);
}

TEST_CASE("prompts that conversations share are not forgotten for room that this would not make") {
  const RandomModel model(OneLayer(), 6);
  auto pool = NewPool(OneLayer(), BlocksOf(8));
  Workspace workspace = *CreateWorkspace({.threads = 1});
  auto prompts = *PromptCache::Create(pool, {});
  std::vector<KVCache> talks;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    talks.push_back(*CreateKVCache(pool));
    REQUIRE(model.Forward(talks.back(), RandomTokens(OneLayer(), seed, 64), workspace));
    REQUIRE(prompts->Insert(talks.back()));
  }
  // Two blocks are left, three are needed: no prompt could help.
  KVCache large = *CreateKVCache(pool);
  CHECK_FALSE(model.Forward(large, RandomTokens(OneLayer(), 7, 96), workspace));
  CHECK(prompts->stats().entries == 3);
  CHECK(prompts->stats().evictions == 0);
  // One of the three becomes free, and it is not the least recently used: that one goes, and no other.
  talks[1].Clear();
  REQUIRE(model.Forward(large, RandomTokens(OneLayer(), 7, 96), workspace));
  CHECK(prompts->stats().entries == 2);
  CHECK(prompts->Lookup(RandomTokens(OneLayer(), 0, 64))->matched == 64);
  CHECK(prompts->Lookup(RandomTokens(OneLayer(), 1, 64))->matched == 0);
  CHECK(prompts->Lookup(RandomTokens(OneLayer(), 2, 64))->matched == 64);
}

TEST_CASE("nor are prompts whose resume points conversations share") {
  // Of a recurrence: a resume point is all that a prompt and a conversation have in common.
  const RandomModel model(Mamba2(), 6);
  RuntimeConfig runtime = kRuntime;
  runtime.cache_bytes = 24 * BlockPool(Mamba2().layout, runtime).geometry(0).block_bytes();
  auto pool = NewPool(Mamba2(), runtime);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  auto prompts = *PromptCache::Create(pool, {});
  std::vector<KVCache> talks;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    KVCache cache = *CreateKVCache(pool);
    REQUIRE(model.Forward(cache, RandomTokens(Mamba2(), seed, 96), workspace));
    REQUIRE(prompts->Insert(cache));
    PromptPrefix hit = *prompts->Lookup(RandomTokens(Mamba2(), seed, 200));
    CHECK(hit.cache.size() == 96);
    talks.push_back(std::move(hit.cache));
  }
  std::vector<BlockId> rest;
  while (true) {
    const auto id = pool->Allocate(0);
    if (!id) break;
    rest.push_back(*id);
  }
  CHECK(prompts->stats().entries == 3);
  talks[2].Clear();
  CHECK(pool->Allocate(0));
  CHECK(prompts->stats().entries == 2);
}

TEST_CASE("prompts that share blocks with each other alone make room together") {
  const RandomModel model(OneLayer(), 6);
  auto pool = NewPool(OneLayer(), BlocksOf(2));
  Workspace workspace = *CreateWorkspace({.threads = 1});
  auto prompts = *PromptCache::Create(pool, {});
  const std::vector<int32_t> tokens = RandomTokens(OneLayer(), 1, 30);
  {
    KVCache cache = *CreateKVCache(pool);
    REQUIRE(model.Forward(cache, tokens, workspace));
    REQUIRE(prompts->Insert(cache));
    REQUIRE(cache.Truncate(20));
    REQUIRE(prompts->Insert(cache));
  }
  KVCache cache = *CreateKVCache(pool);
  REQUIRE(model.Forward(cache, RandomTokens(OneLayer(), 2, 64), workspace));
  CHECK(prompts->stats().entries == 0);
}

// A store that can be cut off.
struct Cuttable {
  MemoryStore& store;
  bool is_cut = false;

  Result<void> Check() const {
    if (is_cut) return Fail(ErrorCode::kFailedPrecondition, "the line is cut");
    return {};
  }
  Result<bool> Has(const ChunkKey& key) {
    if (auto can = Check(); !can) return Failure(can.error());
    return store.Has(key);
  }
  Result<ChunkBytes> Get(const ChunkKey& key) {
    if (auto can = Check(); !can) return Failure(can.error());
    return store.Get(key);
  }
  Result<void> Put(const ChunkKey& key, std::span<const std::byte> chunk) {
    if (auto can = Check(); !can) return can;
    return store.Put(key, chunk);
  }
  Result<void> Drop(const ChunkKey& key) { return store.Drop(key); }
  Result<std::vector<ChunkKey>> List() { return store.List(); }
};

TEST_CASE("a store that fails costs a look-up only what that store knows, and it says so") {
  Server server{OneLayer()};
  MemoryStore near(kUnlimited), far(kUnlimited);
  Cuttable cut{near};
  const std::vector<int32_t> prompt = Prompt(OneLayer(), {{1, 100}}), longer = Prompt(OneLayer(), {{1, 100}, {2, 50}});
  const auto make = [&] { return *PromptCache::Create(server.pool, {}, {}, {ChunkStoreRef(cut), ChunkStoreRef(far)}); };
  auto prompts = make();
  server.Serve(*prompts, prompt);
  CHECK_FALSE(prompts->Lookup(longer)->store_error);

  cut.is_cut = true;
  const PromptPrefix hit = *prompts->Lookup(longer);
  CHECK(hit.matched == 100);  // from memory
  REQUIRE(hit.store_error);
  CHECK(hit.store_error->message.find("the line is cut") != std::string::npos);
  CHECK(prompts->stats().store_errors == 1);
  const PromptPrefix from_far = *make()->Lookup(longer);
  CHECK(from_far.matched == 100);
  CHECK(from_far.store_error);
  // Prompts that can be written are written.
  KVCache cache = *CreateKVCache(server.pool);
  REQUIRE(server.model.Forward(cache, longer, server.workspace));
  CHECK(prompts->Insert(cache).error().message.find("the line is cut") != std::string::npos);
  CHECK(prompts->Lookup(longer)->matched == 150);
  CHECK(make()->Lookup(longer)->matched == 150);
}

TEST_CASE("edited conversations and those of other pools are refused") {
  Server server{OneLayer()};
  auto prompts = server.MakePrompts();
  KVCache cache = *CreateKVCache(server.pool), stranger = NewCache(OneLayer(), kRuntime);
  REQUIRE(server.model.Forward(cache, Prompt(OneLayer(), {{4, 50}}), server.workspace));
  REQUIRE(cache.Erase(10, 20));
  CHECK(prompts->Insert(cache).error().message.find("only the first 10 tokens") != std::string::npos);
  CHECK(prompts->Insert(stranger).error().code == ErrorCode::kFailedPrecondition);
  CHECK(prompts->Lookup({}).error().code == ErrorCode::kInvalidArgument);
  CHECK_FALSE(PromptCache::Create(nullptr, {}));
  CHECK_FALSE(PromptCache::Create(server.pool, {}, {.codec = ChunkCodec::kInt8Zstd}));
}

TEST_CASE("several threads use one prompt cache, never beyond its limits") {
  const RandomModel model(Mamba2(), 6);
  RuntimeConfig runtime = kRuntime;
  const uint64_t state = BlockPool(Mamba2().layout, runtime).geometry(0).block_bytes();
  runtime.cache_bytes = 60 * state;
  auto pool = NewPool(Mamba2(), runtime);
  MemoryStore disk(kUnlimited);
  const uint64_t limit = 30 * state;
  auto prompts = *PromptCache::Create(pool, {}, {.max_bytes = limit}, {disk});
  std::vector<std::thread> threads;
  std::vector<int> failures(3, 0);
  for (size_t thread = 0; thread < failures.size(); ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(static_cast<uint32_t>(thread));
      Workspace workspace = *CreateWorkspace({.threads = 1});
      for (int round = 0; round < 30; ++round) {
        const std::vector<int32_t> prompt =
            Prompt(Mamba2(), {{random() % 3, 70}, {10 + random() % 4, random() % 60 + 1}});
        auto prefix = prompts->Lookup(prompt);
        if (!prefix) {
          ++failures[thread];
          continue;
        }
        std::vector<float> logits = prefix->logits;
        if (logits.empty()) {
          const auto rest = std::span<const int32_t>(prompt).subspan(prefix->cache.size());
          const auto computed = model.Forward(prefix->cache, rest, workspace);
          if (!computed) continue;  // the pool is full of conversations
          logits.assign(computed->begin(), computed->end());
        }
        const std::vector<float> all = AllLogits(model, prompt);
        failures[thread] += !std::equal(logits.begin(), logits.end(), all.end() - Mamba2().spec.vocab_size);
        failures[thread] += prompts->stats().bytes > limit;
        failures[thread] += pool->usage().used_bytes > runtime.cache_bytes;
        const auto kept = prompts->Insert(prefix->cache, logits);
        failures[thread] += !kept && kept.error().code != ErrorCode::kResourceExhausted;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == std::vector<int>(3, 0));
  CHECK(prompts->stats().lookups == 90);
}

TEST_CASE("what was fetched is used for the tokens that it was fetched for alone") {
  Server server{OneLayer()};
  const std::vector<int32_t> prompt = RandomTokens(server.small, 1, 70);
  server.Serve(*server.MakePrompts({}, /*with_disk=*/true), prompt);  // with its logits
  const auto reader = *BackgroundQueue::Start();
  const auto prompts = server.MakePrompts({.reader = reader.get()}, /*with_disk=*/true);
  std::vector<int32_t> longer = prompt, other = prompt;
  longer.push_back(3);
  other[5] ^= 1;
  for (const std::vector<int32_t>& asked : {longer, other, prompt}) {
    std::optional<PromptFetch> fetch;
    REQUIRE(prompts->LookupBeside(prompt, {}, fetch));
    REQUIRE(fetch);
    while (!fetch->is_done()) std::this_thread::yield();
    const auto prefix = prompts->LookupBeside(asked, {}, fetch);
    REQUIRE(prefix);
    CHECK(prefix->cache.size() == (asked == prompt ? prompt.size() : 0));
    CHECK(prefix->logits.empty() == (asked != prompt));
  }
}

}  // namespace prompt_cache_test
}  // namespace skald::testing
