// SPDX-License-Identifier: Apache-2.0
//
// The memory model is what caches take: conversations grow on pools without bytes, in steps that are divided at random,
// and hold and take no more than it says; a pool of its capacity is enough for every division, and no larger than one
// of them needs.

#include "skald/engine/plan/memory_model.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/cache/steps/batch.h"
#include "skald/cache/steps/step.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace memory_model_test {

constexpr uint32_t kMost = 200;  // tokens
const std::vector<int32_t> kTokens(kMost);

class Random {
 public:
  explicit Random(uint32_t seed) : random_(seed) {}
  uint32_t Pick(uint32_t low, uint32_t high) { return low + static_cast<uint32_t>(random_() % (high - low + 1)); }

  RuntimeConfig Runtime() {
    RuntimeConfig runtime = {.max_tokens = kMost, .kv_type = DType::kF32, .block_tokens = 32 * Pick(1, 2)};
    runtime.rewind_tokens = Pick(0, 1) * Pick(1, 8);
    runtime.max_resume_points = Pick(1, 4);
    return runtime;
  }

  // Rows of a step after `tokens`: one, a few, or many.
  uint32_t Rows(uint32_t tokens) {
    return std::min(Pick(0, 1) == 0 ? 1 : Pick(1, Pick(0, 1) == 0 ? 8 : 90), kMost - tokens);
  }

 private:
  std::minstd_rand random_;
};

Result<Step> BeginStep(KVCache& cache, uint32_t rows) {
  return Step::Begin(Batch().Add(cache, std::span(kTokens).first(rows)), rows);
}

SKALD_LAW("a conversation holds and takes no more than the memory model says", small) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto pool = NewLedgerPool(small, random.Runtime());
    const MemoryModel model = MemoryModel::Of(*pool);
    KVCache cache = *CreateKVCache(pool);
    while (cache.size() < kMost) {
      const uint32_t tokens = cache.size(), rows = random.Rows(tokens);
      CAPTURE(tokens);
      CAPTURE(rows);
      const uint64_t held = pool->usage().used_bytes;
      REQUIRE(held <= model.BytesFor(tokens));
      auto step = BeginStep(cache, rows);
      REQUIRE(step);
      const uint64_t at_once = pool->usage().used_bytes;
      REQUIRE(at_once - held <= model.BytesTaken(tokens, rows));
      if (rows == 1) REQUIRE(at_once <= model.BytesToReach(tokens + 1));
      step->Commit();
      const uint32_t back = random.Pick(0, 1) * random.Pick(0, std::min(pool->runtime().rewind_tokens, rows));
      REQUIRE((back == 0 || cache.Truncate(cache.size() - back)));
    }
  }
}

SKALD_LAW("a conversation reaches the capacity of its pool however its steps are divided", small) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    RuntimeConfig runtime = random.Runtime();
    const MemoryModel model = MemoryModel::Of(*NewLedgerPool(small, runtime));
    runtime.cache_bytes = model.BytesToReach(random.Pick(1, kMost)) + random.Pick(0, 5000);
    if (random.Pick(0, 1) == 0) runtime.resume_point_every = random.Pick(1, 40);
    const auto pool = NewLedgerPool(small, runtime);
    const uint32_t capacity = CapacityOf(*pool);
    CAPTURE(capacity);
    KVCache cache = *CreateKVCache(pool);
    while (cache.size() < capacity) {
      CAPTURE(cache.size());
      uint32_t rows = std::min(random.Rows(cache.size()), capacity - cache.size());
      auto step = BeginStep(cache, rows);
      while (!step && rows > 1) step = BeginStep(cache, rows /= 2);
      REQUIRE_MESSAGE(step, step.error().message);
      step->Commit();
    }
  }
}

SKALD_LAW("a pool of a byte less than a capacity takes is too small for some division", small) {
  for (const uint32_t rewind : {0u, 4u}) {
    CAPTURE(rewind);
    const RuntimeConfig runtime = {.max_tokens = kMost, .block_tokens = 32, .rewind_tokens = rewind};
    const auto pool = NewLedgerPool(small, runtime);
    uint64_t most = 0;
    for (uint32_t first = 1; first <= 2 * rewind + 1; ++first) {  // a prompt, and then token by token
      KVCache cache = *CreateKVCache(pool);
      for (uint32_t rows = 5 * first; cache.size() + rows <= kMost; rows = 1) {
        auto step = BeginStep(cache, rows);
        REQUIRE(step);
        if (rows == 1) most = std::max(most, pool->usage().used_bytes);
        step->Commit();
      }
    }
    CHECK(most == MemoryModel::Of(*pool).BytesToReach(kMost));
  }
}

TEST_CASE("MemoryModel: whole blocks, up to as many as a window or a state needs") {
  const MemoryModel model = {{{100, 64}, {7, 32, 3, kUnlimited, 4}, {1000, 1, 2, 2, 4, 2}}};
  CHECK(model.BytesFor(0) == 0);
  CHECK(model.BytesFor(1) == 100 + 7 + 1000);
  CHECK(model.BytesFor(64) == 100 + 14 + 2000);
  CHECK(model.BytesFor(65) == 200 + 21 + 2000);
  CHECK(model.BytesFor(6400) == 10000 + 21 + 2000);
  CHECK(model.BytesTaken(64, 1) == 100 + 7 + 2000);
  CHECK(model.BytesTaken(6400, 64) == 100 + 14 + 2000);
  CHECK(model.BytesTaken(100, 0) == 0);
  CHECK(model.BytesToReach(6400) == 10000 + 28 + 4000);
  CHECK(model.TokensIn(10000 + 28 + 4000, 100000) == 6400);
  CHECK(model.TokensIn(10000 + 28 + 4000 - 1, 100000) == 6336);
  CHECK(model.TokensIn(0, 100000) == 0);
  CHECK(model.TokensIn(kUnlimited, 1000) == 1000);
}

}  // namespace memory_model_test
}  // namespace skald::testing
