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
#include "skald/kernels/similarity.h"

namespace skald {

namespace internal {

// A cosine by the sums that it is made of; 0 where one vector has no length.
inline float CosineOf(double product, double square, double other_square) {
  const double lengths = std::sqrt(square) * std::sqrt(other_square);
  return lengths > 0.0 ? static_cast<float>(product / lengths) : 0.0f;
}

// Returns how many rows of the query's length there are.
template <class T>
Result<size_t> RowsFor(std::span<const T> query, std::span<const T> rows) {
  if (!query.empty() && rows.size() % query.size() == 0) return rows.size() / query.size();
  return Fail(ErrorCode::kInvalidArgument, "a query of " + std::to_string(query.size()) + " elements does not fit " +
                                               std::to_string(rows.size()) + " elements of rows");
}

// By a kernel that gives products and squares, which are of the type Sum.
template <class Sum, class T, class Kernel>
Result<std::vector<float>> CosinesBy(Kernel kernel, std::span<const T> query, std::span<const T> rows) {
  return NoThrow("similarities", [&]() -> Result<std::vector<float>> {
    SKALD_ASSIGN(const size_t count, RowsFor(query, rows));
    std::vector<Sum> products(count), squares(count);
    kernel({.vector = query.data(),
            .rows = rows.data(),
            .cols = query.size(),
            .output = products.data(),
            .squares = squares.data(),
            .row_begin = 0,
            .row_end = count});
    Sum square = 0;
    kernel({.vector = query.data(),
            .rows = query.data(),
            .cols = query.size(),
            .output = &square,
            .squares = nullptr,
            .row_begin = 0,
            .row_end = 1});
    std::vector<float> cosines(count);
    for (size_t i = 0; i < count; ++i) {
      cosines[i] =
          CosineOf(static_cast<double>(products[i]), static_cast<double>(square), static_cast<double>(squares[i]));
    }
    return cosines;
  });
}

}  // namespace internal

SKALD_INLINE Result<std::vector<float>> Similarities(std::span<const float> query, std::span<const float> rows) {
  return internal::CosinesBy<double>([](const DotArgs& args) { SimilarityKernels<>::Dots(args); }, query, rows);
}

SKALD_INLINE Result<std::vector<float>> Similarities(std::span<const int8_t> query, std::span<const int8_t> rows) {
  return internal::CosinesBy<int64_t>([](const CodeDotArgs& args) { SimilarityKernels<>::CodeDots(args); }, query,
                                      rows);
}

SKALD_INLINE Result<std::vector<float>> Similarities(std::span<const uint8_t> query, std::span<const uint8_t> rows) {
  return NoThrow("similarities", [&]() -> Result<std::vector<float>> {
    SKALD_ASSIGN(const size_t count, internal::RowsFor(query, rows));
    std::vector<int64_t> distances(count);
    SimilarityKernels<>::BitDistances({.vector = query.data(),
                                       .rows = rows.data(),
                                       .cols = query.size(),
                                       .output = distances.data(),
                                       .row_begin = 0,
                                       .row_end = count});
    const double bits = 8.0 * static_cast<double>(query.size());
    std::vector<float> cosines(count);
    for (size_t i = 0; i < count; ++i) {
      cosines[i] = static_cast<float>((bits - 2.0 * static_cast<double>(distances[i])) / bits);
    }
    return cosines;
  });
}

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
    if (is_pooled && texts.size() > 0) {
      SKALD_ASSIGN(scores, Similarities(query, texts.values));
    } else {
      for (size_t i = 0; i < texts.size(); ++i) scores[i] = MaxSim(query, texts[i], texts.dimension);
    }
    std::vector<FoundText> found;
    for (const size_t index : OrderOfScores(scores, most)) found.push_back({index, scores[index]});
    return found;
  });
}

}  // namespace skald

#endif  // SKALD_OPEN_ENCODERS_DETAIL_RANKING_H_
