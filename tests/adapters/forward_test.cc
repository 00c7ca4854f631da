// SPDX-License-Identifier: Apache-2.0
//
// The outputs of models with adapters: those with the products merged into their weights, and the same bits whatever
// else is in the batch.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/cache/steps/step.h"
#include "skald/cache/steps/step_plan_bytes.h"
#include "tests/adapters/adapter_files.h"
#include "tests/support/check_error.h"
#include "tests/support/compare_logits.h"
#include "tests/support/saved_hashes.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace forward_test {

// A model, two adapters, and a conversation with each of them and with none.
struct Adapted {
  explicit Adapted(const SmallModel& small, DType weights = DType::kBF16)
      : model(small, 7, weights), first(RandomAdapter(small.spec, 20, 4)), second(RandomAdapter(small.spec, 21, 5)) {
    pool = NewPool(small, {.rewind_tokens = 3});
    for (size_t i = 0; i < 3; ++i) {
      tokens.push_back(RandomTokens(small, 30 + i, 40 + i));
      alone.push_back(Logits(i, 512, 1));
    }
  }

  const Sha256Digest& digest(size_t i) const {
    static constexpr Sha256Digest kNone = {};
    return i == 0 ? first.digest : i == 1 ? second.digest : kNone;
  }
  KVCache Cache(size_t i) const { return *CreateKVCache(pool, digest(i)); }

  // Of all tokens of conversation i, computed in runs of `chunk` by that many threads.
  std::vector<float> Logits(size_t i, size_t chunk, uint32_t threads) const {
    Workspace workspace = *CreateWorkspace({.threads = threads});
    KVCache cache = Cache(i);
    return AllLogits(model, cache, tokens[i], chunk, workspace, options());
  }
  ForwardOptions options(uint32_t pass_tokens = 512) const {
    return {.pass_tokens = pass_tokens, .adapters = {&second, &first}};
  }

  RandomModel model;
  Adapter first, second;
  std::shared_ptr<BlockPool> pool;
  std::vector<std::vector<int32_t>> tokens;  // [conversations]
  std::vector<std::vector<float>> alone;     // their logits
};

bool SameBits(std::span<const float> a, std::span<const float> b) { return std::ranges::equal(a, b); }

SKALD_LAW("an adapter gives what merging it into the weights gives", small) {
  constexpr size_t kRank = 4;
  const TestPairs pairs = RandomPairs(small.spec, 20, kRank);
  const RandomModel merged(small, MergedWeights(small.spec, 7, pairs)), model(small, 7, DType::kF32);
  const Adapter adapter = RandomAdapter(small.spec, 20, kRank);
  const std::vector<int32_t> tokens = RandomTokens(small, 3, 50);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = *CreateKVCache(small.layout, kExact, adapter.digest);
  const auto ours = AllLogits(model, cache, tokens, tokens.size(), workspace, {.adapters = {&adapter}});
  const auto expected = AllLogits(merged, tokens, kExact), without = AllLogits(model, tokens, kExact);
  const float difference = LargestDifference(ours, expected);
  CHECK(difference <= 4 * Tolerance(small.spec, expected));
  CHECK(LargestDifference(without, expected) > 100 * difference);
}

SKALD_LAW("conversations with adapters and without give in one batch what each gives alone", small) {
  for (const DType weights : {DType::kBF16, DType::kQ8_0}) {
    const Adapted adapted(small, weights);
    CHECK(SameBits(AllLogits(adapted.model, adapted.tokens[2]), adapted.alone[2]));
    for (const auto& [order, pass_tokens] : std::vector<std::pair<std::vector<size_t>, uint32_t>>{
             {{0, 1, 2}, 512}, {{2, 0, 1, 0}, 33}, {{0, 2, 0, 1, 2, 1}, 7}, {{1, 0, 1, 0}, 512}}) {
      Workspace workspace = *CreateWorkspace({.threads = 2});
      std::vector<KVCache> caches;
      for (const size_t i : order) caches.push_back(adapted.Cache(i));
      Batch batch;
      std::vector<float> expected;
      for (size_t k = 0; k < order.size(); ++k) {
        const std::vector<Want> wants(adapted.tokens[order[k]].size(), Want::kLogits);
        batch.Add(caches[k], adapted.tokens[order[k]], wants);
        expected.insert(expected.end(), adapted.alone[order[k]].begin(), adapted.alone[order[k]].end());
      }
      const auto outputs = adapted.model.Forward(batch, workspace, adapted.options(pass_tokens));
      REQUIRE(outputs);
      std::vector<float> computed;
      for (size_t row = 0; row < outputs->size(); ++row) {
        computed.insert(computed.end(), (*outputs)[row].begin(), (*outputs)[row].end());
      }
      CHECK(SameBits(computed, expected));
    }
  }
}

SKALD_LAW("with an adapter, threads and chunks change no bit", small) {
  const Adapted adapted(small);
  for (const auto& [chunk, threads] : {std::pair<size_t, uint32_t>{1, 1}, {7, 2}, {33, 3}}) {
    CHECK(SameBits(adapted.Logits(0, chunk, threads), adapted.alone[0]));
  }
  CHECK_FALSE(SameBits(adapted.Logits(1, 512, 1), AllLogits(adapted.model, adapted.tokens[1])));
}

SKALD_LAW("forks and rewound conversations keep their adapter", small) {
  const Adapted adapted(small);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = adapted.Cache(0);
  const std::span<const int32_t> tokens = adapted.tokens[0];
  REQUIRE(adapted.model.Forward(cache, tokens, workspace, adapted.options()));
  KVCache fork = *cache.Fork();
  CHECK(fork.adapter() == adapted.first.digest);
  REQUIRE(fork.Truncate(cache.size() - 2));
  const auto again = AllLogits(adapted.model, fork, tokens.last(2), 1, workspace, adapted.options());
  CHECK(SameBits(again, std::span(adapted.alone[0]).last(again.size())));
  fork.Clear();
  CHECK(SameBits(AllLogits(adapted.model, fork, tokens, 40, workspace, adapted.options()), adapted.alone[0]));
}

SKALD_LAW("a plan that is carried out elsewhere says whose adapter it needs", small) {
  const Adapted adapted(small);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache planned = *CreateKVCache(NewLedgerPool(small, {.rewind_tokens = 3}), adapted.first.digest);
  const std::vector<Want> wants(adapted.tokens[0].size(), Want::kLogits);
  const auto step = Step::Begin(Batch().Add(planned, adapted.tokens[0], wants), 512);
  REQUIRE(step);
  const auto pool = NewPool(small, {.rewind_tokens = 3});
  const auto plan = StepPlanFromBytes(*StepPlanToBytes(step->plan()), *pool);
  REQUIRE(plan);
  CheckError(adapted.model.Execute(*plan, adapted.tokens[0], *pool, workspace), ErrorCode::kInvalidArgument,
             "which is not among ForwardOptions::adapters");
  const auto outputs = adapted.model.Execute(*plan, adapted.tokens[0], *pool, workspace, adapted.options());
  REQUIRE(outputs);
  CHECK(SameBits((*outputs)[5], std::span(adapted.alone[0]).subspan(5 * (*outputs)[5].size(), (*outputs)[5].size())));
}

SKALD_LAW("the bits of an adapted model are those saved", small) {
  const Adapted adapted(small);
  CHECK(SavedDifference({"adapter", small.name}, adapted.alone[0]) == "");
}

TEST_CASE("an adapter of another model is refused, and so is one that is not there") {
  const SmallModel& small = SmallModelNamed("one-layer");
  const Adapted adapted(small);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = adapted.Cache(0), other = adapted.Cache(2);
  const std::vector<int32_t> tokens = {1, 2, 3};
  const auto with_none = adapted.model.Forward(Batch().Add(other, tokens).Add(cache, tokens), workspace);
  CheckError(with_none, ErrorCode::kInvalidArgument, "sequence 1 of the batch: it is for the adapter ");
  CHECK(with_none.error().facts.sequence == 1);
  CHECK(cache.size() + other.size() == 0);
  Adapter foreign = RandomAdapter(SmallModelNamed("mixture").spec, 1, 2);
  foreign.digest = adapted.first.digest;
  CheckError(adapted.model.Forward(cache, tokens, workspace, {.adapters = {nullptr, &foreign}}),
             ErrorCode::kInvalidArgument, "is for another model than one-layer");
  CHECK(adapted.model.Forward(cache, tokens, workspace, adapted.options()));
}

}  // namespace forward_test
}  // namespace skald::testing
