// SPDX-License-Identifier: Apache-2.0
//
// The time mix of RWKV-7 (Peng et al. 2025, arXiv:2503.14456): one head, one row.

#ifndef SKALD_TESTS_REFERENCE_TIME_MIX_H_
#define SKALD_TESTS_REFERENCE_TIME_MIX_H_

#include <cmath>
#include <cstddef>
#include <vector>

#include "tests/reference/math.h"
#include "tests/reference/norm.h"
#include "tests/reference/sums.h"

namespace skald::reference {

// [size] each; `first` and `blend` are null in the first layer. The state is [size, size], keys outermost.
struct TimeMixTerms {
  const float *receptance, *decay, *key, *value, *rate, *gate, *first, *blend;
  const float *key_scale, *rate_scale, *bonus, *norm_weight, *norm_bias;
  float epsilon;
  size_t size;
};

inline void TimeMix(const TimeMixTerms& t, float* h, float* output) {
  const size_t size = t.size;
  std::vector<float> recall(size), key(size), value(size);
  LaneSums squares, bonus;
  for (size_t n = 0; n < size; ++n) {
    recall[n] = t.key[n] * t.key_scale[n];
    float& lane = squares.lane[n % kLanes];
    lane = std::fma(recall[n], recall[n], lane);
  }
  const float to_unit = 1.0f / std::fmax(std::sqrt(squares.Tree()), 1e-12f);
  for (size_t n = 0; n < size; ++n) {
    recall[n] = recall[n] * to_unit;
    key[n] = t.key[n] * std::fma(Sigmoid(t.rate[n]) - 1.0f, t.rate_scale[n], 1.0f);
    value[n] = t.first == nullptr ? t.value[n] : std::fma(t.first[n] - t.value[n], Sigmoid(t.blend[n]), t.value[n]);
    float& lane = bonus.lane[n % kLanes];
    lane = std::fma(t.receptance[n] * key[n], t.bonus[n], lane);
  }
  for (size_t p = 0; p < size; ++p) {
    float recalled = 0.0f;
    output[p] = 0.0f;
    for (size_t n = 0; n < size; ++n) recalled = std::fma(recall[n], h[n * size + p], recalled);
    for (size_t n = 0; n < size; ++n) {
      float& state = h[n * size + p];
      const float change = std::fma(-(recall[n] * Sigmoid(t.rate[n])), recalled, value[p] * key[n]);
      state = std::fma(Exp(-0.606530659713f * Sigmoid(t.decay[n])), state, change);
      output[p] = std::fma(t.receptance[n], state, output[p]);
    }
  }
  LayerNorm(output, t.norm_weight, t.norm_bias, size, t.epsilon, output);
  for (size_t p = 0; p < size; ++p) output[p] = std::fma(bonus.Tree(), value[p], output[p]) * t.gate[p];
}

inline void TimeMixInDouble(const TimeMixTerms& t, double* h, double* output) {
  const size_t size = t.size;
  double length = 0.0, bonus = 0.0, mean = 0.0, variance = 0.0;
  for (size_t n = 0; n < size; ++n) length += std::pow(double{t.key[n]} * t.key_scale[n], 2.0);
  length = std::sqrt(length);
  const auto rate = [&](size_t n) { return SigmoidInDouble(t.rate[n]); };
  const auto key = [&](size_t n) { return t.key[n] * (1.0 + (rate(n) - 1.0) * t.rate_scale[n]); };
  const auto recall = [&](size_t n) { return double{t.key[n]} * t.key_scale[n] / length; };
  const auto value = [&](size_t p) {
    return t.first == nullptr ? t.value[p]
                              : t.value[p] + (double{t.first[p]} - t.value[p]) * SigmoidInDouble(t.blend[p]);
  };
  for (size_t n = 0; n < size; ++n) bonus += t.receptance[n] * key(n) * t.bonus[n];
  for (size_t p = 0; p < size; ++p) {
    double recalled = 0.0;
    output[p] = 0.0;
    for (size_t n = 0; n < size; ++n) recalled += recall(n) * h[n * size + p];
    for (size_t n = 0; n < size; ++n) {
      double& state = h[n * size + p];
      state = std::exp(-std::exp(-0.5) * SigmoidInDouble(t.decay[n])) * state - recalled * recall(n) * rate(n) +
              value(p) * key(n);
      output[p] += t.receptance[n] * state;
    }
  }
  for (size_t p = 0; p < size; ++p) mean += output[p] / static_cast<double>(size);
  for (size_t p = 0; p < size; ++p) variance += std::pow(output[p] - mean, 2.0) / static_cast<double>(size);
  for (size_t p = 0; p < size; ++p) {
    const double normed = (output[p] - mean) / std::sqrt(variance + t.epsilon) * t.norm_weight[p] + t.norm_bias[p];
    output[p] = (normed + bonus * value(p)) * t.gate[p];
  }
}

}  // namespace skald::reference

#endif  // SKALD_TESTS_REFERENCE_TIME_MIX_H_
