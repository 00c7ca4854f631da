// SPDX-License-Identifier: Apache-2.0
//
// skald bench: tokens per second of whole models, beside what the machine allows.

#ifndef SKALD_EXAMPLES_SKALD_BENCH_BENCH_H_
#define SKALD_EXAMPLES_SKALD_BENCH_BENCH_H_

#include <functional>

#include "command_line/options.h"
#include "conversation/program_model.h"
#include "skald/base/result.h"

namespace skald::program {

// Calls `run` with the model of each type of weights that is measured, in that order.
Result<void> ForEachBenchModel(const Options& options, const std::function<Result<void>(const ProgramModel&)>& run);

// Measures every combination that the options name, prints a table as it goes, and returns the exit code.
Result<int> RunBench(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_BENCH_BENCH_H_
