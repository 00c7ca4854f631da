// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/plan/cost_model.h.

#ifndef SKALD_ENGINE_PLAN_DETAIL_COST_MODEL_H_
#define SKALD_ENGINE_PLAN_DETAIL_COST_MODEL_H_

#include "skald/engine/plan/cost_model.h"

#include <algorithm>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE StepWork StepWork::With(uint64_t cached, uint64_t count) const {
  return {rows + count, attended + count * cached + count * (count + 1) / 2};
}

SKALD_INLINE double CostModel::Seconds(const StepWork& work) const {
  const Features features = FeaturesOf(work);
  double seconds = 0.0;
  for (size_t i = 0; i < kTerms; ++i) seconds += seconds_[i] * features[i];
  return seconds;
}

SKALD_INLINE void CostModel::Observe(const StepWork& work, double seconds) {
  if (!(seconds > 0.0)) return;
  if (is_known()) {
    const double predicted = Seconds(work);
    const double off = std::clamp(predicted > 0.0 ? seconds / predicted - 1.0 : 1.0, -1.0, 1.0);
    spread_ += (Square(off) - spread_) * kSpreadLearning;
  } else {
    for (size_t i = 0; i < kTerms; ++i) variance_[i][i] = Square(kLargestDoubt * seconds);
    typical_ = seconds;
  }
  typical_ += (seconds - typical_) * kLearning;
  Correct(FeaturesOf(work), seconds);
  for (size_t i = 0; i < kTerms; ++i) Drift(i);
}

SKALD_INLINE CostModel::Features CostModel::FeaturesOf(const StepWork& work) {
  return {1.0, static_cast<double>(work.rows) / kRowUnit, static_cast<double>(work.attended) / kAttendedUnit};
}

SKALD_INLINE void CostModel::Correct(const Features& features, double seconds) {
  Features doubt{};
  double variance = Square(kNoise * seconds), predicted = 0.0;
  for (size_t i = 0; i < kTerms; ++i) {
    for (size_t j = 0; j < kTerms; ++j) doubt[i] += variance_[i][j] * features[j];
    variance += features[i] * doubt[i];
    predicted += seconds_[i] * features[i];
  }
  for (size_t i = 0; i < kTerms; ++i) {
    seconds_[i] += doubt[i] / variance * (seconds - predicted);
    for (size_t j = 0; j < kTerms; ++j) variance_[i][j] -= doubt[i] * doubt[j] / variance;
  }
  KeepPositive();
}

SKALD_INLINE void CostModel::KeepPositive() {
  auto variance = variance_;
  for (size_t pass = 0; pass < kTerms; ++pass) {
    const auto lowest = static_cast<size_t>(std::ranges::min_element(seconds_) - seconds_.begin());
    const double excess = seconds_[lowest];
    if (excess >= 0.0) return;
    const Features shared = variance[lowest];
    for (size_t i = 0; i < kTerms && shared[lowest] > 0.0; ++i) {
      seconds_[i] -= shared[i] / shared[lowest] * excess;
      for (size_t j = 0; j < kTerms; ++j) variance[i][j] -= shared[i] * shared[j] / shared[lowest];
    }
    seconds_[lowest] = 0.0;
  }
  for (double& term : seconds_) term = std::max(term, 0.0);
}

SKALD_INLINE void CostModel::Drift(size_t i) {
  variance_[i][i] += Square(kDrift * typical_);
  const double most = Square(kLargestDoubt * typical_);
  if (variance_[i][i] <= most) return;
  const double scale = std::sqrt(most / variance_[i][i]);
  for (size_t j = 0; j < kTerms; ++j) {
    variance_[i][j] *= scale;
    variance_[j][i] *= scale;
  }
}

}  // namespace skald

#endif  // SKALD_ENGINE_PLAN_DETAIL_COST_MODEL_H_
