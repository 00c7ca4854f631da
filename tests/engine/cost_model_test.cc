// SPDX-License-Identifier: Apache-2.0
//
// The cost model finds what steps cost, keeps what it knows while nothing shows it, and follows what changes. The true
// costs are those of a small model on a processor: a step, a row, a token attended to.

#include "skald/engine/plan/cost_model.h"

#include <cmath>
#include <cstdint>
#include <random>

#include "doctest/doctest.h"

namespace skald::testing {
namespace cost_model_test {

const CostModel kTruth(0.062, 0.001, 3e-7);
const StepWork kOneRow = StepWork().With(500, 1);
const StepWork kPrompt = StepWork().With(0, 512);
const StepWork kLatePrompt = StepWork().With(4000, 512);

StepWork Batch(uint32_t count) {
  StepWork work;
  for (uint32_t i = 0; i < count; ++i) work = work.With(200 + 37 * i, 1);
  return work;
}

// Shows steps to a model, whose times differ from the truth by a few percent.
class Teacher {
 public:
  explicit Teacher(double spread = 0.03) : spread_(spread) {}

  void Show(const StepWork& work, uint32_t times = 1, double slower = 1.0) {
    std::normal_distribution<double> noise(1.0, spread_);
    for (uint32_t i = 0; i < times; ++i) model.Observe(work, kTruth.Seconds(work) * slower * noise(random_));
  }
  void ShowMixed() {
    for (uint32_t i = 0; i < 100; ++i) {
      Show(StepWork().With(i % 5 * 1000, 512));
      Show(Batch(1 + i % 16), 5);
    }
  }

  CostModel model;

 private:
  const double spread_;
  std::mt19937 random_{1};
};

// By what part a prediction is wrong.
double WrongBy(const CostModel& model, const StepWork& work) {
  return std::abs(model.Seconds(work) / kTruth.Seconds(work) - 1.0);
}

TEST_CASE("CostModel: work counts rows, and every token that one attends to") {
  CHECK(StepWork().With(10, 3) == StepWork{3, 11 + 12 + 13});
  CHECK(StepWork().With(0, 1).With(7, 0) == StepWork{1, 1});
}

TEST_CASE("CostModel: knows nothing before the first step, nor from a clock that stands still") {
  CostModel model;
  CHECK(!model.is_known());
  CHECK(model.Seconds(kPrompt) == 0.0);
  model.Observe(kPrompt, 0.0);
  CHECK(!model.is_known());
  model.Observe(kPrompt, 0.5);
  CHECK(model.is_known());
  CHECK(model.Seconds(kPrompt) == doctest::Approx(0.5).epsilon(0.01));
}

TEST_CASE("CostModel: one that is given says what it was given") {
  CHECK(kTruth.is_known());
  CHECK(kTruth.Seconds({}) == doctest::Approx(0.062));
  CHECK(kTruth.Seconds({100, 1000000}) == doctest::Approx(0.062 + 0.1 + 0.3));
}

TEST_CASE("CostModel: learns from the steps of an engine at work") {
  Teacher teacher;
  teacher.ShowMixed();
  for (const StepWork& work : {kOneRow, Batch(8), kPrompt, kLatePrompt}) CHECK(WrongBy(teacher.model, work) < 0.1);
}

TEST_CASE("CostModel: hours of one kind of step take nothing from what is known of others") {
  Teacher teacher;
  teacher.ShowMixed();
  teacher.Show(kOneRow, 200000);
  CHECK(WrongBy(teacher.model, kOneRow) < 0.05);
  CHECK(WrongBy(teacher.model, kPrompt) < 0.2);
  for (uint32_t i = 0; i < 100000; ++i) teacher.Show(StepWork().With(i % 3000, 1));
  CHECK(WrongBy(teacher.model, kOneRow) < 0.05);
  CHECK(WrongBy(teacher.model, kPrompt) < 0.3);
  teacher.Show(kPrompt, 3);
  CHECK(WrongBy(teacher.model, kPrompt) < 0.05);
}

TEST_CASE("CostModel: follows a machine that slows down, and shrugs off a single step that hangs") {
  Teacher teacher;
  teacher.ShowMixed();
  teacher.Show(Batch(8), 40, 2.0);
  CHECK(teacher.model.Seconds(Batch(8)) == doctest::Approx(2.0 * kTruth.Seconds(Batch(8))).epsilon(0.1));
  teacher.Show(Batch(8), 100);
  teacher.Show(Batch(8), 1, 100.0);
  CHECK(WrongBy(teacher.model, Batch(8)) < 0.2);
}

TEST_CASE("CostModel: a long prompt in small pieces on a machine that is not quiet") {
  for (const double spread : {0.03, 0.18}) {
    Teacher teacher(spread);
    teacher.Show(kPrompt, 2);
    std::mt19937 random(2);
    std::normal_distribution<double> noise(1.0, spread);
    uint32_t over = 0;
    constexpr uint32_t kPieces = 250;
    for (uint32_t piece = 0; piece < kPieces; ++piece) {
      const StepWork work = Batch(8).With(16 * piece, 16 + piece % 3);
      if (piece > 10) CHECK(WrongBy(teacher.model, work) < 2.0 * spread);
      const double most = teacher.model.SecondsAtMost(work);
      const double typical = kTruth.Seconds(work);
      if (piece > 50) over += typical * noise(random) > most;
      teacher.Show(work);
    }
    CHECK(over < kPieces / 20);
    CHECK(teacher.model.SecondsAtMost(Batch(8)) < teacher.model.Seconds(Batch(8)) * (1.05 + 3.0 * spread));
  }
}

TEST_CASE("CostModel: never predicts a negative time, whatever it is shown") {
  std::mt19937 random(1);
  CostModel model;
  for (uint32_t i = 0; i < 20000; ++i) {
    const auto work = StepWork().With(random() % 5000, 1 + random() % 600);
    model.Observe(work, std::exp(static_cast<double>(random() % 2000) / 100.0 - 15.0));
    const double seconds = model.Seconds(StepWork().With(random() % 5000, 1 + random() % 600));
    REQUIRE(seconds >= 0.0);
    REQUIRE(seconds < 1e6);
  }
}

}  // namespace cost_model_test
}  // namespace skald::testing
