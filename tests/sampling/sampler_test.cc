// SPDX-License-Identifier: Apache-2.0

#include "skald/sampling/sampler.h"
#include "skald/base/threads/float_environment.h"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "tests/sampling/chi_square.h"
#include "tests/sampling/reference_sampler.h"

namespace skald {
namespace sampler_test {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

int32_t MustSample(const std::vector<float>& logits, const SamplerSettings& settings, uint64_t position = 0,
                   const SamplerState& state = {}) {
  const Result<SampledToken> sampled = Sample(logits, settings, state, position);
  REQUIRE(sampled.has_value());
  return sampled->id;
}

// Samples at positions 0, 1, ... and counts how often each token was chosen.
std::vector<uint64_t> CountDraws(const std::vector<float>& logits, const SamplerSettings& settings,
                                 const SamplerState& state = {}) {
  std::vector<uint64_t> counts(logits.size(), 0);
  SamplerScratch scratch;
  for (uint64_t position = 0; position < 40000; ++position) {
    const Result<SampledToken> sampled = Sample(logits, settings, state, position, scratch);
    REQUIRE(sampled.has_value());
    ++counts[static_cast<size_t>(sampled->id)];
  }
  return counts;
}

std::string ErrorOf(const std::vector<float>& logits, const SamplerSettings& settings = {},
                    const SamplerState& state = {}) {
  const Result<SampledToken> sampled = Sample(logits, settings, state, 0);
  REQUIRE_FALSE(sampled.has_value());
  CHECK(sampled.error().code == ErrorCode::kInvalidArgument);
  return sampled.error().message;
}

bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::vector<float> kLogits = {1.0f, 3.0f, 2.5f, -1.0f, 0.0f, 2.0f, 1.5f, -0.5f};

TEST_CASE("draws follow the reference distribution for every option alone and for all together") {
  std::vector<SamplerSettings> variants(10);
  variants[1].temperature = 0.5f;
  variants[2].temperature = 2.0f;
  variants[3].top_k = 3;
  variants[4].top_p = 0.8f;
  variants[5].min_p = 0.2f;
  variants[6].repetition_penalty = 1.5f;
  variants[7].presence_penalty = 1.0f;
  variants[7].frequency_penalty = 0.25f;
  variants[8].logit_bias = {{3, 4.0f}, {1, -INFINITY}, {3, -0.5f}};
  variants[9] = {.temperature = 1.3f,
                 .top_k = 6,
                 .top_p = 0.95f,
                 .min_p = 0.1f,
                 .repetition_penalty = 1.2f,
                 .presence_penalty = 0.1f,
                 .frequency_penalty = -0.2f,
                 .logit_bias = {{0, 1.0f}}};
  const SamplerState state{.recent_tokens = {1, 3, 1, 5}};
  for (size_t i = 0; i < variants.size(); ++i) {
    CAPTURE(i);
    variants[i].random = {.seed = 1234, .stream = i};
    CHECK(FitsDistribution(CountDraws(kLogits, variants[i], state),
                           ReferenceDistribution(kLogits, variants[i], state.recent_tokens)));
  }
}

TEST_CASE("default settings leave the softmax unchanged") {
  std::vector<double> softmax;
  for (const float logit : kLogits) softmax.push_back(std::exp(static_cast<double>(logit)));
  Normalise(softmax);
  CHECK(FitsDistribution(CountDraws(kLogits, {}), softmax));
}

TEST_CASE("parallel streams on the same position draw from the same distribution") {
  std::vector<uint64_t> counts(kLogits.size(), 0);
  SamplerSettings settings;
  for (settings.random.stream = 0; settings.random.stream < 40000; ++settings.random.stream) {
    ++counts[static_cast<size_t>(MustSample(kLogits, settings, 17))];
  }
  CHECK(FitsDistribution(counts, ReferenceDistribution(kLogits, settings)));
}

TEST_CASE(
    "every draw is the token in whose share of the reference distribution the random number "
    "falls") {
  // Without truncation the shares are in the order of the ids.
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SamplerSettings settings;
    settings.random.seed = seed;
    settings.temperature = 0.7f;
    const std::vector<float> logits = RandomLogits(50, seed);
    const std::vector<double> expected = ReferenceDistribution(logits, settings);
    const double uniform = UniformAt(settings.random, 3);
    double end = 0.0;
    size_t token = 0;
    while ((end += expected[token]) <= uniform) ++token;
    CHECK(MustSample(logits, settings, 3) == static_cast<int32_t>(token));
  }
}

TEST_CASE("greedy takes the highest logit and the lowest id among equals") {
  const SamplerSettings greedy{.temperature = 0.0f};
  CHECK(MustSample(kLogits, greedy) == 1);
  CHECK(MustSample({1.0f, 2.0f, 2.0f, 2.0f}, greedy) == 1);
  CHECK(MustSample({0.0f, -0.0f}, greedy) == 0);
  CHECK(MustSample({-INFINITY, -5.0f}, greedy) == 1);
  CHECK(MustSample({7.0f}, greedy) == 0);
}

TEST_CASE("greedy does not depend on seed, position, top-k, top-p or min-p") {
  SamplerSettings settings{.temperature = 0.0f, .top_k = 2, .top_p = 0.1f, .min_p = 0.9f};
  for (settings.random.seed = 0; settings.random.seed < 20; ++settings.random.seed) {
    CHECK(MustSample(kLogits, settings, 5 * settings.random.seed) == 1);
  }
}

TEST_CASE("a top-k of 1, a tiny top-p and a min-p of 1 each equal greedy") {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::vector<float> logits = RandomLogits(200, seed);
    const int32_t greedy = MustSample(logits, {.temperature = 0.0f});
    SamplerSettings settings;
    settings.random.seed = seed;
    settings.top_k = 1;
    CHECK(MustSample(logits, settings) == greedy);
    settings.top_k = 0;
    settings.top_p = 1e-6f;
    CHECK(MustSample(logits, settings) == greedy);
    settings.top_p = 1.0f;
    settings.min_p = 1.0f;
    CHECK(MustSample(logits, settings) == greedy);
  }
}

TEST_CASE("a temperature near zero approaches greedy and never fails") {
  for (const float temperature : {1e-3f, 1e-20f, std::numeric_limits<float>::denorm_min()}) {
    CHECK(MustSample(kLogits, {.temperature = temperature}) == 1);
  }
}

TEST_CASE("results do not depend on the order of calls or on what scratch memory was used for") {
  SamplerSettings settings{.top_k = 5, .top_p = 0.9f};
  settings.num_logprobs = 2;
  std::vector<int32_t> forwards;
  for (uint64_t position = 0; position < 50; ++position) {
    forwards.push_back(MustSample(RandomLogits(100, position), settings, position));
  }
  SamplerScratch scratch;
  for (uint64_t position = 50; position-- > 0;) {
    // A call of another size, with other settings and penalties, in between.
    SamplerSettings other{.temperature = 2.0f, .repetition_penalty = 2.0f};
    REQUIRE(Sample(kLogits, other, {.recent_tokens = {1, 2}}, position, scratch).has_value());
    const auto sampled = Sample(RandomLogits(100, position), settings, {}, position, scratch);
    REQUIRE(sampled.has_value());
    CHECK(sampled->id == forwards[position]);
  }
}

TEST_CASE("a copied state continues as the original would") {
  const SamplerSettings settings{.temperature = 1.5f, .frequency_penalty = 1.0f};
  const auto continue_from = [&](SamplerState state, uint64_t position) {
    std::vector<int32_t> tokens;
    for (; position < 40; ++position) {
      tokens.push_back(MustSample(kLogits, settings, position, state));
      ObserveToken(settings, tokens.back(), state);
    }
    return tokens;
  };
  SamplerState state;
  for (uint64_t position = 0; position < 20; ++position) {
    ObserveToken(settings, MustSample(kLogits, settings, position, state), state);
  }
  const SamplerState saved = state;
  const std::vector<int32_t> first = continue_from(state, 20);
  CHECK(continue_from(saved, 20) == first);
}

TEST_CASE("a bias of minus infinity bans a token, a large one forces it") {
  SamplerSettings settings;
  settings.logit_bias = {{1, -INFINITY}, {2, -INFINITY}};
  const std::vector<uint64_t> counts = CountDraws(kLogits, settings);
  CHECK(counts[1] == 0);
  CHECK(counts[2] == 0);
  settings.logit_bias = {{4, 1000.0f}};
  CHECK(CountDraws(kLogits, settings)[4] == 40000);
  settings.temperature = 0.0f;
  CHECK(MustSample(kLogits, settings) == 4);
}

TEST_CASE("logits that the model made impossible are never drawn") {
  std::vector<float> logits = kLogits;
  logits[1] = -INFINITY;
  SamplerSettings settings;
  settings.temperature = 100.0f;
  settings.logit_bias = {{1, 1000.0f}};
  CHECK(CountDraws(logits, settings)[1] == 0);
}

TEST_CASE("logprobs are reported on request and describe the model's own distribution") {
  SamplerSettings settings{.temperature = 5.0f, .top_k = 3, .presence_penalty = 1.0f};
  settings.logit_bias = {{3, 10.0f}};
  const SamplerState state{.recent_tokens = {1}};
  Result<SampledToken> sampled = Sample(kLogits, settings, state, 0);
  REQUIRE(sampled.has_value());
  CHECK_FALSE(sampled->logprob.has_value());
  CHECK(sampled->top_logprobs.empty());

  settings.num_logprobs = 0;
  sampled = Sample(kLogits, settings, state, 0);
  REQUIRE(sampled.has_value());
  REQUIRE(sampled->logprob.has_value());
  const std::vector<double> softmax = ReferenceDistribution(kLogits, {});
  const double expected = std::log(softmax[static_cast<size_t>(sampled->id)]);
  // One rounding to float, and a few of 2^-53 that do not show.
  CHECK(std::abs(*sampled->logprob - expected) <= std::abs(expected) * 0x1.1p-24);
  CHECK(sampled->top_logprobs.empty());

  settings.num_logprobs = 2;
  sampled = Sample(kLogits, settings, state, 0);
  REQUIRE(sampled.has_value());
  REQUIRE(sampled->top_logprobs.size() == 2);
  CHECK(sampled->top_logprobs[0].id == 1);
  CHECK(sampled->top_logprobs[1].id == 2);
  for (const TokenLogprob& token : sampled->top_logprobs) {
    const double top = std::log(softmax[static_cast<size_t>(token.id)]);
    CHECK(std::abs(token.logprob - top) <= std::abs(top) * 0x1.1p-24);
  }

  // A token that is there already has the same ones.
  SamplerScratch scratch;
  const Result<SampledToken> scored = Score(kLogits, sampled->id, 2, scratch);
  REQUIRE(scored.has_value());
  CHECK(scored->id == sampled->id);
  CHECK(scored->logprob == sampled->logprob);
  CHECK(scored->top_logprobs[1].logprob == sampled->top_logprobs[1].logprob);
  const std::vector<float> broken = {1.0f, NAN};
  CHECK(Score(broken, 0, 0, scratch).error().message.starts_with("logit 1 of 2 is"));
}

TEST_CASE("a large vocabulary and a recorded run give the recorded tokens on every compiler") {
  SamplerSettings settings{.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.01f};
  settings.repetition_penalty = 1.1f;
  settings.random = {.seed = 2024, .stream = 1};
  SamplerState state;
  std::vector<int32_t> tokens;
  for (uint64_t position = 100; position < 108; ++position) {
    tokens.push_back(MustSample(RandomLogits(32000, position), settings, position, state));
    ObserveToken(settings, tokens.back(), state);
  }
  CHECK(tokens == std::vector<int32_t>{13027, 13243, 10891, 27859, 15944, 36, 9346, 30181});
}

TEST_CASE("logits that are NaN or plus infinity are refused with their place") {
  CHECK(Contains(ErrorOf({1.0f, kNaN, 2.0f}), "logit 1 of 3 is"));
  CHECK(Contains(ErrorOf({1.0f, 2.0f, INFINITY}), "logit 2 of 3 is"));
  CHECK(Contains(ErrorOf({kNaN, kNaN}), "logit 0 of 2 is"));
}

TEST_CASE("no logits, only impossible ones and only banned ones are told apart") {
  CHECK(Contains(ErrorOf({}), "no logits"));
  CHECK(Contains(ErrorOf({-INFINITY, -INFINITY}), "all 2 logits are minus infinity"));
  SamplerSettings settings;
  settings.logit_bias = {{0, -INFINITY}, {1, -INFINITY}};
  const std::string banned = ErrorOf({1.0f, 2.0f}, settings);
  CHECK(Contains(banned, "after logit bias"));
  CHECK(Contains(banned, "all 2 logits are minus infinity"));
}

TEST_CASE("the caller's floating-point unit changes no draw and stays as it was") {
  std::vector<float> logits;
  for (int i = 0; i < 1000; ++i) logits.push_back(std::sin(static_cast<float>(i)) * 4.0f);
  logits.push_back(1e-40f);  // a denormal is a number like any other
  SamplerSettings settings = {
      .temperature = 0.8f, .top_p = 0.95f, .min_p = 0.01f, .frequency_penalty = 0.3f, .num_logprobs = 20};
  settings.logit_bias = {{3, 0.7f}};
  const auto sample_all = [&] {
    std::vector<float> seen;
    for (uint64_t position = 0; position < 50; ++position) {
      const auto token = Sample(logits, settings, {.recent_tokens = {1, 5, 5}}, position);
      seen.push_back(static_cast<float>(token->id));
      for (const TokenLogprob& top : token->top_logprobs) seen.push_back(top.logprob);
    }
    return seen;
  };
  const std::vector<float> expected = sample_all();
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    REQUIRE(std::fesetround(mode) == 0);
    const std::vector<float> seen = sample_all();
    const int mode_afterwards = std::fegetround();
    REQUIRE(std::fesetround(FE_TONEAREST) == 0);
    CHECK(seen == expected);
    CHECK(mode_afterwards == mode);
  }
  const FloatEnvironment flushing;
  CHECK(sample_all() == expected);
  const std::vector<float> tiny = {1e-40f, 2e-40f};
  CHECK(MustSample(tiny, {.temperature = 0.0f}) == 1);
}

TEST_CASE("bad settings and states of another vocabulary are refused") {
  CHECK(Contains(ErrorOf(kLogits, {.temperature = -1.0f}), "temperature"));
  SamplerSettings settings;
  settings.logit_bias = {{8, 1.0f}};
  CHECK(Contains(ErrorOf(kLogits, settings), "token 8"));
  CHECK(Contains(ErrorOf(kLogits, {.presence_penalty = 1.0f}, {.recent_tokens = {8}}), "token 8"));
}

TEST_CASE("Only tokens that are allowed are drawn, and log-probabilities do not know of it") {
  std::vector<float> logits(140);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i % 13);
  const std::vector<uint64_t> allowed = {0b101, uint64_t{1} << 5};  // ids beyond the words are not
  SamplerScratch scratch;
  for (const float temperature : {0.0f, 1.0f, 5.0f}) {
    for (uint64_t position = 0; position < 50; ++position) {
      const auto token =
          Sample(logits, {.temperature = temperature, .num_logprobs = 3}, {}, position, scratch, allowed);
      REQUIRE(token);
      CHECK((token->id == 0 || token->id == 2 || token->id == 69));
      CHECK(*token->logprob == static_cast<float>(logits[static_cast<size_t>(token->id)] - LogSumExp(logits)));
      CHECK(token->top_logprobs.front().id == 12);
    }
  }
  const std::vector<uint64_t> none = {0, 0, 0};
  const auto impossible = Sample(logits, {}, {}, 0, scratch, none);
  REQUIRE_FALSE(impossible);
  CHECK(impossible.error().message.find("tokens that are not allowed") != std::string::npos);
}

}  // namespace sampler_test
}  // namespace skald
