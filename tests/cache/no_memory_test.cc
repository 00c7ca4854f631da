// SPDX-License-Identifier: Apache-2.0
//
// Conversations when memory runs out in the middle of a call: each allocation of it fails in turn. The call says so and
// nothing has changed, or it finds another way; giving back needs no memory.

#include <numeric>
#include <optional>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "tests/support/failing_new.h"
#include "tests/support/toy_sequence.h"

namespace skald::testing {
namespace no_memory_test {

constexpr RuntimeConfig kRuntime = {.block_tokens = 32, .resume_point_every = 50, .max_resume_points = 3};

std::vector<int32_t> Counting(int32_t first, size_t count) {
  std::vector<int32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

// Everything that a caller can see of a conversation.
struct Seen {
  BlockTable table;
  std::vector<int32_t> tokens;
  std::vector<ResumeRange> points;
  uint32_t exact_tokens;
  uint64_t used_bytes;

  explicit Seen(const KVCache& cache)
      : table(cache.table()),
        tokens(cache.tokens().begin(), cache.tokens().end()),
        points(*cache.ResumePoints()),
        exact_tokens(cache.exact_tokens()),
        used_bytes(cache.pool()->usage().used_bytes) {}
  friend bool operator==(const Seen&, const Seen&) = default;
};

// Runs call(cache), a Result, on a conversation of 170 tokens, each of its allocations failing in turn.
template <class Call>
void CheckFailures(const CacheLayout& layout, Call call) {
  FailEachAllocation([&](int64_t after) {
    KVCache cache = *CreateKVCache(layout, kRuntime);
    REQUIRE(ToyForward(cache, Counting(0, 170)));
    const Seen before(cache);
    FailingAllocations failing(after);
    const bool works = call(cache);
    const int64_t failed = failing.failed();
    FailingAllocations none(-1);
    CAPTURE(after);
    CHECK((works || failed > 0));
    if (!works) CHECK(Seen(cache) == before);
    CHECK(HoldsItsTokens(cache));
    REQUIRE(ToyForward(cache, Counting(500, 40)));
    CHECK(HoldsItsTokens(cache));
    const std::shared_ptr<BlockPool> pool = cache.pool();
    cache.Clear();
    CHECK(pool->usage().used_bytes == 0);
    return failed;
  });
}

TEST_CASE("a call on a conversation that finds no memory changes nothing") {
  const auto exhausted = [](const auto& result) {
    if (!result) CHECK(result.error().code == ErrorCode::kResourceExhausted);
    return result.has_value();
  };
  SUBCASE("forking") {
    CheckFailures(ToyLayout(40), [&](KVCache& cache) { return exhausted(cache.Fork()); });
  }
  SUBCASE("truncating") {
    CheckFailures(ToyLayout(40), [&](KVCache& cache) { return exhausted(cache.Truncate(150)); });
  }
  SUBCASE("erasing") {
    CheckFailures(ToyLayout(0), [&](KVCache& cache) { return exhausted(cache.Erase(20, 60)); });
  }
  SUBCASE("shifting") {
    CheckFailures(ToyLayout(0), [&](KVCache& cache) { return exhausted(cache.Shift(20, 60, 90)); });
  }
  SUBCASE("listing resume points") {
    CheckFailures(ToyLayout(40), [&](KVCache& cache) { return exhausted(cache.ResumePoints()); });
  }
  SUBCASE("a step") {
    const std::vector<int32_t> tokens = Counting(300, 70);
    CheckFailures(ToyLayout(40, /*recurrent=*/true),
                  [&](KVCache& cache) { return exhausted(Step::Begin(Batch().Add(cache, tokens), 16)); });
  }
  SUBCASE("making one") {
    const CacheLayout layout = ToyLayout(40, true);
    FailEachAllocation([&](int64_t after) {
      FailingAllocations failing(after);
      const bool works = exhausted(CreateKVCache(layout, kRuntime));
      CHECK(works == (failing.failed() == 0));
      return failing.failed();
    });
  }
}

TEST_CASE("a step that finds no memory keeps the resume points that would have given way") {
  RuntimeConfig runtime = kRuntime;
  runtime.cache_bytes = 100'000;
  FailEachAllocation([&](int64_t after) {
    KVCache cache = *CreateKVCache(ToyLayout(40, /*recurrent=*/true), runtime);
    REQUIRE(ToyForward(cache, Counting(0, 170)));
    for (const size_t group : {0, 2}) {  // other caches use the rest of the pool
      while (cache.pool()->Allocate(group)) {
      }
    }
    const Seen before(cache);
    const std::vector<int32_t> tokens = Counting(300, 20);
    FailingAllocations failing(after);
    const bool works = Step::Begin(Batch().Add(cache, tokens), 16).has_value();
    const int64_t failed = failing.failed();
    FailingAllocations none(-1);
    if (!works) CHECK(Seen(cache) == before);
    if (failed == 0) CHECK(cache.ResumePoints()->size() < before.points.size());
    return failed;
  });
}

TEST_CASE("giving back and committing take no memory") {
  auto pool = *CreateBlockPool(ToyLayout(40, /*recurrent=*/true), kRuntime);
  std::optional<KVCache> cache = *CreateKVCache(pool), other = *CreateKVCache(pool);
  REQUIRE(ToyForward(*cache, Counting(0, 170)));
  REQUIRE(ToyForward(*other, Counting(0, 170)));
  std::optional<KVCache> fork = *cache->Fork();
  const std::vector<int32_t> tokens = Counting(300, 70);
  auto step = Step::Begin(Batch().Add(*cache, tokens), 16);
  REQUIRE(step);
  RunToySequence(step->plan().sequences[0], tokens, *pool);
  {
    FailingAllocations failing(0, /*for_good=*/true);
    step->Commit();
    other->Clear();
    *fork = std::move(*other);
    const bool is_found = cache->NearestResumePoint(160) > 0;
    const int64_t failed = failing.failed();
    FailingAllocations none(-1);
    CHECK(is_found);
    CHECK(failed == 0);
  }
  CHECK(HoldsItsTokens(*cache));
  FailingAllocations failing(0, /*for_good=*/true);
  cache.reset();
  fork.reset();
  const uint64_t used = pool->usage().used_bytes;
  const int64_t failed = failing.failed();
  FailingAllocations none(-1);
  CHECK(used == 0);
  CHECK(failed == 0);
}

}  // namespace no_memory_test
}  // namespace skald::testing
