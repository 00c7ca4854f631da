// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/sampling/penalties.h.

#ifndef SKALD_SAMPLING_DETAIL_PENALTIES_H_
#define SKALD_SAMPLING_DETAIL_PENALTIES_H_

#include "skald/sampling/penalties.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/threads/float_environment.h"
#include "skald/sampling/candidates.h"

namespace skald {

SKALD_INLINE Result<void> ObserveTokens(const SamplerSettings& settings, std::span<const int32_t> tokens,
                                        SamplerState& state) {
  return NoThrow("ObserveTokens", [&]() -> Result<void> {
    std::vector<int32_t>& recent = state.recent_tokens;
    recent.insert(recent.end(), tokens.begin(), tokens.end());
    if (recent.size() > settings.penalty_window) {
      recent.erase(recent.begin(), recent.end() - static_cast<std::ptrdiff_t>(settings.penalty_window));
    }
    return {};
  });
}

SKALD_INLINE Result<void> ObserveToken(const SamplerSettings& settings, int32_t token, SamplerState& state) {
  return ObserveTokens(settings, std::span<const int32_t>(&token, 1), state);
}

SKALD_INLINE float RoundLogit(double logit) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  if (logit < -kLargest) return -INFINITY;
  return static_cast<float>(std::min(logit, kLargest));
}

SKALD_INLINE void ApplyLogitBias(const SamplerSettings& settings, std::span<float> logits) {
  const FloatEnvironment plain(Denormals::kKept);
  for (const LogitBias& entry : settings.logit_bias) {
    float& logit = logits[static_cast<size_t>(entry.token)];
    logit = RoundLogit(static_cast<double>(logit) + entry.bias);
  }
}

SKALD_INLINE bool HasPenalties(const SamplerSettings& settings) {
  return settings.repetition_penalty != 1.0f || settings.presence_penalty != 0.0f || settings.frequency_penalty != 0.0f;
}

SKALD_INLINE float PenaliseLogit(const SamplerSettings& settings, float logit, size_t count) {
  double value = logit;
  value = value > 0.0 ? value / settings.repetition_penalty : value * settings.repetition_penalty;
  value -= static_cast<double>(settings.frequency_penalty) * static_cast<double>(count);
  value -= settings.presence_penalty;
  return RoundLogit(value);
}

SKALD_INLINE Result<void> ApplyPenalties(const SamplerSettings& settings, const SamplerState& state,
                                         std::vector<int32_t>& sorted_tokens, std::span<float> logits) {
  if (!HasPenalties(settings)) return {};
  const std::span<const int32_t> recent = state.recent_tokens;
  const std::span<const int32_t> window = recent.last(std::min(recent.size(), settings.penalty_window));
  for (const int32_t token : window) {
    if (token >= 0 && static_cast<size_t>(token) < logits.size()) continue;
    return Fail(ErrorCode::kInvalidArgument, "sampler state holds token " + std::to_string(token) + ", but there are " +
                                                 std::to_string(logits.size()) + " logits");
  }
  SKALD_TRY(NoThrow("ApplyPenalties", [&]() -> Result<void> {
    sorted_tokens.assign(window.begin(), window.end());
    return {};
  }));
  const FloatEnvironment plain(Denormals::kKept);
  std::sort(sorted_tokens.begin(), sorted_tokens.end());
  for (auto run = sorted_tokens.begin(); run != sorted_tokens.end();) {
    const auto run_end = std::upper_bound(run, sorted_tokens.end(), *run);
    float& logit = logits[static_cast<size_t>(*run)];
    logit = PenaliseLogit(settings, logit, static_cast<size_t>(run_end - run));
    run = run_end;
  }
  return {};
}

}  // namespace skald

#endif  // SKALD_SAMPLING_DETAIL_PENALTIES_H_
