// SPDX-License-Identifier: Apache-2.0
//
// The options of skald bench. Those that llama-bench has too are named as there, where the names were free.

#ifndef SKALD_EXAMPLES_SKALD_COMMAND_LINE_BENCH_OPTIONS_H_
#define SKALD_EXAMPLES_SKALD_COMMAND_LINE_BENCH_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "command_line/options.h"

namespace skald::program {

void AddBenchOptions(CLI::App& command, Options& options);

// Returns a command line in which -pg of 'skald bench' is --prompt-generate: CLI11 knows no short name of two letters.
std::vector<std::string> WithLongNames(std::vector<std::string> arguments);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMAND_LINE_BENCH_OPTIONS_H_
