// SPDX-License-Identifier: Apache-2.0

#include "skald/cache/kv_cache.h"

#include <numeric>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/families/config/create.h"
#include "tests/support/toy_sequence.h"

namespace skald::testing {
namespace kv_cache_test {

std::vector<int32_t> Counting(int32_t first, size_t count) {
  std::vector<int32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

KVCache CacheOf(uint32_t tokens, uint32_t window = 0, RuntimeConfig runtime = {.block_tokens = 32}) {
  KVCache cache = *CreateKVCache(ToyLayout(window), runtime);
  REQUIRE(ToyForward(cache, Counting(0, tokens)));
  return cache;
}

TEST_CASE("growing never moves or copies a block") {
  KVCache cache = CacheOf(70);
  const BlockTable before = cache.table();
  REQUIRE(ToyForward(cache, Counting(70, 100)));
  for (size_t i = 0; i < before.groups[0].blocks.size(); ++i) {
    CHECK(cache.table().groups[0].blocks[i] == before.groups[0].blocks[i]);
  }
  CHECK(HoldsItsTokens(cache));
}

TEST_CASE("a fork shares every block and takes no memory") {
  const KVCache cache = CacheOf(100);
  const PoolUsage before = cache.pool()->usage();
  const KVCache fork = *cache.Fork();
  CHECK(cache.pool()->usage().used_bytes == before.used_bytes);
  CHECK(fork.table() == cache.table());
  CHECK(fork.usage().exclusive_bytes == 0);
  CHECK(fork.usage().shared_bytes == before.used_bytes);
}

TEST_CASE("a fork that grows copies the one block it writes into, and the original does not see it") {
  KVCache cache = CacheOf(40);
  KVCache fork = *cache.Fork();
  REQUIRE(ToyForward(fork, {1000, 1001}));
  REQUIRE(ToyForward(cache, {2000}));
  CHECK(fork.table().groups[0].blocks[0] == cache.table().groups[0].blocks[0]);
  CHECK(fork.table().groups[0].blocks[1] != cache.table().groups[0].blocks[1]);
  CHECK(HoldsItsTokens(fork));
  CHECK(HoldsItsTokens(cache));
}

TEST_CASE("truncation works anywhere without windows, and frees what is no longer used") {
  KVCache cache = CacheOf(200);
  for (uint32_t tokens : {199u, 128u, 65u, 1u}) {
    REQUIRE(cache.Truncate(tokens));
    CHECK(cache.size() == tokens);
    CHECK(cache.table().groups[0].blocks.size() == (tokens + 31) / 32);
    CHECK(HoldsItsTokens(cache));
  }
  REQUIRE(cache.Truncate(0));
  CHECK(cache.pool()->usage().used_bytes == 0);
}

TEST_CASE("truncating beyond the end is refused") {
  KVCache cache = CacheOf(10);
  const auto result = cache.Truncate(11);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::kOutOfRange);
  CHECK(cache.size() == 10);
}

TEST_CASE("a window releases what is out of it, so its memory is constant") {
  KVCache cache = *CreateKVCache(ToyLayout(40), {.block_tokens = 32});
  size_t most = 0;
  for (int32_t i = 0; i < 600; ++i) {
    REQUIRE(ToyForward(cache, {i}));
    most = std::max(most, cache.table().groups[1].blocks.size());
  }
  CHECK(most == 3);
  CHECK(HoldsItsTokens(cache));
}

TEST_CASE("a long prompt needs no more window blocks than its window and one pass") {
  const CacheLayout layout = ToyLayout(40);
  const RuntimeConfig runtime = {.block_tokens = 32};
  const size_t full_block = BlockGeometry::Of(layout.groups()[0], 32, runtime.kv_type).block_bytes();
  const size_t window_block = BlockGeometry::Of(layout.groups()[1], 32, runtime.kv_type).block_bytes();
  RuntimeConfig limited = runtime;
  limited.cache_bytes = 32 * full_block + 4 * window_block;
  KVCache cache = *CreateKVCache(layout, limited);
  CHECK(ToyForward(cache, Counting(0, 1024), 32));
  CHECK(HoldsItsTokens(cache));
}

TEST_CASE("rewinding out of a window is refused and names the nearest resume point") {
  KVCache cache = CacheOf(200, 40);
  const auto result = cache.Truncate(100);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::kFailedPrecondition);
  CHECK(result.error().message.find("resume point is 0") != std::string::npos);
  CHECK(cache.size() == 200);
  CHECK(HoldsItsTokens(cache));
}

TEST_CASE("every listed resume point can be gone to, and no other") {
  const RuntimeConfig runtime = {.block_tokens = 32, .resume_point_every = 50, .max_resume_points = 3};
  const KVCache cache = CacheOf(333, 40, runtime);
  const std::vector<ResumeRange> points = *cache.ResumePoints();
  for (uint32_t position = 0; position <= cache.size(); ++position) {
    const bool is_listed = std::any_of(points.begin(), points.end(), [position](const ResumeRange& range) {
      return range.first <= position && position <= range.last;
    });
    KVCache fork = *cache.Fork();
    CHECK(fork.Truncate(position).has_value() == is_listed);
    CHECK(HoldsItsTokens(fork));
    CHECK(fork.size() == (is_listed ? position : cache.size()));
  }
  CHECK(points.size() >= 3);
}

TEST_CASE("old resume points give way to new ones") {
  KVCache cache = CacheOf(30, 8, {.block_tokens = 32, .resume_point_every = 10, .max_resume_points = 2});
  REQUIRE(ToyForward(cache, Counting(30, 200)));
  const std::vector<ResumeRange> points = *cache.ResumePoints();
  for (const ResumeRange& range : points) CHECK((range.last == 0 || range.last >= 210));
}

TEST_CASE("erasing closes the gap at once and the blocks follow at the next step") {
  KVCache cache = CacheOf(100);
  REQUIRE(cache.Erase(10, 45));
  CHECK(cache.size() == 65);
  CHECK_FALSE(cache.table().edits.empty());
  CHECK(HoldsItsTokens(cache));
  REQUIRE(ToyForward(cache, {7}));
  CHECK(cache.table().edits.empty());
  CHECK(HoldsItsTokens(cache));
}

TEST_CASE("erasing the tail is truncation") {
  KVCache erased = CacheOf(100), truncated = CacheOf(100);
  REQUIRE(erased.Erase(77, 100));
  REQUIRE(truncated.Truncate(77));
  CHECK(erased.table() == truncated.table());
}

TEST_CASE("shifting a run moves it past the tokens in between") {
  KVCache cache = CacheOf(100);
  REQUIRE(cache.Shift(10, 20, 50));
  CHECK(cache.tokens()[10] == 20);
  CHECK(cache.tokens()[50] == 10);
  CHECK(cache.tokens()[60] == 60);
  REQUIRE(cache.Shift(50, 60, 10));
  CHECK(cache.table().edits.empty());
  CHECK(HoldsItsTokens(cache));
}

TEST_CASE("edits that a window cannot follow are refused and say how much would work") {
  KVCache cache = CacheOf(200, 40);
  const auto result = cache.Erase(150, 190);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::kFailedPrecondition);
  CHECK(cache.size() == 200);
  uint32_t possible = 0;
  for (uint32_t count = 1; count <= 50; ++count) {
    KVCache fork = *cache.Fork();
    if (fork.Erase(150, 150 + count)) possible = count;
  }
  CHECK(result.error().message.find("at most " + std::to_string(possible) + " tokens") != std::string::npos);
  CHECK(cache.Erase(0, 100));
  CHECK(HoldsItsTokens(cache));
}

TEST_CASE("ranges that are not in the cache are refused") {
  KVCache cache = CacheOf(10);
  CHECK_FALSE(cache.Erase(5, 11));
  CHECK_FALSE(cache.Erase(6, 5));
  CHECK_FALSE(cache.Shift(2, 5, 8));
  CHECK(cache.Erase(3, 3));
  CHECK(cache.size() == 10);
}

TEST_CASE("clearing gives everything back, resume points included") {
  KVCache cache = CacheOf(300, 40, {.block_tokens = 32, .resume_point_every = 64});
  CHECK(cache.pool()->usage().used_bytes > 0);
  cache.Clear();
  CHECK(cache.size() == 0);
  CHECK(cache.pool()->usage().used_bytes == 0);
}

TEST_CASE("a cache that was moved from refuses everything and crashes nowhere") {
  KVCache cache = CacheOf(50);
  KVCache taken = std::move(cache);
  const auto refused = [](const auto& result) { return result.error().code == ErrorCode::kFailedPrecondition; };
  const auto check = [&] {
    CHECK_FALSE(cache.is_valid());
    CHECK(cache.pool() == nullptr);
    CHECK(cache.size() + cache.max_tokens() + cache.exact_tokens() + cache.NearestResumePoint(5) == 0);
    CHECK(cache.tokens().empty());
    CHECK(cache.table().groups.empty());
    CHECK(cache.usage().exclusive_bytes + cache.usage().shared_bytes == 0);
    CHECK(refused(cache.Fork()));
    CHECK(refused(cache.Contents()));
    CHECK(refused(cache.ResumePoints()));
    CHECK(refused(cache.Truncate(0)));
    CHECK(refused(cache.Erase(0, 0)));
    CHECK(refused(cache.Shift(0, 0, 0)));
  };
  check();
  cache.Clear();
  check();
  KVCache assigned = CacheOf(20);
  assigned = std::move(taken);  // what it held goes back at once
  cache = std::move(assigned);
  CHECK(cache.is_valid());
  CHECK(cache.size() == 50);
  CHECK(HoldsItsTokens(cache));
}

}  // namespace kv_cache_test
}  // namespace skald::testing
