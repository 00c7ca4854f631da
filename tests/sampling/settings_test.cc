// SPDX-License-Identifier: Apache-2.0

#include "skald/sampling/settings.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "doctest/doctest.h"

namespace skald {
namespace settings_test {

constexpr size_t kVocabSize = 10;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::string ErrorOf(const SamplerSettings& settings) {
  const Result<void> result = ValidateSettings(settings, kVocabSize);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == ErrorCode::kInvalidArgument);
  return result.error().message;
}

TEST_CASE("default settings are valid") { CHECK(ValidateSettings({}, kVocabSize).has_value()); }

TEST_CASE("values at the ends of their ranges are valid") {
  SamplerSettings settings;
  settings.temperature = 0.0f;
  settings.top_k = std::numeric_limits<size_t>::max();
  settings.top_p = std::numeric_limits<float>::denorm_min();
  settings.min_p = 1.0f;
  settings.presence_penalty = -2.0f;
  settings.frequency_penalty = -2.0f;
  settings.repetition_penalty = 0.5f;
  settings.logit_bias = {{0, -INFINITY}, {9, 100.0f}, {9, -3.0f}};
  CHECK(ValidateSettings(settings, kVocabSize).has_value());
}

TEST_CASE("every setting out of its range is refused by name") {
  const struct {
    float SamplerSettings::*setting;
    const char* name;
    std::vector<float> bad;
  } cases[] = {
      {&SamplerSettings::temperature, "temperature", {-0.1f, INFINITY, kNaN}},
      {&SamplerSettings::top_p, "top_p", {0.0f, -1.0f, 1.01f, INFINITY, kNaN}},
      {&SamplerSettings::min_p, "min_p", {-0.1f, 1.01f, kNaN}},
      {&SamplerSettings::repetition_penalty, "repetition_penalty", {0.0f, -1.0f, INFINITY, kNaN}},
      {&SamplerSettings::presence_penalty, "presence_penalty", {INFINITY, -INFINITY, kNaN}},
      {&SamplerSettings::frequency_penalty, "frequency_penalty", {INFINITY, -INFINITY, kNaN}},
  };
  for (const auto& c : cases) {
    for (const float value : c.bad) {
      SamplerSettings settings;
      settings.*c.setting = value;
      const std::string message = ErrorOf(settings);
      CHECK_MESSAGE(message.find(std::string("sampler setting ") + c.name + " is ") == 0, message);
      CHECK_MESSAGE(message.find("expected") != std::string::npos, message);
    }
  }
}

TEST_CASE("a logit bias for a token outside of the vocabulary is refused with both numbers") {
  for (const int32_t token : {-1, 10, std::numeric_limits<int32_t>::min()}) {
    SamplerSettings settings;
    settings.logit_bias = {{0, 1.0f}, {token, 1.0f}};
    const std::string message = ErrorOf(settings);
    CHECK_MESSAGE(message.find("token " + std::to_string(token)) != std::string::npos, message);
    CHECK_MESSAGE(message.find("10 logits") != std::string::npos, message);
  }
}

TEST_CASE("a logit bias that is NaN or plus infinity is refused") {
  for (const float bias : {kNaN, INFINITY}) {
    SamplerSettings settings;
    settings.logit_bias = {{3, bias}};
    CHECK(ErrorOf(settings).find("token 3") != std::string::npos);
  }
}

}  // namespace settings_test
}  // namespace skald
