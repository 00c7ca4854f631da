// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace forward_test {

const SmallModel& AllFeatures() { return SmallModelNamed("all-features"); }
const SmallModel& OneLayer() { return SmallModelNamed("one-layer"); }

const RandomModel& SharedModel() {
  static const RandomModel model(AllFeatures(), 7);
  return model;
}

constexpr RuntimeConfig kRuntime = {};

std::vector<float> Copy(std::span<const float> values) { return {values.begin(), values.end()}; }

TEST_CASE("outputs come in the caller's order, whatever each row wants") {
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache a = NewCache(AllFeatures(), kRuntime), b = NewCache(AllFeatures(), kRuntime);
  const std::vector<int32_t> first = {1, 2, 3}, second = {4, 5};
  const std::vector<Want> wants = {Want::kLogits, Want::kNothing, Want::kHidden};
  const auto outputs = SharedModel().Forward(Batch().Add(a, first, wants).Add(b, second), workspace);
  REQUIRE(outputs);
  REQUIRE(outputs->size() == 3);
  CHECK((*outputs)[0].size() == static_cast<size_t>(AllFeatures().spec.vocab_size));
  CHECK((*outputs)[1].size() == static_cast<size_t>(AllFeatures().spec.model_dim));
  CHECK((*outputs)[2].size() == static_cast<size_t>(AllFeatures().spec.vocab_size));

  const std::vector<float> of_a = AllLogits(SharedModel(), first, kRuntime),
                           of_b = AllLogits(SharedModel(), second, kRuntime);
  KVCache again = NewCache(AllFeatures(), kRuntime);
  const auto repeated =
      SharedModel().Forward(Batch().Add(again, first, wants).Add(b, second, Want::kNothing), workspace);
  CHECK(Copy((*repeated)[0]) == std::vector<float>(of_a.begin(), of_a.begin() + AllFeatures().spec.vocab_size));
  CHECK(a.size() == 3);
  CHECK(b.size() == 4);
  KVCache alone = NewCache(AllFeatures(), kRuntime);
  CHECK(Copy(*SharedModel().Forward(alone, second, workspace)) ==
        std::vector<float>(of_b.end() - AllFeatures().spec.vocab_size, of_b.end()));
}

TEST_CASE("bad batches are refused by name and change nothing") {
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache good = NewCache(AllFeatures(), kRuntime), other = NewCache(OneLayer(), kRuntime);
  KVCache large_blocks = NewCache(AllFeatures(), {.block_tokens = 128});
  KVCache short_limit = NewCache(AllFeatures(), {.max_tokens = 2});
  const std::vector<int32_t> tokens = {1, 2, 3}, none, negative = {1, -1}, large = {AllFeatures().spec.vocab_size};
  const std::vector<Want> one_want = {Want::kLogits};
  const auto refused = [&](const Batch& batch, ErrorCode code, const std::string& text) {
    const auto outputs = SharedModel().Forward(batch, workspace);
    REQUIRE_FALSE(outputs);
    CHECK(outputs.error().code == code);
    CAPTURE(outputs.error().message);
    CHECK(outputs.error().message.find(text) != std::string::npos);
    CHECK(good.size() == 0);
  };
  refused(Batch(), ErrorCode::kInvalidArgument, "no sequences");
  refused(Batch().Add(good, none), ErrorCode::kInvalidArgument, "sequence 0 of the batch: there are no tokens");
  refused(Batch().Add(good, tokens).Add(other, tokens), ErrorCode::kInvalidArgument,
          "sequence 1 of the batch: its cache has another layout");
  refused(Batch().Add(good, negative), ErrorCode::kInvalidArgument, "token 1 has the id -1, expected 0 to 149");
  refused(Batch().Add(good, large), ErrorCode::kInvalidArgument, "token 0 has the id 150");
  refused(Batch().Add(good, tokens).Add(good, tokens), ErrorCode::kInvalidArgument, "already that of sequence 0");
  refused(Batch().Add(good, tokens).Add(large_blocks, tokens), ErrorCode::kInvalidArgument,
          "another kv_type or block_tokens");
  refused(Batch().Add(good, tokens).Add(short_limit, tokens), ErrorCode::kOutOfRange,
          "sequence 1 of the batch: 3 tokens after 0 exceed the limit of 2");
  refused(Batch().Add(good, tokens, one_want), ErrorCode::kInvalidArgument, "wishes for 1 tokens but has 3");
  // One wish too many here and one too few there: the sum is right, the outputs would be another's.
  KVCache second = NewCache(AllFeatures(), kRuntime);
  const std::vector<Want> four_wants(4, Want::kLogits), two_wants(2, Want::kLogits);
  refused(Batch().Add(good, tokens, four_wants).Add(second, tokens, two_wants), ErrorCode::kInvalidArgument,
          "sequence 0 of the batch: the batch has wishes for 4 tokens but has 3");
  refused(Batch().Add(second, tokens).Add(good, tokens, two_wants).Add(other, none, one_want),
          ErrorCode::kInvalidArgument, "sequence 1 of the batch: the batch has wishes for 2 tokens but has 3");
}

TEST_CASE("a step that the pool cannot hold leaves every conversation able to go on") {
  const uint64_t enough = NewPool(AllFeatures(), kRuntime)->geometry(0).block_bytes() * 6;
  RuntimeConfig runtime = kRuntime;
  runtime.cache_bytes = enough;
  auto pool = NewPool(AllFeatures(), runtime);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache a = *CreateKVCache(pool), b = *CreateKVCache(pool);
  const std::vector<int32_t> prompt = RandomTokens(AllFeatures(), 1, 60),
                             too_long = RandomTokens(AllFeatures(), 2, 400);
  REQUIRE(SharedModel().Forward(a, prompt, workspace));
  const std::vector<int32_t> more = {9};
  const auto failed = SharedModel().Forward(Batch().Add(a, more).Add(b, too_long), workspace);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::kResourceExhausted);
  CHECK(a.size() == 60);
  const auto logits = SharedModel().Forward(a, more, workspace);
  REQUIRE(logits);

  std::vector<int32_t> all = prompt;
  all.push_back(9);
  const std::vector<float> expected = AllLogits(SharedModel(), all, kRuntime);
  CHECK(Copy(*logits) == std::vector<float>(expected.end() - AllFeatures().spec.vocab_size, expected.end()));
}

TEST_CASE("threads with workspaces of their own share one model without disturbing each other") {
  const std::vector<int32_t> tokens = RandomTokens(AllFeatures(), 5, 90);
  const std::vector<float> expected = AllLogits(SharedModel(), tokens, kRuntime);
  std::vector<int> equal(3, 0);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < equal.size(); ++i) {
    threads.emplace_back([&, i] {
      equal[i] = AllLogits(SharedModel(), tokens, kRuntime, {}, static_cast<uint32_t>(i + 1)) == expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(equal == std::vector<int>(3, 1));
}

TEST_CASE("in a one-layer model, erasing tokens equals never having seen them") {
  const RandomModel model(OneLayer(), 7, DType::kF32);
  const RuntimeConfig runtime = {.kv_type = DType::kF32, .block_tokens = 32};
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const std::vector<int32_t> tokens = RandomTokens(OneLayer(), 5, 150);
  std::vector<int32_t> kept(tokens.begin(), tokens.begin() + 20);
  kept.insert(kept.end(), tokens.begin() + 71, tokens.end());

  KVCache erased = NewCache(OneLayer(), runtime), never = NewCache(OneLayer(), runtime);
  REQUIRE(model.Forward(erased, std::span(tokens).first(149), workspace));
  REQUIRE(erased.Erase(20, 71));
  const std::vector<float> after = Copy(*model.Forward(erased, std::span(tokens).last(1), workspace));
  const std::vector<float> expected = Copy(*model.Forward(never, kept, workspace));
  // A turned key differs from one computed in place by the rounding of two rotations.
  float largest = 0.0f, error = 0.0f;
  for (size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    error = std::max(error, std::abs(expected[i] - after[i]));
  }
  CHECK(error <= largest * 64 * std::numeric_limits<float>::epsilon());
}

TEST_CASE("moving tokens in a one-layer model equals having seen them in that order") {
  const RandomModel model(OneLayer(), 7, DType::kF32);
  const RuntimeConfig runtime = {.kv_type = DType::kF32, .block_tokens = 32};
  Workspace workspace = *CreateWorkspace({.threads = 1});
  std::vector<int32_t> tokens = RandomTokens(OneLayer(), 6, 120);
  KVCache moved = NewCache(OneLayer(), runtime), direct = NewCache(OneLayer(), runtime);
  REQUIRE(model.Forward(moved, tokens, workspace));
  REQUIRE(moved.Shift(10, 50, 60));
  std::rotate(tokens.begin() + 10, tokens.begin() + 50, tokens.begin() + 100);
  REQUIRE(model.Forward(direct, tokens, workspace));
  CHECK(std::equal(tokens.begin(), tokens.end(), moved.tokens().begin()));
  const std::vector<int32_t> probe = {3};
  const std::vector<float> a = Copy(*model.Forward(moved, probe, workspace)),
                           b = Copy(*model.Forward(direct, probe, workspace));
  float largest = 0.0f, error = 0.0f;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    error = std::max(error, std::abs(a[i] - b[i]));
  }
  CHECK(error <= largest * 64 * std::numeric_limits<float>::epsilon());
}

TEST_CASE("workspaces and passes that cannot work are refused by name") {
  CHECK(CreateWorkspace({.threads = 0}).error().message.find("threads is 0") != std::string::npos);
  CHECK(CreateWorkspace({.threads = 100000}).error().message.find("threads is 100000") != std::string::npos);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = NewCache(AllFeatures());
  const std::vector<int32_t> tokens = {1, 2};
  const auto logits = SharedModel().Forward(cache, tokens, workspace, {.pass_tokens = 0});
  CHECK(logits.error().code == ErrorCode::kInvalidArgument);
  CHECK(logits.error().message.find("pass_tokens is 0") != std::string::npos);
}

}  // namespace forward_test
}  // namespace skald::testing
