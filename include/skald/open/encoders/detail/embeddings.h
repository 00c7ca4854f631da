// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/encoders/embeddings.h.

#ifndef SKALD_OPEN_ENCODERS_DETAIL_EMBEDDINGS_H_
#define SKALD_OPEN_ENCODERS_DETAIL_EMBEDDINGS_H_

#include "skald/open/encoders/embeddings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "skald/base/inline.h"
#include "skald/kernels/similarity.h"

namespace skald {

namespace internal {

inline double SumOfProducts(std::span<const float> a, std::span<const float> b) {
  double sum = 0.0;
  SimilarityKernels<>::Dots({.vector = a.data(),
                             .rows = b.data(),
                             .cols = std::min(a.size(), b.size()),
                             .output = &sum,
                             .squares = nullptr,
                             .row_begin = 0,
                             .row_end = 1});
  return sum;
}

}  // namespace internal

SKALD_INLINE void Normalise(std::span<float> row) {
  const double length = std::max(std::sqrt(internal::SumOfProducts(row, row)), 1e-12);
  for (float& value : row) value = static_cast<float>(double{value} / length);
}

SKALD_INLINE float Cosine(std::span<const float> a, std::span<const float> b) {
  const double lengths = std::sqrt(internal::SumOfProducts(a, a)) * std::sqrt(internal::SumOfProducts(b, b));
  return lengths > 0.0 ? static_cast<float>(internal::SumOfProducts(a, b) / lengths) : 0.0f;
}

SKALD_INLINE float DotProduct(std::span<const float> a, std::span<const float> b) {
  return static_cast<float>(internal::SumOfProducts(a, b));
}

SKALD_INLINE float MaxSim(std::span<const float> query, std::span<const float> document, size_t dimension) {
  std::vector<double> products(document.size() / dimension);
  double sum = 0.0;
  for (size_t q = 0; q + dimension <= query.size(); q += dimension) {
    SimilarityKernels<>::Dots({.vector = query.data() + q,
                               .rows = document.data(),
                               .cols = dimension,
                               .output = products.data(),
                               .squares = nullptr,
                               .row_begin = 0,
                               .row_end = products.size()});
    double best = -std::numeric_limits<double>::infinity();
    for (const double product : products) best = std::max(best, product);
    sum += best;
  }
  return static_cast<float>(sum);
}

SKALD_INLINE Int8Row ToInt8(std::span<const float> row) {
  float largest = 0.0f;
  for (const float value : row) largest = std::max(largest, std::fabs(value));
  Int8Row result = {.codes = std::vector<int8_t>(row.size()), .scale = largest / 127.0f};
  if (result.scale == 0.0f) return result;
  for (size_t i = 0; i < row.size(); ++i) {
    const double code = std::nearbyint(double{row[i]} / double{result.scale});
    result.codes[i] = static_cast<int8_t>(std::clamp(code, -127.0, 127.0));
  }
  return result;
}

SKALD_INLINE std::vector<uint8_t> ToBinary(std::span<const float> row) {
  std::vector<uint8_t> bits((row.size() + 7) / 8);
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] > 0.0f) bits[i / 8] = static_cast<uint8_t>(bits[i / 8] | 0x80u >> i % 8);
  }
  return bits;
}

}  // namespace skald

#endif  // SKALD_OPEN_ENCODERS_DETAIL_EMBEDDINGS_H_
