// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/sampling/settings.h.

#ifndef SKALD_SAMPLING_DETAIL_SETTINGS_H_
#define SKALD_SAMPLING_DETAIL_SETTINGS_H_

#include "skald/sampling/settings.h"

#include <cmath>
#include <string>

#include "skald/base/inline.h"
#include "skald/sampling/candidates.h"

namespace skald {

SKALD_INLINE Result<void> ValidateSettings(const SamplerSettings& settings, size_t vocab_size) {
  // Every comparison with NaN is false, so these tests refuse it too.
  const auto finite_above = [](float value, float bound) { return value > bound && value < INFINITY; };
  const struct {
    const char* name;
    float value;
    bool valid;
    const char* expected;
  } checks[] = {
      {"temperature", settings.temperature, settings.temperature >= 0.0f && settings.temperature < INFINITY,
       "0 (greedy) or a finite number above it"},
      {"top_p", settings.top_p, settings.top_p > 0.0f && settings.top_p <= 1.0f, "more than 0 and at most 1"},
      {"min_p", settings.min_p, settings.min_p >= 0.0f && settings.min_p <= 1.0f, "0 to 1"},
      {"repetition_penalty", settings.repetition_penalty, finite_above(settings.repetition_penalty, 0.0f),
       "a finite number above 0 (1 for none)"},
      {"presence_penalty", settings.presence_penalty, finite_above(settings.presence_penalty, -INFINITY),
       "a finite number"},
      {"frequency_penalty", settings.frequency_penalty, finite_above(settings.frequency_penalty, -INFINITY),
       "a finite number"},
  };
  for (const auto& check : checks) {
    if (check.valid) continue;
    return Fail(ErrorCode::kInvalidArgument, std::string("sampler setting ") + check.name + " is " +
                                                 std::to_string(check.value) + ", expected " + check.expected);
  }
  for (const LogitBias& entry : settings.logit_bias) {
    if (entry.token < 0 || static_cast<size_t>(entry.token) >= vocab_size) {
      return Fail(ErrorCode::kInvalidArgument, "logit bias for token " + std::to_string(entry.token) +
                                                   ", but there are " + std::to_string(vocab_size) + " logits");
    }
    if (!(entry.bias < INFINITY)) {
      return Fail(ErrorCode::kInvalidArgument, "logit bias of token " + std::to_string(entry.token) + " is " +
                                                   std::to_string(entry.bias) +
                                                   ", expected a finite number or minus infinity");
    }
  }
  return {};
}

}  // namespace skald

#endif  // SKALD_SAMPLING_DETAIL_SETTINGS_H_
