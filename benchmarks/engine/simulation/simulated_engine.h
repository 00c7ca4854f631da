// SPDX-License-Identifier: Apache-2.0
//
// SimulatedEngine: the engine's scheduler at work without a model. Steps take the time that a cost model says, caches
// the bytes that a memory model says; the scheduler sees what the real engine would show it, and a cost model that
// learns from the steps.

#ifndef SKALD_BENCHMARKS_ENGINE_SIMULATION_SIMULATED_ENGINE_H_
#define SKALD_BENCHMARKS_ENGINE_SIMULATION_SIMULATED_ENGINE_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/engine/simulation/statistics.h"
#include "benchmarks/engine/simulation/trace.h"
#include "skald/engine/plan/cost_model.h"
#include "skald/engine/plan/fair_steps.h"
#include "skald/engine/plan/memory_model.h"
#include "skald/engine/plan/policy.h"
#include "skald/engine/plan/scheduler.h"
#include "skald/engine/plan/tenants.h"

namespace skald {

struct SimulationOptions {
  PolicyOptions policy = {};
  StepLimits limits = {};          // but free_bytes
  uint64_t pool_bytes = 1u << 29;  // of all caches together
  // TinyLlama-1.1B in bf16 on two cores with AMX: keys and values, and times after benchmarks/README.md.
  MemoryModel memory = {{{64 * 22528, 64, kUnlimited}}};
  CostModel cost = CostModel(0.062, 0.001, 3e-7);
  // At which caches are written and read; unset: what was given away is computed again.
  std::optional<double> swap_bytes_per_second = {};
  // As before continuous batching: as many as may run begin together, and the next when all of them are at their end.
  bool has_static_batches = false;
};

// The outcome of a request. Times are seconds, on the clock of its arrival.
struct Outcome {
  std::optional<double> first_token = {}, finished = {};
  uint32_t preemptions = 0;
  bool is_cancelled = false;
};

class SimulatedEngine {
 public:
  // `requests` are in the order of arrival and outlive this; their tenants are numbered from 0.
  SimulatedEngine(std::span<const SimulatedRequest> requests, const SimulationOptions& options)
      : requests_(requests), options_(options), outcomes_(requests.size()), states_(requests.size()) {
    uint32_t groups = 0, tenants = 0;
    for (uint32_t i = 0; i < requests.size(); ++i) {
      groups = std::max(groups, requests[i].group + 1);
      tenants = std::max(tenants, requests[i].tenant + 1);
      if (std::isfinite(requests[i].cancelled)) leaving_.push_back(i);
    }
    std::ranges::sort(leaving_, {}, [&](uint32_t i) { return requests_[i].cancelled; });
    is_shared_known_.resize(groups);
    service_.resize(tenants);
    waiting_.resize(tenants);
    queues_.resize(tenants);
    for (uint32_t i = 0; i < tenants; ++i) names_.push_back(std::to_string(i));
  }

  // Advances to the end of the next step. False if all requests are at their end, or the pool is too small for one.
  bool Step() {
    if (is_idle() && next_ < requests_.size()) now_ = std::max(now_, requests_[next_].arrival);
    Arrive();
    EndCancelled();
    if (is_idle()) return next_ < requests_.size();
    if (options_.has_static_batches && running_.empty()) last_of_batch_ = LastOfBatch();
    Show();
    StepLimits limits = options_.limits;
    limits.free_bytes = options_.pool_bytes - held_bytes();
    if (is_fair()) LimitToShares(views_, {limits.step_tokens, tenants_.LeftLately(now_), round_}, learnt_);
    schedule_ = MakeSchedule(views_, limits, options_.memory, learnt_);
    if (schedule_.rows.empty()) return false;
    double seconds = 0.0;
    for (const uint32_t i : schedule_.preempted) seconds += Preempt(shown_[i]);
    for (const uint32_t i : schedule_.admitted) seconds += Admit(shown_[i]);
    seconds += Compute();
    now_ += seconds;
    for (const StepRows& row : schedule_.rows) Take(shown_[row.sequence], row.tokens);
    std::erase_if(running_, [&](uint32_t i) { return !states_[i].is_running; });
    return true;
  }

  double now() const { return now_; }
  std::span<const Outcome> outcomes() const { return outcomes_; }
  const LogHistogram& gaps() const { return gaps_; }              // seconds between tokens
  std::span<const double> service() const { return service_; }    // of each tenant: tokens computed, again ones not
  std::span<const uint32_t> waiting() const { return waiting_; }  // of each tenant: sequences without a cache
  const Schedule& schedule() const { return schedule_; }          // of the last step
  std::span<const SequenceView> views() const { return views_; }  // that it was made of

  uint64_t held_bytes() const {
    uint64_t bytes = 0;
    for (const uint32_t i : running_) bytes += options_.memory.BytesFor(states_[i].cached);
    return bytes;
  }

 private:
  struct State {
    uint32_t cached = 0, generated = 0;
    uint32_t furthest = 0;  // tokens that were computed at some time
    bool is_running = false;
    uint64_t last_round = 0;  // that had rows of it
    double last_token = 0.0;
  };

  bool is_idle() const {
    return running_.empty() && std::ranges::all_of(waiting_, [](uint32_t n) { return n == 0; });
  }
  bool is_fair() const { return options_.policy.policy == Policy::kFairShare; }
  const std::string& TenantOf(uint32_t i) const { return names_[requests_[i].tenant]; }
  uint32_t Pending(uint32_t i) const { return requests_[i].prompt + states_[i].generated - states_[i].cached; }

  Standing StandingOf(uint32_t i) const {
    const SimulatedRequest& request = requests_[i];
    return {request.arrival, request.priority, uint64_t{request.prompt} + request.answer};
  }

  void Arrive() {
    for (; next_ < requests_.size() && requests_[next_].arrival <= now_; ++next_) {
      Enqueue(static_cast<uint32_t>(next_));
      (void)tenants_.Enter(TenantOf(static_cast<uint32_t>(next_)));
    }
  }

  void EndCancelled() {
    for (; left_ < leaving_.size() && requests_[leaving_[left_]].cancelled <= now_; ++left_) {
      const uint32_t i = leaving_[left_];
      if (outcomes_[i].finished) continue;
      if (!states_[i].is_running) Dequeue(i);
      std::erase(running_, i);
      outcomes_[i].is_cancelled = true;
      tenants_.Leave(TenantOf(i), now_);
    }
  }

  // Waiting requests, most urgent first; for fair shares a queue for each tenant, whose order among themselves changes.
  using Queue = std::set<std::pair<Urgency, uint32_t>>;
  Queue& QueueOf(uint32_t i) { return queues_[is_fair() ? requests_[i].tenant : 0]; }
  void Enqueue(uint32_t i) {
    QueueOf(i).emplace(UrgencyOf(StandingOf(i), options_.policy), i);
    ++waiting_[requests_[i].tenant];
  }
  void Dequeue(uint32_t i) {
    QueueOf(i).erase({UrgencyOf(StandingOf(i), options_.policy), i});
    --waiting_[requests_[i].tenant];
  }

  uint32_t LastOfBatch() const {
    auto last = queues_[0].begin();
    for (uint32_t i = 1; i < options_.limits.max_running && std::next(last) != queues_[0].end(); ++i) ++last;
    return last->second;
  }

  // Makes views of those that run, and of those that wait: no more of a queue than could be admitted at once.
  void Show() {
    shown_ = running_;
    for (const Queue& queue : queues_) {
      uint32_t left = options_.limits.max_running;
      for (const auto& [urgency, i] : queue) {
        if (left-- == 0 || (options_.has_static_batches && i > last_of_batch_)) break;
        shown_.push_back(i);
      }
    }
    std::ranges::sort(shown_, {}, [&](uint32_t i) { return std::pair(!states_[i].is_running, i); });
    views_.clear();
    ++round_;
    for (const uint32_t i : shown_) {
      SequenceView& view = views_.emplace_back();
      Standing standing = StandingOf(i);
      standing.served = tenants_.served(TenantOf(i));
      standing.before = tenants_.NextTurn(TenantOf(i), round_);
      if (states_[i].is_running) standing.held = states_[i].cached;
      view.urgency = UrgencyOf(standing, options_.policy);
      view.tenant = requests_[i].tenant;
      view.idle = static_cast<uint32_t>(std::min<uint64_t>(round_ - states_[i].last_round, UINT32_MAX));
      view.is_running = states_[i].is_running;
      view.cached = states_[i].cached;
      view.pending = Pending(i);
    }
  }

  // This and Admit return the seconds that it takes.
  double Preempt(uint32_t i) {
    std::erase(running_, i);
    states_[i].is_running = false;
    Enqueue(i);
    ++outcomes_[i].preemptions;
    if (options_.swap_bytes_per_second) return SwapSeconds(i);
    states_[i].cached = 0;
    return 0.0;
  }
  double Admit(uint32_t i) {
    Dequeue(i);
    running_.push_back(i);
    State& state = states_[i];
    state.is_running = true;
    if (state.cached > 0) return SwapSeconds(i);
    if (is_shared_known_[requests_[i].group]) state.cached = std::min(requests_[i].shared, requests_[i].prompt - 1);
    state.furthest = std::max(state.furthest, state.cached);
    return 0.0;
  }
  double SwapSeconds(uint32_t i) const {
    return static_cast<double>(options_.memory.BytesFor(states_[i].cached)) / *options_.swap_bytes_per_second;
  }

  double Compute() {
    StepWork work;
    for (const StepRows& row : schedule_.rows) {
      const uint32_t i = shown_[row.sequence];
      work = work.With(states_[i].cached, std::min(row.tokens, Pending(i)));
    }
    const double seconds = options_.cost.Seconds(work);
    learnt_.Observe(work, seconds);
    return seconds;
  }

  // Draws a token for requests without pending rows, and removes those that have all of their tokens.
  void Take(uint32_t i, uint32_t tokens) {
    State& state = states_[i];
    state.last_round = round_ + 1;
    const bool draws = tokens >= Pending(i);
    state.cached += std::min(tokens, Pending(i));
    const uint32_t gained = state.cached - std::min(state.cached, state.furthest);
    state.furthest += gained;
    service_[requests_[i].tenant] += gained;
    tenants_.Serve(TenantOf(i), gained);
    if (!draws) return;
    const SimulatedRequest& request = requests_[i];
    if (state.generated++ == 0) {
      outcomes_[i].first_token = now_;
      if (request.shared > 0) is_shared_known_[request.group] = true;
    } else {
      gaps_.Add(now_ - state.last_token);
    }
    state.last_token = now_;
    if (state.generated < request.answer) return;
    outcomes_[i].finished = now_;
    state.is_running = false;
    tenants_.Leave(TenantOf(i), now_);
  }

  const std::span<const SimulatedRequest> requests_;
  const SimulationOptions options_;
  CostModel learnt_;
  Tenants tenants_;
  std::vector<std::string> names_;  // of tenants
  uint64_t round_ = 0;              // of steps
  double now_ = 0.0;
  size_t next_ = 0;                        // the next arrival
  std::vector<uint32_t> leaving_;          // requests that are cancelled, in this order
  size_t left_ = 0;                        // so many of them have been
  std::vector<Outcome> outcomes_;          // of each request
  std::vector<State> states_;              // of each request
  std::vector<uint32_t> running_, shown_;  // requests; those that views are of
  std::vector<Queue> queues_;
  uint32_t last_of_batch_ = 0;
  std::vector<SequenceView> views_;
  Schedule schedule_;
  std::vector<bool> is_shared_known_;  // of each group
  LogHistogram gaps_;
  std::vector<double> service_;
  std::vector<uint32_t> waiting_;
};

}  // namespace skald

#endif  // SKALD_BENCHMARKS_ENGINE_SIMULATION_SIMULATED_ENGINE_H_
