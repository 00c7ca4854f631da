// SPDX-License-Identifier: Apache-2.0
//
// Ranks compute conversations with adapters as one process does.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "tests/adapters/adapter_files.h"
#include "tests/distributed/led_ranks.h"
#include "tests/support/check_error.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace adapted_ranks_test {

constexpr RuntimeConfig kRuntime = {.max_tokens = 200, .cache_bytes = 64 << 20, .block_tokens = 32};

std::vector<Adapter> TwoAdapters(const SmallModel& small, const RankShare& share) {
  std::vector<Adapter> adapters;
  adapters.push_back(RandomAdapter(small.spec, 20, 4, share));
  adapters.push_back(RandomAdapter(small.spec, 21, 5, share));
  return adapters;
}

// Logits of all tokens of a conversation with each adapter and of one with none, in two batches: prompts, and a token
// for each.
template <class Model>
std::vector<float> Converse(const SmallModel& small, const Model& model, const std::vector<Adapter>& adapters,
                            const std::shared_ptr<BlockPool>& pool) {
  std::vector<KVCache> caches;
  for (const Adapter& adapter : adapters) caches.push_back(*CreateKVCache(pool, adapter.digest));
  caches.push_back(*CreateKVCache(pool));
  Workspace workspace = *CreateWorkspace({.threads = 1});
  std::vector<float> all;
  for (const size_t tokens : {21u, 1u}) {
    Batch batch;
    std::vector<std::vector<int32_t>> runs;
    const std::vector<Want> wants(tokens, Want::kLogits);
    for (size_t i = 0; i < caches.size(); ++i) runs.push_back(RandomTokens(small, tokens + i, tokens));
    for (size_t i = 0; i < caches.size(); ++i) batch.Add(caches[i], runs[i], wants);
    ForwardOptions options = {.pass_tokens = 40};
    for (const Adapter& adapter : adapters) options.adapters.push_back(&adapter);
    const auto outputs = model.Forward(batch, workspace, options);
    REQUIRE_MESSAGE(outputs, outputs.error().message);
    for (size_t i = 0; i < outputs->size(); ++i) all.insert(all.end(), (*outputs)[i].begin(), (*outputs)[i].end());
  }
  return all;
}

SKALD_LAW("any number of ranks gives with adapters the bits of one process", small) {
  for (const DType type : {DType::kBF16, DType::kQ8_0}) {
    const RandomModel whole(small, 5, type);
    const auto expected = Converse(small, whole, TwoAdapters(small, {}), NewPool(small, kRuntime));
    for (const size_t ranks : {2u, 3u, 4u}) {
      CAPTURE(ranks);
      const auto make = [&](const RankShare& share) { return TwoAdapters(small, share); };
      const LedRanks led(small, ranks, 5, kRuntime, type, make);
      CHECK((Converse(small, led.model(), make({0, ranks}), led.pool()) == expected));
    }
  }
}

TEST_CASE("an adapter for another rank, or that another rank lacks, is refused, and the ranks go on") {
  const SmallModel& small = SmallModels()[0];
  const LedRanks led(small, 2, 5, kRuntime);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const std::vector<int32_t> tokens = {1, 2, 3};
  const Adapter own = RandomAdapter(small.spec, 20, 4, {0, 2}), whole = RandomAdapter(small.spec, 20, 4);
  CHECK(own.digest == whole.digest);
  KVCache adapted = *CreateKVCache(led.pool(), own.digest), plain = *CreateKVCache(led.pool());
  CheckError(led.model().Forward(adapted, tokens, workspace, {.adapters = {&whole}}), ErrorCode::kInvalidArgument,
             "was loaded for rank 0 of 1, the model for rank 0 of 2");
  CheckError(led.model().Forward(adapted, tokens, workspace, {.adapters = {&own}}), ErrorCode::kInvalidArgument,
             "rank 1: sequence 0 of the batch: it is for the adapter");
  CHECK(adapted.size() == 0);
  CHECK(led.model().Forward(plain, tokens, workspace));
}

}  // namespace adapted_ranks_test
}  // namespace skald::testing
