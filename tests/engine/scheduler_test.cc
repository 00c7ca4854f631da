// SPDX-License-Identifier: Apache-2.0
//
// The scheduler's rules, each by an example. Memory is a byte for each token, unless a test says otherwise.

#include "skald/engine/plan/scheduler.h"

#include <cstdint>
#include <vector>

#include "doctest/doctest.h"

namespace skald::testing {
namespace scheduler_test {

const MemoryModel kByteEach = {{{1, 1, kUnlimited}}};
const CostModel kUnknown;

SequenceView Waiting(double since, uint32_t prompt) { return {.urgency = {0.0, since}, .pending = prompt}; }
SequenceView Writing(double since, uint32_t cached, uint32_t drafts = 0) {
  return {.urgency = {0.0, since}, .is_running = true, .cached = cached, .drafts = drafts};
}
SequenceView Prompt(double since, uint32_t cached, uint32_t pending) {
  return {.urgency = {0.0, since}, .is_running = true, .cached = cached, .pending = pending};
}
SequenceView Paused(SequenceView view) {
  view.may_run = false;
  return view;
}
SequenceView Displacing(SequenceView view) {
  view.urgency.displaces = true;
  return view;
}

using Indices = std::vector<uint32_t>;
using Rows = std::vector<StepRows>;

Schedule Make(const std::vector<SequenceView>& views, const StepLimits& limits, const CostModel& cost = kUnknown) {
  return MakeSchedule(views, limits, kByteEach, cost);
}

TEST_CASE("Scheduler: nothing comes of nothing") {
  CHECK(Make({}, {}).rows.empty());
  CHECK(Make({Paused(Writing(0, 10)), Paused(Waiting(1, 10))}, {}).rows.empty());
}

TEST_CASE("Scheduler: those that write have a row before prompts share the rest") {
  const Schedule schedule = Make({Prompt(0, 100, 400), Writing(1, 50), Waiting(2, 10), Writing(3, 60)}, {64, 100});
  CHECK(schedule.rows == Rows{{0, 98, 0}, {1, 1, 0}, {3, 1, 0}});
  CHECK(schedule.work == StepWork().With(100, 98).With(50, 1).With(60, 1));
  CHECK(schedule.admitted.empty());  // no rows are left for it
}

TEST_CASE("Scheduler: drafts never take another's row, nor all of the most urgent prompt's") {
  CHECK(Make({Writing(0, 50, 8), Writing(1, 50, 8)}, {64, 5}).rows == Rows{{0, 1, 3}, {1, 1, 0}});
  CHECK(Make({Waiting(0, 100), Writing(1, 50, 8)}, {64, 8}).rows == Rows{{0, 4, 0}, {1, 1, 3}});
}

TEST_CASE("Scheduler: a step that those who write could fill leaves room for the most urgent prompt") {
  CHECK(Make({Waiting(0, 100), Writing(1, 50), Writing(2, 50)}, {64, 2}).rows == Rows{{0, 1, 0}, {1, 1, 0}});
  CHECK(Make({Prompt(0, 5, 100), Writing(1, 50)}, {64, 1}).rows == Rows{{0, 1, 0}});
  CHECK(Make({Writing(0, 50), Prompt(1, 5, 100)}, {64, 1}).rows == Rows{{0, 1, 0}});
}

TEST_CASE("Scheduler: a piece of a prompt ends where the view says") {
  SequenceView prompt = Waiting(0, 300);
  prompt.step_end = 70;
  CHECK(Make({prompt, Waiting(1, 10)}, {}).rows == Rows{{0, 70, 0}, {1, 10, 0}});
}

TEST_CASE("Scheduler: who waits is admitted in order, and nobody overtakes one that has no room") {
  const std::vector<SequenceView> views = {Waiting(3, 10), Waiting(1, 20), Waiting(2, 500), Waiting(0, 30)};
  CHECK(Make(views, {}).admitted == Indices{3, 1, 2});
  StepLimits limits;
  limits.free_bytes = 100;
  CHECK(Make(views, limits).admitted == Indices{3, 1});
  limits = {.max_running = 1};
  CHECK(Make(views, limits).admitted == Indices{3});
}

TEST_CASE("Scheduler: a prompt that has begun keeps room for all of it, and who writes for what it will write soon") {
  StepLimits limits = {.step_tokens = 1000, .free_bytes = 1000};
  CHECK(Make({Prompt(0, 0, 900), Waiting(1, 100)}, limits).admitted == Indices{1});
  CHECK(Make({Prompt(0, 0, 900), Waiting(1, 101)}, limits).admitted.empty());
  limits.step_tokens = 100;
  CHECK(Make({Prompt(0, 0, 90), Waiting(1, 911)}, limits).admitted.empty());
  CHECK(Make({Writing(0, 50), Waiting(1, 935)}, limits).admitted == Indices{1});
  CHECK(Make({Writing(0, 50), Waiting(1, 936)}, limits).admitted.empty());
  // A less urgent request runs too, unless it can be displaced.
  CHECK(Make({Writing(1, 50), Waiting(0, 936)}, limits).admitted.empty());
  CHECK(Make({Displacing(Writing(1, 50)), Displacing(Waiting(0, 936))}, limits).admitted == Indices{1});
}

TEST_CASE("Scheduler: who needs more takes it from the least urgent, and only if that helps") {
  StepLimits limits;
  limits.free_bytes = 0;
  Schedule schedule = Make({Writing(0, 50), Writing(2, 10), Writing(1, 10)}, limits);
  CHECK(schedule.preempted == Indices{1});
  CHECK(schedule.rows == Rows{{0, 1, 0}, {2, 1, 0}});
  // 21 bytes cannot be freed for the prompt, so no request after it gives any.
  schedule = Make({Writing(0, 50), Prompt(1, 5, 22), Writing(2, 10), Writing(3, 11)}, limits);
  CHECK(schedule.preempted == Indices{3});
  CHECK(schedule.rows == Rows{{0, 1, 0}, {2, 1, 0}});
  // No request gives memory for drafts.
  schedule = Make({Writing(0, 50, 4), Writing(1, 10)}, {.free_bytes = 3});
  CHECK(schedule.preempted.empty());
  CHECK(schedule.rows == Rows{{0, 1, 0}, {1, 1, 0}});
}

TEST_CASE("Scheduler: those that are paused give memory first, and get no rows") {
  StepLimits limits;
  limits.free_bytes = 0;
  const Schedule schedule = Make({Paused(Writing(0, 50)), Writing(1, 10), Writing(2, 10)}, limits);
  CHECK(schedule.preempted == Indices{0});
  CHECK(schedule.rows == Rows{{1, 1, 0}, {2, 1, 0}});
}

TEST_CASE("Scheduler: who waits takes a place only from one that is paused, or if its policy displaces") {
  const StepLimits limits = {.max_running = 2, .free_bytes = 100};
  CHECK(Make({Writing(1, 50), Writing(2, 50), Waiting(0, 10)}, limits).preempted.empty());
  Schedule schedule = Make({Writing(1, 50), Paused(Writing(0, 50)), Waiting(3, 10)}, limits);
  CHECK(schedule.preempted == Indices{1});
  CHECK(schedule.admitted == Indices{2});

  schedule = Make({Displacing(Writing(1, 50)), Displacing(Writing(2, 50)), Displacing(Waiting(0, 210))}, limits);
  CHECK(schedule.preempted.empty());  // both together hold too little
  schedule = Make({Displacing(Writing(1, 50)), Displacing(Writing(2, 50)), Displacing(Waiting(0, 149))}, limits);
  CHECK(schedule.preempted == Indices{1});
  CHECK(schedule.admitted == Indices{2});
  CHECK(schedule.rows == Rows{{2, 149, 0}, {0, 1, 0}});
  // As urgent as it is, another's tokens may be: the earlier view goes first, and the two do not push each other away.
  schedule = Make({Displacing(Waiting(0, 10)), Displacing(Writing(0, 50))}, {.max_running = 1});
  CHECK(schedule.preempted == Indices{1});
  CHECK(Make({Displacing(Writing(0, 50)), Displacing(Waiting(0, 10))}, {.max_running = 1}).preempted.empty());
}

TEST_CASE("Scheduler: nobody is admitted before one that just gave its memory away") {
  const std::vector<SequenceView> views = {Writing(0, 100), Writing(1, 50), Waiting(2, 5)};
  const Schedule schedule = Make(views, {.free_bytes = 0});
  CHECK(schedule.preempted == Indices{1});
  CHECK(schedule.admitted.empty());
}

TEST_CASE("Scheduler: a step takes no longer than it may, but for the few tokens of the most urgent prompt") {
  const CostModel cost(0.010, 0.001, 0.0);
  StepLimits limits = {.step_seconds = 0.0305};
  CHECK(Make({Writing(0, 50), Waiting(1, 100), Waiting(2, 100)}, limits, cost).rows == Rows{{0, 1, 0}, {1, 19, 0}});
  CHECK(Make({Writing(0, 50, 30)}, limits, cost).rows == Rows{{0, 1, 19}});
  limits.step_seconds = 0.001;
  CHECK(Make({Writing(0, 50, 4), Waiting(1, 100), Waiting(2, 100)}, limits, cost).rows == Rows{{0, 1, 0}, {1, 16, 0}});
  CHECK(Make({Waiting(1, 100)}, limits, kUnknown).rows == Rows{{0, 100, 0}});
}

TEST_CASE("Scheduler: room without end stays so when memory is given back") {
  const std::vector<SequenceView> views = {Displacing(Writing(1, 50)), Displacing(Waiting(0, 100))};
  const Schedule schedule = Make(views, {.max_running = 1});
  CHECK(schedule.preempted == Indices{0});
  CHECK(schedule.rows == Rows{{1, 100, 0}});
}

}  // namespace scheduler_test
}  // namespace skald::testing
