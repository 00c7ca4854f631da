// SPDX-License-Identifier: Apache-2.0
//
// CostModel: how long a step takes, learnt while steps are run. Time is a constant (weights are read once), so much for
// each row, and so much for each earlier token that a row attends to; a Kalman filter tracks the three (R. E. Kalman, A
// New Approach to Linear Filtering and Prediction Problems, 1960), so that what was learnt of prompts holds through
// hours without one, while what steps show follows a machine that slows down. A schedule depends on it, an answer never
// does. Plain data.

#ifndef SKALD_ENGINE_PLAN_COST_MODEL_H_
#define SKALD_ENGINE_PLAN_COST_MODEL_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace skald {

// What a step computes: rows, and over all of them the tokens that each attends to.
struct StepWork {
  uint64_t rows = 0;
  uint64_t attended = 0;

  // `count` rows that follow on `cached` tokens.
  StepWork With(uint64_t cached, uint64_t count) const {
    return {rows + count, attended + count * cached + count * (count + 1) / 2};
  }

  friend bool operator==(const StepWork&, const StepWork&) = default;
};

class CostModel {
 public:
  CostModel() = default;
  // One that is known: seconds of a step, and more for each row and each attended token.
  CostModel(double step, double row, double attended)
      : seconds_{step, row * kRowUnit, attended * kAttendedUnit}, typical_(step + row) {}

  // False before the first observation; Seconds is 0 then.
  bool is_known() const { return typical_ > 0.0; }

  double Seconds(const StepWork& work) const {
    const Features features = FeaturesOf(work);
    double seconds = 0.0;
    for (size_t i = 0; i < kTerms; ++i) seconds += seconds_[i] * features[i];
    return seconds;
  }

  // What hardly a step exceeds: two standard deviations more, by how far steps were off so far.
  double SecondsAtMost(const StepWork& work) const { return Seconds(work) * (1.0 + 2.0 * std::sqrt(spread_)); }

  // `seconds` of 0 say nothing: the clock is too coarse.
  void Observe(const StepWork& work, double seconds) {
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

 private:
  static constexpr size_t kTerms = 3;
  // Steps of the same work differ by a part of kNoise; the truth changes by kDrift of a typical step from one to the
  // next, and no term is ever thought to be further off than kLargestDoubt of them.
  static constexpr double kNoise = 0.1, kDrift = 0.002, kLargestDoubt = 10.0, kLearning = 0.02, kSpreadLearning = 0.05;
  // Units that make the three terms of about one size.
  static constexpr double kRowUnit = 256.0, kAttendedUnit = 256.0 * 1024.0;
  using Features = std::array<double, kTerms>;

  static Features FeaturesOf(const StepWork& work) {
    return {1.0, static_cast<double>(work.rows) / kRowUnit, static_cast<double>(work.attended) / kAttendedUnit};
  }

  static double Square(double x) { return x * x; }

  void Correct(const Features& features, double seconds) {
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

  // No term is negative: where one would be, it is 0, and the others are what is likeliest then. Cutting it off alone
  // would leave in them what was to balance it, and predictions would drift away.
  void KeepPositive() {
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

  // Grows the doubt about a term, within bounds. Scaling a row and its column keeps variances what they must be.
  void Drift(size_t i) {
    variance_[i][i] += Square(kDrift * typical_);
    const double most = Square(kLargestDoubt * typical_);
    if (variance_[i][i] <= most) return;
    const double scale = std::sqrt(most / variance_[i][i]);
    for (size_t j = 0; j < kTerms; ++j) {
      variance_[i][j] *= scale;
      variance_[j][i] *= scale;
    }
  }

  Features seconds_{};  // of each term's unit
  std::array<Features, kTerms> variance_{};
  double typical_ = 0.0;  // seconds of a step
  double spread_ = 0.0;   // variance of steps, as parts of what was predicted
};

}  // namespace skald

#endif  // SKALD_ENGINE_PLAN_COST_MODEL_H_
