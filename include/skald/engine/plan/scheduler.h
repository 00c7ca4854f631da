// SPDX-License-Identifier: Apache-2.0
//
// Schedule: the work of the next step, the requests that begin and those that give memory back: a pure function of
// plain data, so that it can be simulated with any number of requests and no model (benchmarks/engine/). It decides
// when a token is computed, never which.
//
//   1. Memory goes by urgency: a running request that needs more than is free takes it from the least urgent, if that
//      is enough. So the most urgent running request always progresses, and none gives memory away in vain.
//   2. Rows go first to writing requests, one each and then their drafts, so that no stream waits for a prompt.
//   3. The remaining tokens and time go to prompts, piece by piece. However little it is, the most urgent prompt gets a
//      few tokens, so that none waits for ever.
//   4. Waiting requests are admitted in order, while all of their tokens have room beside the near needs of
//      those before them. If the policy says so, they also take the places of less urgent running ones.
//      Requests without a part in this step, for other tenants' sake (fair_steps.h), are skipped.
//   5. Some request always progresses. If none has room by these rules, the most urgent running one gets rows, or the
//      most urgent waiting one if none runs: then the pool decides, and the engine reports its error.

#ifndef SKALD_ENGINE_PLAN_SCHEDULER_H_
#define SKALD_ENGINE_PLAN_SCHEDULER_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "skald/engine/plan/cost_model.h"
#include "skald/engine/plan/memory_model.h"
#include "skald/engine/plan/policy.h"

namespace skald {

/// One sequence that wants to go on.
struct SequenceView {
  Urgency urgency;          ///< its place among all that want memory and rows
  bool may_run = true;      ///< else it only holds what it has, and is the first to give it
  bool is_running = false;  ///< has a cache; else it waits for one
  uint32_t cached = 0;      ///< tokens in its cache, or that will be there when it is brought back
  uint32_t shared = 0;      ///< of these tokens, that another holds anyway; 0 of one that runs
  uint32_t pending = 1;     ///< tokens to compute until a token can be drawn; at least 1
  uint32_t drafts = 0;      ///< rows that it would like to have after them
  uint32_t step_end = 0;    ///< a step must end after so many of the pending tokens, if that is not 0
  uint32_t tenant = 0;      ///< whose it is, by number
  uint32_t idle = 0;        ///< steps since the last that had rows of it
  /// Rows that it may have in this step, drafts included, for others' sake (fair_steps.h): with 0 it keeps what it has,
  /// or is passed over where it waits.
  uint32_t most = std::numeric_limits<uint32_t>::max();

  /// A row each step, rather than pieces of a prompt.
  bool writes() const { return is_running && pending == 1; }
};

/// Limits of one step.
struct StepLimits {
  uint32_t max_running = 64;   ///< sequences with a cache
  uint32_t step_tokens = 512;  ///< rows
  /// Needs a cost model that is known. A row for each that writes and the few tokens of the most urgent prompt are
  /// computed even if they take longer.
  std::optional<double> step_seconds = {};
  uint64_t free_bytes = std::numeric_limits<uint64_t>::max();  ///< bytes of the pool that new blocks may take
};

/// The rows of one sequence.
struct StepRows {
  uint32_t sequence;  ///< index of its view
  uint32_t tokens;    ///< pending ones that are computed
  uint32_t drafts;    ///< after them

  friend bool operator==(const StepRows&, const StepRows&) = default;
};

struct Schedule {
  std::vector<uint32_t> preempted;  ///< give up their caches, before anything else
  std::vector<uint32_t> admitted;   ///< get one
  std::vector<StepRows> rows;       ///< what is computed, most urgent first
  StepWork work;                    ///< of all rows
};

/// Returns what the next step does. O(n + r log r) for n sequences of which r run or may. `rows` is empty only where no
/// sequence may run, or all that may are passed over.
Schedule MakeSchedule(std::span<const SequenceView> views, const StepLimits& limits, const MemoryModel& memory,
                      const CostModel& cost);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/plan/detail/scheduler.h"
#endif

#endif  // SKALD_ENGINE_PLAN_SCHEDULER_H_
