// SPDX-License-Identifier: Apache-2.0
//
// The effects of policies: the engine's scheduler on simulated users, as Markdown tables and CSV. Nothing is computed;
// a cost model gives the time of a step (simulation/simulated_engine.h).

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "benchmarks/engine/simulation/simulated_engine.h"
#include "benchmarks/engine/simulation/statistics.h"
#include "benchmarks/engine/simulation/trace.h"

namespace skald {
namespace {

struct Arguments {
  std::vector<std::string> traces = {"poisson"};
  std::vector<double> loads = {0.8};
  uint32_t users = 10000;
  uint64_t seed = 1;
  double first_token_target = 10.0, per_token_target = 0.5;
  double memory_mib = 512.0, swap_gb_per_second = 0.0, step_seconds = 0.0;
  StepLimits limits = {};
  PolicyOptions policy = {};
  std::string csv;
};

// A way to schedule that a table has a row for.
struct Scheduler {
  const char* name;
  Policy policy = Policy::kFirstCome;
  bool has_static_batches = false;
  bool is_one_at_a_time = false;
};

constexpr Scheduler kSchedulers[] = {
    {.name = "one at a time", .is_one_at_a_time = true},
    {.name = "static batches", .has_static_batches = true},
    {.name = "first come"},
    {.name = "priority", .policy = Policy::kPriority},
    {.name = "fair share", .policy = Policy::kFairShare},
    {.name = "shortest first", .policy = Policy::kShortestFirst},
};

struct Figures {
  double goodput = 0.0, throughput = 0.0;       // tokens of prompts and answers, per second
  double first_token[3] = {}, between[3] = {};  // seconds, of kParts
  double difference = 0.0, jain = 1.0;
  double preemptions = 0.0;  // for each request
  double wall_seconds = 0.0;
};
constexpr double kParts[] = {0.5, 0.95, 0.99};

SimulationOptions OptionsOf(const Arguments& arguments, const Scheduler& scheduler) {
  SimulationOptions options;
  options.policy = arguments.policy;
  options.policy.policy = scheduler.policy;
  options.limits = arguments.limits;
  if (arguments.step_seconds > 0.0) options.limits.step_seconds = arguments.step_seconds;
  if (scheduler.is_one_at_a_time) options.limits.max_running = 1;
  options.has_static_batches = scheduler.has_static_batches;
  options.pool_bytes = static_cast<uint64_t>(arguments.memory_mib * 1048576.0);
  if (arguments.swap_gb_per_second > 0.0) options.swap_bytes_per_second = arguments.swap_gb_per_second * 1e9;
  return options;
}

std::optional<Figures> Simulate(const std::vector<SimulatedRequest>& trace, const SimulationOptions& options,
                                const Arguments& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  SimulatedEngine engine(trace, options);
  FairnessMeter fairness;
  while (engine.Step()) fairness.Observe(engine.service(), engine.waiting());
  Figures figures;
  std::vector<double> first_tokens;
  for (size_t i = 0; i < trace.size(); ++i) {
    const SimulatedRequest& request = trace[i];
    const Outcome& outcome = engine.outcomes()[i];
    figures.preemptions += outcome.preemptions / static_cast<double>(trace.size());
    if (outcome.first_token) first_tokens.push_back(*outcome.first_token - request.arrival);
    if (outcome.is_cancelled) continue;
    if (!outcome.finished) return std::nullopt;
    const double tokens = request.prompt + request.answer;
    const double per_token = (*outcome.finished - *outcome.first_token) / std::max(1u, request.answer - 1);
    figures.throughput += tokens / engine.now();
    const bool is_good = first_tokens.back() <= arguments.first_token_target && per_token <= arguments.per_token_target;
    if (is_good) figures.goodput += tokens / engine.now();
  }
  std::ranges::sort(first_tokens);
  for (size_t i = 0; i < 3; ++i) {
    const auto rank = static_cast<size_t>(kParts[i] * static_cast<double>(first_tokens.size()));
    figures.first_token[i] = first_tokens.empty() ? 0.0 : first_tokens[std::min(rank, first_tokens.size() - 1)];
    figures.between[i] = engine.gaps().Quantile(kParts[i]);
  }
  figures.difference = fairness.largest_difference();
  figures.jain = fairness.jain();
  figures.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return figures;
}

// Users per second that the engine can serve: those of a trace that is all there from the start.
std::optional<double> Capacity(const Arguments& arguments, TraceKind kind) {
  const uint32_t users = std::min(arguments.users, 2000u);
  std::vector<SimulatedRequest> trace = MakeTrace({kind, users, 1.0, arguments.seed});
  for (SimulatedRequest& request : trace) request.arrival = 0.0;
  SimulatedEngine engine(trace, OptionsOf(arguments, kSchedulers[2]));
  while (engine.Step()) {
  }
  if (!std::ranges::all_of(engine.outcomes(),
                           [](const Outcome& outcome) { return outcome.finished || outcome.is_cancelled; })) {
    return std::nullopt;
  }
  return users / engine.now();
}

void PrintRow(const char* name, const Figures& figures) {
  std::printf("| %s | %.0f | %.0f |", name, figures.goodput, figures.throughput);
  for (const double seconds : figures.first_token) std::printf(" %.2f |", seconds);
  for (const double seconds : figures.between) std::printf(" %.0f |", seconds * 1e3);
  std::printf(" %.2f | %.0f | %.3f |\n", figures.preemptions, figures.difference, figures.jain);
}

void WriteRow(std::ostream& csv, const std::string& trace, double load, const char* name, const Figures& figures) {
  csv << trace << ',' << load << ',' << name << ',' << figures.goodput << ',' << figures.throughput;
  for (const double seconds : figures.first_token) csv << ',' << seconds;
  for (const double seconds : figures.between) csv << ',' << seconds;
  csv << ',' << figures.preemptions << ',' << figures.difference << ',' << figures.jain << '\n';
}

// Prints a table for one trace at one load.
bool Compare(const Arguments& arguments, const std::string& name, double load, std::ostream& csv) {
  const auto kind = static_cast<TraceKind>(std::ranges::find(kTraceNames, name) - std::begin(kTraceNames));
  const std::optional<double> capacity = Capacity(arguments, kind);
  if (!capacity) {
    std::cerr << "schedule_sim: --memory-mib is too small for the longest request of " << name << "\n";
    return false;
  }
  const auto trace = MakeTrace({kind, arguments.users, load * *capacity, arguments.seed});
  std::printf("\n%s, %u users, %.2f per second, load %.2f:\n\n", name.c_str(), arguments.users, load * *capacity, load);
  std::printf(
      "| | goodput, tokens/s | throughput | first token: 50 %%, s | 95 %% | 99 %% | between tokens: 50 %%, ms | "
      "95 %% | 99 %% | preemptions per request | unfair by tokens | Jain |\n");
  std::printf("|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  double wall_seconds = 0.0;
  for (const Scheduler& scheduler : kSchedulers) {
    const auto figures = Simulate(trace, OptionsOf(arguments, scheduler), arguments);
    if (!figures) {
      std::cerr << "schedule_sim: " << scheduler.name << " left requests of " << name << " unanswered\n";
      return false;
    }
    PrintRow(scheduler.name, *figures);
    WriteRow(csv, name, load, scheduler.name, *figures);
    wall_seconds += figures->wall_seconds;
    std::fflush(stdout);
  }
  std::cerr << name << " at " << load << ": simulated in " << wall_seconds << " s\n";
  return true;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Simulates the engine's scheduler with many users and no model, and prints what each policy is worth.");
  const std::vector<std::string> names(std::begin(kTraceNames), std::end(kTraceNames));
  app.add_option("--traces", arguments.traces, "poisson, bursts, long-tails, shared, cancelled, greedy")
      ->delimiter(',')
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  app.add_option("--loads", arguments.loads, "users per second, as parts of what the engine can serve")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--users", arguments.users)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seed", arguments.seed)->capture_default_str();
  app.add_option("--max-running", arguments.limits.max_running)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--step-tokens", arguments.limits.step_tokens)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--step-seconds", arguments.step_seconds, "0: no limit")->capture_default_str();
  app.add_option("--memory-mib", arguments.memory_mib, "of all caches")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--swap-gbps", arguments.swap_gb_per_second, "GB/s of writing and reading caches; 0: compute again")
      ->capture_default_str();
  app.add_option("--turn-tokens", arguments.policy.turn_tokens, "of fair shares")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--first-token-target", arguments.first_token_target, "seconds, for goodput")->capture_default_str();
  app.add_option("--per-token-target", arguments.per_token_target, "seconds on average, for goodput")
      ->capture_default_str();
  app.add_option("--csv", arguments.csv, "a file for plot_schedules.py");
  CLI11_PARSE(app, argc, argv);

  std::ostringstream csv;
  csv << "trace,load,scheduler,goodput,throughput,first50,first95,first99,between50,between95,between99,preemptions,"
         "unfair,jain\n";
  for (const std::string& trace : arguments.traces) {
    for (const double load : arguments.loads) {
      if (!Compare(arguments, trace, load, csv)) return 1;
    }
  }
  if (!arguments.csv.empty() && !(std::ofstream(arguments.csv) << csv.str())) {
    std::cerr << "schedule_sim: " << arguments.csv << " cannot be written\n";
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace skald

int main(int argc, char** argv) { return skald::Main(argc, argv); }
