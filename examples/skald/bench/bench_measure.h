// SPDX-License-Identifier: Apache-2.0
//
// One measurement of skald bench: how long a model takes to read prompts or to write tokens, and how long it would take
// if only the machine's limits counted.

#ifndef SKALD_EXAMPLES_SKALD_BENCH_BENCH_MEASURE_H_
#define SKALD_EXAMPLES_SKALD_BENCH_BENCH_MEASURE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/machine/counters.h"
#include "bench/machine/energy.h"
#include "benchmarks/machine/machine_limits.h"
#include "conversation/program_model.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/distributed/communicators/measured_ranks.h"

namespace skald::program {

// The tokens of each sequence that are timed are those of a prompt, in one go, then those written one after the other.
struct BenchCase {
  uint32_t prompt = 0, generated = 0;  // tokens; one of them may be 0
  uint32_t depth = 0;                  // tokens that each sequence has before
  uint32_t sequences = 1;              // computed together
  uint32_t threads = 1;
  DType kv_type = DType::kBF16;

  uint32_t tokens() const { return prompt + generated; }
};

// Instruments beside the clock.
struct BenchMeters {
  HardwareCounters counters;
  EnergyMeter energy;
};

// The limits that a measurement is compared with.
struct BenchLimits {
  MachineLimits machine;
  uint64_t last_level_cache = 0;  // bytes; 0: unknown
};

struct Measurement {
  std::vector<double> rates;   // tokens per second of all sequences together, one for each repetition
  double limit = 0;            // the same at the machine's limits
  double bytes_per_token = 0;  // read for that
  // The limit is reading memory, which the weights are not read from: a share of it would mean nothing.
  bool weights_fit_cache = false;
  uint64_t peak_memory = 0, huge_page_bytes = 0;   // of the process; of the weights. 0: unknown
  std::optional<double> other_cpus;                // that others kept busy meanwhile, on average
  std::optional<HardwareCounts> counts_per_token;  // unset: there are no counters
  std::optional<double> joules_per_token;          // the same
  // Of this rank, if it is one of several: exchanges, bytes that it sends, and the share of the time that it waits.
  double exchanges_per_token = 0, sent_per_token = 0, waiting = 0;

  double Median() const;
  double Spread() const;  // the largest difference from the median, relative to it
};

// Runs the case once to warm up, then `repetitions` times. Errors: those of creating caches
// and of Forward. `ranks` are those that the model is computed on, or null.
Result<Measurement> Measure(const ProgramModel& model, const BenchCase& bench_case, const BenchLimits& limits,
                            size_t repetitions, BenchMeters& meters, MeasuredRanks* ranks);

// Returns where the model's weights lie in memory.
std::vector<std::span<const std::byte>> ArraysOf(const ProgramModel& model);

// Returns how many numbers they are.
uint64_t CountParameters(const ProgramModel& model);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_BENCH_BENCH_MEASURE_H_
