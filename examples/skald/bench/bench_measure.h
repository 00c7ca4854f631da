// SPDX-License-Identifier: Apache-2.0
//
// One measurement of skald bench: how long a model takes to read prompts or to write tokens, and how long it would take
// if only the machine's limits counted.

#ifndef SKALD_EXAMPLES_SKALD_BENCH_BENCH_MEASURE_H_
#define SKALD_EXAMPLES_SKALD_BENCH_BENCH_MEASURE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/machine/machine_limits.h"
#include "conversation/program_model.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/distributed/communicators/measured_ranks.h"

namespace skald::program {

struct BenchCase {
  bool is_prefill;     // else decode
  uint32_t tokens;     // of each sequence that are timed: a prompt in one go, or one after the other
  uint32_t depth;      // tokens that each sequence has before
  uint32_t sequences;  // computed together
  uint32_t threads;
  DType kv_type;
};

struct Measurement {
  std::vector<double> rates;   // tokens per second of all sequences together, one for each repetition
  double limit = 0;            // the same at the machine's limits
  double bytes_per_token = 0;  // read for that
  // Of this rank, if it is one of several: exchanges, bytes that it sends, and the share of the time that it waits.
  double exchanges_per_token = 0, sent_per_token = 0, waiting = 0;

  double Median() const;
  double Spread() const;  // the largest difference from the median, relative to it
};

// Runs the case once to warm up, then `repetitions` times. Errors: those of creating caches
// and of Forward. `ranks` are those that the model is computed on, or null.
Result<Measurement> Measure(const ProgramModel& model, const BenchCase& bench_case, const MachineLimits& limits,
                            size_t repetitions, MeasuredRanks* ranks);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_BENCH_BENCH_MEASURE_H_
