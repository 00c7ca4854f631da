// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/encoders/hybrid.h.

#ifndef SKALD_OPEN_ENCODERS_DETAIL_HYBRID_H_
#define SKALD_OPEN_ENCODERS_DETAIL_HYBRID_H_

#include "skald/open/encoders/hybrid.h"

#include <algorithm>
#include <map>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE TokenWeights WeightsOfTokens(std::span<const int32_t> ids, std::span<const float> weights,
                                          std::span<const int32_t> unweighed) {
  std::map<int32_t, float> largest;
  for (size_t i = 0; i < std::min(ids.size(), weights.size()); ++i) {
    if (!(weights[i] > 0.0f) || std::ranges::find(unweighed, ids[i]) != unweighed.end()) continue;
    float& weight = largest[ids[i]];
    weight = std::max(weight, weights[i]);
  }
  TokenWeights result;
  for (const auto& [id, weight] : largest) result.ids.push_back(id), result.weights.push_back(weight);
  return result;
}

SKALD_INLINE float LexicalScore(const TokenWeights& a, const TokenWeights& b) {
  double sum = 0.0;
  for (size_t i = 0, j = 0; i < a.ids.size() && j < b.ids.size();) {
    if (a.ids[i] == b.ids[j]) sum += double{a.weights[i]} * double{b.weights[j]};
    const bool is_first = a.ids[i] <= b.ids[j], is_second = b.ids[j] <= a.ids[i];
    i += is_first, j += is_second;
  }
  return static_cast<float>(sum);
}

}  // namespace skald

#endif  // SKALD_OPEN_ENCODERS_DETAIL_HYBRID_H_
