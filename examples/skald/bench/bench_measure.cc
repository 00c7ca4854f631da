// SPDX-License-Identifier: Apache-2.0

#include "bench/bench_measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/create.h"
#include "skald/cache/kv_cache.h"
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
    const RuntimeConfig runtime = {.max_tokens = bench_case.depth + bench_case.tokens, .kv_type = bench_case.kv_type};
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
    const uint32_t step = case_.is_prefill ? case_.tokens : 1;
    const auto begin = std::chrono::steady_clock::now();
    for (uint32_t done = 0; done < case_.tokens; done += step) {
      SKALD_TRY(Append(caches_, step));
    }
    return std::chrono::steady_clock::now() - begin;
  }

  // Bytes of keys, values and states that one step reads, halfway through the case. Call after Run.
  double CacheBytes() const { return static_cast<double>(BytesOf(starts_) + BytesOf(caches_)) / 2.0; }

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

// Sum over the case's tokens of the positions they see, at most `window` each if that is not 0.
double PositionsSeen(const BenchCase& bench_case, uint32_t window) {
  double seen = 0;
  for (uint32_t i = 0; i < bench_case.tokens; ++i) {
    const uint32_t position = bench_case.depth + i + 1;
    seen += window == 0 ? position : std::min(position, window);
  }
  return seen * bench_case.sequences;
}

// Bytes that the steps of a case read: of parameters, each once in a step, and of what is cached.
double BytesToRead(const ModelCost& cost, const BenchCase& bench_case, const CaseRunner& runner) {
  const double tokens = double{1} * bench_case.tokens * bench_case.sequences;
  const double steps = bench_case.is_prefill ? std::ceil(tokens / ForwardOptions().pass_tokens) : bench_case.tokens;
  return steps * (cost.StepBytes(tokens / steps) + runner.CacheBytes());
}

// The case at the machine's limits: all bytes read once, or all operations done at the peak, whichever takes longer.
Seconds LeastTime(const ModelCost& cost, const BenchCase& bench_case, const MachineLimits& limits, double bytes) {
  const double tokens = double{1} * bench_case.tokens * bench_case.sequences;
  const double outputs = bench_case.is_prefill ? bench_case.sequences : tokens;
  const double attention =
      cost.attention_flops * PositionsSeen(bench_case, 0) + cost.window_flops * PositionsSeen(bench_case, cost.window);
  const double peak = cost.weight_type == DType::kF32    ? limits.f32_flops
                      : cost.weight_type == DType::kBF16 ? limits.bf16_flops
                                                         : limits.int8_ops;
  const double arithmetic =
      (tokens * cost.flops_per_token + outputs * cost.flops_per_output) / peak + attention / limits.bf16_flops;
  return Seconds(std::max(bytes / limits.read_bytes, arithmetic));
}

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

Result<Measurement> Measure(const ProgramModel& model, const BenchCase& bench_case, const MachineLimits& limits,
                            size_t repetitions, MeasuredRanks* ranks) {
  SKALD_ASSIGN(auto runner, CaseRunner::Create(model, bench_case));
  SKALD_TRY(runner.Run());
  const double tokens = double{1} * bench_case.tokens * bench_case.sequences;
  Measurement measurement;
  if (ranks != nullptr) ranks->Reset();
  Seconds all{0};
  for (size_t i = 0; i < repetitions; ++i) {
    SKALD_ASSIGN(const auto time, runner.Run());
    all += time;
    measurement.rates.push_back(tokens / time.count());
  }
  if (ranks != nullptr) {
    const RankTraffic& traffic = ranks->traffic();
    const double computed = tokens * static_cast<double>(repetitions);
    measurement.exchanges_per_token = static_cast<double>(traffic.exchanges) / computed;
    measurement.sent_per_token = static_cast<double>(traffic.bytes) / computed;
    measurement.waiting = Seconds(traffic.waited) / all;
  }
  const ModelCost cost = model.Cost();
  const double bytes = BytesToRead(cost, bench_case, runner);
  measurement.bytes_per_token = bytes / tokens;
  measurement.limit = tokens / LeastTime(cost, bench_case, limits, bytes).count();
  return measurement;
}

}  // namespace skald::program
