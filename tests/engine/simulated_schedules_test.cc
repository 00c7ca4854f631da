// SPDX-License-Identifier: Apache-2.0
//
// Guarantees of the policies, on simulated users (benchmarks/engine): no request starves, tenants that always wait are
// served alike, memory is never exceeded, and no admitted work is wasted.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "benchmarks/engine/simulation/simulated_engine.h"
#include "benchmarks/engine/simulation/statistics.h"
#include "benchmarks/engine/simulation/trace.h"
#include "doctest/doctest.h"

namespace skald::testing {
namespace simulated_schedules_test {

constexpr Policy kPolicies[] = {Policy::kFirstCome, Policy::kPriority, Policy::kFairShare, Policy::kShortestFirst};

// Simulates to the end, and checks the bounds of every step.
void Run(SimulatedEngine& engine, const SimulationOptions& options, FairnessMeter& fairness) {
  while (engine.Step()) {
    REQUIRE(engine.held_bytes() <= options.pool_bytes);
    REQUIRE(engine.schedule().work.rows <= options.limits.step_tokens);
    fairness.Observe(engine.service(), engine.waiting());
  }
}

bool AreAllAnswered(const SimulatedEngine& engine) {
  return std::ranges::all_of(engine.outcomes(),
                             [](const Outcome& outcome) { return outcome.finished || outcome.is_cancelled; });
}

// The most that a request took longer than `per_answered` seconds for each token of its answer and `per_token` for each
// of all its tokens.
double LongestDelay(const std::vector<SimulatedRequest>& trace, const SimulatedEngine& engine, double per_answered,
                    double per_token) {
  double longest = 0.0;
  for (size_t i = 0; i < trace.size(); ++i) {
    const SimulatedRequest& request = trace[i];
    if (engine.outcomes()[i].is_cancelled) continue;
    const double due = request.arrival + per_answered * request.answer + per_token * (request.prompt + request.answer);
    longest = std::max(longest, engine.outcomes()[i].finished.value_or(INFINITY) - due);
  }
  return longest;
}

TEST_CASE("Below capacity everybody is answered within a bounded time, by every policy") {
  // About two thirds of what the engine can serve with steps so short; of bursts, half. A token of an answer takes a
  // step; what a policy takes from a request is worth a bounded time: 10 seconds of a level of priority, or 10
  // milliseconds for each of its tokens. For the rest, waiting for places and for others' prompts, two minutes, and two
  // more where up to two hundred come at once.
  constexpr double kStep = 0.25;
  struct Load {
    TraceKind kind;
    double per_second, bound;
  };
  constexpr Load kLoads[] = {
      {TraceKind::kPoisson, 1.0, 120.0},       {TraceKind::kBursts, 0.8, 240.0},
      {TraceKind::kLongTails, 0.4, 120.0},     {TraceKind::kSharedPrefixes, 0.8, 120.0},
      {TraceKind::kCancellations, 1.0, 120.0},
  };
  for (const auto& [kind, per_second, bound] : kLoads) {
    const auto trace = MakeTrace({kind, 1500, per_second, 7});
    for (const Policy policy : kPolicies) {
      for (const bool swaps : {false, true}) {
        CAPTURE(static_cast<int>(kind));
        CAPTURE(static_cast<int>(policy));
        SimulationOptions options;
        options.policy.policy = policy;
        options.limits.step_seconds = kStep;
        if (swaps) options.swap_bytes_per_second = 1e9;
        SimulatedEngine engine(trace, options);
        FairnessMeter fairness;
        Run(engine, options, fairness);
        CHECK(LongestDelay(trace, engine, 1.1 * kStep, options.policy.seconds_per_token) < bound);
      }
    }
  }
}

TEST_CASE("None starves: above capacity too, everybody is answered") {
  for (const Policy policy : kPolicies) {
    for (const uint32_t tokens : {2048u, 6000u}) {  // hardly more than the longest request, and a few of them
      CAPTURE(static_cast<int>(policy));
      const auto trace = MakeTrace({TraceKind::kGreedy, 240});
      SimulationOptions options;
      options.policy.policy = policy;
      options.pool_bytes = uint64_t{tokens} * 22528;
      SimulatedEngine engine(trace, options);
      FairnessMeter fairness;
      Run(engine, options, fairness);
      CHECK(
          std::ranges::all_of(engine.outcomes(), [](const Outcome& outcome) { return outcome.finished.has_value(); }));
    }
  }
}

TEST_CASE("Tenants that always wait are served alike") {
  constexpr uint32_t kUsers = 1200;
  const auto trace = MakeTrace({TraceKind::kGreedy, kUsers});
  SimulationOptions options;
  const uint64_t pool_tokens = options.pool_bytes / 22528;
  const auto run = [&](Policy policy) {
    options.policy.policy = policy;
    SimulatedEngine engine(trace, options);
    FairnessMeter fairness;
    Run(engine, options, fairness);
    CHECK(engine.now() > 0.0);
    return fairness;
  };
  // One can be ahead by what the other cannot displace: twice what memory holds (Sheng et al., arXiv:2401.00588).
  const FairnessMeter fair = run(Policy::kFairShare);
  CHECK(fair.largest_difference() <= 2.0 * static_cast<double>(pool_tokens));
  CHECK(fair.jain() > 0.99);
  CHECK(run(Policy::kFirstCome).largest_difference() > 2.0 * fair.largest_difference());
}

TEST_CASE("Little is computed in vain when memory is short") {
  const auto trace = MakeTrace({TraceKind::kGreedy, 600});
  for (const Policy policy : kPolicies) {
    SimulationOptions options;
    options.policy.policy = policy;
    SimulatedEngine engine(trace, options);
    FairnessMeter fairness;
    Run(engine, options, fairness);
    uint64_t preemptions = 0;
    for (const Outcome& outcome : engine.outcomes()) preemptions += outcome.preemptions;
    CHECK(preemptions <= trace.size() / 4);
  }
}

TEST_CASE("A step's time is kept, so that streams do not wait for long prompts") {
  const auto trace = MakeTrace({TraceKind::kLongTails, 600, 0.3});
  SimulationOptions options;
  options.limits.step_seconds = 0.2;
  SimulatedEngine engine(trace, options);
  FairnessMeter fairness;
  Run(engine, options, fairness);
  CHECK(engine.gaps().Quantile(0.95) < 0.2 * 1.1);
}

TEST_CASE("Batches that change at every step serve more than static ones, and these more than one at a time") {
  const auto trace = MakeTrace({TraceKind::kPoisson, 300, 10.0});
  const auto seconds = [&](bool is_static, uint32_t max_running) {
    SimulationOptions options;
    options.has_static_batches = is_static;
    options.limits.max_running = max_running;
    SimulatedEngine engine(trace, options);
    FairnessMeter fairness;
    Run(engine, options, fairness);
    CHECK(AreAllAnswered(engine));
    return engine.now();
  };
  CHECK(seconds(false, 64) < 0.9 * seconds(true, 64));
  CHECK(seconds(true, 64) < 0.5 * seconds(false, 1));
}

TEST_CASE("Prefixes that are known are not computed again, and who goes away is not served on") {
  std::vector<SimulatedRequest> trace(3);
  for (SimulatedRequest& request : trace) request = {.prompt = 1000, .answer = 10, .group = 1, .shared = 900};
  trace[1].arrival = trace[2].arrival = 100.0;
  trace[2].cancelled = 100.5;
  SimulationOptions options;
  SimulatedEngine engine(trace, options);
  FairnessMeter fairness;
  Run(engine, options, fairness);
  CHECK(*engine.outcomes()[0].first_token > 1.0);
  CHECK(*engine.outcomes()[1].first_token < 100.5);
  CHECK(engine.outcomes()[2].is_cancelled);
  CHECK(!engine.outcomes()[2].finished);
}

TEST_CASE("Simulations are the same every time") {
  const auto trace = MakeTrace({TraceKind::kBursts, 300, 1.5, 3});
  const auto end = [&] {
    SimulatedEngine engine(trace, {});
    while (engine.Step()) {
    }
    return engine.now();
  };
  CHECK(end() == end());
}

TEST_CASE("Statistics: quantiles, Jain's index, differences") {
  LogHistogram histogram;
  CHECK(histogram.Quantile(0.5) == 0.0);
  for (int i = 1; i <= 1000; ++i) histogram.Add(0.001 * i);
  CHECK(histogram.Quantile(0.5) == doctest::Approx(0.5).epsilon(0.02));
  CHECK(histogram.Quantile(1.0) == doctest::Approx(1.0).epsilon(0.02));
  CHECK(JainIndex(std::vector<double>{3.0, 3.0, 3.0}) == doctest::Approx(1.0));
  CHECK(JainIndex(std::vector<double>{3.0, 0.0, 0.0}) == doctest::Approx(1.0 / 3.0));
  FairnessMeter meter;
  const std::vector<uint32_t> both = {1, 1}, one = {1, 0};
  meter.Observe(std::vector<double>{0.0, 0.0}, both);
  meter.Observe(std::vector<double>{5.0, 1.0}, both);
  meter.Observe(std::vector<double>{50.0, 1.0}, one);  // the other asks for nothing
  meter.Observe(std::vector<double>{60.0, 4.0}, both);
  meter.Observe(std::vector<double>{60.0, 6.0}, both);
  CHECK(meter.largest_difference() == 4.0);
}

}  // namespace simulated_schedules_test
}  // namespace skald::testing
