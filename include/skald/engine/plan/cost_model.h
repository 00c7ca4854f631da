// SPDX-License-Identifier: Apache-2.0
//
// CostModel: how long a step takes, learnt while steps are run. Time is a constant (weights are read once), so much for
// each row, and so much for each earlier token that a row attends to; the three are fitted by recursive least squares
// with exponential forgetting (Haykin, Adaptive Filter Theory, 4th ed., table 9.1). A schedule depends on it, an answer
// never does. Plain data.

#ifndef SKALD_ENGINE_PLAN_COST_MODEL_H_
#define SKALD_ENGINE_PLAN_COST_MODEL_H_

#include <algorithm>
#include <array>
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
      : seconds_{step, row * kRowUnit, attended * kAttendedUnit}, observed_(1) {}

  // False before the first observation; Seconds is 0 then.
  bool is_known() const { return observed_ > 0; }

  double Seconds(const StepWork& work) const {
    const Features features = FeaturesOf(work);
    double seconds = 0.0;
    for (size_t i = 0; i < kTerms; ++i) seconds += std::max(0.0, seconds_[i]) * features[i];
    return seconds;
  }

  void Observe(const StepWork& work, double seconds) {
    const Features features = FeaturesOf(work);
    Features gain{};
    double scale = kForgetting, predicted = 0.0;
    for (size_t i = 0; i < kTerms; ++i) {
      for (size_t j = 0; j < kTerms; ++j) gain[i] += inverse_[i][j] * features[j];
      scale += features[i] * gain[i];
      predicted += seconds_[i] * features[i];
    }
    for (size_t i = 0; i < kTerms; ++i) seconds_[i] += gain[i] / scale * (seconds - predicted);
    for (size_t i = 0; i < kTerms; ++i) {
      for (size_t j = 0; j < kTerms; ++j) {
        inverse_[i][j] = (inverse_[i][j] - gain[i] * gain[j] / scale) / kForgetting;
        // What is never excited must not grow without bound.
        inverse_[i][j] = std::clamp(inverse_[i][j], -kUncertainty, kUncertainty);
      }
    }
    ++observed_;
  }

 private:
  static constexpr size_t kTerms = 3;
  static constexpr double kForgetting = 0.99, kUncertainty = 1e4;
  // Units that make the three terms of about one size.
  static constexpr double kRowUnit = 256.0, kAttendedUnit = 256.0 * 1024.0;
  using Features = std::array<double, kTerms>;

  static Features FeaturesOf(const StepWork& work) {
    return {1.0, static_cast<double>(work.rows) / kRowUnit, static_cast<double>(work.attended) / kAttendedUnit};
  }

  Features seconds_{};
  std::array<Features, kTerms> inverse_ = {Features{kUncertainty, 0.0, 0.0}, Features{0.0, kUncertainty, 0.0},
                                           Features{0.0, 0.0, kUncertainty}};
  uint64_t observed_ = 0;
};

}  // namespace skald

#endif  // SKALD_ENGINE_PLAN_COST_MODEL_H_
