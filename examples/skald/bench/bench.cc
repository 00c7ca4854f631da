// SPDX-License-Identifier: Apache-2.0

#include "bench/bench.h"

#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench_measure.h"
#include "bench/bench_report.h"
#include "bench/bench_serve.h"
#include "benchmarks/machine/machine_limits.h"
#include "commands/simd.h"
#include "conversation/program_model.h"
#include "ranks/rank_job.h"
#include "setup.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/thread_pool.h"

namespace skald::program {
namespace {

// A model, and what the table calls it.
struct BenchModel {
  std::string name;
  std::unique_ptr<ProgramModel> model;
};

// With the weights as `weight_type`; unset, as the options of all commands say.
Result<BenchModel> LoadModel(const Options& options, std::optional<DType> weight_type) {
  if (!options.bench.shape.empty()) {
    const RankShare share = ShareOf(options.ranks);
    SKALD_ASSIGN(auto model, RandomProgramModel(options.bench.shape, weight_type.value_or(DType::kBF16), share));
    if (options.ranks != nullptr) {
      SKALD_TRY(model->ComputeOn(options.ranks->ranks()));
    }
    return BenchModel{options.bench.shape, std::move(model)};
  }
  Options one = options;
  one.weight_type = weight_type;
  SKALD_ASSIGN(const auto info, IdentifyModel(one.model));
  SKALD_ASSIGN(auto model, LoadWeights(one, info));
  return BenchModel{std::string(info.name), std::move(model)};
}

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
      if (tokens != 0) cases.push_back({true, tokens, depth, 1, threads, options.kv_type});
    }
    for (const uint32_t tokens : options.generated) {
      for (const uint32_t sequences : options.sequences) {
        if (tokens != 0) cases.push_back({false, tokens, depth, sequences, threads, options.kv_type});
      }
    }
  }
  return cases;
}

class Bench {
 public:
  // `ranks` may be null, and must outlive this.
  Bench(const BenchOptions& options, RankJob* ranks) : options_(options), ranks_(ranks) {}

  // Measures all cases of a model on the SIMD target in use.
  Result<void> Run(const BenchModel& model) {
    const BenchSetting setting{model.name, model.model->Cost().weight_type, SimdTarget()};
    for (const uint32_t threads : options_.threads) {
      const MachineLimits& limits = LimitsOf(setting.simd, threads);
      for (const BenchCase& bench_case : CasesOf(options_, threads)) {
        MeasuredRanks* const ranks = ranks_ != nullptr ? &ranks_->measured() : nullptr;
        SKALD_ASSIGN(const auto measured, Measure(*model.model, bench_case, limits, options_.repetitions, ranks));
        report_.Add(setting, bench_case, measured);
        if (ranks_ != nullptr) report_.AddTraffic(ranks_->share().ranks, bench_case, measured);
      }
    }
    return {};
  }

  Result<void> Finish() const {
    report_.PrintLimits();
    report_.PrintTraffic();
    return options_.json.empty() ? Result<void>() : report_.WriteJson(options_.json);
  }

 private:
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
  BenchReport report_;
  std::map<std::pair<std::string, uint32_t>, MachineLimits> limits_;
};

// Types of weights, each of which is measured.
std::vector<std::optional<DType>> TypesOf(const Options& options) {
  std::vector<std::optional<DType>> types(options.bench.weight_types.begin(), options.bench.weight_types.end());
  if (types.empty()) types.push_back(options.weight_type);
  return types;
}

}  // namespace

Result<void> ForEachBenchModel(const Options& options, const std::function<Result<void>(const ProgramModel&)>& run) {
  for (const auto type : TypesOf(options)) {
    SKALD_ASSIGN(const auto model, LoadModel(options, type));
    SKALD_TRY(run(*model.model));
  }
  return {};
}

Result<int> RunBench(const Options& options) {
  std::vector<std::string> targets = options.bench.simd;
  if (targets.empty()) targets.push_back(SimdTarget());
  if (targets == std::vector<std::string>{"all"}) targets = SimdTargets();
  for (const std::string& target : targets) {
    SKALD_TRY(UseSimdTarget(target));
  }
  std::optional<Bench> bench;
  for (const auto type : TypesOf(options)) {
    SKALD_ASSIGN(const auto model, LoadModel(options, type));
    if (!options.bench.users.empty()) {
      (void)UseSimdTarget(targets.front());
      SKALD_TRY(Serve(options.bench, model));
      continue;
    }
    if (!bench) bench.emplace(options.bench, options.ranks.get());
    for (const std::string& target : targets) {
      (void)UseSimdTarget(target);
      SKALD_TRY(bench->Run(model));
    }
  }
  if (!bench) return 0;
  SKALD_TRY(bench->Finish());
  return 0;
}

}  // namespace skald::program
