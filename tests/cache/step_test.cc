// SPDX-License-Identifier: Apache-2.0

#include "skald/cache/step.h"

#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/configs/create.h"
#include "tests/support/toy_sequence.h"

namespace skald::testing {
namespace {

const std::vector<int32_t> kTokens = {1, 2, 3};

TEST_CASE("a step that is abandoned leaves caches and pool as they were") {
  auto pool = *CreateBlockPool(ToyLayout(40), {.block_tokens = 32});
  KVCache a = *CreateKVCache(pool), b = *CreateKVCache(pool);
  REQUIRE(ToyForward(a, std::vector<int32_t>(50, 5)));
  const BlockTable before = a.table();
  const uint64_t used = pool->usage().used_bytes;
  const std::vector<int32_t> long_run(500, 9);
  const StepRequest requests[] = {{&a, kTokens}, {&b, long_run}};
  REQUIRE(ToyForward(requests, 16, /*commit=*/false));
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
  const StepRequest requests[] = {{&a, kTokens}, {&b, two_blocks}};
  const auto result = ToyForward(requests, 64);
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
  const auto refused = [](std::vector<StepRequest> requests, ErrorCode code, const std::string& text) {
    const auto step = Step::Begin(requests, 16);
    REQUIRE_FALSE(step);
    CHECK(step.error().code == code);
    CHECK(step.error().message.find(text) != std::string::npos);
  };
  refused({{&a, kTokens}, {&b, six}}, ErrorCode::kOutOfRange, "sequence 1 of the batch: 6 tokens after 0 exceed");
  refused({{&a, none}}, ErrorCode::kInvalidArgument, "no tokens");
  refused({{&a, kTokens}, {&a, kTokens}}, ErrorCode::kInvalidArgument, "already that of sequence 0");
}

TEST_CASE("passes hold at most the asked number of tokens and keep the order of sequences") {
  auto pool = *CreateBlockPool(ToyLayout(0), {.block_tokens = 32});
  KVCache a = *CreateKVCache(pool), b = *CreateKVCache(pool);
  const std::vector<int32_t> ten(10, 1), three(3, 1);
  const StepRequest requests[] = {{&a, ten}, {&b, three}};
  const auto step = Step::Begin(requests, 4);
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
    const StepRequest request{&cache, tokens};
    auto step = Step::Begin({&request, 1}, 16);
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

}  // namespace
}  // namespace skald::testing
