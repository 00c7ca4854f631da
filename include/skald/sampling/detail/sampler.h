// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/sampling/sampler.h.

#ifndef SKALD_SAMPLING_DETAIL_SAMPLER_H_
#define SKALD_SAMPLING_DETAIL_SAMPLER_H_

#include "skald/sampling/sampler.h"

#include <cmath>
#include <string>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/threads/float_environment.h"
#include "skald/sampling/random.h"

namespace skald {

namespace internal {

// Every logit must be finite or minus infinity, and one must be finite.
inline Result<void> CheckLogits(std::span<const float> logits) {
  if (logits.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "there are no logits to sample from");
  }
  bool has_finite = false;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] < INFINITY)) {
      return Fail(ErrorCode::kInvalidArgument, "logit " + std::to_string(i) + " of " + std::to_string(logits.size()) +
                                                   " is " + std::to_string(logits[i]) +
                                                   ", expected a finite number or minus infinity");
    }
    has_finite |= logits[i] > -INFINITY;
  }
  if (has_finite) return {};
  return Fail(ErrorCode::kInvalidArgument,
              "all " + std::to_string(logits.size()) + " logits are minus infinity, so no token is possible");
}

// Sets the logits [vocab_size] of all tokens that are not allowed to minus infinity.
inline void Forbid(std::span<const uint64_t> allowed, std::span<float> logits) {
  for (size_t begin = 0; begin < logits.size(); begin += 64) {
    const uint64_t word = begin / 64 < allowed.size() ? allowed[begin / 64] : 0;
    if (word == ~uint64_t{0}) continue;
    for (size_t i = begin; i < logits.size() && i < begin + 64; ++i) {
      if ((word >> (i - begin) & 1) == 0) logits[i] = -INFINITY;
    }
  }
}

// Returns the id of the highest of `logits` [vocab_size >= 1], the lowest such id if several are
// equal.
inline int32_t HighestLogit(std::span<const float> logits) {
  size_t highest = 0;
  for (size_t i = 1; i < logits.size(); ++i) {
    if (logits[i] > logits[highest]) highest = i;
  }
  return static_cast<int32_t>(highest);
}

SKALD_INLINE int32_t Choose(std::span<const float> logits, const SamplerSettings& settings, uint64_t position,
                            std::vector<Candidate>& candidates) {
  if (settings.temperature == 0.0f) return HighestLogit(logits);
  // Dividing by the temperature keeps the order, so top-k comes first and spares most of the
  // exponentials.
  if (settings.top_k > 0 && settings.top_k < logits.size()) {
    CollectTopK(logits, settings.top_k, candidates);
  } else {
    CollectAll(logits, candidates);
  }
  ComputeWeights(candidates, settings.temperature);
  KeepTopP(candidates, settings.top_p);
  KeepMinP(candidates, settings.min_p);
  return Pick(candidates, UniformAt(settings.random, position));
}

// Fills in the log-probabilities of the token and of the `count` most likely ones. Overwrites `candidates`.
inline void AddLogprobs(std::span<const float> logits, size_t count, std::vector<Candidate>& candidates,
                        SampledToken& token) {
  const double log_sum_exp = LogSumExp(logits);
  token.logprob = static_cast<float>(logits[static_cast<size_t>(token.id)] - log_sum_exp);
  token.top_logprobs = TopLogprobs(logits, log_sum_exp, count, candidates);
}

}  // namespace internal

SKALD_INLINE Result<SampledToken> Sample(std::span<const float> logits, const SamplerSettings& settings,
                                         const SamplerState& state, uint64_t position, SamplerScratch& scratch,
                                         std::optional<std::span<const uint64_t>> allowed) {
  return NoThrow("Sample", [&]() -> Result<SampledToken> {
    const FloatEnvironment plain(Denormals::kKept);
    if (Result<void> valid = ValidateSettings(settings, logits.size()); !valid) {
      return Failure(valid.error());
    }
    if (Result<void> valid = internal::CheckLogits(logits); !valid) return Failure(valid.error());

    std::span<const float> adjusted = logits;
    if (!settings.logit_bias.empty() || HasPenalties(settings) || allowed) {
      scratch.logits.assign(logits.begin(), logits.end());
      if (allowed) internal::Forbid(*allowed, scratch.logits);
      ApplyLogitBias(settings, scratch.logits);
      Result<void> valid = ApplyPenalties(settings, state, scratch.sorted_tokens, scratch.logits);
      if (!valid) return Failure(valid.error());
      valid = internal::CheckLogits(scratch.logits);
      if (!valid) return Annotate("after logit bias, penalties and the tokens that are not allowed", valid);
      adjusted = scratch.logits;
    }

    SampledToken sampled;
    sampled.id = internal::Choose(adjusted, settings, position, scratch.candidates);
    if (settings.num_logprobs) {
      internal::AddLogprobs(logits, *settings.num_logprobs, scratch.candidates, sampled);
    }
    return sampled;
  });
}

SKALD_INLINE Result<SampledToken> Sample(std::span<const float> logits, const SamplerSettings& settings,
                                         const SamplerState& state, uint64_t position) {
  SamplerScratch scratch;
  return Sample(logits, settings, state, position, scratch);
}

SKALD_INLINE Result<SampledToken> Score(std::span<const float> logits, int32_t id, size_t num_top,
                                        SamplerScratch& scratch) {
  return NoThrow("Score", [&]() -> Result<SampledToken> {
    const FloatEnvironment plain(Denormals::kKept);
    if (Result<void> valid = internal::CheckLogits(logits); !valid) return Failure(valid.error());
    SampledToken scored;
    scored.id = id;
    internal::AddLogprobs(logits, num_top, scratch.candidates, scored);
    return scored;
  });
}

}  // namespace skald

#endif  // SKALD_SAMPLING_DETAIL_SAMPLER_H_
