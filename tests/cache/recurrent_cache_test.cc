// SPDX-License-Identifier: Apache-2.0
//
// Caches with recurrent layers: states are kept where something can come back to them, and nowhere else.

#include <numeric>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/families/config/create.h"
#include "tests/support/toy_sequence.h"

namespace skald::testing {
namespace recurrent_cache_test {

constexpr uint32_t kRecurrentGroup = 2;

std::vector<int32_t> Counting(int32_t first, size_t count) {
  std::vector<int32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

KVCache CacheOf(uint32_t tokens, const RuntimeConfig& runtime) {
  KVCache cache = *CreateKVCache(ToyLayout(40, /*recurrent=*/true), runtime);
  REQUIRE(ToyForward(cache, Counting(0, tokens)));
  REQUIRE(HoldsItsTokens(cache));
  return cache;
}

size_t NumStates(const KVCache& cache) { return cache.table().groups[kRecurrentGroup].blocks.size(); }

TEST_CASE("a conversation keeps one state, however long it gets") {
  KVCache cache = *CreateKVCache(ToyLayout(0, /*recurrent=*/true), {.block_tokens = 32});
  for (int turn = 0; turn < 10; ++turn) {
    REQUIRE(ToyForward(cache, Counting(100 * turn, 33)));
    CHECK(cache.table().groups[1].blocks.size() == 1);
    CHECK(HoldsItsTokens(cache));
  }
}

TEST_CASE("a fork shares its state until one of the two goes on") {
  KVCache cache = CacheOf(50, {.block_tokens = 32});
  const uint64_t used = cache.pool()->usage().used_bytes;
  KVCache fork = *cache.Fork();
  CHECK(cache.pool()->usage().used_bytes == used);
  CHECK(fork.table() == cache.table());
  REQUIRE(ToyForward(fork, {1000, 1001}));
  CHECK(HoldsItsTokens(fork));
  CHECK(HoldsItsTokens(cache));
}

TEST_CASE("rewinding to anywhere but a kept state is refused, and the nearest earlier one is named") {
  KVCache cache = CacheOf(100, {.block_tokens = 32, .resume_point_every = 30, .max_resume_points = 2});
  CHECK(*cache.ResumePoints() == std::vector<ResumeRange>{{0, 0}, {60, 60}, {90, 90}, {100, 100}});
  const auto refused = cache.Truncate(85);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kFailedPrecondition);
  CHECK(refused.error().message.find("position 85: recurrent layers keep no state of it; the nearest earlier resume "
                                     "point is 60") != std::string::npos);
  CHECK(cache.size() == 100);
  for (const uint32_t tokens : {90u, 60u, 0u}) {
    REQUIRE(cache.Truncate(tokens));
    CHECK(cache.size() == tokens);
    CHECK(HoldsItsTokens(cache));
  }
  CHECK(cache.pool()->usage().used_bytes == 0);
}

TEST_CASE("drafted tokens can be taken back at every depth, without new memory") {
  const RuntimeConfig runtime = {.block_tokens = 32, .rewind_tokens = 5};
  for (uint32_t rejected = 0; rejected <= 5; ++rejected) {
    KVCache cache = CacheOf(70, runtime);
    REQUIRE(ToyForward(cache, Counting(500, 5), /*pass_tokens=*/2));
    CHECK(NumStates(cache) == 6);
    CHECK(cache.ResumePoints()->back() == ResumeRange{70, 75});
    const uint64_t used = cache.pool()->usage().used_bytes;
    REQUIRE(cache.Truncate(75 - rejected));
    CHECK(cache.pool()->usage().used_bytes <= used);
    CHECK(NumStates(cache) == 6 - rejected);
    CHECK(HoldsItsTokens(cache));
    REQUIRE(ToyForward(cache, Counting(900, 3)));
    CHECK(HoldsItsTokens(cache));
  }
}

TEST_CASE("tokens taken one by one stay within reach of rewinding, windows included") {
  const RuntimeConfig runtime = {.block_tokens = 32, .rewind_tokens = 7};
  KVCache cache = CacheOf(3, runtime);
  for (int32_t token = 0; token < 200; ++token) {
    REQUIRE(ToyForward(cache, {token}));
    const ResumeRange reach = cache.ResumePoints()->back();
    CHECK(reach.first <= std::max(cache.size(), 8u) - 7);
    CHECK(reach.last == cache.size());
    CHECK(NumStates(cache) <= 8);
  }
  REQUIRE(cache.Truncate(cache.size() - 7));
  CHECK(HoldsItsTokens(cache));
}

TEST_CASE("single tokens cannot be erased or moved, and the error says what can be done") {
  KVCache cache = CacheOf(100, {.block_tokens = 32, .resume_point_every = 30});
  for (const auto& result : {cache.Erase(40, 50), cache.Shift(40, 50, 0)}) {
    REQUIRE_FALSE(result);
    CHECK(result.error().code == ErrorCode::kUnsupported);
    CHECK(result.error().message.find("rewind to position 30") != std::string::npos);
  }
  CHECK(cache.size() == 100);
  CHECK(HoldsItsTokens(cache));
}

TEST_CASE("resume points yield to tokens when the pool is full, oldest first") {
  const CacheLayout layout = ToyLayout(0, /*recurrent=*/true);
  const BlockPool probe(layout, {.block_tokens = 32});
  const uint64_t attention = probe.geometry(0).block_bytes(), state = probe.geometry(1).block_bytes();
  // Four blocks of tokens, the present state, the next one, and two resume points, which end where blocks end.
  auto pool = *CreateBlockPool(layout, {.cache_bytes = 4 * attention + 4 * state,
                                        .block_tokens = 32,
                                        .resume_point_every = 32,
                                        .max_resume_points = 10});
  KVCache cache = *CreateKVCache(pool);
  for (int32_t token = 0; token < 127; ++token) REQUIRE(ToyForward(cache, {token}));
  CHECK(*cache.ResumePoints() == std::vector<ResumeRange>{{0, 0}, {64, 64}, {96, 96}, {127, 127}});
  REQUIRE(ToyForward(cache, {127}));
  CHECK(HoldsItsTokens(cache));
  const auto full = ToyForward(cache, {128});
  REQUIRE_FALSE(full);
  CHECK(full.error().code == ErrorCode::kResourceExhausted);
  CHECK(HoldsItsTokens(cache));
}

TEST_CASE("an abandoned step leaves the state that was there") {
  KVCache cache = CacheOf(50, {.block_tokens = 32, .rewind_tokens = 3});
  const BlockTable before = cache.table();
  const uint64_t used = cache.pool()->usage().used_bytes;
  const std::vector<int32_t> tokens = Counting(7, 20);
  REQUIRE(ToyForward(Batch().Add(cache, tokens), 16, /*commit=*/false));
  CHECK(cache.table() == before);
  CHECK(cache.pool()->usage().used_bytes == used);
  CHECK(HoldsItsTokens(cache));
}

// Of a layout without other recurrence: full attention, the replayed states, their inputs.
KVCache ReplayingCacheOf(uint32_t tokens, const RuntimeConfig& runtime) {
  KVCache cache = *CreateKVCache(ToyLayout(0, /*recurrent=*/false, /*replayed=*/true), runtime);
  if (tokens > 0) REQUIRE(ToyForward(cache, Counting(0, tokens)));
  REQUIRE(HoldsItsTokens(cache));
  return cache;
}

TEST_CASE("a replayed group takes drafted tokens back with two states and the inputs since") {
  const RuntimeConfig runtime = {.block_tokens = 32, .rewind_tokens = 5};
  for (uint32_t rejected = 0; rejected <= 5; ++rejected) {
    CAPTURE(rejected);
    KVCache cache = ReplayingCacheOf(70, runtime);
    REQUIRE(ToyForward(cache, Counting(500, 5), /*pass_tokens=*/2));
    CHECK(cache.table().groups[1].blocks.size() == 2);
    CHECK(cache.table().groups[2].blocks.size() == 5);
    CHECK(cache.ResumePoints()->back() == ResumeRange{70, 75});
    const uint64_t used = cache.pool()->usage().used_bytes;
    REQUIRE(cache.Truncate(75 - rejected));
    CHECK(cache.pool()->usage().used_bytes <= used);
    CHECK(HoldsItsTokens(cache));
    KVCache fork = *cache.Fork();
    for (KVCache* const each : {&cache, &fork}) {
      REQUIRE(ToyForward(*each, Counting(each == &fork ? 600 : 900, 3)));
      CHECK(HoldsItsTokens(*each));
    }
  }
}

TEST_CASE("tokens taken one by one stay within reach of replay, with few states and inputs") {
  KVCache cache = ReplayingCacheOf(0, {.block_tokens = 32, .rewind_tokens = 7});
  for (int32_t token = 0; token < 200; ++token) {
    REQUIRE(ToyForward(cache, {token}));
    CHECK(HoldsItsTokens(cache));
    CHECK(cache.ResumePoints()->back().first <= std::max(cache.size(), 8u) - 7);
    CHECK(cache.table().groups[1].blocks.size() <= 2);
    CHECK(cache.table().groups[2].blocks.size() <= 4 * 7);
  }
}

TEST_CASE("a cache without rewind_tokens keeps no inputs, and its layout's fingerprint does not tell of them") {
  KVCache cache = ReplayingCacheOf(100, {.block_tokens = 32});
  CHECK(cache.table().groups[1].blocks.size() == 1);
  CHECK(cache.table().groups[2].blocks.empty());
  CacheLayout with, without;
  with.AddLayer({.state_floats = 7, .input_floats = 1});
  without.AddLayer({.state_floats = 7});
  CHECK(with.Fingerprint() == without.Fingerprint());
}

}  // namespace recurrent_cache_test
}  // namespace skald::testing
