// SPDX-License-Identifier: Apache-2.0
//
// How the caller has set its floating-point unit changes no answer, and stays as it was.

#include <cfenv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "hwy/detect_compiler_arch.h"
#include "skald/families/config_json.h"
#include "skald/families/detail/parse_gguf.h"
#include "skald/families/spec_json.h"
#include "skald/layers/model_weights.h"
#include "skald/sampling/sampler.h"
#include "tests/support/child_process.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace float_modes_test {

constexpr const char* kSpecJson = R"({"model_dim": 64, "vocab_size": 99, "tied_embeddings": true,
    "embedding_scale": "none", "final_norm": {"epsilon": 1.1e-6, "unit_offset": false}, "final_softcap": 30.3,
    "blocks": [{"number": 0, "norm": {"epsilon": 1.3e-6, "unit_offset": false}, "norm_name": "n", "post_norm": null,
    "post_norm_name": "p", "layers": [{"type": "gated feed-forward", "width": 64, "activation": "silu",
    "bias": false}]}]})";

// All that computes: weights, a model, a prompt in two runs with an edit between them if there can be one, a draw.
std::vector<float> ComputeEverything(const SmallModel& small, uint32_t threads) {
  const RandomModel model(small, 3, DType::kF32);
  const RuntimeConfig runtime = {.block_tokens = 32};
  KVCache cache = NewCache(small, runtime);
  Workspace workspace = *CreateWorkspace({.threads = threads});
  const std::vector<int32_t> tokens = RandomTokens(small, 2, 90);
  std::vector<float> all = AllLogits(model, cache, tokens, 90, workspace);
  if (small.layout.moves_tokens()) REQUIRE(cache.Erase(5, 20));
  const auto logits = model.Forward(cache, std::span(tokens).first(10), workspace);
  REQUIRE(logits);
  all.insert(all.end(), logits->begin(), logits->end());
  const SamplerSettings settings = {.temperature = 0.7f, .top_p = 0.9f, .presence_penalty = 0.3f, .num_logprobs = 5};
  const auto token = Sample(*logits, settings, {.recent_tokens = {1, 2, 3}}, cache.size());
  REQUIRE(token);
  all.push_back(static_cast<float>(token->id));
  all.push_back(*token->logprob);
  for (const TokenLogprob& top : token->top_logprobs) all.push_back(top.logprob);
  const auto& embedding = model.weights().embedding;
  all.insert(all.end(), embedding.As<float>(), embedding.As<float>() + 100);
  return all;
}

SKALD_LAW("the caller's rounding mode changes no bit and stays the caller's", small) {
  const std::vector<float> expected = ComputeEverything(small, 1);
  for (const int mode : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    for (const uint32_t threads : {1u, 2u}) {
      REQUIRE(std::fesetround(mode) == 0);
      const std::vector<float> values = ComputeEverything(small, threads);
      const int mode_afterwards = std::fegetround();
      REQUIRE(std::fesetround(FE_TONEAREST) == 0);
      CAPTURE(mode);
      CAPTURE(threads);
      CHECK(mode_afterwards == mode);
      REQUIRE(values.size() == expected.size());
      CHECK(std::memcmp(values.data(), expected.data(), expected.size() * sizeof(float)) == 0);
    }
  }
}

// A model, read from each kind of description. Decimals of a text are rounded, and some facts are computed.
std::vector<ModelSpec> ReadEverything() {
  const std::string config_json = R"({"model_type": "recurrent_gemma", "hidden_size": 96, "intermediate_size": 64,
      "vocab_size": 99, "num_hidden_layers": 3, "num_attention_heads": 3, "rms_norm_eps": 1.1e-06,
      "rope_theta": 12345.6, "partial_rotary_factor": 0.56250001, "logits_soft_cap": 30.3})";
  const nlohmann::json metadata = {{"general.architecture", "gemma2"},
                                   {"gemma2.block_count", 2},
                                   {"gemma2.embedding_length", 64},
                                   {"gemma2.feed_forward_length", 64},
                                   {"gemma2.attention.head_count", 4},
                                   {"gemma2.attention.scale", 0.3f},
                                   {"gemma2.attention.layer_norm_rms_epsilon", 1e-6f}};
  std::vector<ModelSpec> read;
  const auto from_config = ParseConfigJson(config_json);
  REQUIRE_MESSAGE(from_config.has_value(), from_config.error().message);
  read.push_back(from_config->spec);
  const auto from_gguf = ParseConfigGguf(metadata, {.vocab_size = 99});
  REQUIRE_MESSAGE(from_gguf.has_value(), from_gguf.error().message);
  read.push_back(from_gguf->front().spec);
  const auto from_spec = SpecFromJson(kSpecJson);
  REQUIRE_MESSAGE(from_spec.has_value(), from_spec.error().message);
  read.push_back(*from_spec);
  return read;
}

TEST_CASE("the caller's rounding mode changes nothing of what a model is read as") {
  const std::vector<ModelSpec> expected = ReadEverything();
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    REQUIRE(std::fesetround(mode) == 0);
    const std::vector<ModelSpec> read = ReadEverything();
    const int mode_afterwards = std::fegetround();
    REQUIRE(std::fesetround(FE_TONEAREST) == 0);
    CHECK(mode_afterwards == mode);
    CHECK(read == expected);
  }
}

#if defined(__GLIBC__) && HWY_ARCH_X86
SKALD_LAW("floating-point exceptions that the caller traps do not end the process", small) {
  const std::vector<float> expected = ComputeEverything(small, 1);
  ChildProcess child([&] {
    // Inexact results are everywhere, in the test too: only those that a result should not have.
    ::feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW);
    const bool is_same = ComputeEverything(small, 1) == expected;
    return is_same && ::fegetexcept() == (FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW);
  });
  CHECK(child.Wait());
  ChildProcess strict([&] {
    const RandomModel model(small, 3, DType::kF32);
    KVCache cache = NewCache(small);
    Workspace workspace = *CreateWorkspace({.threads = 1});
    const std::vector<int32_t> tokens = RandomTokens(small, 2, 90);
    ::feenableexcept(FE_ALL_EXCEPT);
    const auto logits = model.Forward(cache, tokens, workspace);
    return logits && Sample(*logits, {}, {}, 0).has_value();
  });
  CHECK(strict.Wait());
}
#endif

}  // namespace float_modes_test
}  // namespace skald::testing
