// SPDX-License-Identifier: Apache-2.0
//
// Log-probabilities under the model's own distribution: the softmax of the logits as the model gave
// them, before bias, penalties, temperature and truncation (what OpenAI's API and vLLM report).
// Natural logarithms. Pure but for the caller's scratch vector, which may throw std::bad_alloc; Sample
// makes an error of that. Safe for concurrent calls.

#ifndef SKALD_SAMPLING_LOGPROBS_H_
#define SKALD_SAMPLING_LOGPROBS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/base/numbers/portable_exp.h"
#include "skald/base/threads/float_environment.h"
#include "skald/sampling/candidates.h"

namespace skald {

struct TokenLogprob {
  int32_t id = 0;
  float logprob = 0.0f;
};

// Returns the logarithm of the sum of exp(logit) over `logits` [vocab_size], which must hold at
// least one finite number and no NaN or plus infinity. A token's log-probability is its logit minus
// this.
inline double LogSumExp(std::span<const float> logits) {
  const FloatEnvironment plain(Denormals::kKept);
  const double highest = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float logit : logits) sum += PortableExp(logit - highest);
  return highest + std::log(sum);
}

// Returns the `count` most likely tokens of `logits` [vocab_size], most likely first; fewer if
// fewer are possible at all. `log_sum_exp` is that of `logits`. Overwrites `candidates`.
inline std::vector<TokenLogprob> TopLogprobs(std::span<const float> logits, double log_sum_exp, size_t count,
                                             std::vector<Candidate>& candidates) {
  std::vector<TokenLogprob> top;
  if (count == 0) return top;
  CollectTopK(logits, count, candidates);
  top.reserve(candidates.size());
  for (const Candidate& candidate : candidates) {
    top.push_back({candidate.id, static_cast<float>(candidate.logit - log_sum_exp)});
  }
  return top;
}

}  // namespace skald

#endif  // SKALD_SAMPLING_LOGPROBS_H_
