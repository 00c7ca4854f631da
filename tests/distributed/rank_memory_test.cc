// SPDX-License-Identifier: Apache-2.0
//
// The reported memory of a rank is the memory that it allocates.

#include "skald/model/rank_memory.h"
#include "skald/cache/create.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/load.h"
#include "skald/model/load_any.h"
#include "skald/weights/opened/opened_model.h"
#include "tests/distributed/led_ranks.h"
#include "tests/support/check_error.h"
#include "tests/support/quantised_types.h"
#include "tests/support/small_models.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace rank_memory_test {

constexpr RuntimeConfig kRuntime = {.max_tokens = 300, .block_tokens = 32};
constexpr uint32_t kTokens = 200;

SKALD_LAW("weights take on each rank what is told, whatever their type", small) {
  std::vector<DType> types = kQuantisedTypes;
  types.insert(types.end(), {DType::kBF16, DType::kF32});
  for (const DType type : types) {
    CAPTURE(NameOf(type));
    for (const size_t ranks : {1u, 2u, 3u, 4u}) {
      uint64_t replicated = 0;
      for (size_t rank = 0; rank < ranks; ++rank) {
        const RankShare share = {rank, ranks};
        const auto told = MemoryOfRank(small.spec, MatricesOf(small.spec, type), share, kRuntime, kTokens);
        REQUIRE(told);
        CHECK(told->weights() == MemoryBytes(*RandomWeights(small.spec, 5, type, 1, share)));
        if (rank == 0) replicated = told->replicated;
        CHECK(told->replicated == replicated);
        CHECK(told->partitioned > 0);
      }
    }
  }
}

SKALD_LAW("a conversation takes on each rank what is told", small) {
  for (const size_t ranks : {2u, 3u}) {
    LedRanks led(small, ranks, 5, kRuntime);
    Workspace workspace = *CreateWorkspace({.threads = 1});
    KVCache cache = *CreateKVCache(led.pool());
    REQUIRE(led.model().Forward(cache, RandomTokens(small, 1, kTokens), workspace));
    const auto matrices = MatricesOf(small.spec, DType::kBF16);
    CHECK(MemoryOfRank(small.spec, matrices, {0, ranks}, kRuntime, kTokens)->state == led.pool()->usage().used_bytes);
  }
}

TEST_CASE("of a checkpoint it is what its types take, and what is done with inputs") {
  for (const char* const family :
       {"llama", "qwen3_moe", "granitemoehybrid", "quantised/gptq_act_order", "quantised/modelopt_w8a8_sq"}) {
    CAPTURE(family);
    const auto path = GoldenPath(family);
    const auto opened = OpenedModel::Open(path);
    REQUIRE(opened);
    const auto checkpoint = opened->checkpoint();
    REQUIRE(checkpoint);
    const ModelSpec spec = DescribeModel(path)->spec;
    const auto matrices = MatricesOf(**checkpoint, spec, DType::kQ4_0);
    REQUIRE(matrices);
    for (const RankShare share : {RankShare{0, 1}, RankShare{1, 2}}) {
      const auto told = MemoryOfRank(spec, *matrices, share, kRuntime, kTokens);
      const auto loaded = LoadWeights(**checkpoint, spec, {.dtype = DType::kQ4_0, .share = share});
      REQUIRE((told && loaded));
      CHECK(told->weights() == MemoryBytes(*loaded));
    }
  }
}

TEST_CASE("more tokens than a conversation may have are refused") {
  const ModelSpec& spec = SmallModels()[0].spec;
  CheckError(MemoryOfRank(spec, MatricesOf(spec, DType::kBF16), {0, 2}, kRuntime, 301), ErrorCode::kOutOfRange, "301");
}

}  // namespace rank_memory_test
}  // namespace skald::testing
