// SPDX-License-Identifier: Apache-2.0

#include "bench/bench.h"

#include <chrono>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/bench_measure.h"
#include "bench/bench_models.h"
#include "bench/bench_serve.h"
#include "bench/bench_warnings.h"
#include "bench/machine/counters.h"
#include "bench/machine/cpus.h"
#include "bench/machine/energy.h"
#include "bench/machine/load.h"
#include "bench/machine/machine_facts.h"
#include "bench/report/bench_report.h"
#include "benchmarks/machine/machine_limits.h"
#include "conversation/program_model.h"
#include "ranks/rank_job.h"
#include "simd.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/thread_pool.h"

namespace skald::program {
namespace {

void Wait(const BenchOptions& options) { std::this_thread::sleep_for(std::chrono::duration<double>(options.delay)); }

// A table of the waiting times that users of an engine see.
Result<void> Serve(const BenchOptions& options, const BenchModel& model) {
  std::cout << "| model | SIMD | threads | users | prompt, answer | arrival | tokens/s | first token: p50, p99, ms | "
               "between tokens: p50, p99, most, ms |\n|---|---|---|---|---|---|---|---|---|\n";
  const auto ms = [](double seconds) { return seconds * 1e3; };
  for (const uint32_t threads : options.threads) {
    for (const uint32_t users : options.users) {
      ServeCase serve_case = {users,   options.prompts.front(), options.generated.front(), options.arrival, {},
                              threads, options.kv_type};
      if (options.step_ms > 0) serve_case.step_seconds = options.step_ms / 1e3;
      Wait(options);
      SKALD_ASSIGN(const auto measured, MeasureServing(*model.model, serve_case));
      const Latency& first = measured.first_token;
      const Latency& between = measured.between;
      std::cout << std::fixed << std::setprecision(1) << "| " << model.name << " | " << SimdTarget() << " | " << threads
                << " | " << users << " | " << serve_case.prompt << ", " << serve_case.answer << " | "
                << serve_case.arrival << " | " << measured.rate << " | " << ms(first.median) << ", " << ms(first.p99)
                << " | " << ms(between.median) << ", " << ms(between.p99) << ", " << ms(between.most) << " |\n"
                << std::flush;
    }
  }
  return {};
}

// All cases for so many threads. A length of 0 is no such case.
std::vector<BenchCase> CasesOf(const BenchOptions& options, uint32_t threads) {
  std::vector<BenchCase> cases;
  for (const uint32_t depth : options.depths) {
    for (const uint32_t tokens : options.prompts) {
      if (tokens != 0) cases.push_back({tokens, 0, depth, 1, threads, options.kv_type});
    }
    for (const uint32_t tokens : options.generated) {
      for (const uint32_t sequences : options.sequences) {
        if (tokens != 0) cases.push_back({0, tokens, depth, sequences, threads, options.kv_type});
      }
    }
    for (const auto& [prompt, generated] : options.both) {
      for (const uint32_t sequences : options.sequences) {
        cases.push_back({prompt, generated, depth, sequences, threads, options.kv_type});
      }
    }
  }
  return cases;
}

// Facts of this machine, before anything is measured.
RunFacts FactsOfRun(const BenchMeters& meters) {
  RunFacts run;
  run.machine = ReadMachineFacts();
  run.load = LoadAverage();
  const std::vector<int> cpus = CpusOfThread();
  if (!cpus.empty() && cpus.size() < run.machine.cpus) run.pinned = CpuListText(cpus);
  run.counters = meters.counters.state();
  run.energy = meters.energy.state();
  return run;
}

class Bench {
 public:
  // `ranks` may be null, and must outlive this, as the options must. Errors: a file cannot be written.
  static Result<Bench> Begin(const BenchOptions& options, RankJob* ranks) {
    BenchMeters meters;
    const RunFacts run = FactsOfRun(meters);
    SKALD_ASSIGN(auto report, BenchReport::Begin(options, run));
    return Bench(options, ranks, std::move(meters), run, std::move(report));
  }

  // Measures all cases of a model on the SIMD target in use. Ends early where nothing can be printed.
  Result<void> Run(const BenchModel& model) {
    const BenchSetting setting{model.name,
                               model.file,
                               MemoryBytes(model.model->model().weights()),
                               CountParameters(*model.model),
                               model.model->Cost().weight_type,
                               SimdTarget()};
    for (const uint32_t threads : options_.threads) {
      const BenchLimits limits = {LimitsOf(setting.simd, threads), cache_};
      for (const BenchCase& bench_case : CasesOf(options_, threads)) {
        if (!std::cout) return {};
        Wait(options_);
        MeasuredRanks* const ranks = ranks_ != nullptr ? &ranks_->measured() : nullptr;
        SKALD_ASSIGN(const auto measured,
                     Measure(*model.model, bench_case, limits, options_.repetitions, meters_, ranks));
        SKALD_TRY(report_.Add(setting, bench_case, measured));
        if (ranks_ != nullptr) report_.AddTraffic(ranks_->share().ranks, bench_case, measured);
        warnings_.Note(setting, bench_case, measured);
      }
    }
    return {};
  }

  Result<void> Finish() {
    SKALD_TRY(report_.Finish());
    warnings_.Finish();
    return {};
  }

 private:
  Bench(const BenchOptions& options, RankJob* ranks, BenchMeters meters, const RunFacts& run, BenchReport report)
      : options_(options),
        ranks_(ranks),
        cache_(run.machine.last_level_cache),
        meters_(std::move(meters)),
        report_(std::move(report)),
        warnings_(run, ranks != nullptr) {}

  const MachineLimits& LimitsOf(const std::string& simd, uint32_t threads) {
    const auto [entry, is_new] = limits_.try_emplace({simd, threads});
    if (is_new) {
      ThreadPool pool(threads);
      entry->second = MeasureLimits(ExecutorRef(pool));
      report_.AddLimits(simd, threads, entry->second);
    }
    return entry->second;
  }

  const BenchOptions& options_;
  RankJob* const ranks_;
  const uint64_t cache_;  // bytes of the last level
  BenchMeters meters_;
  BenchReport report_;
  BenchWarnings warnings_;
  std::map<std::pair<std::string, uint32_t>, MachineLimits> limits_;
};

// Binds threads to the CPUs that the options name. Unless the user says how many there are, one to each.
Result<void> Pin(Options& options) {
  BenchOptions& bench = options.bench;
  if (!bench.numa_nodes.empty()) {
    SKALD_ASSIGN(bench.cpus, CpusOfNodes(bench.numa_nodes));
  }
  if (bench.cpus.empty()) return {};
  SKALD_TRY(KeepToCpus(bench.cpus));
  if (!options.chose_threads) bench.threads = {static_cast<uint32_t>(bench.cpus.size())};
  return {};
}

Result<std::vector<std::string>> TargetsOf(const BenchOptions& options) {
  std::vector<std::string> targets = options.simd;
  if (targets.empty()) targets.push_back(SimdTarget());
  if (targets == std::vector<std::string>{"all"}) targets = SimdTargets();
  for (const std::string& target : targets) {
    SKALD_TRY(UseSimdTarget(target));
  }
  return targets;
}

// Loads and serves all models on one SIMD target.
Result<void> ServeAll(const Options& options, const std::vector<BenchSource>& sources, const std::string& target) {
  (void)UseSimdTarget(target);
  for (const BenchSource& source : sources) {
    SKALD_ASSIGN(const auto model, LoadModel(options, source));
    SKALD_TRY(Serve(options.bench, model));
  }
  return {};
}

}  // namespace

Result<void> ForEachBenchModel(const Options& options, const std::function<Result<void>(const ProgramModel&)>& run) {
  for (const BenchSource& source : SourcesOf(options)) {
    SKALD_ASSIGN(const auto model, LoadModel(options, source));
    SKALD_TRY(run(*model.model));
  }
  return {};
}

Result<int> RunBench(const Options& given) {
  Options options = given;
  SKALD_ASSIGN(const auto targets, TargetsOf(options.bench));
  const std::vector<BenchSource> sources = SourcesOf(options);
  SKALD_TRY(CheckSources(sources));
  SKALD_TRY(Pin(options));
  if (!options.bench.users.empty()) {
    SKALD_TRY(ServeAll(options, sources, targets.front()));
    return 0;
  }
  SKALD_ASSIGN(auto bench, Bench::Begin(options.bench, options.ranks.get()));
  for (const BenchSource& source : sources) {
    if (!std::cout) break;
    SKALD_ASSIGN(const auto model, LoadModel(options, source));
    for (const std::string& target : targets) {
      (void)UseSimdTarget(target);
      SKALD_TRY(bench.Run(model));
    }
  }
  if (!std::cout) return kExitError;  // the owner of the stream says why
  SKALD_TRY(bench.Finish());
  return 0;
}

}  // namespace skald::program
