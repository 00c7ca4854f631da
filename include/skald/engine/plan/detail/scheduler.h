// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/plan/scheduler.h.

#ifndef SKALD_ENGINE_PLAN_DETAIL_SCHEDULER_H_
#define SKALD_ENGINE_PLAN_DETAIL_SCHEDULER_H_

#include "skald/engine/plan/scheduler.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "skald/base/inline.h"
#include "skald/engine/plan/detail/largest.h"

namespace skald {

namespace internal {

class Scheduling {
 public:
  Scheduling(std::span<const SequenceView> views, const StepLimits& limits, const MemoryModel& memory,
             const CostModel& cost)
      : views_(views), limits_(limits), memory_(memory), cost_(cost), free_(limits.free_bytes) {
    Rank();
    for (const Ranked& ranked : order_) {
      if (views_[ranked.view].is_running) CountBehind(ranked);
    }
    running_ = behind_.count;
    next_victim_ = order_.size();
  }

  Schedule Run() {
    if (order_.empty() || !views_[order_.front().view].may_run) return std::move(schedule_);
    schedule_.rows.reserve(order_.size());
    ChargeWriting();
    for (size_t rank = 0; rank < order_.size() && views_[order_[rank].view].may_run; ++rank) Visit(order_[rank]);
    if (schedule_.rows.empty()) PlaceLeader();
    return std::move(schedule_);
  }

 private:
  // The fewest tokens of the most urgent prompt in a step, whatever time they take.
  static constexpr uint32_t kLeastPrompt = 16;
  // Room for so many tokens of each writing request is kept free when others are admitted. Without it, a request that
  // has just begun would often have to give its memory back (benchmarks/README.md says what that costs).
  static constexpr uint32_t kSoon = 64;

  struct Ranked {
    uint32_t view;
    Urgency urgency;
    uint64_t held = 0;  // bytes, if it runs
    uint64_t soon = 0;  // more of them, that it will need
    uint32_t rows = 0;  // of those that write, that schedule_.work counts
    bool is_preempted = false;

    friend bool operator<(const Ranked& a, const Ranked& b) {
      return std::tie(a.urgency, a.view) < std::tie(b.urgency, b.view);
    }
  };

  // Sequences that run, the bytes that they hold, and those that they will soon need besides.
  struct Holders {
    uint32_t count = 0;
    uint64_t bytes = 0, soon = 0;

    void Add(const Ranked& ranked) {
      ++count;
      bytes += ranked.held;
      soon += ranked.soon;
    }
    void Remove(const Ranked& ranked) {
      --count;
      bytes -= ranked.held;
      soon -= ranked.soon;
    }
  };

  // Counts a running request among those after the visited one, or no longer.
  void CountBehind(const Ranked& ranked) {
    behind_.Add(ranked);
    if (!views_[ranked.view].may_run) paused_.Add(ranked);
  }
  void UncountBehind(const Ranked& ranked) {
    behind_.Remove(ranked);
    if (!views_[ranked.view].may_run) paused_.Remove(ranked);
  }

  // Fills order_: those that may run, most urgent first, then others that have memory to give. As there are no more
  // than max_running places, no more of those that wait are looked at.
  void Rank() {
    order_.reserve(views_.size());
    const auto add_running = [&](bool may_run) {
      for (uint32_t i = 0; i < views_.size(); ++i) {
        const SequenceView& view = views_[i];
        if (view.is_running && view.may_run == may_run) {
          const uint64_t rows = view.writes() ? 1 + kSoon : view.pending;
          const uint64_t held = memory_.BytesFor(view.cached);
          const uint64_t soon =
              std::max(memory_.BytesToReach(uint64_t{view.cached} + rows) - held, memory_.BytesTaken(view.cached, 1));
          order_.push_back({i, view.urgency, held, may_run ? soon : 0});
        }
      }
    };
    for (uint32_t i = 0; i < views_.size(); ++i) {
      const SequenceView& view = views_[i];
      if (!view.is_running && view.may_run && view.most > 0) order_.push_back({i, view.urgency});
    }
    if (order_.size() > limits_.max_running) {
      std::nth_element(order_.begin(), order_.begin() + limits_.max_running, order_.end());
      order_.resize(limits_.max_running);
    }
    add_running(true);
    std::sort(order_.begin(), order_.end());
    const auto runnable = static_cast<std::ptrdiff_t>(order_.size());
    add_running(false);
    std::sort(order_.begin() + runnable, order_.end());
  }

  // Counts the rows of writing requests before any prompt gets some. A request that then finds no memory gives them
  // back.
  void ChargeWriting() {
    const SequenceView& first = views_[order_.front().view];
    const uint32_t half = limits_.step_tokens - limits_.step_tokens / 2;
    uint32_t left = limits_.step_tokens - (first.writes() ? 0 : std::min({Wanted(first), kLeastPrompt, half}));
    for (Ranked& ranked : order_) {
      const SequenceView& view = views_[ranked.view];
      if (left == 0) return;
      if (!view.writes() || !view.may_run || view.most == 0) continue;
      schedule_.work = schedule_.work.With(view.cached, 1);
      ranked.rows = 1;
      --left;
    }
    for (Ranked& ranked : order_) {
      const SequenceView& view = views_[ranked.view];
      if (ranked.rows == 0 || view.drafts == 0) continue;
      const uint32_t drafts = Fitting(view.cached + 1, 0, std::min({view.drafts, view.most - 1, left}));
      schedule_.work = schedule_.work.With(view.cached + 1, drafts);
      ranked.rows += drafts;
      left -= drafts;
    }
  }

  // Gives it back the count for rows after the first `rows`.
  void Discharge(Ranked& ranked, uint32_t rows) {
    const StepWork wrong = StepWork().With(views_[ranked.view].cached + rows, ranked.rows - rows);
    schedule_.work.rows -= wrong.rows;
    schedule_.work.attended -= wrong.attended;
    ranked.rows = rows;
  }

  void Visit(Ranked& ranked) {
    const SequenceView& view = views_[ranked.view];
    if (!view.is_running) return Admit(ranked);
    if (ranked.is_preempted) {
      is_closed_ = true;
      return;
    }
    UncountBehind(ranked);
    view.writes() ? PlaceWriting(ranked) : PlacePrompt(ranked);
  }

  void PlaceWriting(Ranked& ranked) {
    if (ranked.rows == 0) {  // it sits this step out
      promised_ += ranked.soon;
      return;
    }
    const SequenceView& view = views_[ranked.view];
    // Drafts only get memory that will not be needed soon.
    if (ranked.rows > 1 && memory_.BytesTaken(view.cached, ranked.rows) + behind_.soon > free_) Discharge(ranked, 1);
    const uint64_t taken = memory_.BytesTaken(view.cached, ranked.rows);
    if (!TakeMemory(taken)) return Discharge(ranked, 0);
    schedule_.rows.push_back({ranked.view, 1, ranked.rows - 1});
    promised_ += ranked.soon - std::min(ranked.soon, taken);
  }

  void PlacePrompt(const Ranked& ranked) {
    const SequenceView& view = views_[ranked.view];
    uint32_t rows = PromptRows(view);
    // No request gives memory for blocks that are free again at the step's end: such a step is made shorter.
    const uint64_t lasting = memory_.BytesToReach(uint64_t{view.cached} + rows) - ranked.held;
    if (rows > 0 && lasting <= free_) {
      const uint64_t spare = free_ - std::min(free_, behind_.soon);
      rows = std::max(1u, RowsWithin(std::max(spare, std::min(free_, ranked.soon)), view.cached, rows));
    }
    const uint64_t taken = memory_.BytesTaken(view.cached, rows);
    if (rows > 0 && TakeMemory(taken)) AddPrompt(ranked, rows);
    promised_ += ranked.soon - std::min(ranked.soon, taken);
  }

  // How many of `most` rows after `cached` tokens a step can take `bytes` for.
  uint32_t RowsWithin(uint64_t bytes, uint64_t cached, uint32_t most) const {
    return Largest(0, most, [&](uint32_t rows) { return memory_.BytesTaken(cached, rows) <= bytes; });
  }

  // A waiting request begins only with room for its whole work, and no later one goes before it.
  void Admit(const Ranked& ranked) {
    if (is_closed_) return;
    const SequenceView& view = views_[ranked.view];
    const uint32_t rows = PromptRows(view);
    const bool displaces = view.urgency.displaces;
    const Holders& victims = displaces ? behind_ : paused_;
    const uint64_t shared = memory_.BytesFor(view.shared);
    const uint64_t bytes = memory_.BytesToReach(uint64_t{view.cached} + view.pending) - shared;
    const uint64_t with_spare = bytes + promised_ + (displaces ? 0 : behind_.soon);
    is_closed_ = rows == 0 || running_ - victims.count >= limits_.max_running || !HasMemory(with_spare, victims);
    if (is_closed_) return;
    while (running_ >= limits_.max_running) PreemptLast();
    while (with_spare > free_) PreemptLast();
    ++running_;
    schedule_.admitted.push_back(ranked.view);
    const uint64_t held = memory_.BytesFor(view.cached) - shared;
    const uint32_t fitting = std::max(1u, RowsWithin(free_ - std::min(free_, held), view.cached, rows));
    free_ -= std::min(free_, std::max(bytes, held + memory_.BytesTaken(view.cached, fitting)));
    AddPrompt(ranked, fitting);
  }

  // Gives rows to the one that must get on, as few as the engine cannot do without for long.
  void PlaceLeader() {
    const auto leads = [&](const Ranked& ranked) { return views_[ranked.view].is_running; };
    const auto runnable = std::ranges::find_if(order_, [&](const Ranked& r) { return !views_[r.view].may_run; });
    const auto running = std::find_if(order_.begin(), runnable, leads);
    const Ranked& leader = running == runnable ? order_.front() : *running;
    const SequenceView& view = views_[leader.view];
    if (!view.is_running) schedule_.admitted.push_back(leader.view);
    AddPrompt(leader, std::max(1u, std::min({Wanted(view), kLeastPrompt, limits_.step_tokens})));
  }

  void AddPrompt(const Ranked& ranked, uint32_t rows) {
    has_prompt_ |= views_[ranked.view].pending > 1;
    schedule_.rows.push_back({ranked.view, rows, 0});
    schedule_.work = schedule_.work.With(views_[ranked.view].cached, rows);
  }

  // How many pending tokens it would have in a step that has room for all.
  static uint32_t Wanted(const SequenceView& view) {
    return std::min({view.pending, view.most, view.step_end > 0 ? view.step_end : view.pending});
  }

  // How many tokens of a prompt the budgets have room for. If there is none for one, there is none for later ones.
  uint32_t PromptRows(const SequenceView& view) {
    if (is_full_ || view.most == 0) return 0;
    const auto counted = static_cast<uint32_t>(std::min<uint64_t>(schedule_.work.rows, limits_.step_tokens));
    const uint32_t most = std::min(Wanted(view), limits_.step_tokens - counted);
    const uint32_t rows = Fitting(view.cached, has_prompt_ ? 0 : std::min(most, kLeastPrompt), most);
    is_full_ = rows == 0;
    return rows;
  }

  // How many rows, up to `most`, after `cached` tokens the step has time for; no fewer than `least`.
  uint32_t Fitting(uint64_t cached, uint32_t least, uint32_t most) const {
    if (!limits_.step_seconds || !cost_.is_known()) return most;
    const auto fits = [&](uint32_t rows) {
      return cost_.SecondsAtMost(schedule_.work.With(cached, rows)) <= *limits_.step_seconds;
    };
    return Largest(least, most, fits);
  }

  // Whether so much is free, or would be if all of `victims` gave up theirs.
  bool HasMemory(uint64_t bytes, const Holders& victims) const {
    return bytes <= free_ || bytes - free_ <= victims.bytes;
  }

  // Takes it from those after the visited one, if no more is free.
  bool TakeMemory(uint64_t bytes) {
    if (!HasMemory(bytes, behind_)) return false;
    while (bytes > free_) PreemptLast();
    free_ -= bytes;
    return true;
  }

  // Makes the least urgent running request give up its memory; there must be one after the visited one.
  void PreemptLast() {
    while (!views_[order_[--next_victim_].view].is_running) {
    }
    Ranked& victim = order_[next_victim_];
    victim.is_preempted = true;
    Discharge(victim, 0);
    --running_;
    UncountBehind(victim);
    free_ += std::min(victim.held, std::numeric_limits<uint64_t>::max() - free_);
    schedule_.preempted.push_back(victim.view);
  }

  const std::span<const SequenceView> views_;
  const StepLimits& limits_;
  const MemoryModel& memory_;
  const CostModel& cost_;
  std::vector<Ranked> order_;
  uint64_t free_;
  uint64_t promised_ = 0;  // bytes that those visited so far will soon need
  uint32_t running_ = 0;
  Holders behind_;           // those after the one that is visited
  Holders paused_;           // of these
  size_t next_victim_ = 0;   // ranks from here on have no victims
  bool has_prompt_ = false;  // a prompt has rows, not just one that comes back to write on
  bool is_full_ = false;     // prompts get no more rows
  bool is_closed_ = false;   // no other request is admitted
  Schedule schedule_;
};

}  // namespace internal

SKALD_INLINE Schedule MakeSchedule(std::span<const SequenceView> views, const StepLimits& limits,
                                   const MemoryModel& memory, const CostModel& cost) {
  return internal::Scheduling(views, limits, memory, cost).Run();
}

}  // namespace skald

#endif  // SKALD_ENGINE_PLAN_DETAIL_SCHEDULER_H_
