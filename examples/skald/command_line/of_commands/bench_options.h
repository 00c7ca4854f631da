// SPDX-License-Identifier: Apache-2.0
//
// The options of skald bench. Those that llama-bench has too are named as there, where the names were free.

#ifndef SKALD_EXAMPLES_SKALD_COMMAND_LINE_OF_COMMANDS_BENCH_OPTIONS_H_
#define SKALD_EXAMPLES_SKALD_COMMAND_LINE_OF_COMMANDS_BENCH_OPTIONS_H_

#include <CLI/CLI.hpp>

#include "command_line/options.h"

namespace skald::program {

void AddBenchOptions(CLI::App& command, Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMAND_LINE_OF_COMMANDS_BENCH_OPTIONS_H_
