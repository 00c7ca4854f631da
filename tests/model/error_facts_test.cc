// SPDX-License-Identifier: Apache-2.0
//
// Facts of errors for programs, beside the sentence.

#include <cstdint>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/layers/kinds/attention.h"
#include "skald/model/load.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace error_facts_test {

struct Scene {
  const SmallModel& hybrid = SmallModelNamed("hybrid");
  RandomModel model{hybrid, 1};
  Workspace workspace = *CreateWorkspace({.threads = 1});
  std::vector<int32_t> tokens = RandomTokens(hybrid, 1, 120);
};

TEST_CASE("a token limit says which sequence, how many tokens it needs and how many there is room for") {
  Scene scene;
  KVCache fine = NewCache(scene.hybrid), full = NewCache(scene.hybrid, {.max_tokens = 100});
  REQUIRE(scene.model.Forward(full, std::span(scene.tokens).first(90), scene.workspace));
  const auto batch = Batch().Add(fine, scene.tokens).Add(full, std::span(scene.tokens).first(11));
  const auto result = scene.model.Forward(batch, scene.workspace);
  REQUIRE_FALSE(result);
  CHECK(result.error().facts == ErrorFacts{.sequence = 1, .needed_tokens = 11, .available_tokens = 10});
}

TEST_CASE("a full pool says which sequence, how many bytes it needs and how many there are") {
  Scene scene;
  const auto pool = NewPool(scene.hybrid, {.cache_bytes = 100'000, .block_tokens = 32});
  KVCache a = *CreateKVCache(pool), b = *CreateKVCache(pool);
  const std::vector<int32_t> one = {1}, many(2000, 1);
  const auto result = scene.model.Forward(Batch().Add(a, one).Add(b, many), scene.workspace);
  REQUIRE_FALSE(result);
  const ErrorFacts& facts = result.error().facts;
  CHECK(facts.sequence == 1);
  REQUIRE(facts.needed_bytes);
  REQUIRE(facts.available_bytes);
  CHECK(*facts.needed_bytes > *facts.available_bytes);
  CHECK(*facts.available_bytes < 100'000);  // what came before it in the batch included
  CHECK(result.error().message.find(std::to_string(*facts.needed_bytes) + " more are needed") != std::string::npos);
  CHECK_FALSE(facts.needed_tokens);
}

TEST_CASE("a position that cannot be gone back to says the nearest one that can, and going there works") {
  Scene scene;
  KVCache cache = NewCache(scene.hybrid, {.resume_point_every = 50});
  REQUIRE(scene.model.Forward(cache, scene.tokens, scene.workspace));
  const auto gone = cache.Truncate(70);
  REQUIRE_FALSE(gone);
  CHECK(gone.error().facts == ErrorFacts{.resume_point = 50});
  CHECK(cache.Erase(60, 65).error().facts == ErrorFacts{.resume_point = 50});
  CHECK(cache.Truncate(121).error().facts == ErrorFacts{.needed_tokens = 121, .available_tokens = 120});
  CHECK(cache.Truncate(*gone.error().facts.resume_point));
}

TEST_CASE("what is wrong with a sequence of a batch is about that sequence") {
  Scene scene;
  KVCache a = NewCache(scene.hybrid), b = NewCache(scene.hybrid), c = NewCache(SmallModelNamed("one-layer"));
  const std::vector<int32_t> fine = {1}, bad = {150}, none;
  const auto facts = [&](const Batch& batch) { return scene.model.Forward(batch, scene.workspace).error().facts; };
  const ErrorFacts first = {.sequence = 0}, second = {.sequence = 1};
  CHECK(facts(Batch().Add(a, fine).Add(b, bad)) == second);
  CHECK(facts(Batch().Add(a, fine).Add(b, none)) == second);
  CHECK(facts(Batch().Add(a, fine).Add(a, fine)) == second);
  CHECK(facts(Batch().Add(a, fine).Add(c, fine)) == second);
  CHECK(facts(Batch().Add(c, fine)) == first);
  CHECK(facts(Batch()) == ErrorFacts{});
}

TEST_CASE("a spec that no model can be gets no weights and no cache, in the words of the static check") {
  ModelSpec spec = SmallModelNamed("one-layer").spec;
  Attention attention = *spec.blocks[0].layers[0].As<Attention>();
  attention.kv_heads = 3;
  spec.blocks[0].layers[0] = attention;
  const std::string why = WhyImpossible(spec);
  const auto random = RandomWeights(spec, 1);
  REQUIRE_FALSE(random);
  CHECK(random.error().message == why);
  const auto loaded = LoadWeights("no-such-file", spec, "odd");
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().message == why);
  attention.kv_heads = 0;
  spec.blocks[0].layers[0] = attention;
  CHECK(CreateKVCache(LayoutOf(spec)).error().code == ErrorCode::kInvalidArgument);
  CHECK(CreateLedgerPool(LayoutOf(spec)).error().code == ErrorCode::kInvalidArgument);
}

}  // namespace error_facts_test
}  // namespace skald::testing
