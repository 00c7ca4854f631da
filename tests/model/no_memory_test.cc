// SPDX-License-Identifier: Apache-2.0
//
// Forward when memory runs out: each allocation of it fails in turn, in a pool so full that resume points give way.
// The call fails and has cost nothing, or it works; afterwards the same call gives the right bits.

#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "tests/support/failing_new.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace no_memory_test {

// Takes all that is left of a pool, block by block.
BlockTable TakeTheRest(BlockPool& pool) {
  BlockTable taken;
  taken.groups.resize(pool.layout().groups().size());
  for (size_t g = 0; g < taken.groups.size(); ++g) {
    for (auto id = pool.Allocate(g); id; id = pool.Allocate(g)) taken.groups[g].blocks.push_back(*id);
  }
  return taken;
}

std::vector<float> Last(const SmallModel& small, std::span<const float> logits) {
  return {logits.end() - small.spec.vocab_size, logits.end()};
}

SKALD_LAW("a Forward that finds no memory changes nothing, and the next is right", small) {
  const RandomModel model(small, 7);
  const std::vector<int32_t> tokens = RandomTokens(small, 1, 130);
  const auto head = std::span(tokens).first(100), tail = std::span(tokens).subspan(100);
  const std::vector<float> expected = Last(small, AllLogits(model, tokens));
  RuntimeConfig runtime = {.block_tokens = 32, .resume_point_every = 20, .max_resume_points = 4};
  runtime.cache_bytes = 40 * BlockPool(small.layout, runtime).geometry(0).block_bytes();
  FailEachAllocation([&](int64_t after) {
    CAPTURE(after);
    auto pool = NewPool(small, runtime);
    KVCache cache = *CreateKVCache(pool);
    Workspace workspace = *CreateWorkspace({.threads = 1});
    REQUIRE(model.Forward(cache, head, workspace));
    const BlockTable taken = TakeTheRest(*pool);
    const std::vector<ResumeRange> points = *cache.ResumePoints();
    const BlockTable table = cache.table();
    const uint64_t used = pool->usage().used_bytes;
    Workspace fresh = *CreateWorkspace({.threads = 1});
    FailingAllocations failing(after);
    auto logits = model.Forward(cache, tail, fresh);
    const int64_t failed = failing.failed();
    FailingAllocations none(-1);
    if (!logits) {
      CHECK(cache.table() == table);
      CHECK(*cache.ResumePoints() == points);
      CHECK(pool->usage().used_bytes == used);
      CHECK(logits.error().code == ErrorCode::kResourceExhausted);
      pool->DropReferences(taken);
      logits = model.Forward(cache, tail, fresh);
      REQUIRE(logits);
    } else {
      pool->DropReferences(taken);
    }
    CHECK(std::vector<float>(logits->begin(), logits->end()) == expected);
    return failed;
  });
}

TEST_CASE("a workspace takes fewer threads, or is not made, where memory is short") {
  FailEachAllocation([&](int64_t after) {
    FailingAllocations failing(after);
    const auto workspace = CreateWorkspace({.threads = 4});
    const int64_t failed = failing.failed();
    FailingAllocations none(-1);
    CHECK((workspace || failed > 0));
    if (!workspace) CHECK(workspace.error().code == ErrorCode::kResourceExhausted);
    return failed;
  });
}

TEST_CASE("a batch that had no memory for a sequence is refused whole") {
  const RandomModel model(SmallModelNamed("one-layer"), 7);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache a = NewCache(SmallModelNamed("one-layer")), b = NewCache(SmallModelNamed("one-layer"));
  const std::vector<int32_t> tokens = RandomTokens(SmallModelNamed("one-layer"), 1, 10);
  Batch batch;
  batch.Add(a, tokens);
  {
    FailingAllocations failing(0, /*for_good=*/true);
    batch.Add(b, tokens);
  }
  const auto outputs = model.Forward(batch, workspace);
  REQUIRE_FALSE(outputs);
  CHECK(outputs.error().code == ErrorCode::kResourceExhausted);
  CHECK(a.size() == 0);
}

}  // namespace no_memory_test
}  // namespace skald::testing
