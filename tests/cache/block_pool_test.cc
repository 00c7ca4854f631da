// SPDX-License-Identifier: Apache-2.0

#include "skald/cache/blocks/block_pool.h"

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "skald/families/config/create.h"
#include "tests/support/toy_sequence.h"

namespace skald::testing {
namespace block_pool_test {

TEST_CASE("used and available bytes always sum to the limit") {
  auto pool = *CreateBlockPool(ToyLayout(8), {.cache_bytes = 100000, .block_tokens = 32});
  const auto sums = [&] {
    const PoolUsage usage = pool->usage();
    return usage.used_bytes + usage.available_bytes == usage.limit_bytes;
  };
  CHECK(sums());
  KVCache cache = *CreateKVCache(pool);
  REQUIRE(ToyForward(cache, std::vector<int32_t>(100, 1)));
  CHECK(pool->usage().used_bytes > 0);
  CHECK(sums());
  cache.Clear();
  CHECK(pool->usage().used_bytes == 0);
  CHECK(sums());
}

TEST_CASE("allocation stops at the limit and goes on when a block comes back") {
  const uint64_t block = BlockGeometry::Of(ToyLayout(0).groups()[0], 32, DType::kF32).block_bytes();
  auto pool =
      *CreateBlockPool(ToyLayout(0), {.cache_bytes = 2 * block + 1, .kv_type = DType::kF32, .block_tokens = 32});
  const BlockId a = *pool->Allocate(0);
  REQUIRE(pool->Allocate(0));
  const auto third = pool->Allocate(0);
  REQUIRE_FALSE(third);
  CHECK(third.error().code == ErrorCode::kResourceExhausted);
  BlockTable only_a;
  only_a.groups = {{0, {a}}};
  pool->DropReferences(only_a);
  CHECK(*pool->Allocate(0) == a);
}

TEST_CASE("blocks freed by one group make room for another") {
  const CacheLayout layout = ToyLayout(8);
  const uint64_t small = BlockGeometry::Of(layout.groups()[0], 32, DType::kBF16).block_bytes();
  const uint64_t large = BlockGeometry::Of(layout.groups()[1], 32, DType::kBF16).block_bytes();
  auto pool = *CreateBlockPool(layout, {.cache_bytes = large + small / 2, .block_tokens = 32});
  BlockTable taken;
  taken.groups.resize(2);
  for (uint64_t bytes = 0; bytes + small <= large; bytes += small) taken.groups[0].blocks.push_back(*pool->Allocate(0));
  CHECK_FALSE(pool->Allocate(1));
  pool->DropReferences(taken);
  CHECK(pool->Allocate(1));
}

TEST_CASE("runtime values that cannot work are refused by name") {
  const auto message = [](const RuntimeConfig& runtime) {
    return CreateBlockPool(ToyLayout(0), runtime).error().message;
  };
  CHECK(message({.max_tokens = 0}).find("max_tokens is 0") != std::string::npos);
  CHECK(message({.cache_bytes = 0}).find("cache_bytes is 0") != std::string::npos);
  CHECK(message({.kv_type = DType::kF16}).find("kv_type is F16") != std::string::npos);
  CHECK(message({.kv_type = DType::kQ8_0}).find("expected F32, BF16 or I8") != std::string::npos);
  CHECK(message({.block_tokens = 48}).find("block_tokens is 48") != std::string::npos);
  CHECK(message({.resume_point_every = 1, .max_resume_points = 0}).find("max_resume_points is 0") != std::string::npos);
  CHECK_FALSE(CreateKVCache(std::shared_ptr<BlockPool>()));
}

TEST_CASE("caches of one pool may be used by several threads at once") {
  auto pool = *CreateBlockPool(ToyLayout(40), {.block_tokens = 32});
  KVCache root = *CreateKVCache(pool);
  REQUIRE(ToyForward(root, std::vector<int32_t>(100, 1)));
  std::vector<KVCache> forks;
  for (int i = 0; i < 4; ++i) forks.push_back(*root.Fork());
  std::vector<std::thread> threads;
  for (int32_t i = 0; i < 4; ++i) {
    threads.emplace_back([&cache = forks[i], i] {
      for (int32_t turn = 0; turn < 50; ++turn) {
        (void)ToyForward(cache, std::vector<int32_t>(7, i * 1000 + turn));
        KVCache branch = *cache.Fork();
        (void)ToyForward(branch, {1, 2, 3});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const KVCache& fork : forks) CHECK(HoldsItsTokens(fork));
  CHECK(HoldsItsTokens(root));
  forks.clear();
  root.Clear();
  CHECK(pool->usage().used_bytes == 0);
}

TEST_CASE("a block shows nothing of what its last owner left in it") {
  auto pool = *CreateBlockPool(ToyLayout(40, /*recurrent=*/true), {.cache_bytes = 100'000, .block_tokens = 32});
  const auto fill = [&](std::byte value) {
    BlockTable taken;
    taken.groups.resize(3);
    for (size_t g = 0; g < 3; ++g) {
      for (int i = 0; i < 5; ++i) {
        const BlockId id = *pool->Allocate(g);
        taken.groups[g].blocks.push_back(id);
        std::byte* const bytes = pool->ResolveOne(g, id);
        const size_t size = pool->geometry(g).block_bytes();
        CHECK(std::count(bytes, bytes + size, std::byte{0}) == static_cast<ptrdiff_t>(size));
        std::fill(bytes, bytes + size, value);
      }
    }
    pool->DropReferences(taken);
  };
  fill(std::byte{0xA5});
  fill(std::byte{0x5A});
}

TEST_CASE("several can give blocks back, and are asked in the order in which they came") {
  auto pool = *CreateBlockPool(ToyLayout(0), {.cache_bytes = 100'000, .block_tokens = 32});
  std::vector<BlockTable> held(2);
  const auto take = [&](BlockTable& table) {
    table.groups.resize(1);
    for (int i = 0; i < 2; ++i) table.groups[0].blocks.push_back(*pool->Allocate(0));
  };
  std::vector<size_t> asked;
  const auto giver = [&](size_t i) {
    return [&, i](uint64_t missing) -> uint64_t {
      CHECK(missing == pool->geometry(0).block_bytes());
      asked.push_back(i);
      const uint64_t before = pool->usage().used_bytes;
      pool->DropReferences(held[i]);
      held[i] = {};
      return before - pool->usage().used_bytes;
    };
  };
  auto first = *pool->AddReclaimer(giver(0)), second = *pool->AddReclaimer(giver(1));
  take(held[0]), take(held[1]);
  while (asked.empty()) REQUIRE(pool->Allocate(0));
  CHECK(asked == std::vector<size_t>{0});
  CHECK(pool->Allocate(0));  // the other of its two
  CHECK(pool->Allocate(0));
  CHECK(asked == std::vector<size_t>{0, 0, 1});
  first = {};
  CHECK(pool->Allocate(0));
  CHECK_FALSE(pool->Allocate(0));
  CHECK(asked == std::vector<size_t>{0, 0, 1, 1});
  second = {};
  CHECK_FALSE(pool->Allocate(0));
  CHECK(asked.size() == 4);
}

TEST_CASE("a block larger than the pool costs no one anything") {
  auto pool = *CreateBlockPool(ToyLayout(0), {.cache_bytes = 100, .block_tokens = 32});
  int asked = 0;
  const auto registration = *pool->AddReclaimer([&](uint64_t) -> uint64_t { return ++asked, 0; });
  CHECK_FALSE(pool->Allocate(0));
  CHECK(asked == 0);
}

}  // namespace block_pool_test
}  // namespace skald::testing
