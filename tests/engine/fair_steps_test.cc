// SPDX-License-Identifier: Apache-2.0
//
// Shares of a step: by examples, over many steps, and what holds of all of them.

#include "skald/engine/plan/fair_steps.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/engine/engine.h"
#include "skald/engine/plan/scheduler.h"
#include "skald/engine/plan/tenants.h"
#include "tests/engine/alone.h"
#include "tests/engine/run_engine.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace fair_steps_test {

constexpr uint32_t kStepTokens = 512;
const CostModel kRowsAlone(0.0, 0.001, 0.0);     // as of a tiny model
const CostModel kStepMostly(0.064, 0.001, 0.0);  // as of a large one
const MemoryModel kNoMemory = {{{0, 1}}};

SequenceView Writing(uint32_t tenant) { return {.is_running = true, .cached = 10, .tenant = tenant}; }
SequenceView Prompt(uint32_t tenant, uint32_t pending) {
  return {.is_running = true, .cached = 10, .pending = pending, .tenant = tenant};
}
SequenceView Waiting(uint32_t tenant, uint32_t pending) { return {.pending = pending, .tenant = tenant}; }

// `count` times the same.
std::vector<SequenceView> Times(size_t count, const SequenceView& view) { return std::vector(count, view); }
std::vector<SequenceView> operator+(std::vector<SequenceView> a, const std::vector<SequenceView>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Schedule Make(std::vector<SequenceView>& views, const CostModel& cost, size_t left_lately = 0, uint64_t step = 1) {
  LimitToShares(views, {kStepTokens, left_lately, step}, cost);
  return MakeSchedule(views, {.max_running = 1000, .step_tokens = kStepTokens}, kNoMemory, cost);
}

// Makes schedules one after the other, of sequences that go on writing, and counts the rows that each had.
std::vector<uint64_t> RowsOf(std::vector<SequenceView> views, const CostModel& cost, int steps) {
  std::vector<uint64_t> rows(views.size());
  for (int step = 0; step < steps; ++step) {
    for (SequenceView& view : views) view.most = UINT32_MAX;
    const Schedule schedule = Make(views, cost, 0, static_cast<uint64_t>(step));
    for (SequenceView& view : views) ++view.idle;
    for (const StepRows& row : schedule.rows) {
      rows[row.sequence] += row.tokens;
      views[row.sequence].idle = 0;
      if (views[row.sequence].pending > 1) views[row.sequence].pending -= row.tokens;
    }
  }
  return rows;
}

TEST_CASE("Shares: where one tenant is alone nothing is left out") {
  auto views = Times(60, Writing(7)) + Times(3, Prompt(7, 500)) + Times(40, Waiting(7, 10));
  const auto untouched = [](const SequenceView& view) { return view.most == UINT32_MAX; };
  LimitToShares(views, {kStepTokens, 0, 1}, kRowsAlone);
  CHECK(std::ranges::all_of(views, untouched));
  views.push_back(Writing(8));
  LimitToShares(views, {kStepTokens, 0, 1}, CostModel());
  CHECK(std::ranges::all_of(views, untouched));  // nothing is known
  LimitToShares(views, {kStepTokens, 0, 1}, kStepMostly);
  CHECK(!std::ranges::all_of(views, untouched));
}

TEST_CASE("Shares: many streams of one tenant take half of the time from another's one, and no more") {
  auto views = Times(1, Writing(1)) + Times(63, Writing(2));
  CHECK(Make(views, kRowsAlone, 0, 1).work.rows == 4);  // in every third step
  const std::vector<uint64_t> rows = RowsOf(views, kRowsAlone, 630);
  CHECK(rows[0] == 630);
  for (size_t i = 1; i < rows.size(); ++i) CHECK(rows[i] == 10);  // they take turns
}

TEST_CASE("Shares: rows that cost little are not left out") {
  auto views = Times(1, Writing(1)) + Times(63, Writing(2));
  CHECK(Make(views, kStepMostly).work.rows == 64);
  views = Times(1, Writing(1)) + Times(200, Writing(2));
  CHECK(Make(views, kStepMostly).work.rows == 66);  // 130 ms, and 65 alone
}

TEST_CASE("Shares: with more tenants each has its part of the time, and what some do not want is the others'") {
  auto views = Times(1, Writing(1)) + Times(100, Writing(2)) + Times(2, Writing(3)) + Times(100, Writing(4));
  std::map<uint32_t, uint64_t> rows;
  const std::vector<uint64_t> each = RowsOf(views, CostModel(0.010, 0.001, 0.0), 100);
  for (size_t i = 0; i < views.size(); ++i) rows[views[i].tenant] += each[i];
  // A step is four times 11 ms: 34 rows, of which the small ones want 3. Seven steps are small.
  CHECK(rows[1] == 100);
  CHECK(rows[3] == 200);
  CHECK(rows[2] == 93 * 15 + 7);
  CHECK(rows[4] == 93 * 15 + 7);
}

TEST_CASE("Shares: a step that one has alone stays short for those who left lately") {
  auto views = Times(63, Writing(1));
  CHECK(Make(views, kRowsAlone, 1).work.rows == 2);
  views = Times(1, Writing(1)) + Times(63, Writing(2));
  CHECK(Make(views, kRowsAlone, 1, 1).work.rows == 1);
  for (SequenceView& view : views) view.most = UINT32_MAX;
  CHECK(Make(views, kRowsAlone, 1, 2).work.rows == 5);
  views = Times(63, Writing(1));
  CHECK(Make(views, kStepMostly, 1).work.rows == 63);
}

TEST_CASE("Shares: a tenant's prompt and its streams both get on") {
  auto views = Times(1, Writing(1)) + Times(20, Writing(2)) + Times(1, Prompt(2, 2000));
  std::vector<uint64_t> rows = RowsOf(views, kRowsAlone, 800);
  CHECK(rows[0] == 800);
  CHECK(rows.back() >= 260);
  for (size_t i = 1; i <= 20; ++i) CHECK(rows[i] >= 20);
  // With time for 66 rows the prompt has 46 beside the streams, or 33 before them.
  rows = RowsOf(views, kStepMostly, 20);
  CHECK(rows.back() >= 18 * 33);
  for (size_t i = 1; i <= 20; ++i) CHECK(rows[i] >= 18);
}

TEST_CASE("Shares: of those that wait one may begin in each step, and others are passed over for the step alone") {
  auto views = Times(30, Waiting(2, 100)) + Times(1, Writing(1)) + Times(1, Waiting(1, 2));
  Schedule schedule = Make(views, kRowsAlone, 0, 2);
  CHECK(schedule.admitted == std::vector<uint32_t>{0, 31});
  CHECK(schedule.work.rows <= 1 + 2 + 5);
  // Whose place is not to be had takes nothing from those that run.
  views = Times(1, Writing(1)) + Times(3, Writing(2)) + Times(3, Waiting(2, 100));
  LimitToShares(views, {kStepTokens, 0, 1}, kRowsAlone);
  schedule = MakeSchedule(views, {.max_running = 4, .step_tokens = kStepTokens}, kNoMemory, kRowsAlone);
  CHECK(schedule.admitted.empty());
  CHECK(schedule.work.rows == 4);
}

TEST_CASE("Shares: one step of sixteen has no more than a row of those that are limited, for the cost's sake") {
  auto views = Times(1, Writing(1)) + Times(200, Writing(2));
  int small = 0;
  for (uint64_t step = 0; step < 80; ++step) {
    for (SequenceView& view : views) view.most = UINT32_MAX;
    small += Make(views, kStepMostly, 0, step).work.rows == 2 ? 1 : 0;
  }
  CHECK(small == 5);
  views = Times(1, Writing(1)) + Times(63, Writing(2));
  CHECK(Make(views, kStepMostly, 0, 0).work.rows == 64);  // nothing is limited
}

TEST_CASE("Shares: those that may not run want nothing") {
  auto views = Times(1, Writing(1)) + Times(63, Writing(2));
  views[0].may_run = false;
  CHECK(Make(views, kRowsAlone).work.rows == 63);
}

// Of random views, with costs that earlier tokens are a part of.
TEST_CASE("Shares: steps are short for whoever wants least, and a few of them have rows of everybody") {
  std::mt19937 random(1);
  const auto up_to = [&](uint32_t most) { return static_cast<uint32_t>(random() % (most + 1)); };
  for (int round = 0; round < 3000; ++round) {
    CAPTURE(round);
    const CostModel cost(0.001 * up_to(50), 0.0001 * (1 + up_to(20)), 1e-7 * up_to(5));
    std::vector<SequenceView> views;
    std::map<uint32_t, StepWork> wanted;
    const uint32_t tenants = 1 + up_to(4);
    for (uint32_t i = 1 + up_to(60); i > 0; --i) {
      SequenceView view = up_to(3) > 0 ? Writing(up_to(tenants)) : Prompt(up_to(tenants), 1 + up_to(300));
      view.cached = up_to(400);
      view.idle = up_to(3);
      view.urgency.since = up_to(9);
      views.push_back(view);
    }
    for (const SequenceView& view : views) {
      StepWork& work = wanted[view.tenant];
      work = work.With(view.cached, std::min<uint64_t>(view.pending, kStepTokens - work.rows));
    }
    double least = cost.Seconds(wanted.begin()->second);
    for (const auto& [tenant, work] : wanted) least = std::min(least, cost.Seconds(work));
    std::map<uint32_t, uint64_t> rows;
    constexpr uint64_t kSteps = 6;  // in which each has its turn, however many steps it waits for one
    double seconds = 0.0;
    bool is_full = false;
    for (uint64_t step = 1; step <= kSteps; ++step) {
      for (SequenceView& view : views) view.most = UINT32_MAX;
      const Schedule schedule = Make(views, cost, 0, step);
      for (const StepRows& row : schedule.rows) {
        CHECK(row.tokens <= views[row.sequence].most);
        rows[views[row.sequence].tenant] += row.tokens;
      }
      seconds += cost.Seconds(schedule.work) / kSteps;
      is_full |= schedule.work.rows == kStepTokens;
    }
    if (!is_full) CHECK(rows.size() == wanted.size());
    // A guaranteed row may cost more than its tenant's part.
    const double one_row = cost.Seconds(StepWork().With(800, 1)) - cost.Seconds({});
    const auto parties = static_cast<double>(wanted.size());
    if (wanted.size() > 1) CHECK(seconds <= parties * (least + one_row) * (1.0 + 1e-6));
  }
}

// A model whose rows take a millisecond each, on a clock of its own.
struct Timed {
  const RandomModel& model;
  double& now;

  const ModelSpec& spec() const { return model.spec(); }
  Result<Outputs> Forward(const Batch& batch, Workspace& workspace, const ForwardOptions& options) const {
    for (const StepRequest& request : batch.requests()) now += 0.001 * static_cast<double>(request.tokens.size());
    return model.Forward(batch, workspace, options);
  }
};

TEST_CASE("An engine computes few rows a step while one stream of another tenant is there, or was lately") {
  double now = 0.0;
  const RandomModel model(SmallModelNamed("one-layer"), 5);
  const Timed timed = {model, now};
  Workspace workspace = *CreateWorkspace({.threads = 1});
  EngineOptions options;
  options.policy.policy = Policy::kFairShare;
  options.clock = [&now] { return now; };
  auto engine = *Engine::Create(timed, NewPool(model.small(), {.max_tokens = 4096}), workspace, options);
  const auto ask = [&](const std::string& tenant, uint32_t samples, uint32_t tokens) {
    Request request = {.prompt = RandomTokens(model.small(), 1, 4), .samples = samples, .max_tokens = tokens};
    request.tenant = tenant;
    return *engine->Submit(std::move(request));
  };
  ask("loud", 20, 2000);
  for (int i = 0; i < 20; ++i) REQUIRE(engine->Step());
  CHECK(engine->Step()->rows == 20);
  const RequestId quiet = ask("quiet", 1, 400);
  bool is_over = false;
  uint64_t rows = 0;
  for (int step = 0; !is_over; ++step) {
    const auto report = engine->Step();
    REQUIRE(report);
    if (step >= 100) rows += report->rows;  // at first it learns what rows cost
    for (const Event& event : report->events) is_over |= event.request == quiet && event.finish.has_value();
  }
  CHECK(rows <= 300 * 3);
  const double left = now;
  while (now < left + Tenants::kLately - 0.02) CHECK(engine->Step()->rows <= 3);
  now += 0.1;
  CHECK(engine->Step()->rows == 20);
}

}  // namespace fair_steps_test
}  // namespace skald::testing
