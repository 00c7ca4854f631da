// SPDX-License-Identifier: Apache-2.0

#include "skald/cache/steps/step.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/families/config/create.h"
#include "tests/support/toy_sequence.h"

namespace skald::testing {
namespace step_test {

const std::vector<int32_t> kTokens = {1, 2, 3};

TEST_CASE("a step that is abandoned leaves caches and pool as they were") {
  auto pool = *CreateBlockPool(ToyLayout(40), {.block_tokens = 32});
  KVCache a = *CreateKVCache(pool), b = *CreateKVCache(pool);
  REQUIRE(ToyForward(a, std::vector<int32_t>(50, 5)));
  const BlockTable before = a.table();
  const uint64_t used = pool->usage().used_bytes;
  const std::vector<int32_t> long_run(500, 9);
  REQUIRE(ToyForward(Batch().Add(a, kTokens).Add(b, long_run), 16, /*commit=*/false));
  CHECK(a.table() == before);
  CHECK(b.size() == 0);
  CHECK(pool->usage().used_bytes == used);
  CHECK(HoldsItsTokens(a));
}

TEST_CASE("a full pool refuses the whole batch and names the sequence") {
  const CacheLayout layout = ToyLayout(0);
  const uint64_t block = BlockGeometry::Of(layout.groups()[0], 32, DType::kBF16).block_bytes();
  auto pool = *CreateBlockPool(layout, {.cache_bytes = 2 * block, .block_tokens = 32});
  KVCache a = *CreateKVCache(pool), b = *CreateKVCache(pool);
  const std::vector<int32_t> two_blocks(33, 1);
  const auto result = ToyForward(Batch().Add(a, kTokens).Add(b, two_blocks), 64);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::kResourceExhausted);
  CHECK(result.error().message.find("sequence 1") != std::string::npos);
  CHECK(pool->usage().used_bytes == 0);
  CHECK(a.size() == 0);
}

TEST_CASE("requests that cannot work are refused by name") {
  auto pool = *CreateBlockPool(ToyLayout(0), {.max_tokens = 5, .block_tokens = 32});
  KVCache a = *CreateKVCache(pool), b = *CreateKVCache(pool);
  const std::vector<int32_t> six(6, 1), none;
  const auto refused = [](const Batch& batch, ErrorCode code, const std::string& text) {
    const auto step = Step::Begin(batch, 16);
    REQUIRE_FALSE(step);
    CHECK(step.error().code == code);
    CHECK(step.error().message.find(text) != std::string::npos);
  };
  refused(Batch().Add(a, kTokens).Add(b, six), ErrorCode::kOutOfRange,
          "sequence 1 of the batch: 6 tokens after 0 exceed");
  refused(Batch().Add(a, none), ErrorCode::kInvalidArgument, "no tokens");
  refused(Batch().Add(a, kTokens).Add(a, kTokens), ErrorCode::kInvalidArgument, "already that of sequence 0");
}

TEST_CASE("passes hold at most the asked number of tokens and keep the order of sequences") {
  auto pool = *CreateBlockPool(ToyLayout(0), {.block_tokens = 32});
  KVCache a = *CreateKVCache(pool), b = *CreateKVCache(pool);
  const std::vector<int32_t> ten(10, 1), three(3, 1);
  const auto step = Step::Begin(Batch().Add(a, ten).Add(b, three), 4);
  REQUIRE(step);
  std::vector<uint32_t> next = {0, 0};
  for (const Pass& pass : step->plan().passes) {
    uint32_t rows = 0;
    for (const PassSlice& slice : pass) {
      CHECK(slice.begin == next[slice.sequence]);
      next[slice.sequence] = slice.end;
      rows += slice.end - slice.begin;
    }
    CHECK(rows <= 4);
  }
  CHECK(next == std::vector<uint32_t>{10, 3});
}

TEST_CASE("a plan recorded on one pool runs on another pool of the same layout") {
  // The scheduler's pool only hands out numbers; the worker's pool, in another process perhaps, holds the state.
  const RuntimeConfig runtime = {.block_tokens = 32};
  auto scheduler = *CreateBlockPool(ToyLayout(40, /*recurrent=*/true), runtime),
       worker = *CreateBlockPool(ToyLayout(40, /*recurrent=*/true), runtime);
  KVCache cache = *CreateKVCache(scheduler);
  for (int32_t turn = 0; turn < 5; ++turn) {
    const std::vector<int32_t> tokens(37, turn);
    auto step = Step::Begin(Batch().Add(cache, tokens), 16);
    REQUIRE(step);
    const StepPlan recorded = step->plan();
    RunToySequence(recorded.sequences[0], tokens, *worker);
    RunToySequence(recorded.sequences[0], tokens, *scheduler);
    step->Commit();
  }
  const BlockId state = cache.table().groups[2].blocks.back();
  CHECK(ReadToyState(*worker, 2, state) == ToyState(cache.tokens()));
  const GroupTable& group = cache.table().groups[1];
  for (uint32_t p = cache.size() - 39; p < cache.size(); ++p) {
    const BlockId id = group.blocks[p / 32 - group.first_token / 32];
    CHECK(std::memcmp(ToySlot(*worker, 1, id, p % 32), ToySlot(*scheduler, 1, id, p % 32), sizeof(int32_t)) == 0);
  }
}

// A pool for attention, a window and a recurrence, in which a conversation of 200 tokens takes about 60 KB.
constexpr RuntimeConfig kSmallPool = {
    .cache_bytes = 400'000, .block_tokens = 32, .resume_point_every = 32, .max_resume_points = 4};

std::shared_ptr<BlockPool> SmallPool() { return *CreateBlockPool(ToyLayout(40, /*recurrent=*/true), kSmallPool); }

// Takes all that is left, block by block.
void TakeTheRest(BlockPool& pool) {
  for (const size_t group : {1, 0, 2}) {
    while (pool.Allocate(group)) {
    }
  }
}

TEST_CASE("a batch that does not fit costs no sequence a resume point") {
  for (const bool one_pool : {true, false}) {
    CAPTURE(one_pool);
    auto pool = SmallPool(), other_pool = one_pool ? pool : SmallPool();
    KVCache a = *CreateKVCache(pool), b = *CreateKVCache(other_pool);
    REQUIRE(ToyForward(a, std::vector<int32_t>(200, 5)));
    REQUIRE(ToyForward(b, std::vector<int32_t>(200, 6)));
    TakeTheRest(*pool);
    TakeTheRest(*other_pool);
    const std::vector<ResumeRange> points_of_a = *a.ResumePoints(), points_of_b = *b.ResumePoints();
    const uint64_t used = pool->usage().used_bytes, other_used = other_pool->usage().used_bytes;
    const std::vector<int32_t> too_many(1000, 8);
    const auto result = ToyForward(Batch().Add(a, kTokens).Add(b, too_many), 16);
    REQUIRE_FALSE(result);
    CHECK(result.error().message.find("sequence 1") != std::string::npos);
    CHECK(*a.ResumePoints() == points_of_a);
    CHECK(*b.ResumePoints() == points_of_b);
    CHECK(pool->usage().used_bytes == used);
    CHECK(other_pool->usage().used_bytes == other_used);
    // A step that fits takes room from the sequence's own resume points, and only as many as it needs.
    REQUIRE(ToyForward(b, kTokens));
    CHECK(b.ResumePoints()->size() == points_of_b.size() - 1);
    CHECK(b.ResumePoints()->back() == ResumeRange{203, 203});
    CHECK(*a.ResumePoints() == points_of_a);
    CHECK(HoldsItsTokens(a));
    CHECK(HoldsItsTokens(b));
  }
}

TEST_CASE("resume points whose blocks a fork has too do not go for nothing") {
  auto pool = SmallPool();
  KVCache cache = *CreateKVCache(pool);
  REQUIRE(ToyForward(cache, std::vector<int32_t>(200, 5)));
  std::optional<KVCache> fork = *cache.Fork();
  TakeTheRest(*pool);
  const std::vector<ResumeRange> points = *cache.ResumePoints();
  CHECK_FALSE(ToyForward(cache, kTokens));
  CHECK(*cache.ResumePoints() == points);
  fork.reset();
  REQUIRE(ToyForward(cache, kTokens));
  CHECK(cache.ResumePoints()->size() < points.size());
  CHECK(HoldsItsTokens(cache));
}

TEST_CASE("a step that fails for one cache that was moved from names it") {
  auto pool = *CreateBlockPool(ToyLayout(0), {.block_tokens = 32});
  KVCache a = *CreateKVCache(pool), b = *CreateKVCache(pool);
  const KVCache taken = std::move(b);
  const auto step = Step::Begin(Batch().Add(a, kTokens).Add(b, kTokens), 16);
  REQUIRE_FALSE(step);
  CHECK(step.error().code == ErrorCode::kFailedPrecondition);
  CHECK(step.error().message.find("sequence 1 of the batch: its cache was moved from") != std::string::npos);
}

}  // namespace step_test
}  // namespace skald::testing
