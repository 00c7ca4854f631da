// SPDX-License-Identifier: Apache-2.0
//
// The tokens that a draw chooses from, and the steps that narrow them: top-k, top-p, min-p. Candidates are always
// ordered by one total order (logit, then id), so every compiler keeps and orders the same ones. Functions work on the
// caller's vector, which allocates only while it grows. Sample turns exceptions into errors and sets the floating-point
// environment.

#ifndef SKALD_SAMPLING_CANDIDATES_H_
#define SKALD_SAMPLING_CANDIDATES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace skald {

/// A token that may be drawn.
struct Candidate {
  double weight;  ///< probability divided by that of the most likely candidate; set by ComputeWeights
  float logit;    ///< after biases and penalties
  int32_t id;     ///< of the token
};

/// More likely first; equal logits by ascending id.
bool IsMoreLikely(const Candidate& a, const Candidate& b);

/// Makes candidates of all `logits` [vocab_size] above minus infinity, by ascending id.
void CollectAll(std::span<const float> logits, std::vector<Candidate>& candidates);

/// Makes candidates of the `top_k` >= 1 highest `logits` [vocab_size] above minus infinity, most
/// likely first. Most logits cost one comparison with a threshold, which rises each time twice as
/// many as needed have gathered.
void CollectTopK(std::span<const float> logits, size_t top_k, std::vector<Candidate>& candidates);

/// Sets each weight to exp((logit - highest logit) / temperature). `temperature` must be above 0.
void ComputeWeights(std::vector<Candidate>& candidates, float temperature);

/// Returns the sum of the weights, added in the order of the candidates.
double SumOfWeights(const std::vector<Candidate>& candidates);

/// Keeps the fewest most likely candidates whose weights reach `top_p` of the sum, most likely
/// first. With a `top_p` of 1, changes nothing. Needs weights.
void KeepTopP(std::vector<Candidate>& candidates, float top_p);

/// Keeps candidates whose weight is at least `min_p`, in their order. Needs weights. The most likely one has weight 1
/// and always stays.
void KeepMinP(std::vector<Candidate>& candidates, float min_p);

/// Returns the id of the candidate in whose share of [0, 1) `uniform` falls; shares follow the weights, in the order of
/// the candidates. Needs weights and at least one candidate.
int32_t Pick(const std::vector<Candidate>& candidates, double uniform);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/sampling/detail/candidates.h"
#endif

#endif  // SKALD_SAMPLING_CANDIDATES_H_
