// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/encoders/ranking.h.

#ifndef SKALD_OPEN_ENCODERS_DETAIL_RANKING_H_
#define SKALD_OPEN_ENCODERS_DETAIL_RANKING_H_

#include "skald/open/encoders/ranking.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE std::vector<size_t> OrderOfScores(std::span<const float> scores, size_t most) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto comes_before = [scores](size_t a, size_t b) {
    const bool has_a = !std::isnan(scores[a]), has_b = !std::isnan(scores[b]);
    if (has_a != has_b) return has_a;
    if (has_a && scores[a] != scores[b]) return scores[a] > scores[b];
    return a < b;
  };
  const size_t count = most == 0 ? order.size() : std::min(most, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), comes_before);
  order.resize(count);
  return order;
}

SKALD_INLINE Result<std::vector<FoundText>> FindNearest(std::span<const float> query, const Embeddings& texts,
                                                        size_t most) {
  return NoThrow("the nearest texts", [&]() -> Result<std::vector<FoundText>> {
    const bool is_pooled = texts.begins.empty() || texts.begins.back() == texts.size();
    const bool fits = texts.dimension > 0 && !query.empty() &&
                      (is_pooled ? query.size() == texts.dimension : query.size() % texts.dimension == 0);
    if (!fits && texts.size() > 0) {
      return Fail(ErrorCode::kInvalidArgument, "a query of " + std::to_string(query.size()) +
                                                   " floats does not fit embeddings of " +
                                                   std::to_string(texts.dimension));
    }
    std::vector<float> scores(texts.size());
    for (size_t i = 0; i < scores.size(); ++i) {
      scores[i] = is_pooled ? Cosine(query, texts[i]) : MaxSim(query, texts[i], texts.dimension);
    }
    std::vector<FoundText> found;
    for (const size_t index : OrderOfScores(scores, most)) found.push_back({index, scores[index]});
    return found;
  });
}

}  // namespace skald

#endif  // SKALD_OPEN_ENCODERS_DETAIL_RANKING_H_
