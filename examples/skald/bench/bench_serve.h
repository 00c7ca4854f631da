// SPDX-License-Identifier: Apache-2.0
//
// skald bench --serve: what users of an engine see when so many of them write at a time.

#ifndef SKALD_EXAMPLES_SKALD_BENCH_BENCH_SERVE_H_
#define SKALD_EXAMPLES_SKALD_BENCH_BENCH_SERVE_H_

#include <cstdint>
#include <optional>

#include "conversation/program_model.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"

namespace skald::program {

struct ServeCase {
  uint32_t users;
  uint32_t prompt;   // tokens of each one's prompt; no two begin alike
  uint32_t answer;   // tokens of each one's answer
  uint32_t arrival;  // tokens of a prompt that comes when all users write; 0: none does
  std::optional<double> step_seconds;
  uint32_t threads;
  DType kv_type;
};

// Seconds at the 50th and 99th percentile, and the most.
struct Latency {
  double median, p99, most;
};

struct ServeMeasurement {
  double rate;  // tokens written per second while all users write; with an arrival, while its prompt is computed
  Latency first_token;  // of all users
  Latency between;      // from one token of an answer to its next, in the same time
};

// Errors: those of engines; kUnsupported in a program without skald::store.
Result<ServeMeasurement> MeasureServing(const ProgramModel& model, const ServeCase& serve_case);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_BENCH_BENCH_SERVE_H_
