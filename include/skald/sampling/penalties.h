// SPDX-License-Identifier: Apache-2.0
//
// A sampler's state between tokens, and the changes to logits before a draw: logit bias, then repetition, presence and
// frequency penalties for the remembered tokens. The state is plain data: copy it to fork a conversation, keep a copy
// to rewind one, and write out its ids to save it. Functions change only the objects passed for that.

#ifndef SKALD_SAMPLING_PENALTIES_H_
#define SKALD_SAMPLING_PENALTIES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/base/result.h"
#include "skald/sampling/settings.h"

namespace skald {

/// The memory that sampling has of a conversation. The caller owns it; a copy goes on by itself.
struct SamplerState {
  std::vector<int32_t> recent_tokens = {};  ///< oldest first, at most SamplerSettings::penalty_window
};

/// Records that `tokens` follow in the conversation. The caller decides which tokens count: sampled ones only, or the
/// prompt as well. Error: kResourceExhausted; the state is then unchanged.
Result<void> ObserveTokens(const SamplerSettings& settings, std::span<const int32_t> tokens, SamplerState& state);

/// The same for a single token.
Result<void> ObserveToken(const SamplerSettings& settings, int32_t token, SamplerState& state);

/// Rounds a changed logit. One that overflows stays finite upwards, so that it still has a
/// probability, and becomes minus infinity downwards.
float RoundLogit(double logit);

/// Adds the biases to `logits` [vocab_size]. The settings must be valid for that many tokens.
void ApplyLogitBias(const SamplerSettings& settings, std::span<float> logits);

bool HasPenalties(const SamplerSettings& settings);

/// Returns `logit` after the penalties of a token that occurs `count` >= 1 times in the window.
/// Computed in double and rounded once. Repetition acts first, as in vLLM and llama.cpp.
float PenaliseLogit(const SamplerSettings& settings, float logit, size_t count);

/// Penalises the recent tokens of `state` in `logits` [vocab_size]. `sorted_tokens` is scratch memory. A recent token
/// beyond the vocabulary is an error (kInvalidArgument), and changes nothing.
Result<void> ApplyPenalties(const SamplerSettings& settings, const SamplerState& state,
                            std::vector<int32_t>& sorted_tokens, std::span<float> logits);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/sampling/detail/penalties.h"
#endif

#endif  // SKALD_SAMPLING_PENALTIES_H_
