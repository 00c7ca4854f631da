// SPDX-License-Identifier: Apache-2.0

#include "bench/bench_measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "bench/machine/load.h"
#include "bench/machine/memory_use.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/create.h"
#include "skald/cache/kv_cache.h"
#include "skald/layers/model_weights.h"
#include "skald/model/forward_options.h"
#include "skald/model/outputs.h"
#include "skald/model/workspace.h"

namespace skald::program {
namespace {

using Seconds = std::chrono::duration<double>;

uint64_t BytesOf(const std::vector<KVCache>& caches) {
  uint64_t bytes = 0;
  for (const KVCache& cache : caches) bytes += cache.usage().exclusive_bytes + cache.usage().shared_bytes;
  return bytes;
}

// The conversations of a case, and what computes them.
class CaseRunner {
 public:
  static Result<CaseRunner> Create(const ProgramModel& model, const BenchCase& bench_case) {
    const RuntimeConfig runtime = {.max_tokens = bench_case.depth + bench_case.tokens(), .kv_type = bench_case.kv_type};
    SKALD_ASSIGN(auto pool, model.CreatePool(runtime));
    SKALD_ASSIGN(auto workspace, CreateWorkspace({.threads = bench_case.threads}));
    CaseRunner runner(model, bench_case, std::move(workspace));
    for (uint32_t i = 0; i < bench_case.sequences; ++i) {
      SKALD_ASSIGN(auto start, CreateKVCache(pool));
      runner.starts_.push_back(std::move(start));
    }
    if (bench_case.depth == 0) return runner;
    // One after the other: forks of a single conversation would read the same keys and values.
    for (KVCache& start : runner.starts_) {
      SKALD_TRY(runner.Append({&start, 1}, bench_case.depth));
    }
    return runner;
  }

  // Returns how long the case took, from its start.
  Result<Seconds> Run() {
    caches_.clear();
    for (const KVCache& start : starts_) {
      SKALD_ASSIGN(auto fork, start.Fork());
      caches_.push_back(std::move(fork));
    }
    const auto begin = std::chrono::steady_clock::now();
    if (case_.prompt != 0) {
      SKALD_TRY(Append(caches_, case_.prompt));
    }
    for (uint32_t done = 0; done < case_.generated; ++done) {
      SKALD_TRY(Append(caches_, 1));
    }
    return std::chrono::steady_clock::now() - begin;
  }

  // Bytes of keys, values and states that one step reads when so many of the case's tokens are there. Call after Run.
  double CacheBytes(double tokens) const {
    const auto begin = static_cast<double>(BytesOf(starts_)), end = static_cast<double>(BytesOf(caches_));
    return begin + (end - begin) * tokens / case_.tokens();
  }

 private:
  CaseRunner(const ProgramModel& model, const BenchCase& bench_case, Workspace workspace)
      : model_(&model), case_(bench_case), workspace_(std::move(workspace)) {}

  // Which tokens they are does not matter, and every vocabulary has so many.
  Result<Outputs> Append(std::span<KVCache> caches, uint32_t count) {
    tokens_.resize(count);
    for (uint32_t i = 0; i < count; ++i) tokens_[i] = static_cast<int32_t>(i % 200);
    Batch batch;
    for (KVCache& cache : caches) batch.Add(cache, tokens_);
    return model_->Forward(batch, workspace_);
  }

  const ProgramModel* model_;
  BenchCase case_;
  Workspace workspace_;
  std::vector<KVCache> starts_, caches_;
  std::vector<int32_t> tokens_;
};

// A part of a case that is of one sort: its prompt, or the tokens that are written.
struct Phase {
  bool is_prefill;
  uint32_t tokens, before;  // of each sequence; those of the case that come before

  // Steps that it takes over so many sequences.
  double Steps(uint32_t sequences) const {
    const double rows = double{1} * tokens * sequences;
    return is_prefill ? std::ceil(rows / ForwardOptions().pass_tokens) : tokens;
  }
};

std::vector<Phase> PhasesOf(const BenchCase& bench_case) {
  std::vector<Phase> phases;
  if (bench_case.prompt != 0) phases.push_back({true, bench_case.prompt, 0});
  if (bench_case.generated != 0) phases.push_back({false, bench_case.generated, bench_case.prompt});
  return phases;
}

// Sum over the phase's tokens of the positions they see, at most `window` each if that is not 0.
double PositionsSeen(const BenchCase& bench_case, const Phase& phase, uint32_t window) {
  double seen = 0;
  for (uint32_t i = 0; i < phase.tokens; ++i) {
    const uint32_t position = bench_case.depth + phase.before + i + 1;
    seen += window == 0 ? position : std::min(position, window);
  }
  return seen * bench_case.sequences;
}

// Bytes that the steps of a phase read: of parameters, each once in a step, and of what is cached.
double BytesToRead(const ModelCost& cost, const BenchCase& bench_case, const Phase& phase, const CaseRunner& runner) {
  const double tokens = double{1} * phase.tokens * bench_case.sequences, steps = phase.Steps(bench_case.sequences);
  return steps * (cost.StepBytes(tokens / steps) + runner.CacheBytes(phase.before + phase.tokens / 2.0));
}

// The time that multiplying takes at the machine's peak.
Seconds ArithmeticTime(const ModelCost& cost, const BenchCase& bench_case, const Phase& phase,
                       const MachineLimits& limits) {
  const double tokens = double{1} * phase.tokens * bench_case.sequences;
  const double outputs = phase.is_prefill ? bench_case.sequences : tokens;
  const double attention = cost.attention_flops * PositionsSeen(bench_case, phase, 0) +
                           cost.window_flops * PositionsSeen(bench_case, phase, cost.window);
  const double peak = cost.weight_type == DType::kF32    ? limits.f32_flops
                      : cost.weight_type == DType::kBF16 ? limits.bf16_flops
                                                         : limits.int8_ops;
  return Seconds((tokens * cost.flops_per_token + outputs * cost.flops_per_output) / peak +
                 attention / limits.bf16_flops);
}

// Of a model with experts all of them: which ones tokens choose changes.
bool FitCache(const ModelCost& cost, uint64_t cache_bytes) {
  uint64_t bytes = 0;
  for (const SharedBytes& part : cost.parameters) bytes += part.bytes;
  return bytes <= cache_bytes;
}

// Sets what the case is limited to: of each phase either all bytes read once or all operations done at the peak,
// whichever takes longer.
void CompareWithLimits(const ModelCost& cost, const BenchCase& bench_case, const CaseRunner& runner,
                       const BenchLimits& limits, Measurement& measurement) {
  const double tokens = double{1} * bench_case.tokens() * bench_case.sequences;
  double bytes = 0;
  Seconds least{0}, reading{0};
  for (const Phase& phase : PhasesOf(bench_case)) {
    const double phase_bytes = BytesToRead(cost, bench_case, phase, runner);
    const Seconds memory(phase_bytes / limits.machine.read_bytes);
    const Seconds arithmetic = ArithmeticTime(cost, bench_case, phase, limits.machine);
    bytes += phase_bytes;
    least += std::max(memory, arithmetic);
    if (memory > arithmetic) reading += memory;
  }
  measurement.bytes_per_token = bytes / tokens;
  measurement.limit = tokens / least.count();
  // A virtual machine may hide its caches: nothing else reads faster than memory.
  const bool is_too_fast = limits.last_level_cache == 0 && measurement.Median() > 1.2 * measurement.limit;
  measurement.weights_fit_cache = reading > least / 2 && (is_too_fast || FitCache(cost, limits.last_level_cache));
}

// The meters' readings while it lives, for each of `tokens`.
class MeterReadings {
 public:
  explicit MeterReadings(BenchMeters& meters) : meters_(meters), before_(meters.counters.Read()) {
    (void)meters_.energy.Joules();
  }

  void Give(double tokens, Measurement& measurement) {
    const auto after = meters_.counters.Read();
    if (before_ && after) {
      const HardwareCounts counts = CountsBetween(*before_, *after);
      measurement.counts_per_token = {counts.cycles / tokens, counts.instructions / tokens,
                                      counts.cache_misses / tokens};
    }
    if (const auto joules = meters_.energy.Joules()) measurement.joules_per_token = *joules / tokens;
    measurement.other_cpus = load_.Cpus();
  }

 private:
  BenchMeters& meters_;
  const std::optional<std::vector<double>> before_;
  const OtherLoad load_;
};

}  // namespace

double Measurement::Median() const {
  std::vector<double> sorted = rates;
  std::ranges::sort(sorted);
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : std::midpoint(sorted[middle - 1], sorted[middle]);
}

double Measurement::Spread() const {
  const auto [least, most] = std::ranges::minmax(rates);
  return std::max(Median() - least, most - Median()) / Median();
}

Result<Measurement> Measure(const ProgramModel& model, const BenchCase& bench_case, const BenchLimits& limits,
                            size_t repetitions, BenchMeters& meters, MeasuredRanks* ranks) {
  ForgetPeakMemory();
  SKALD_ASSIGN(auto runner, CaseRunner::Create(model, bench_case));
  SKALD_TRY(runner.Run());
  const double tokens = double{1} * bench_case.tokens() * bench_case.sequences;
  const double computed = tokens * static_cast<double>(repetitions);
  Measurement measurement;
  if (ranks != nullptr) ranks->Reset();
  MeterReadings readings(meters);
  Seconds all{0};
  for (size_t i = 0; i < repetitions; ++i) {
    SKALD_ASSIGN(const auto time, runner.Run());
    all += time;
    measurement.rates.push_back(tokens / time.count());
  }
  readings.Give(computed, measurement);
  if (ranks != nullptr) {
    const RankTraffic& traffic = ranks->traffic();
    measurement.exchanges_per_token = static_cast<double>(traffic.exchanges) / computed;
    measurement.sent_per_token = static_cast<double>(traffic.bytes) / computed;
    measurement.waiting = Seconds(traffic.waited) / all;
  }
  measurement.peak_memory = PeakMemory();
  measurement.huge_page_bytes = BytesInHugePages(ArraysOf(model));
  CompareWithLimits(model.Cost(), bench_case, runner, limits, measurement);
  return measurement;
}

std::vector<std::span<const std::byte>> ArraysOf(const ProgramModel& model) {
  std::vector<std::span<const std::byte>> arrays;
  ForEachArray(
      ParametersOf(model.model().weights()),
      [&](const Matrix& matrix, size_t, size_t) { arrays.push_back(matrix.data); },
      [&](const std::vector<float>& vector, size_t) { arrays.push_back(std::as_bytes(std::span(vector))); });
  return arrays;
}

uint64_t CountParameters(const ProgramModel& model) {
  uint64_t count = 0;
  ForEachArray(
      ParametersOf(model.model().weights()),
      [&](const Matrix&, size_t rows, size_t cols) { count += uint64_t{rows} * cols; },
      [&](const std::vector<float>&, size_t size) { count += size; });
  return count;
}

}  // namespace skald::program
