// SPDX-License-Identifier: Apache-2.0

#include "skald/store/prompts/edited_prompt.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "doctest/doctest.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace edited_prompt_test {

std::vector<int32_t> Joined(std::initializer_list<std::vector<int32_t>> parts) {
  std::vector<int32_t> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<int32_t> Run(int32_t first, size_t count) {
  std::vector<int32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

TEST_CASE("the longest run behind the common beginning is found") {
  const std::vector<int32_t> old_tokens = Joined({Run(0, 10), Run(100, 5), Run(200, 30), Run(300, 4)});
  CHECK(*FindSharedSpan(old_tokens, Joined({Run(0, 10), Run(200, 30), {7}}), 8) == SharedSpan{10, 15, 10, 30});
  CHECK(*FindSharedSpan(old_tokens, Joined({Run(0, 10), Run(50, 8), Run(200, 30), {7}}), 8) ==
        SharedSpan{10, 15, 18, 30});
  CHECK(*FindSharedSpan(old_tokens, Joined({Run(0, 10), Run(50, 8), Run(200, 30)}), 8) == SharedSpan{10, 15, 18, 29});
  CHECK_FALSE(*FindSharedSpan(old_tokens, Joined({Run(0, 10), Run(200, 30)}), 31));
  CHECK_FALSE(*FindSharedSpan(old_tokens, {}, 1));
}

// Moves what it can of `old_prompt`'s state into `new_prompt`'s and computes the rest. Returns the logits.
std::vector<float> ReuseAndGoOn(const RandomModel& model, KVCache& cache, std::span<const int32_t> new_prompt,
                                Workspace& workspace) {
  const auto span = *FindSharedSpan(cache.tokens(), new_prompt, 16);
  REQUIRE(span);
  REQUIRE(KeepSpan(cache, *span));
  if (span->new_begin > span->prefix) {
    REQUIRE(model.Forward(cache, new_prompt.subspan(span->prefix, span->new_begin - span->prefix), workspace));
    REQUIRE(PlaceSpan(cache, *span));
  }
  const auto logits = model.Forward(cache, new_prompt.subspan(cache.size()), workspace);
  REQUIRE(logits);
  CHECK(std::equal(new_prompt.begin(), new_prompt.end(), cache.tokens().begin(), cache.tokens().end()));
  CHECK(cache.exact_tokens() == span->prefix);
  return {logits->begin(), logits->end()};
}

TEST_CASE("in a one-layer model, where tokens remember nothing, reuse is exact but for rounding") {
  const RandomModel model(SmallModelNamed("one-layer"), 7, DType::kF32);
  const RuntimeConfig runtime = {.kv_type = DType::kF32, .block_tokens = 32};
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const std::vector<int32_t> head = RandomTokens(SmallModelNamed("one-layer"), 1, 20),
                             tail = RandomTokens(SmallModelNamed("one-layer"), 2, 100);
  const std::vector<int32_t> before = Joined({head, RandomTokens(SmallModelNamed("one-layer"), 3, 13), tail});
  for (const size_t inserted : {0u, 9u}) {
    const std::vector<int32_t> after =
        Joined({head, RandomTokens(SmallModelNamed("one-layer"), 4, inserted), tail, {5}});
    KVCache cache = NewCache(SmallModelNamed("one-layer"), runtime);
    REQUIRE(model.Forward(cache, before, workspace));
    const std::vector<float> reused = ReuseAndGoOn(model, cache, after, workspace);
    const std::vector<float> all = AllLogits(model, after, runtime);
    float error = 0.0f, largest = 0.0f;
    for (size_t i = 0; i < reused.size(); ++i) {
      const float expected = all[all.size() - reused.size() + i];
      largest = std::max(largest, std::abs(expected));
      error = std::max(error, std::abs(expected - reused[i]));
    }
    CHECK(error <= largest * 64 * std::numeric_limits<float>::epsilon());
  }
}

TEST_CASE("recurrent models refuse") {
  const RandomModel model(SmallModelNamed("hybrid"), 7);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = NewCache(SmallModelNamed("hybrid"));
  REQUIRE(model.Forward(cache, RandomTokens(SmallModelNamed("hybrid"), 1, 60), workspace));
  const auto kept = KeepSpan(cache, {10, 20, 15, 30});
  REQUIRE_FALSE(kept);
  CHECK(kept.error().code == ErrorCode::kUnsupported);
  CHECK(cache.size() == 60);
}

}  // namespace edited_prompt_test
}  // namespace skald::testing
