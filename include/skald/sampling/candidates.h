// SPDX-License-Identifier: Apache-2.0
//
// The tokens that a draw chooses from, and the steps that narrow them: top-k, top-p, min-p.
// Whenever candidates are ordered it is by one total order (logit, then id), so every compiler
// keeps and orders the same ones. Functions work on the caller's vector, which allocates only while
// it grows: Sample makes an error of what that throws, and sets the floating-point environment.

#ifndef SKALD_SAMPLING_CANDIDATES_H_
#define SKALD_SAMPLING_CANDIDATES_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/base/numbers/portable_exp.h"

namespace skald {

struct Candidate {
  double weight;  // probability divided by that of the most likely candidate; set by ComputeWeights
  float logit;
  int32_t id;
};

// More likely first; equal logits by ascending id.
inline bool IsMoreLikely(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

// Makes candidates of all `logits` [vocab_size] above minus infinity, by ascending id.
inline void CollectAll(std::span<const float> logits, std::vector<Candidate>& candidates) {
  candidates.clear();
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > -INFINITY) candidates.push_back({0.0, logits[i], static_cast<int32_t>(i)});
  }
}

// Makes candidates of the `top_k` >= 1 highest `logits` [vocab_size] above minus infinity, most
// likely first. Most logits cost one comparison with a threshold, which rises each time twice as
// many as needed have gathered.
inline void CollectTopK(std::span<const float> logits, size_t top_k, std::vector<Candidate>& candidates) {
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

// Sets each weight to exp((logit - highest logit) / temperature). `temperature` must be above 0.
inline void ComputeWeights(std::vector<Candidate>& candidates, float temperature) {
  double highest = -INFINITY;
  for (const Candidate& candidate : candidates) {
    highest = std::max<double>(highest, candidate.logit);
  }
  for (Candidate& candidate : candidates) {
    candidate.weight = PortableExp((candidate.logit - highest) / temperature);
  }
}

// Returns the sum of the weights, added in the order in which the candidates stand.
inline double SumOfWeights(const std::vector<Candidate>& candidates) {
  double sum = 0.0;
  for (const Candidate& candidate : candidates) sum += candidate.weight;
  return sum;
}

// Keeps the fewest most likely candidates whose weights reach `top_p` of the sum, most likely
// first. With a `top_p` of 1, changes nothing. Needs weights.
inline void KeepTopP(std::vector<Candidate>& candidates, float top_p) {
  if (top_p >= 1.0f) return;
  const double sum = SumOfWeights(candidates);
  // All candidates below this weight together hold less than 1 - top_p of the sum, so the others
  // reach top_p without them. What is left to sort is a small part of the vocabulary.
  const double negligible = (1.0 - top_p) * sum / static_cast<double>(candidates.size());
  std::erase_if(candidates, [negligible](const Candidate& candidate) { return candidate.weight < negligible; });
  std::sort(candidates.begin(), candidates.end(), IsMoreLikely);
  double reached = 0.0;
  size_t kept = 0;
  while (kept < candidates.size() && reached < top_p * sum) reached += candidates[kept++].weight;
  candidates.resize(kept);
}

// Keeps candidates whose weight is at least `min_p`, in the order in which they stand. Needs
// weights. The most likely one has weight 1 and always stays.
inline void KeepMinP(std::vector<Candidate>& candidates, float min_p) {
  if (min_p == 0.0f) return;
  std::erase_if(candidates, [min_p](const Candidate& candidate) { return candidate.weight < min_p; });
}

// Returns the id of the candidate in whose share of [0, 1) `uniform` falls; shares follow the
// weights, in the order in which the candidates stand. Needs weights and at least one candidate.
inline int32_t Pick(const std::vector<Candidate>& candidates, double uniform) {
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

#endif  // SKALD_SAMPLING_CANDIDATES_H_
