// SPDX-License-Identifier: Apache-2.0
//
// Chooses the next token: a pure function of (logits, settings, state, position). The same four
// give the same token on every machine and compiler, however the caller has set its floating-point
// unit. Safe for concurrent calls with separate scratch memory.
//
// Order of the steps, that of Hugging Face transformers (generation/utils.py,
// _get_logits_processor) and, but for the place of min-p, of vLLM (v1/sample/sampler.py): logit
// bias, penalties, temperature, top-k, top-p, min-p, draw. So top-p and min-p see the distribution
// after the temperature; llama.cpp applies it last.

#ifndef SKALD_SAMPLING_SAMPLER_H_
#define SKALD_SAMPLING_SAMPLER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "skald/base/result.h"
#include "skald/sampling/candidates.h"
#include "skald/sampling/logprobs.h"
#include "skald/sampling/penalties.h"
#include "skald/sampling/settings.h"

namespace skald {

/// A token that was drawn, and how likely it was.
struct SampledToken {
  int32_t id = 0;  ///< of the token
  /// As SamplerSettings::num_logprobs asks; logprobs.h says of which distribution.
  std::optional<float> logprob;
  std::vector<TokenLogprob> top_logprobs;  ///< most likely first
};

/// Memory that Sample reuses between calls; not state: a fresh one gives the same results. One call
/// at a time.
struct SamplerScratch {
  std::vector<float> logits;           ///< [vocab_size], as changed by biases and penalties
  std::vector<Candidate> candidates;   ///< the tokens that may be drawn
  std::vector<int32_t> sorted_tokens;  ///< the tokens that penalties look at
};

namespace internal {

/// Returns the id of the token chosen from `logits` [vocab_size], one of which must be finite.
int32_t Choose(std::span<const float> logits, const SamplerSettings& settings, uint64_t position,
               std::vector<Candidate>& candidates);

}  // namespace internal

/// Returns the token that follows, given `logits` [vocab_size] for the token ids 0, 1, ... `position` is the token's
/// position in its sequence: it selects the random draw, so sampling a position again gives the same token. Does not
/// change `state`: call ObserveToken with the token chosen. Allocates only while `scratch` grows and for top_logprobs.
/// `allowed`, if there is one, has a bit for each token that may be drawn (bit id % 64 of word id / 64); ids beyond it
/// may not. It does not affect log-probabilities.
///
/// Errors: a setting out of its range; no logits; a logit that is NaN or plus infinity; every token
/// impossible or banned; a state with a token beyond the vocabulary; kResourceExhausted.
Result<SampledToken> Sample(std::span<const float> logits, const SamplerSettings& settings, const SamplerState& state,
                            uint64_t position, SamplerScratch& scratch,
                            std::optional<std::span<const uint64_t>> allowed = std::nullopt);

/// The same with scratch memory of its own: allocates up to 20 bytes for each logit.
Result<SampledToken> Sample(std::span<const float> logits, const SamplerSettings& settings, const SamplerState& state,
                            uint64_t position);

/// Returns the log-probability of a given token, such as one of a prompt, and those of the `num_top` most likely ones.
/// `logits` [vocab_size] are those after the token before it. `id` is below vocab_size. Errors: no logits; one that is
/// NaN or plus infinity; all are minus infinity; kResourceExhausted.
Result<SampledToken> Score(std::span<const float> logits, int32_t id, size_t num_top, SamplerScratch& scratch);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/sampling/detail/sampler.h"
#endif

#endif  // SKALD_SAMPLING_SAMPLER_H_
