// SPDX-License-Identifier: Apache-2.0
//
// One answer: the same weights and tokens give the same bits however the work is divided, on any machine. These tests
// also run once on each SIMD target.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "doctest/doctest.h"
#include "hwy/targets.h"
#include "skald/cache/create.h"
#include "tests/support/long_tests.h"
#include "tests/support/quantised_types.h"
#include "tests/support/saved_hashes.h"
#include "tests/support/small_models.h"
#include "tests/support/targets.h"

namespace skald::testing {
namespace one_answer_test {

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// 200 tokens: several blocks of any size, two attention spans, more than the windows.
struct Fixture {
  Fixture(const SmallModel& small, DType weights, DType kv)
      : model(small, 7, weights), weight_type(weights), tokens(RandomTokens(small, 3, 200)) {
    runtime.kv_type = kv;
    expected = AllLogits(model, tokens, runtime);
  }

  RandomModel model;
  DType weight_type;
  std::vector<int32_t> tokens;
  RuntimeConfig runtime;
  std::vector<float> expected;
};

// Made once for all laws.
const Fixture& FixtureOf(const SmallModel& small, DType weights, DType kv) {
  static std::map<std::tuple<std::string, DType, DType>, Fixture> made;
  return made.try_emplace({small.name, weights, kv}, small, weights, kv).first->second;
}

using Law = std::function<void(const Fixture& fixture)>;

void Hold(const SmallModel& small, DType weights, DType kv, const Law& law) {
  CAPTURE(NameOf(weights));
  CAPTURE(NameOf(kv));
  law(FixtureOf(small, weights, kv));
}

void HoldForFloats(const SmallModel& small, const Law& law) {
  for (const DType weights : {DType::kBF16, DType::kF32}) {
    for (const DType kv : {DType::kBF16, DType::kF32}) Hold(small, weights, kv, law);
  }
  Hold(small, DType::kBF16, DType::kI8, law);
}

void ForEachType(const SmallModel& small, const Law& law) {
  HoldForFloats(small, law);
  for (const DType weights : kQuantisedTypes) Hold(small, weights, DType::kBF16, law);
}

// That rows do not depend on each other holds for each type in the tests of kernels, so a model is run with every sixth
// of the quantised types, which are others for the next one.
void ForSomeTypes(const SmallModel& small, const Law& law) {
  if (LongTests()) return ForEachType(small, law);
  HoldForFloats(small, law);
  const size_t number =
      static_cast<size_t>(std::ranges::find(SmallModels(), small.name, &SmallModel::name) - SmallModels().begin());
  for (size_t i = number % 6; i < kQuantisedTypes.size(); i += 6) Hold(small, kQuantisedTypes[i], DType::kBF16, law);
}

SKALD_LAW("the number of threads changes no bit", small) {
  ForSomeTypes(small, [&](const Fixture& fixture) {
    for (const uint32_t threads : {2u, 3u}) {
      CHECK(SameBits(AllLogits(fixture.model, fixture.tokens, fixture.runtime, {}, threads), fixture.expected));
    }
  });
}

SKALD_LAW("the block size changes no bit", small) {
  ForSomeTypes(small, [&](const Fixture& fixture) {
    for (const uint32_t block_tokens : {32u, 96u, 256u}) {
      RuntimeConfig runtime = fixture.runtime;
      runtime.block_tokens = block_tokens;
      CHECK(SameBits(AllLogits(fixture.model, fixture.tokens, runtime), fixture.expected));
    }
  });
}

SKALD_LAW("prefill in chunks equals prefill at once, and token by token", small) {
  ForSomeTypes(small, [&](const Fixture& fixture) {
    for (const size_t chunk : {1u, 3u, 7u, 64u}) {
      KVCache cache = NewCache(small, fixture.runtime);
      Workspace workspace = *CreateWorkspace({.threads = 1});
      CHECK(SameBits(AllLogits(fixture.model, cache, fixture.tokens, chunk, workspace), fixture.expected));
    }
    for (const uint32_t pass : {1u, 33u}) {
      CHECK(
          SameBits(AllLogits(fixture.model, fixture.tokens, fixture.runtime, {.pass_tokens = pass}), fixture.expected));
    }
  });
}

SKALD_LAW("a sequence in a batch with seven others equals the sequence alone", small) {
  ForSomeTypes(small, [&](const Fixture& fixture) {
    auto pool = NewPool(small, fixture.runtime);
    Workspace workspace = *CreateWorkspace({.threads = 1});
    std::vector<KVCache> caches;
    std::vector<std::vector<int32_t>> prompts;
    for (uint64_t i = 0; i < 8; ++i) {
      caches.push_back(*CreateKVCache(pool));
      prompts.push_back(RandomTokens(small, 20 + i, 5 + 23 * i));
    }
    // The others are at different positions before the one in question joins: its prefill runs beside decoding.
    Batch others;
    for (size_t i = 0; i < 8; ++i) {
      if (i != 3) others.Add(caches[i], prompts[i], Want::kNothing);
    }
    REQUIRE(fixture.model.Forward(others, workspace, {.pass_tokens = 50}));

    Batch mixed;
    const std::vector<Want> wants(fixture.tokens.size(), Want::kLogits);
    const int32_t next = 1;
    for (size_t i = 0; i < 8; ++i) {
      if (i == 3) {
        mixed.Add(caches[3], fixture.tokens, wants);
      } else {
        mixed.Add(caches[i], {&next, 1});
      }
    }
    const auto outputs = fixture.model.Forward(mixed, workspace, {.pass_tokens = 50});
    REQUIRE(outputs);
    REQUIRE(outputs->size() == fixture.tokens.size() + 7);
    std::vector<float> logits;
    for (size_t i = 3; i < 3 + fixture.tokens.size(); ++i) {
      logits.insert(logits.end(), (*outputs)[i].begin(), (*outputs)[i].end());
    }
    CHECK(SameBits(logits, fixture.expected));
  });
}

SKALD_LAW("forking, rewinding and going on equals never having been anywhere else", small) {
  ForSomeTypes(small, [&](const Fixture& fixture) {
    RuntimeConfig runtime = fixture.runtime;
    runtime.resume_point_every = 50;  // else the window's blocks allow a few tokens of rewinding only
    Workspace workspace = *CreateWorkspace({.threads = 1});
    KVCache cache = NewCache(small, runtime);
    const std::span<const int32_t> tokens(fixture.tokens);
    AllLogits(fixture.model, cache, tokens.first(100), 100, workspace);
    KVCache fork = *cache.Fork();
    const std::vector<int32_t> elsewhere = RandomTokens(small, 99, 10);
    AllLogits(fixture.model, cache, elsewhere, 3, workspace);
    REQUIRE(cache.Truncate(100));
    const std::vector<float> rewound = AllLogits(fixture.model, cache, tokens.subspan(100), 9, workspace);
    const std::vector<float> forked = AllLogits(fixture.model, fork, tokens.subspan(100), 100, workspace);
    const std::vector<float> expected(fixture.expected.begin() + 100 * small.spec.vocab_size, fixture.expected.end());
    CHECK(SameBits(rewound, expected));
    CHECK(SameBits(forked, expected));
  });
}

SKALD_LAW("every compiled target with FMA gives the same bits", small) {
  if (!TargetHasFma()) return;
  ForEachType(small, [&](const Fixture& fixture) {
    for (const int64_t target : FmaTargets()) {
      if (target == TargetInUse()) continue;  // what is expected is its own
      const ScopedTarget scoped(target);
      CAPTURE(hwy::TargetName(target));
      CHECK(SameBits(AllLogits(fixture.model, fixture.tokens, fixture.runtime), fixture.expected));
    }
  });
}

SKALD_LAW("every machine gives the saved bits", small) {
  ForEachType(small, [&](const Fixture& fixture) {
    const std::string_view weights = NameOf(fixture.weight_type), kv = NameOf(fixture.runtime.kv_type);
    CHECK(SavedDifference({small.name, weights, kv}, fixture.expected) == "");
  });
}

TEST_CASE("bf16 and f32 agree as far as their precision goes") {
  const SmallModel& small = SmallModelNamed("all-features");
  const Fixture& rounded = FixtureOf(small, DType::kBF16, DType::kBF16);
  const Fixture& exact = FixtureOf(small, DType::kF32, DType::kF32);
  double square = 0.0, error = 0.0;
  for (size_t i = 0; i < exact.expected.size(); ++i) {
    square += double{exact.expected[i]} * exact.expected[i];
    error += double{exact.expected[i] - rounded.expected[i]} * (exact.expected[i] - rounded.expected[i]);
  }
  // Each of a few dozen roundings per layer has a relative error of up to 2^-9.
  CHECK(std::sqrt(error / square) < std::sqrt(4 * 24.0) / 512);
}

}  // namespace one_answer_test
}  // namespace skald::testing
