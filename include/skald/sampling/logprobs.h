// SPDX-License-Identifier: Apache-2.0
//
// Log-probabilities under the model's own distribution: the softmax of the unchanged logits, before bias, penalties,
// temperature and truncation (as in OpenAI's API and vLLM). Natural logarithms. Pure except for the caller's scratch
// vector, which may throw std::bad_alloc; Sample turns that into an error. Safe for concurrent calls.

#ifndef SKALD_SAMPLING_LOGPROBS_H_
#define SKALD_SAMPLING_LOGPROBS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/sampling/candidates.h"

namespace skald {

/// A token and its log-probability.
struct TokenLogprob {
  int32_t id = 0;        ///< of the token
  float logprob = 0.0f;  ///< natural logarithm
};

/// Returns the logarithm of the sum of exp(logit) over `logits` [vocab_size], which must hold at
/// least one finite number and no NaN or plus infinity. A token's log-probability is its logit minus
/// this.
double LogSumExp(std::span<const float> logits);

/// Returns the `count` most likely tokens of `logits` [vocab_size], most likely first; fewer if fewer are possible.
/// `log_sum_exp` is that of `logits`. Overwrites `candidates`.
std::vector<TokenLogprob> TopLogprobs(std::span<const float> logits, double log_sum_exp, size_t count,
                                      std::vector<Candidate>& candidates);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/sampling/detail/logprobs.h"
#endif

#endif  // SKALD_SAMPLING_LOGPROBS_H_
