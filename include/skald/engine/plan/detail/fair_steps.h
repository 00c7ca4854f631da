// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/plan/fair_steps.h.

#ifndef SKALD_ENGINE_PLAN_DETAIL_FAIR_STEPS_H_
#define SKALD_ENGINE_PLAN_DETAIL_FAIR_STEPS_H_

#include "skald/engine/plan/fair_steps.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "skald/base/inline.h"
#include "skald/engine/plan/detail/largest.h"

namespace skald {

namespace internal {

class Sharing {
 public:
  Sharing(std::span<SequenceView> views, const ShareLimits& limits, const CostModel& cost)
      : views_(views), limits_(limits), cost_(cost), step_seconds_(cost.Seconds({})) {
    for (uint32_t i = 0; i < views.size(); ++i) {
      if (views[i].may_run) order_.push_back(i);
    }
    std::ranges::stable_sort(order_, {}, [&](uint32_t i) { return views_[i].tenant; });
    for (auto begin = order_.begin(); begin != order_.end();) {
      const auto is_another = [&](uint32_t i) { return views_[i].tenant != views_[*begin].tenant; };
      const auto end = std::find_if(begin, order_.end(), is_another);
      const std::span sequences(begin, end);
      tenants_.push_back({sequences, SecondsOf(sequences, false), SecondsOf(sequences, true)});
      begin = end;
    }
  }

  void Run() {
    const size_t parties = tenants_.size() + limits_.left_lately;
    if (tenants_.empty() || parties < 2) return;
    std::ranges::stable_sort(tenants_, {}, &Tenant::seconds);
    double least = std::ranges::min(tenants_, {}, &Tenant::seconds_at_least).seconds_at_least;
    if (limits_.left_lately > 0) least = std::min(least, cost_.Seconds(StepWork().With(0, 1)));
    double left = static_cast<double>(parties) * least - step_seconds_;
    for (size_t i = 0; i < tenants_.size(); ++i) {
      const double part = left / static_cast<double>(tenants_.size() - i) * kRounding;
      const double wanted = tenants_[i].seconds - step_seconds_;
      if (wanted > part) LimitInTurn(tenants_[i].sequences, part, /*may_sit_out=*/i > 0);
      left -= std::min(wanted, part);
    }
  }

 private:
  // Sums of the same in another order may differ by less.
  static constexpr double kRounding = 1.0 + 1e-9;
  // Fewer rows cost about as much: a tenant whose part is smaller gets its rows in one step of several.
  static constexpr uint32_t kLeastRows = 3;  // beside one of another: kernels compute four together
  // One step of so many has only what must be in it.
  static constexpr uint64_t kSmallSteps = 16;

  // Seconds are those of a step with its rows alone. Of a prompt that waits only a row is sure: the rest may be known.
  struct Tenant {
    std::span<uint32_t> sequences;
    double seconds, seconds_at_least;
  };

  uint32_t MostOf(const SequenceView& view) const {
    if (view.writes()) return std::min(limits_.step_tokens, 1 + view.drafts);
    return std::min({view.pending, view.step_end > 0 ? view.step_end : view.pending, limits_.step_tokens});
  }

  double SecondsOf(std::span<const uint32_t> sequences, bool is_cautious) const {
    StepWork work;
    for (const uint32_t i : sequences) {
      const uint32_t wanted = views_[i].is_running || !is_cautious ? MostOf(views_[i]) : 1;
      const uint64_t left = limits_.step_tokens - std::min<uint64_t>(work.rows, limits_.step_tokens);
      work = work.With(views_[i].cached, std::min<uint64_t>(wanted, left));
    }
    return cost_.Seconds(work);
  }

  // The part of one tenant.
  struct Part {
    double seconds;
    StepWork work = {};
  };

  // Lets a sequence have as many rows more as there is time for, and `least` at least.
  void Give(uint32_t i, uint32_t least, double seconds, Part& part) const {
    SequenceView& view = views_[i];
    const uint64_t cached = uint64_t{view.cached} + view.most;
    const uint32_t wanted = MostOf(view) - std::min(MostOf(view), view.most);
    const auto fits = [&](uint32_t rows) {
      return cost_.Seconds(part.work.With(cached, rows)) - step_seconds_ <= seconds;
    };
    const uint32_t given = Largest(std::min(least, wanted), wanted, fits);
    part.work = part.work.With(cached, given);
    view.most += given;
  }

  void LimitInTurn(std::span<uint32_t> sequences, double part, bool may_sit_out) const {
    for (const uint32_t i : sequences) views_[i].most = 0;
    const double few = kLeastRows * (cost_.Seconds(StepWork().With(0, 1)) - step_seconds_);
    uint64_t turns = 1;
    while (may_sit_out && turns < kLeastRows && static_cast<double>(turns) * part < few) ++turns;
    if (turns == 1) return Limit(sequences, limits_.step % kSmallSteps == 0 ? 0.0 : part);
    const uint64_t turn = limits_.step + views_[sequences.front()].tenant;  // not all in the same step
    if (turn % turns == 0) Limit(sequences, static_cast<double>(turns) * part);
  }

  void Limit(std::span<uint32_t> sequences, double seconds) const {
    const auto is_running = [&](uint32_t i) { return views_[i].is_running; };
    const auto writes = [&](uint32_t i) { return views_[i].writes(); };
    const auto urgency = [&](uint32_t i) { return std::tuple(views_[i].urgency, i); };
    const auto end_of_running = std::partition(sequences.begin(), sequences.end(), is_running);
    const auto end_of_writing = std::partition(sequences.begin(), end_of_running, writes);
    const std::span writing(sequences.begin(), end_of_writing), prompts(end_of_writing, end_of_running);
    const std::span waiting(end_of_running, sequences.end());
    std::ranges::sort(writing, {}, [&](uint32_t i) { return std::tuple(~views_[i].idle, i); });
    std::ranges::sort(prompts, {}, urgency);
    Part part = {seconds};
    const auto least = [&] { return part.work.rows == 0 ? 1u : 0u; };
    if (!prompts.empty() && views_[prompts.front()].idle > 0) Give(prompts.front(), 1, seconds / 2, part);
    for (const uint32_t i : writing) Give(i, least(), seconds, part);
    for (const uint32_t i : prompts) Give(i, least(), seconds, part);
    if (!waiting.empty()) Give(*std::ranges::min_element(waiting, {}, urgency), 1, seconds, part);
  }

  const std::span<SequenceView> views_;
  const ShareLimits& limits_;
  const CostModel& cost_;
  const double step_seconds_;    // without any rows
  std::vector<uint32_t> order_;  // views of those that may run, tenant by tenant
  std::vector<Tenant> tenants_;
};

}  // namespace internal

SKALD_INLINE void LimitToShares(std::span<SequenceView> views, const ShareLimits& limits, const CostModel& cost) {
  if (!cost.is_known() || views.empty()) return;
  const auto is_of_another = [&](const SequenceView& view) { return view.tenant != views.front().tenant; };
  if (limits.left_lately == 0 && std::ranges::none_of(views, is_of_another)) return;
  internal::Sharing(views, limits, cost).Run();
}

}  // namespace skald

#endif  // SKALD_ENGINE_PLAN_DETAIL_FAIR_STEPS_H_
