// SPDX-License-Identifier: Apache-2.0
//
// Schedule: what the next step computes, who begins and who gives memory back: a pure function of plain data, so that
// it can be simulated with any number of requests and no model (benchmarks/schedule_sim.cc). What it decides changes
// when a token is computed, never which.
//
//   1. The most urgent sequence is sure of memory: less urgent ones give theirs for it.
//   2. Those that write go first, a row each and their drafts, so that no stream waits for a prompt.
//   3. What tokens and time are left go to prompts, piece by piece. However little it is, the most urgent prompt gets a
//      few tokens, so that none waits for ever.
//   4. Who waits is admitted in order, as long as all of its tokens have room; who is more urgent than one that runs
//      takes its place.

#ifndef SKALD_ENGINE_PLAN_SCHEDULER_H_
#define SKALD_ENGINE_PLAN_SCHEDULER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "skald/engine/plan/cost_model.h"
#include "skald/engine/plan/memory_model.h"
#include "skald/engine/plan/policy.h"

namespace skald {

// One sequence that wants to go on.
struct SequenceView {
  Urgency urgency;
  bool may_run = true;      // else it only holds what it has, and is the first to give it
  bool is_running = false;  // has a cache; else it waits for one
  uint32_t cached = 0;      // tokens in its cache, or that will be there when it is brought back
  uint32_t pending = 1;     // tokens to compute until a token can be drawn; at least 1
  uint32_t drafts = 0;      // rows that it would like to have behind them
  uint32_t step_end = 0;    // a step must end after so many of the pending tokens, if that is not 0

  // A row each step, rather than pieces of a prompt.
  bool writes() const { return is_running && pending == 1; }
};

struct StepLimits {
  uint32_t max_running = 64;
  uint32_t step_tokens = 512;               // rows
  std::optional<double> step_seconds = {};  // needs a cost model that is known
  uint64_t free_bytes = std::numeric_limits<uint64_t>::max();
};

struct StepRows {
  uint32_t sequence;  // index of its view
  uint32_t tokens;    // pending ones that are computed
  uint32_t drafts;    // behind them

  friend bool operator==(const StepRows&, const StepRows&) = default;
};

struct Schedule {
  std::vector<uint32_t> preempted;  // give up their caches, before anything else
  std::vector<uint32_t> admitted;   // get one
  std::vector<StepRows> rows;       // what is computed
  StepWork work;
};

namespace internal {

class Scheduling {
 public:
  Scheduling(std::span<const SequenceView> views, const StepLimits& limits, const MemoryModel& memory,
             const CostModel& cost)
      : views_(views), limits_(limits), memory_(memory), cost_(cost), free_(limits.free_bytes), order_(views.size()) {
    std::iota(order_.begin(), order_.end(), 0u);
    std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
      if (views[a].may_run != views[b].may_run) return views[a].may_run;
      return views[a].urgency != views[b].urgency ? views[a].urgency < views[b].urgency : a < b;
    });
    is_running_.reserve(views.size());
    for (const SequenceView& view : views) is_running_.push_back(view.is_running);
    running_ = static_cast<uint32_t>(std::count(is_running_.begin(), is_running_.end(), true));
    is_placed_.resize(views.size());
    runnable_ = static_cast<size_t>(std::ranges::count_if(views, &SequenceView::may_run));
    last_victim_ = order_.size();
  }

  Schedule Run() {
    if (runnable_ == 0) return std::move(schedule_);
    ReserveForFirst();
    for (size_t rank = 0; rank < runnable_; ++rank) {
      const uint32_t i = order_[rank];
      if (is_running_[i] && !is_placed_[i] && views_[i].writes()) PlaceWriting(i, rank);
    }
    for (size_t rank = 0; rank < runnable_ && !is_closed_; ++rank) {
      const uint32_t i = order_[rank];
      if (!is_placed_[i] && !WasPreempted(i)) PlacePrompt(i, rank);
    }
    return std::move(schedule_);
  }

 private:
  // The fewest tokens of the most urgent prompt in a step, whatever the budget says.
  static constexpr uint32_t kLeastPrompt = 16;

  bool WasPreempted(uint32_t i) const { return views_[i].is_running && !is_running_[i]; }
  uint32_t RowsLeft() const {
    return limits_.step_tokens - std::min<uint32_t>(limits_.step_tokens, static_cast<uint32_t>(schedule_.work.rows));
  }

  // A prompt that is computed comes after those that write, but its memory does not, where it is the most urgent.
  void ReserveForFirst() {
    const SequenceView& first = views_[order_.front()];
    if (!first.is_running || first.writes()) return;
    is_first_reserved_ = TakeMemory(first.cached, std::min(first.pending, limits_.step_tokens), 0);
  }

  void PlaceWriting(uint32_t i, size_t rank) {
    const SequenceView& view = views_[i];
    if (RowsLeft() == 0) return;
    const uint32_t drafts = std::min(view.drafts, RowsLeft() - 1);
    if (TakeMemory(view.cached, 1 + drafts, rank)) return Place(i, 1, drafts);
    if (drafts > 0 && TakeMemory(view.cached, 1, rank)) Place(i, 1, 0);
  }

  void PlacePrompt(uint32_t i, size_t rank) {
    const SequenceView& view = views_[i];
    const uint32_t rows = PromptRows(view);
    if (rows == 0) {
      is_closed_ = true;
      return;
    }
    if (is_running_[i]) {
      if ((rank == 0 && is_first_reserved_) || TakeMemory(view.cached, rows, rank)) Place(i, rows, 0);
      return;
    }
    // Who waits begins only with room for all that it has to compute, and none behind it goes before it.
    const bool has_place = running_ < limits_.max_running || Preempt(rank, /*of_less_urgent=*/true);
    if (!has_place || !TakeMemory(0, view.cached + view.pending, rank, /*of_less_urgent=*/true)) {
      is_closed_ = true;
      return;
    }
    is_running_[i] = true;
    ++running_;
    schedule_.admitted.push_back(i);
    Place(i, rows, 0);
  }

  // How many tokens of a prompt the budgets have room for.
  uint32_t PromptRows(const SequenceView& view) const {
    uint32_t most = std::min(view.pending, RowsLeft());
    if (view.step_end > 0) most = std::min(most, view.step_end);
    if (!limits_.step_seconds || !cost_.is_known()) return most;
    const uint32_t least = has_prompt_ ? 0 : std::min(most, kLeastPrompt);
    const auto fits = [&](uint32_t rows) {
      return cost_.Seconds(schedule_.work.With(view.cached, rows)) <= *limits_.step_seconds;
    };
    uint32_t fitting = least, too_many = most + 1;
    while (fitting + 1 < too_many) {
      const uint32_t middle = fitting + (too_many - fitting) / 2;
      (fits(middle) ? fitting : too_many) = middle;
    }
    return fitting;
  }

  void Place(uint32_t i, uint32_t tokens, uint32_t drafts) {
    is_placed_[i] = true;
    has_prompt_ |= !views_[i].writes();
    schedule_.rows.push_back({i, tokens, drafts});
    schedule_.work = schedule_.work.With(views_[i].cached, tokens + drafts);
  }

  // Takes what `rows` tokens behind `cached` need, from sequences that come after `rank` where nothing else is free.
  bool TakeMemory(uint64_t cached, uint64_t rows, size_t rank, bool of_less_urgent = false) {
    const uint64_t needed = memory_.Growth(cached, rows);
    while (needed > free_) {
      if (!Preempt(rank, of_less_urgent)) return false;
    }
    free_ -= needed;
    return true;
  }

  // Has the least urgent sequence that runs give up its memory, if it comes after `rank` and has no rows yet.
  bool Preempt(size_t rank, bool of_less_urgent) {
    for (size_t victim = last_victim_; victim-- > rank + 1;) {
      const uint32_t i = order_[victim];
      if (!views_[i].is_running || !is_running_[i] || is_placed_[i]) continue;
      if (of_less_urgent && views_[i].may_run && !(views_[order_[rank]].urgency < views_[i].urgency)) return false;
      last_victim_ = victim;
      is_running_[i] = false;
      --running_;
      free_ += memory_.BytesFor(views_[i].cached);
      schedule_.preempted.push_back(i);
      return true;
    }
    return false;
  }

  const std::span<const SequenceView> views_;
  const StepLimits& limits_;
  const MemoryModel& memory_;
  const CostModel& cost_;
  uint64_t free_;
  uint32_t running_ = 0;
  std::vector<uint32_t> order_;  // those that may run, most urgent first; behind them the others
  size_t runnable_ = 0;          // so many may run
  std::vector<bool> is_running_, is_placed_;
  size_t last_victim_ = 0;   // ranks from here on have no victims
  bool has_prompt_ = false;  // a prompt has rows
  bool is_first_reserved_ = false;
  bool is_closed_ = false;  // nothing more is placed
  Schedule schedule_;
};

}  // namespace internal

// Returns what the next step does. O(n log n). Where no sequence could get rows, `rows` is empty: then the pool is too
// small for the most urgent one, or there is none.
inline Schedule MakeSchedule(std::span<const SequenceView> views, const StepLimits& limits, const MemoryModel& memory,
                             const CostModel& cost) {
  return internal::Scheduling(views, limits, memory, cost).Run();
}

}  // namespace skald

#endif  // SKALD_ENGINE_PLAN_SCHEDULER_H_
