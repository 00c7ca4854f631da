// SPDX-License-Identifier: Apache-2.0
//
// Random sequences of every operation on several caches of one small pool: whatever happens, each cache holds the
// tokens it says it holds, usage sums to the budget, and nothing leaks.

#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "tests/support/toy_sequence.h"

namespace skald::testing {
namespace cache_operations_test {

class RandomCaches {
 public:
  RandomCaches(uint32_t seed, const CacheLayout& layout) : random_(seed) {
    const uint32_t block_tokens = 32 * Pick(1, 3);
    uint64_t limit = 0;
    for (const CacheGroup& group : layout.groups()) {
      limit += Pick(4, 30) * BlockGeometry::Of(group, block_tokens, DType::kF32).block_bytes();
    }
    pool_ = *CreateBlockPool(layout, {.max_tokens = 600,
                                      .cache_bytes = limit,
                                      .kv_type = DType::kF32,
                                      .block_tokens = block_tokens,
                                      .resume_point_every = Pick(0, 1) * Pick(1, 100),
                                      .max_resume_points = Pick(1, 4),
                                      .rewind_tokens = Pick(0, 1) * Pick(1, 60)});
    for (int i = 0; i < 4; ++i) caches_.push_back(*CreateKVCache(pool_));
  }

  void RunOneOperation() {
    KVCache& cache = caches_[Pick(0, 3)];
    const std::vector<int32_t> before(cache.tokens().begin(), cache.tokens().end());
    std::vector<int32_t> expected = before;
    Result<void> result;
    switch (Pick(0, 7)) {
      case 0:
      case 1:
      case 2:
        return Step();
      case 3:
        caches_[Pick(0, 3)] = *cache.Fork();
        return;
      case 4: {
        const uint32_t tokens = Pick(0, cache.size());
        expected.resize(tokens);
        result = cache.Truncate(tokens);
        break;
      }
      case 5: {
        const auto [begin, end] = PickRange(cache.size());
        expected.erase(expected.begin() + begin, expected.begin() + end);
        result = cache.Erase(begin, end);
        break;
      }
      case 6: {
        const auto [begin, end] = PickRange(cache.size());
        const uint32_t to = Pick(0, cache.size() - (end - begin));
        std::vector<int32_t> moved(expected.begin() + begin, expected.begin() + end);
        expected.erase(expected.begin() + begin, expected.begin() + end);
        expected.insert(expected.begin() + to, moved.begin(), moved.end());
        result = cache.Shift(begin, end, to);
        break;
      }
      case 7:
        if (Pick(0, 3) == 0) cache.Clear(), expected.clear();
        break;
    }
    CHECK(std::vector<int32_t>(cache.tokens().begin(), cache.tokens().end()) == (result ? expected : before));
  }

  void CheckEverything() {
    std::vector<std::set<BlockId>> used(pool_->layout().groups().size());
    for (const KVCache& cache : caches_) {
      CHECK(HoldsItsTokens(cache));
      CHECK(cache.table().tokens == cache.tokens().size());
      for (size_t g = 0; g < used.size(); ++g) {
        used[g].insert(cache.table().groups[g].blocks.begin(), cache.table().groups[g].blocks.end());
      }
    }
    uint64_t bytes = 0;
    for (size_t g = 0; g < used.size(); ++g) bytes += used[g].size() * pool_->geometry(g).block_bytes();
    const PoolUsage usage = pool_->usage();
    CHECK(usage.used_bytes + usage.available_bytes == usage.limit_bytes);
    // Resume points hold blocks that no table shows.
    if (pool_->runtime().resume_point_every == 0) CHECK(usage.used_bytes == bytes);
    CHECK(usage.used_bytes >= bytes);
  }

  void CheckNothingLeaks() {
    caches_.clear();
    CHECK(pool_->usage().used_bytes == 0);
  }

 private:
  uint32_t Pick(uint32_t low, uint32_t high) { return low + static_cast<uint32_t>(random_() % (high - low + 1)); }

  std::pair<uint32_t, uint32_t> PickRange(uint32_t size) {
    const uint32_t begin = Pick(0, size);
    return {begin, Pick(begin, size)};
  }

  // A step of one to four caches; sometimes abandoned, sometimes too large for the pool.
  void Step() {
    std::vector<std::vector<int32_t>> tokens(caches_.size());
    Batch batch;
    for (size_t i = 0; i < caches_.size(); ++i) {
      if (Pick(0, 1) == 0) continue;
      for (uint32_t n = Pick(1, Pick(0, 3) == 0 ? 150 : 10); n > 0; --n) tokens[i].push_back(next_token_++);
      batch.Add(caches_[i], tokens[i]);
    }
    std::vector<BlockTable> before;
    for (const KVCache& cache : caches_) before.push_back(cache.table());
    const bool commit = Pick(0, 4) != 0;
    const auto result = ToyForward(batch, Pick(1, 80), commit);
    if (result && commit) return;
    for (size_t i = 0; i < caches_.size(); ++i) CHECK(caches_[i].table() == before[i]);
  }

  std::mt19937 random_;  // its sequence is fixed by the standard
  std::shared_ptr<BlockPool> pool_;
  std::vector<KVCache> caches_;
  int32_t next_token_ = 1;
};

void CheckLayout(const CacheLayout& layout) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    RandomCaches caches(seed, layout);
    for (int operation = 0; operation < 150; ++operation) {
      caches.RunOneOperation();
      caches.CheckEverything();
    }
    caches.CheckNothingLeaks();
  }
}

TEST_CASE("caches hold their tokens through any sequence of operations") {
  for (const uint32_t window : {0u, 1u, 8u, 45u}) {
    CAPTURE(window);
    CheckLayout(ToyLayout(window));
  }
}

TEST_CASE("so do caches of hybrid models") {
  for (const uint32_t window : {0u, 20u}) {
    CAPTURE(window);
    CheckLayout(ToyLayout(window, /*recurrent=*/true));
    CheckLayout(ToyLayout(window, /*recurrent=*/false, /*replayed=*/true));
  }
}

}  // namespace cache_operations_test
}  // namespace skald::testing
