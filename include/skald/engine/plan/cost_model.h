// SPDX-License-Identifier: Apache-2.0
//
// CostModel: how long a step takes, learnt while steps are run. Time is a constant (weights are read once), so much for
// each row, and so much for each earlier token that a row attends to; a Kalman filter tracks the three (R. E. Kalman, A
// New Approach to Linear Filtering and Prediction Problems, 1960), so that what was learnt of prompts holds through
// hours without one, while what steps show follows a machine that slows down. A schedule depends on it, an answer never
// does. Plain data.

#ifndef SKALD_ENGINE_PLAN_COST_MODEL_H_
#define SKALD_ENGINE_PLAN_COST_MODEL_H_

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace skald {

/// The work of a step: rows, and over all of them the tokens that each attends to.
struct StepWork {
  uint64_t rows = 0;      ///< tokens that are computed
  uint64_t attended = 0;  ///< sum over the rows of the earlier tokens that each attends to

  /// `count` rows that follow on `cached` tokens.
  StepWork With(uint64_t cached, uint64_t count) const;

  friend bool operator==(const StepWork&, const StepWork&) = default;
};

class CostModel {
 public:
  CostModel() = default;
  /// One that is known: seconds of a step, and more for each row and each attended token.
  CostModel(double step, double row, double attended)
      : seconds_{step, row * kRowUnit, attended * kAttendedUnit}, typical_(step + row) {}

  /// False before the first observation; Seconds is 0 then.
  bool is_known() const { return typical_ > 0.0; }

  /// The seconds that a step with this work is expected to take; 0 before the first observation.
  double Seconds(const StepWork& work) const;

  /// A time that steps hardly exceed: two standard deviations more, by the errors of earlier steps.
  double SecondsAtMost(const StepWork& work) const { return Seconds(work) * (1.0 + 2.0 * std::sqrt(spread_)); }

  /// `seconds` of 0 say nothing: the clock is too coarse.
  void Observe(const StepWork& work, double seconds);

 private:
  static constexpr size_t kTerms = 3;
  /// Steps of the same work differ by a part of kNoise; the truth changes by kDrift of a typical step from one to the
  /// next, and no term is ever thought to be further off than kLargestDoubt of them.
  static constexpr double kNoise = 0.1, kDrift = 0.002, kLargestDoubt = 10.0, kLearning = 0.02, kSpreadLearning = 0.05;
  /// Units that make the three terms of about one size.
  static constexpr double kRowUnit = 256.0, kAttendedUnit = 256.0 * 1024.0;
  using Features = std::array<double, kTerms>;

  static Features FeaturesOf(const StepWork& work);

  static double Square(double x) { return x * x; }

  void Correct(const Features& features, double seconds);

  /// No term is negative: where one would be, it is 0, and the others are what is likeliest then. Cutting it off alone
  /// would leave in them what was to balance it, and predictions would drift away.
  void KeepPositive();

  /// Grows the doubt about a term, within bounds. Scaling a row and its column keeps variances what they must be.
  void Drift(size_t i);

  Features seconds_{};  ///< of each term's unit
  std::array<Features, kTerms> variance_{};
  double typical_ = 0.0;  ///< seconds of a step
  double spread_ = 0.0;   ///< variance of steps, as parts of what was predicted
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/plan/detail/cost_model.h"
#endif

#endif  // SKALD_ENGINE_PLAN_COST_MODEL_H_
