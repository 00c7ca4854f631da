// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/sampling/candidates.h.

#ifndef SKALD_SAMPLING_DETAIL_CANDIDATES_H_
#define SKALD_SAMPLING_DETAIL_CANDIDATES_H_

#include "skald/sampling/candidates.h"

#include <algorithm>
#include <cmath>

#include "skald/base/inline.h"
#include "skald/base/mathematics/portable_exp.h"

namespace skald {

SKALD_INLINE bool IsMoreLikely(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

SKALD_INLINE void CollectAll(std::span<const float> logits, std::vector<Candidate>& candidates) {
  candidates.clear();
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > -INFINITY) candidates.push_back({0.0, logits[i], static_cast<int32_t>(i)});
  }
}

SKALD_INLINE void CollectTopK(std::span<const float> logits, size_t top_k, std::vector<Candidate>& candidates) {
  candidates.clear();
  const size_t capacity = top_k < logits.size() ? 2 * top_k + 64 : logits.size() + 1;
  const auto keep_best = [&](size_t count) {
    const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(candidates.begin(), end - 1, candidates.end(), IsMoreLikely);
    candidates.resize(count);
  };
  float threshold = -INFINITY;
  for (size_t i = 0; i < logits.size(); ++i) {
    // Among equal logits the lower id is more likely, so one equal to the threshold comes too late.
    if (!(logits[i] > threshold)) continue;
    candidates.push_back({0.0, logits[i], static_cast<int32_t>(i)});
    if (candidates.size() < capacity) continue;
    keep_best(top_k);
    threshold = candidates.back().logit;
  }
  if (candidates.size() > top_k) keep_best(top_k);
  std::sort(candidates.begin(), candidates.end(), IsMoreLikely);
}

SKALD_INLINE void ComputeWeights(std::vector<Candidate>& candidates, float temperature) {
  double highest = -INFINITY;
  for (const Candidate& candidate : candidates) {
    highest = std::max<double>(highest, candidate.logit);
  }
  for (Candidate& candidate : candidates) {
    candidate.weight = PortableExp((candidate.logit - highest) / temperature);
  }
}

SKALD_INLINE double SumOfWeights(const std::vector<Candidate>& candidates) {
  double sum = 0.0;
  for (const Candidate& candidate : candidates) sum += candidate.weight;
  return sum;
}

SKALD_INLINE void KeepTopP(std::vector<Candidate>& candidates, float top_p) {
  if (top_p >= 1.0f) return;
  const double sum = SumOfWeights(candidates);
  // All candidates below this weight together hold less than 1 - top_p of the sum, so the others reach top_p without
  // them. Only a small part of the vocabulary is left to sort.
  const double negligible = (1.0 - top_p) * sum / static_cast<double>(candidates.size());
  std::erase_if(candidates, [negligible](const Candidate& candidate) { return candidate.weight < negligible; });
  std::sort(candidates.begin(), candidates.end(), IsMoreLikely);
  double reached = 0.0;
  size_t kept = 0;
  while (kept < candidates.size() && reached < top_p * sum) reached += candidates[kept++].weight;
  candidates.resize(kept);
}

SKALD_INLINE void KeepMinP(std::vector<Candidate>& candidates, float min_p) {
  if (min_p == 0.0f) return;
  std::erase_if(candidates, [min_p](const Candidate& candidate) { return candidate.weight < min_p; });
}

SKALD_INLINE int32_t Pick(const std::vector<Candidate>& candidates, double uniform) {
  const double target = uniform * SumOfWeights(candidates);
  // Strict, so that a weight of zero is never picked. Because uniform < 1, the last partial sum,
  // which is the whole sum, exceeds the target.
  double reached = 0.0;
  const auto picked = std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
    reached += candidate.weight;
    return reached > target;
  });
  return picked == candidates.end() ? candidates.back().id : picked->id;
}

}  // namespace skald

#endif  // SKALD_SAMPLING_DETAIL_CANDIDATES_H_
