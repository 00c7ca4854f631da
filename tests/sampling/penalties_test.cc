// SPDX-License-Identifier: Apache-2.0

#include "skald/sampling/penalties.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "tests/sampling/reference_sampler.h"

namespace skald {
namespace penalties_test {

std::vector<float> Penalised(std::vector<float> logits, const SamplerSettings& settings, const SamplerState& state) {
  std::vector<int32_t> sorted_tokens;
  REQUIRE(ApplyPenalties(settings, state, sorted_tokens, logits).has_value());
  return logits;
}

TEST_CASE("the state keeps the latest tokens of the window, oldest first") {
  SamplerSettings settings;
  settings.penalty_window = 3;
  SamplerState state;
  for (const int32_t token : {5, 6, 7, 8}) ObserveToken(settings, token, state);
  CHECK(state.recent_tokens == std::vector<int32_t>{6, 7, 8});
  ObserveTokens(settings, std::vector<int32_t>{1, 2}, state);
  CHECK(state.recent_tokens == std::vector<int32_t>{8, 1, 2});
  ObserveTokens(settings, std::vector<int32_t>{1, 2, 3, 4, 5}, state);
  CHECK(state.recent_tokens == std::vector<int32_t>{3, 4, 5});
  settings.penalty_window = 0;
  ObserveToken(settings, 9, state);
  CHECK(state.recent_tokens.empty());
}

TEST_CASE("observing tokens together or one by one leaves the same state") {
  SamplerSettings settings;
  settings.penalty_window = 8;
  std::vector<int32_t> tokens;
  for (int32_t token = 0; token < 30; ++token) {
    tokens.push_back(token);
    SamplerState together, one_by_one;
    ObserveTokens(settings, tokens, together);
    for (const int32_t each : tokens) ObserveToken(settings, each, one_by_one);
    CHECK(together.recent_tokens == one_by_one.recent_tokens);
  }
}

TEST_CASE("the repetition penalty divides positive logits and multiplies negative ones, once per token") {
  SamplerSettings settings;
  settings.repetition_penalty = 2.0f;
  const SamplerState state{.recent_tokens = {0, 1, 0, 2}};
  CHECK(Penalised({3.0f, -3.0f, 0.0f, 3.0f}, settings, state) == std::vector<float>{1.5f, -6.0f, 0.0f, 3.0f});
}

TEST_CASE("the presence penalty is subtracted once, the frequency penalty once per occurrence") {
  SamplerSettings settings;
  const SamplerState state{.recent_tokens = {0, 1, 0, 0}};
  settings.presence_penalty = 0.5f;
  CHECK(Penalised({1.0f, 1.0f, 1.0f}, settings, state) == std::vector<float>{0.5f, 0.5f, 1.0f});
  settings.presence_penalty = 0.0f;
  settings.frequency_penalty = 0.25f;
  CHECK(Penalised({1.0f, 1.0f, 1.0f}, settings, state) == std::vector<float>{0.25f, 0.75f, 1.0f});
}

TEST_CASE("only tokens inside the window are penalised, even if the state holds more") {
  SamplerSettings settings;
  settings.presence_penalty = 1.0f;
  settings.penalty_window = 2;
  const SamplerState state{.recent_tokens = {0, 1, 2}};
  CHECK(Penalised({0.0f, 0.0f, 0.0f}, settings, state) == std::vector<float>{0.0f, -1.0f, -1.0f});
  settings.penalty_window = 0;
  CHECK(Penalised({0.0f, 0.0f, 0.0f}, settings, state) == std::vector<float>{0.0f, 0.0f, 0.0f});
}

TEST_CASE("random biases and penalties agree with the reference") {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<float> logits = RandomLogits(40, seed);
    const auto draw = [seed](uint64_t i) { return UniformAt({seed, 7}, i); };
    SamplerSettings settings;
    settings.repetition_penalty = static_cast<float>(0.5 + draw(0));
    settings.presence_penalty = static_cast<float>(2 * draw(1) - 1);
    settings.frequency_penalty = static_cast<float>(2 * draw(2) - 1);
    settings.logit_bias = {{static_cast<int32_t>(40 * draw(3)), static_cast<float>(draw(4))}};
    SamplerState state;
    for (uint64_t i = 10; i < 60; ++i) {
      ObserveToken(settings, static_cast<int32_t>(40 * draw(i)), state);
    }

    const std::vector<double> expected = ReferenceLogits(logits, settings, state.recent_tokens);
    std::vector<float> biased = logits;
    ApplyLogitBias(settings, biased);
    const std::vector<float> actual = Penalised(biased, settings, state);
    for (size_t i = 0; i < logits.size(); ++i) {
      // Two roundings to float: of the biased logit, which the repetition penalty scales by up to
      // 2, and of the result. Each is at most half a unit in the last place.
      const double half_ulp = 0x1.0p-24;
      const double scale = 2.0 * std::abs(biased[i]) + std::abs(expected[i]);
      CHECK(std::abs(actual[i] - expected[i]) <= half_ulp * scale);
    }
  }
}

TEST_CASE("changed logits that overflow stay finite upwards and become impossible downwards") {
  constexpr float kLargest = std::numeric_limits<float>::max();
  SamplerSettings settings;
  settings.logit_bias = {{0, kLargest}, {1, -kLargest}};
  std::vector<float> logits = {kLargest, -kLargest};
  ApplyLogitBias(settings, logits);
  CHECK(logits == std::vector<float>{kLargest, -INFINITY});
  settings.repetition_penalty = std::numeric_limits<float>::denorm_min();
  CHECK(Penalised({1.0f}, settings, {.recent_tokens = {0}}) == std::vector<float>{kLargest});
}

TEST_CASE("a banned token stays banned whatever the penalties are") {
  SamplerSettings settings;
  settings.repetition_penalty = 0.1f;
  settings.presence_penalty = -100.0f;
  settings.frequency_penalty = -100.0f;
  CHECK(Penalised({-INFINITY}, settings, {.recent_tokens = {0, 0}}) == std::vector<float>{-INFINITY});
}

TEST_CASE("a state with tokens of another vocabulary is refused and changes nothing") {
  SamplerSettings settings;
  settings.presence_penalty = 1.0f;
  for (const int32_t token : {-1, 3, std::numeric_limits<int32_t>::max()}) {
    std::vector<float> logits = {1.0f, 2.0f, 3.0f};
    std::vector<int32_t> sorted_tokens;
    const Result<void> result = ApplyPenalties(settings, {.recent_tokens = {0, token}}, sorted_tokens, logits);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().message.find("token " + std::to_string(token)) != std::string::npos);
    CHECK(logits == std::vector<float>{1.0f, 2.0f, 3.0f});
  }
}

}  // namespace penalties_test
}  // namespace skald
