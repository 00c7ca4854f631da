// SPDX-License-Identifier: Apache-2.0
//
// Fair steps: how much of a step each tenant may have if several want rows. Served tokens alone do not suffice: a
// tenant with many streams has a row for each in every step, and each row makes the step longer for the others. So with
// T tenants a step takes at most about T times as long as with only the rows of the tenant that wants least, and
// tenants that want more have equal parts of that time: every tenant progresses at least at a T-th of the speed that it
// has alone. If rows cost little beside the step itself, as in large models, nothing is left out. Pure.

#ifndef SKALD_ENGINE_PLAN_FAIR_STEPS_H_
#define SKALD_ENGINE_PLAN_FAIR_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "skald/engine/plan/cost_model.h"
#include "skald/engine/plan/scheduler.h"

namespace skald {

/// The facts of a step besides its sequences, for LimitToShares.
struct ShareLimits {
  uint32_t step_tokens = 512;  ///< rows of a step
  /// More tenants, that want nothing now and may come back at any time with a row: steps are kept short for them too,
  /// as one that runs cannot be cut short.
  size_t left_lately = 0;
  uint64_t step = 0;  ///< its number
};

/// Sets SequenceView::most of those that a step leaves out or cuts short for other tenants' sake. Within a tenant
/// those that write take turns, its most urgent prompt has up to half of its part in every other step, and one that
/// waits may begin in each step. Every tenant has a row at least in each step, or a few in every second or third; now
/// and then no more: what few rows cost is learnt of steps that have few. Nothing is set where a tenant is alone, or
/// no cost is known yet. O(n log n) for n views.
void LimitToShares(std::span<SequenceView> views, const ShareLimits& limits, const CostModel& cost);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/plan/detail/fair_steps.h"
#endif

#endif  // SKALD_ENGINE_PLAN_FAIR_STEPS_H_
