// SPDX-License-Identifier: Apache-2.0
//
// One answer: the same weights and tokens give the same bits however the work is divided, on any machine. These tests
// also run once on each SIMD target.

#include <cmath>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "hwy/targets.h"
#include "tests/support/golden_configs.h"
#include "tests/support/quantised_types.h"
#include "tests/support/saved_hashes.h"
#include "tests/support/small_models.h"
#include "tests/support/targets.h"

namespace skald::testing {
namespace {

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// 200 tokens: several blocks of any size, two attention spans, windows left behind.
template <class C>
struct Fixture {
  explicit Fixture(DType weights, DType kv) : model(RandomWeights<C>(7, weights)), tokens(RandomTokens<C>(3, 200)) {
    runtime.kv_type = kv;
    expected = AllLogits(model, tokens, runtime);
  }

  Model<C> model;
  std::vector<int32_t> tokens;
  RuntimeConfig runtime;
  std::vector<float> expected;
};

template <class C, class Function>
void ForEachType(Function function) {
  for (const DType weights : {DType::kBF16, DType::kF32}) {
    for (const DType kv : {DType::kBF16, DType::kF32}) {
      CAPTURE(NameOf(weights));
      CAPTURE(NameOf(kv));
      function(Fixture<C>(weights, kv));
    }
  }
  for (const DType weights : kQuantisedTypes) {
    CAPTURE(NameOf(weights));
    function(Fixture<C>(weights, DType::kBF16));
  }
}

TEST_CASE_TEMPLATE("the number of threads changes no bit", C, SKALD_SMALL_MODELS) {
  ForEachType<C>([](const auto& fixture) {
    for (const uint32_t threads : {2u, 3u}) {
      CHECK(SameBits(AllLogits(fixture.model, fixture.tokens, fixture.runtime, {}, threads), fixture.expected));
    }
  });
}

TEST_CASE_TEMPLATE("the block size changes no bit", C, SKALD_SMALL_MODELS) {
  ForEachType<C>([](const auto& fixture) {
    for (const uint32_t block_tokens : {32u, 96u, 256u}) {
      RuntimeConfig runtime = fixture.runtime;
      runtime.block_tokens = block_tokens;
      CHECK(SameBits(AllLogits(fixture.model, fixture.tokens, runtime), fixture.expected));
    }
  });
}

TEST_CASE_TEMPLATE("prefill in chunks equals prefill at once, and token by token", C, SKALD_SMALL_MODELS) {
  ForEachType<C>([](const auto& fixture) {
    for (const size_t chunk : {1u, 3u, 7u, 64u}) {
      KVCache cache = *CreateKVCache<C>(fixture.runtime);
      Workspace workspace = *CreateWorkspace({.threads = 1});
      CHECK(SameBits(AllLogits(fixture.model, cache, fixture.tokens, chunk, workspace), fixture.expected));
    }
    for (const uint32_t pass : {1u, 33u}) {
      CHECK(
          SameBits(AllLogits(fixture.model, fixture.tokens, fixture.runtime, {.pass_tokens = pass}), fixture.expected));
    }
  });
}

TEST_CASE_TEMPLATE("a sequence in a batch with seven others equals the sequence alone", C, SKALD_SMALL_MODELS) {
  ForEachType<C>([](const auto& fixture) {
    auto pool = *CreateBlockPool<C>(fixture.runtime);
    Workspace workspace = *CreateWorkspace({.threads = 1});
    std::vector<KVCache> caches;
    std::vector<std::vector<int32_t>> prompts;
    for (uint64_t i = 0; i < 8; ++i) {
      caches.push_back(*CreateKVCache(pool));
      prompts.push_back(RandomTokens<C>(20 + i, 5 + 23 * i));
    }
    // The others stand at different positions before the one in question joins: its prefill runs beside decoding.
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

TEST_CASE_TEMPLATE("forking, rewinding and going on equals never having been anywhere else", C, SKALD_SMALL_MODELS) {
  ForEachType<C>([](const auto& fixture) {
    RuntimeConfig runtime = fixture.runtime;
    runtime.checkpoint_every = 50;  // else the window's blocks allow a few tokens of rewinding only
    Workspace workspace = *CreateWorkspace({.threads = 1});
    KVCache cache = *CreateKVCache<C>(runtime);
    const std::span<const int32_t> tokens(fixture.tokens);
    AllLogits(fixture.model, cache, tokens.first(100), 100, workspace);
    KVCache fork = *cache.Fork();
    const std::vector<int32_t> elsewhere = RandomTokens<C>(99, 10);
    AllLogits(fixture.model, cache, elsewhere, 3, workspace);
    REQUIRE(cache.Truncate(100));
    const std::vector<float> rewound = AllLogits(fixture.model, cache, tokens.subspan(100), 9, workspace);
    const std::vector<float> forked = AllLogits(fixture.model, fork, tokens.subspan(100), 100, workspace);
    const std::vector<float> expected(fixture.expected.begin() + 100 * C::kVocabSize, fixture.expected.end());
    CHECK(SameBits(rewound, expected));
    CHECK(SameBits(forked, expected));
  });
}

TEST_CASE_TEMPLATE("every compiled target with FMA gives the same bits", C, SKALD_SMALL_MODELS) {
  if (!TargetHasFma()) return;
  ForEachType<C>([](const auto& fixture) {
    for (const int64_t target : FmaTargets()) {
      const ScopedTarget scoped(target);
      CAPTURE(hwy::TargetName(target));
      CHECK(SameBits(AllLogits(fixture.model, fixture.tokens, fixture.runtime), fixture.expected));
    }
  });
}

TEST_CASE_TEMPLATE("every machine gives the saved bits", C, SKALD_SMALL_MODELS) {
  ForEachType<C>([](const auto& fixture) {
    const std::string_view weights = NameOf(fixture.model.weights().dtype), kv = NameOf(fixture.runtime.kv_type);
    CHECK(SavedDifference({C::kName, weights, kv}, fixture.expected) == "");
  });
}

TEST_CASE("bf16 and f32 agree as far as their precision goes") {
  const Fixture<AllFeatures> rounded(DType::kBF16, DType::kBF16), exact(DType::kF32, DType::kF32);
  double square = 0.0, error = 0.0;
  for (size_t i = 0; i < exact.expected.size(); ++i) {
    square += double{exact.expected[i]} * exact.expected[i];
    error += double{exact.expected[i] - rounded.expected[i]} * (exact.expected[i] - rounded.expected[i]);
  }
  // Each of a few dozen roundings per layer has a relative error of up to 2^-9.
  CHECK(std::sqrt(error / square) < std::sqrt(4 * 24.0) / 512);
}

}  // namespace
}  // namespace skald::testing
