// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/sampling/logprobs.h.

#ifndef SKALD_SAMPLING_DETAIL_LOGPROBS_H_
#define SKALD_SAMPLING_DETAIL_LOGPROBS_H_

#include "skald/sampling/logprobs.h"

#include <algorithm>

#include "skald/base/inline.h"
#include "skald/base/mathematics/portable_exp.h"
#include "skald/base/mathematics/portable_log.h"
#include "skald/base/threads/float_environment.h"

namespace skald {

SKALD_INLINE double LogSumExp(std::span<const float> logits) {
  const FloatEnvironment plain(Denormals::kKept);
  const double highest = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float logit : logits) sum += PortableExp(logit - highest);
  return highest + PortableLog(sum);
}

SKALD_INLINE std::vector<TokenLogprob> TopLogprobs(std::span<const float> logits, double log_sum_exp, size_t count,
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

#endif  // SKALD_SAMPLING_DETAIL_LOGPROBS_H_
