// SPDX-License-Identifier: Apache-2.0
//
// Laws of every schedule, on random views: no budget is exceeded, no request is treated twice, the most urgent one
// progresses.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "doctest/doctest.h"
#include "skald/engine/plan/scheduler.h"
#include "tests/support/long_tests.h"

namespace skald::testing {
namespace scheduler_laws_test {

struct Situation {
  std::vector<SequenceView> views;
  StepLimits limits;
  MemoryModel memory;
  CostModel cost;
};

class SituationMaker {
 public:
  explicit SituationMaker(uint32_t seed) : random_(seed) {}

  Situation Make() {
    Situation situation;
    const bool displaces = OneIn(2);
    const uint32_t longest = OneIn(2) ? 40 : 2000;
    for (uint32_t i = UpTo(OneIn(4) ? 100 : 12); i > 0; --i) {
      SequenceView view;
      view.urgency = {static_cast<double>(UpTo(3)), static_cast<double>(UpTo(10)), displaces};
      view.may_run = !OneIn(5);
      view.is_running = OneIn(2);
      if (view.is_running || OneIn(4)) view.cached = UpTo(longest);
      view.pending = OneIn(2) ? 1 : 1 + UpTo(longest);
      if (view.writes() && OneIn(2)) view.drafts = UpTo(8);
      if (OneIn(4)) view.step_end = 1 + UpTo(longest);
      if (OneIn(6)) view.most = UpTo(4);
      situation.views.push_back(view);
    }
    situation.limits = {1 + UpTo(20), 1 + UpTo(OneIn(2) ? 20 : 600)};
    if (OneIn(2)) situation.limits.step_seconds = 0.001 * (1 + UpTo(300));
    if (!OneIn(5)) situation.limits.free_bytes = UpTo(OneIn(2) ? 200 : 20000);
    situation.memory.groups = {{1, 1 + UpTo(64)}};
    if (OneIn(2)) {  // a window, or states
      const uint64_t held = 1 + UpTo(30);
      situation.memory.groups.push_back({3, 1 + UpTo(8), held, OneIn(2) ? held : kUnlimited, held + 1 + UpTo(2)});
    }
    if (!OneIn(5)) situation.cost = CostModel(0.001 * UpTo(100), 0.0001 * (1 + UpTo(20)), 1e-7 * UpTo(20));
    return situation;
  }

 private:
  uint32_t UpTo(uint32_t most) { return static_cast<uint32_t>(random_() % (most + 1)); }
  bool OneIn(uint32_t count) { return random_() % count == 0; }

  std::mt19937 random_;
};

class Judge {
 public:
  Judge(const Situation& situation, const Schedule& schedule)
      : views_(situation.views),
        limits_(situation.limits),
        memory_(situation.memory),
        cost_(situation.cost),
        schedule_(schedule),
        preempted_(schedule.preempted.begin(), schedule.preempted.end()),
        admitted_(schedule.admitted.begin(), schedule.admitted.end()) {}

  void CheckAll() const {
    CheckRows();
    CheckMemory();
    CheckVictims();
    CheckAdmission();
    CheckTime();
    CheckThatStreamsGetOn();
    CheckThatTheMostUrgentGetsOn();
  }

 private:
  void CheckRows() const {
    StepWork work;
    std::set<uint32_t> placed;
    for (const StepRows& row : schedule_.rows) {
      const SequenceView& view = views_[row.sequence];
      CHECK(placed.insert(row.sequence).second);
      CHECK(view.may_run);
      CHECK(preempted_.count(row.sequence) == 0);
      CHECK(view.is_running != admitted_.contains(row.sequence));
      CHECK(row.tokens >= 1);
      CHECK(row.tokens <= view.pending);
      if (view.step_end > 0) CHECK(row.tokens <= view.step_end);
      // A request that must progress, because no other can, always has a row.
      CHECK(row.tokens + row.drafts <= std::max(view.most, schedule_.rows.size() == 1 ? 1u : 0u));
      CHECK(row.drafts <= (view.writes() ? view.drafts : 0));
      work = work.With(view.cached, row.tokens + row.drafts);
    }
    CHECK(work.rows <= limits_.step_tokens);
    CHECK(schedule_.work == work);
    CHECK(std::ranges::includes(placed, admitted_));
  }

  uint64_t Held(uint32_t i) const { return views_[i].is_running ? memory_.BytesFor(views_[i].cached) : 0; }
  uint64_t HeldByOthers(uint32_t than, bool only_paused = false) const {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < views_.size(); ++i) {
      if (i != than && !(only_paused && views_[i].may_run)) bytes += Held(i);
    }
    return bytes;
  }

  // Of one that is admitted, at least what it needs for all that it has to compute.
  uint64_t Taken(const StepRows& row) const {
    const SequenceView& view = views_[row.sequence];
    const uint64_t taken = memory_.BytesTaken(view.cached, row.tokens + row.drafts);
    if (view.is_running) return taken;
    return std::max(memory_.BytesToReach(uint64_t{view.cached} + view.pending), memory_.BytesFor(view.cached) + taken);
  }

  void CheckMemory() const {
    if (limits_.free_bytes == kUnlimited) return;
    uint64_t needed = 0, given = limits_.free_bytes;
    for (const uint32_t i : preempted_) given += Held(i);
    for (const StepRows& row : schedule_.rows) needed += Taken(row);
    // A request that must progress, because no other can, may get less than it needs.
    if (schedule_.rows.size() == 1 && needed > given) {
      CHECK(schedule_.preempted.empty());
      CHECK(schedule_.rows[0].tokens <= 16);
      CHECK(schedule_.rows[0].drafts == 0);
      return;
    }
    CHECK(needed <= given);
    // The last victim was needed, for memory or for a place.
    if (!schedule_.preempted.empty() && admitted_.empty()) CHECK(needed > given - Held(schedule_.preempted.back()));
  }

  bool IsBefore(uint32_t a, uint32_t b) const {
    if (views_[a].may_run != views_[b].may_run) return views_[a].may_run;
    return std::tie(views_[a].urgency, a) < std::tie(views_[b].urgency, b);
  }

  void CheckVictims() const {
    for (const uint32_t victim : preempted_) {
      CHECK(views_[victim].is_running);
      for (uint32_t i = 0; i < views_.size(); ++i) {
        if (views_[i].is_running && IsBefore(victim, i)) CHECK(preempted_.contains(i));
      }
    }
  }

  void CheckAdmission() const {
    const auto running = static_cast<size_t>(std::ranges::count_if(views_, &SequenceView::is_running));
    const size_t now = running - preempted_.size() + admitted_.size();
    CHECK(now <= std::max<size_t>(limits_.max_running, running));
    if (!admitted_.empty()) CHECK(now <= limits_.max_running);
    for (const uint32_t i : admitted_) {
      CHECK(!views_[i].is_running);
      for (uint32_t other = 0; other < views_.size(); ++other) {
        const bool waits = views_[other].may_run && !views_[other].is_running;
        if (waits && views_[other].most > 0 && IsBefore(other, i)) CHECK(admitted_.contains(other));
        if (preempted_.contains(other)) CHECK(IsBefore(i, other));
      }
    }
  }

  void CheckTime() const {
    if (!limits_.step_seconds || !cost_.is_known() || cost_.Seconds(schedule_.work) <= *limits_.step_seconds) return;
    // Without the most urgent prompt's few tokens, and those who come back to write on, it has drafts only if there is
    // time for them.
    StepWork of_streams;
    uint32_t prompts = 0, drafts = 0;
    for (const StepRows& row : schedule_.rows) {
      const SequenceView& view = views_[row.sequence];
      if (view.pending > 1) {
        ++prompts;
        CHECK(row.tokens <= 16);
      } else if (view.is_running) {
        of_streams = of_streams.With(view.cached, 1 + row.drafts);
        drafts += row.drafts;
      }
    }
    CHECK(prompts <= 1);
    if (cost_.Seconds(of_streams) > *limits_.step_seconds) CHECK(drafts == 0);
  }

  const StepRows* RowsOf(uint32_t i) const {
    const auto found = std::ranges::find(schedule_.rows, i, &StepRows::sequence);
    return found == schedule_.rows.end() ? nullptr : &*found;
  }

  // With rows and memory for all, no request that writes waits.
  void CheckThatStreamsGetOn() const {
    uint64_t needed = 0;
    for (uint32_t i = 0; i < views_.size(); ++i) {
      if (views_[i].writes() && views_[i].may_run && !preempted_.contains(i))
        needed += memory_.BytesTaken(views_[i].cached, 1);
    }
    if (limits_.step_tokens < views_.size() + 16 || !admitted_.empty() || !preempted_.empty()) return;
    for (const StepRows& row : schedule_.rows) {
      if (!views_[row.sequence].writes()) needed += memory_.BytesTaken(views_[row.sequence].cached, row.tokens);
    }
    if (needed > limits_.free_bytes) return;
    for (uint32_t i = 0; i < views_.size(); ++i) {
      if (views_[i].writes() && views_[i].may_run && views_[i].most > 0) CHECK(RowsOf(i) != nullptr);
    }
  }

  void CheckThatTheMostUrgentGetsOn() const {
    if (views_.empty()) return;
    std::vector<uint32_t> order(views_.size());
    std::iota(order.begin(), order.end(), 0u);
    const uint32_t first = *std::ranges::min_element(order, [&](uint32_t a, uint32_t b) { return IsBefore(a, b); });
    const SequenceView& view = views_[first];
    if (!view.may_run) {
      CHECK(schedule_.rows.empty());
      return;
    }
    if (view.most == 0) return;
    const bool displaces = view.is_running || view.urgency.displaces;
    CHECK(!schedule_.rows.empty());
    uint64_t available = limits_.free_bytes;
    if (available != kUnlimited) available += HeldByOthers(first, /*only_paused=*/!displaces);
    uint64_t needed = memory_.BytesTaken(view.cached, std::min(view.pending, limits_.step_tokens));
    if (!view.is_running) {
      needed = memory_.BytesToReach(uint64_t{view.cached} + view.pending);
      if (!displaces && std::ranges::any_of(views_, [](const SequenceView& v) { return v.is_running && v.may_run; }))
        return;
    }
    if (needed <= available) CHECK(RowsOf(first) != nullptr);
  }

  const std::vector<SequenceView>& views_;
  const StepLimits& limits_;
  const MemoryModel& memory_;
  const CostModel& cost_;
  const Schedule& schedule_;
  const std::set<uint32_t> preempted_, admitted_;
};

TEST_CASE("Every schedule of random sequences keeps the rules") {
  const uint32_t count = LongTests() ? 1000000 : 20000;
  for (uint32_t seed = 0; seed < count; ++seed) {
    CAPTURE(seed);
    const Situation situation = SituationMaker(seed).Make();
    const Schedule schedule = MakeSchedule(situation.views, situation.limits, situation.memory, situation.cost);
    Judge(situation, schedule).CheckAll();
  }
}

}  // namespace scheduler_laws_test
}  // namespace skald::testing
