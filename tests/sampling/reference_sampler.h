// SPDX-License-Identifier: Apache-2.0
//
// The obvious sampler: writes down the whole distribution in double, sorting everything, with none
// of the shortcuts of the library and nothing shared with it but the settings.

#ifndef SKALD_TESTS_SAMPLING_REFERENCE_SAMPLER_H_
#define SKALD_TESTS_SAMPLING_REFERENCE_SAMPLER_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "skald/sampling/random.h"
#include "skald/sampling/settings.h"

namespace skald {

// Returns the logits after bias and penalties for tokens of `recent`, all of which count.
inline std::vector<double> ReferenceLogits(const std::vector<float>& logits, const SamplerSettings& settings,
                                           const std::vector<int32_t>& recent) {
  std::vector<double> adjusted(logits.begin(), logits.end());
  for (const LogitBias& entry : settings.logit_bias) {
    adjusted[static_cast<size_t>(entry.token)] += entry.bias;
  }
  for (size_t i = 0; i < adjusted.size(); ++i) {
    const auto count = std::count(recent.begin(), recent.end(), static_cast<int32_t>(i));
    if (count == 0) continue;
    adjusted[i] =
        adjusted[i] > 0 ? adjusted[i] / settings.repetition_penalty : adjusted[i] * settings.repetition_penalty;
    adjusted[i] -= static_cast<double>(count) * settings.frequency_penalty + settings.presence_penalty;
  }
  return adjusted;
}

inline void Normalise(std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
}

// Returns the probability with which each token must be drawn. The temperature must be above 0.
inline std::vector<double> ReferenceDistribution(const std::vector<float>& logits, const SamplerSettings& settings,
                                                 const std::vector<int32_t>& recent = {}) {
  const std::vector<double> adjusted = ReferenceLogits(logits, settings, recent);
  const double highest = *std::max_element(adjusted.begin(), adjusted.end());
  std::vector<double> probabilities;
  for (const double logit : adjusted) {
    probabilities.push_back(std::exp((logit - highest) / settings.temperature));
  }
  Normalise(probabilities);

  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return adjusted[a] != adjusted[b] ? adjusted[a] > adjusted[b] : a < b; });

  if (settings.top_k > 0) {
    for (size_t rank = settings.top_k; rank < order.size(); ++rank) {
      probabilities[order[rank]] = 0.0;
    }
    Normalise(probabilities);
  }
  if (settings.top_p < 1.0f) {
    double reached = 0.0;
    for (const size_t token : order) {
      const bool keep = reached < settings.top_p;
      reached += probabilities[token];
      if (!keep) probabilities[token] = 0.0;
    }
    Normalise(probabilities);
  }
  const double most_likely = probabilities[order[0]];
  for (double& probability : probabilities) {
    if (probability < settings.min_p * most_likely) probability = 0.0;
  }
  Normalise(probabilities);
  return probabilities;
}

// Returns `count` logits, the same on every compiler: roughly bell-shaped with a standard deviation
// of `scale`.
inline std::vector<float> RandomLogits(size_t count, uint64_t seed, double scale = 2.0) {
  std::vector<float> logits;
  for (uint64_t i = 0; i < count; ++i) {
    double sum = 0.0;  // of 12 uniform draws: variance 1
    for (uint64_t j = 0; j < 12; ++j) sum += UniformAt({seed, 1000}, 12 * i + j) - 0.5;
    logits.push_back(static_cast<float>(scale * sum));
  }
  return logits;
}

}  // namespace skald

#endif  // SKALD_TESTS_SAMPLING_REFERENCE_SAMPLER_H_
