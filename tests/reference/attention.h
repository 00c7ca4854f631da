// SPDX-License-Identifier: Apache-2.0
//
// Attention of one query head over keys and values in plain arrays: the order of R5, and the definition in double
// precision to hold it against.

#ifndef SKALD_TESTS_REFERENCE_ATTENTION_H_
#define SKALD_TESTS_REFERENCE_ATTENTION_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/numeric.h"
#include "skald/kernels/args.h"
#include "tests/reference/math.h"
#include "tests/reference/sums.h"

namespace skald::reference {

// One query head. Position p's key is at keys + p * stride, its value at values + p * stride; or its value is the last
// latent_dim elements of its key.
struct AttentionCase {
  const float* query;  // [head_dim]
  const float* keys;
  const float* values;
  size_t stride;
  size_t head_dim;
  size_t position;
  size_t window;  // 0: none
  float scale;
  float softcap;  // 0: none
  float sink = -std::numeric_limits<float>::infinity();
  size_t latent_dim = 0;  // 0: values are no elements of keys

  size_t value_dim() const { return latent_dim == 0 ? head_dim : latent_dim; }
  size_t visible_begin() const { return window != 0 && position + 1 > window ? position + 1 - window : 0; }
  size_t visible_end() const { return position + 1; }
};

// The cached form of a number of one token and head, in a cache of T: `numbers` times `scale`.
struct Cached {
  std::vector<float> numbers;
  float scale = 1.0f;
};

// The type to which queries and probabilities are rounded, over a cache of T.
template <class T>
using FactorOf = std::conditional_t<std::is_same_v<T, int8_t>, bf16, T>;

template <class T>
Cached CachedAs(const float* values, size_t head_dim) {
  Cached cached;
  cached.numbers.reserve(head_dim);
  if constexpr (std::is_same_v<T, int8_t>) {
    float largest = 0.0f;
    for (size_t d = 0; d < head_dim; ++d) {
      const float magnitude = std::isfinite(values[d]) ? std::abs(values[d]) : std::numeric_limits<float>::quiet_NaN();
      largest = largest <= magnitude || std::isnan(magnitude) ? magnitude : largest;
    }
    const bool counts = largest >= 0x1p-100f;
    cached.scale = counts ? largest / 127.0f : 0.0f * largest;
    const float inverse = 127.0f / largest;
    for (size_t d = 0; d < head_dim; ++d) {
      cached.numbers.push_back(counts ? static_cast<int8_t>(std::nearbyint(values[d] * inverse)) : int8_t{0});
    }
  } else {
    for (size_t d = 0; d < head_dim; ++d) cached.numbers.push_back(ToFloat(FromFloat<T>(values[d])));
  }
  return cached;
}

// The cached value at a position, in a cache of T, [value_dim()].
template <class T>
Cached CachedValue(const AttentionCase& c, size_t position) {
  if (c.latent_dim == 0) return CachedAs<T>(c.values + position * c.stride, c.head_dim);
  Cached key = CachedAs<T>(c.keys + position * c.stride, c.head_dim);
  key.numbers.erase(key.numbers.begin(), key.numbers.end() - static_cast<ptrdiff_t>(c.latent_dim));
  return key;
}

// `query` is that of the case, rounded to FactorOf<T>.
template <class T>
float Score(const AttentionCase& c, const std::vector<float>& query, size_t position) {
  const Cached key = CachedAs<T>(c.keys + position * c.stride, c.head_dim);
  const float dot = AddProducts<T>(
      0.0f, 0, c.head_dim, [&](size_t d) { return query[d]; }, [&](size_t d) { return key.numbers[d]; });
  const float scaled = dot * key.scale * c.scale;
  return c.softcap != 0.0f ? Capped(scaled, c.softcap) : scaled;
}

template <class T>
void Attention(const AttentionCase& c, float* output) {
  std::fill_n(output, c.value_dim(), 0.0f);
  std::vector<float> query(c.query, c.query + c.head_dim);
  for (float& x : query) x = ToFloat(FromFloat<FactorOf<T>>(x));
  float max = c.sink;
  LaneSums sum;
  if (std::isfinite(c.sink)) sum.lane[0] = 1.0f;
  for (size_t span = c.visible_begin() / kAttentionSpan * kAttentionSpan; span < c.visible_end();
       span += kAttentionSpan) {
    const size_t begin = std::max(span, c.visible_begin());
    const size_t end = std::min(span + kAttentionSpan, c.visible_end());
    std::vector<float> weights(kAttentionSpan);
    float new_max = max;
    for (size_t p = begin; p < end; ++p) new_max = std::max(new_max, weights[p - span] = Score<T>(c, query, p));
    const float correction = Exp(max - new_max);
    max = new_max;

    for (float& lane : sum.lane) lane = lane * correction;
    std::vector<Cached> values(kAttentionSpan);
    for (size_t p = begin; p < end; ++p) {
      const Cached& value = values[p - span] = CachedValue<T>(c, p);
      const float probability = Exp(weights[p - span] - max);
      sum.lane[p % kLanes] += probability;
      weights[p - span] = probability == 0.0f ? 0.0f : ToFloat(FromFloat<FactorOf<T>>(probability * value.scale));
    }
    for (size_t d = 0; d < c.value_dim(); ++d) {
      output[d] = AddProducts<T>(
          output[d] * correction, begin, end, [&](size_t p) { return weights[p - span]; },
          [&](size_t p) { return values[p - span].numbers[d]; });
    }
  }
  const float factor = 1.0f / sum.Tree();
  for (size_t d = 0; d < c.value_dim(); ++d) output[d] = output[d] * factor;
}

// The definition, with keys, values and query rounded to T as the cache rounds them.
template <class T>
std::vector<double> AttentionInDouble(const AttentionCase& c) {
  const auto rounded = [](float x) { return double{ToFloat(FromFloat<FactorOf<T>>(x))}; };
  std::vector<double> scores;
  for (size_t p = c.visible_begin(); p < c.visible_end(); ++p) {
    const Cached key = CachedAs<T>(c.keys + p * c.stride, c.head_dim);
    double dot = 0;
    for (size_t d = 0; d < c.head_dim; ++d) dot += rounded(c.query[d]) * double{key.numbers[d]};
    dot *= double{key.scale} * c.scale;
    scores.push_back(c.softcap != 0.0f ? c.softcap * std::tanh(dot / c.softcap) : dot);
  }
  const double max = *std::max_element(scores.begin(), scores.end());
  double sum = std::exp(c.sink - max);
  for (double& score : scores) sum += score = std::exp(score - max);
  std::vector<double> output(c.value_dim());
  for (size_t i = 0; i < scores.size(); ++i) {
    const Cached value = CachedValue<T>(c, c.visible_begin() + i);
    for (size_t d = 0; d < c.value_dim(); ++d) output[d] += scores[i] / sum * value.scale * double{value.numbers[d]};
  }
  return output;
}

}  // namespace skald::reference

#endif  // SKALD_TESTS_REFERENCE_ATTENTION_H_
