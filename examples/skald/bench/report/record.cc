// SPDX-License-Identifier: Apache-2.0

#include "bench/report/record.h"

#include <array>
#include <ctime>

#include "bench/report/build_facts.h"
#include "skald/cache/layout/runtime_config.h"

namespace skald::program {
namespace {

// ISO 8601, in UTC.
std::string DateText() {
  const std::time_t now = std::time(nullptr);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text.data();
}

// Null: unknown.
nlohmann::ordered_json NumberOrNull(const std::optional<double>& number) {
  return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json();
}

const char* TestOf(const BenchCase& bench_case) {
  return bench_case.generated == 0 ? "prefill" : bench_case.prompt == 0 ? "decode" : "both";
}

}  // namespace

std::string NameOf(const BenchCase& bench_case) {
  std::string name;
  if (bench_case.prompt != 0) name = "pp" + std::to_string(bench_case.prompt);
  if (bench_case.generated != 0) name += (name.empty() ? "tg" : "+tg") + std::to_string(bench_case.generated);
  if (bench_case.depth != 0) name += " @ " + std::to_string(bench_case.depth);
  if (bench_case.sequences != 1) name += " x " + std::to_string(bench_case.sequences);
  if (bench_case.kv_type != RuntimeConfig().kv_type)
    name += ", cache " + std::string(skald::NameOf(bench_case.kv_type));
  return name;
}

nlohmann::ordered_json RecordOf(const RunFacts& run, const BenchSetting& setting, const BenchCase& bench_case,
                                const Measurement& measurement) {
  const MachineFacts& machine = run.machine;
  nlohmann::ordered_json record = {{"date", DateText()},
                                   {"skald", VersionText()},
                                   {"build_commit", CommitText()},
                                   {"compiler", CompilerText()},
                                   {"cpu", machine.cpu},
                                   {"cpu_family", machine.cpu_family},
                                   {"cpus", machine.cpus},
                                   {"numa_nodes", machine.numa_nodes},
                                   {"last_level_cache_bytes", machine.last_level_cache},
                                   {"memory_bytes", machine.memory},
                                   {"governor", machine.governor},
                                   {"transparent_huge_pages", machine.huge_pages},
                                   {"load_at_start", NumberOrNull(run.load)},
                                   {"pinned_to", run.pinned},
                                   {"model", setting.model},
                                   {"model_file", setting.file},
                                   {"model_bytes", setting.bytes},
                                   {"parameters", setting.parameters},
                                   {"weights", skald::NameOf(setting.weight_type)},
                                   {"simd", setting.simd},
                                   {"threads", bench_case.threads},
                                   {"name", NameOf(bench_case)},
                                   {"test", TestOf(bench_case)},
                                   {"tokens", bench_case.tokens()},
                                   {"prompt_tokens", bench_case.prompt},
                                   {"generated_tokens", bench_case.generated},
                                   {"depth", bench_case.depth},
                                   {"sequences", bench_case.sequences},
                                   {"kv_type", skald::NameOf(bench_case.kv_type)},
                                   {"tokens_per_second", measurement.Median()},
                                   {"spread", measurement.Spread()},
                                   {"limit_tokens_per_second", measurement.limit},
                                   {"weights_fit_cache", measurement.weights_fit_cache},
                                   {"bytes_per_token", measurement.bytes_per_token},
                                   {"peak_memory_bytes", measurement.peak_memory},
                                   {"weights_in_huge_pages_bytes", measurement.huge_page_bytes},
                                   {"other_cpus_busy", NumberOrNull(measurement.other_cpus)},
                                   {"counters", run.counters},
                                   {"energy", run.energy}};
  if (const auto& counted = measurement.counts_per_token) {
    record["cycles_per_token"] = counted->cycles;
    record["instructions_per_token"] = counted->instructions;
    record["cache_misses_per_token"] = counted->cache_misses;
  }
  if (measurement.joules_per_token) record["joules_per_token"] = *measurement.joules_per_token;
  record["samples"] = measurement.rates;
  return record;
}

nlohmann::ordered_json WholeRecord() {
  Measurement measurement;
  measurement.rates = {1.0};
  measurement.counts_per_token = HardwareCounts();
  measurement.joules_per_token = 0.0;
  measurement.other_cpus = 0.0;
  RunFacts run;
  run.load = 0.0;
  return RecordOf(run, {}, {.prompt = 1, .sequences = 1, .threads = 1, .kv_type = DType::kBF16}, measurement);
}

}  // namespace skald::program
