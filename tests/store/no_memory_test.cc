// SPDX-License-Identifier: Apache-2.0
//
// A prompt cache when memory runs out: each allocation of a call fails in turn. Its counts are right before and after,
// and everything can be given back without memory.

#include <optional>
#include <vector>

#include "doctest/doctest.h"
#include "skald/store/prompts/prompt_cache.h"
#include "tests/support/failing_new.h"
#include "tests/support/tiny_cache.h"

namespace skald::testing {
namespace no_memory_test {

constexpr RuntimeConfig kRuntime = {
    .block_tokens = 32, .resume_point_every = 40, .max_resume_points = 3, .rewind_tokens = 2};
constexpr size_t kLogits = 10;

// The bytes of the entries, computed from the pool: only entries are left in it.
uint64_t BytesHeld(const BlockPool& pool, std::initializer_list<size_t> entries) {
  uint64_t bytes = pool.usage().used_bytes;
  for (const size_t tokens : entries) bytes += tokens * sizeof(int32_t) + kLogits * sizeof(float);
  return bytes;
}

TEST_CASE("keeping a prompt without memory for it leaves the prompt cache as it was") {
  for (const uint64_t max_bytes : {kUnlimited, uint64_t{0}}) {  // 0: what two prompts need, to the byte
    FailEachAllocation([&](int64_t after) {
      CAPTURE(after);
      auto pool = *CreateBlockPool(TinyLayout(/*recurrent=*/true), kRuntime);
      const std::vector<float> logits(kLogits, 1.0f);
      std::optional<KVCache> known = *CreateKVCache(pool), added = *CreateKVCache(pool);
      REQUIRE(GrowTiny(*known, 0, 150));
      REQUIRE(GrowTiny(*added, 1000, 100));
      const uint64_t both = BytesHeld(*pool, {150, 100});
      auto prompts = *PromptCache::Create(pool, {}, {.max_bytes = max_bytes == 0 ? both : max_bytes});
      REQUIRE(prompts->Insert(*known, logits));
      KVCache part = *known->Fork();
      known.reset();
      REQUIRE(part.Truncate(120));
      FailingAllocations failing(after);
      const bool kept = prompts->Insert(*added, logits).has_value() && prompts->Insert(part, logits).has_value();
      const int64_t failed = failing.failed();
      FailingAllocations none(-1);
      CHECK((kept || failed > 0));
      added.reset();
      part.Clear();
      if (max_bytes == kUnlimited && failed == 0) CHECK(prompts->stats().bytes == BytesHeld(*pool, {150, 100, 120}));
      CHECK(prompts->stats().bytes <= (max_bytes == 0 ? both : max_bytes));
      // It goes on as ever, and gives back without memory.
      KVCache other = *CreateKVCache(pool);
      REQUIRE(GrowTiny(other, 5000, 70));
      REQUIRE(prompts->Insert(other, logits));
      other.Clear();
      {
        FailingAllocations forever(0, /*for_good=*/true);
        prompts->Trim(0);
      }
      CHECK(prompts->stats().bytes == 0);
      CHECK(prompts->stats().entries == 0);
      CHECK(pool->usage().used_bytes == 0);
      return failed;
    });
  }
}

TEST_CASE("a look-up without memory changes nothing, and the next one finds the prompt") {
  auto pool = *CreateBlockPool(TinyLayout(/*recurrent=*/true), kRuntime);
  auto prompts = *PromptCache::Create(pool, {});
  std::vector<int32_t> tokens;
  {
    KVCache cache = *CreateKVCache(pool);
    REQUIRE(GrowTiny(cache, 0, 150));
    REQUIRE(prompts->Insert(cache));
    tokens.assign(cache.tokens().begin(), cache.tokens().end());
  }
  tokens.push_back(7);
  const uint64_t bytes = prompts->stats().bytes, used = pool->usage().used_bytes;
  FailEachAllocation([&](int64_t after) {
    FailingAllocations failing(after);
    const bool found = prompts->Lookup(tokens).has_value();
    const int64_t failed = failing.failed();
    FailingAllocations none(-1);
    CHECK((found || failed > 0));
    CHECK(prompts->stats().bytes == bytes);
    CHECK(pool->usage().used_bytes == used);
    CHECK(prompts->Lookup(tokens)->cache.size() == 150);
    return failed;
  });
}

}  // namespace no_memory_test
}  // namespace skald::testing
