// SPDX-License-Identifier: Apache-2.0
//
// The options of commands that look at files or pack them: skald inspect, tokenize, pack and store.

#ifndef SKALD_EXAMPLES_SKALD_COMMAND_LINE_OF_COMMANDS_FILE_OPTIONS_H_
#define SKALD_EXAMPLES_SKALD_COMMAND_LINE_OF_COMMANDS_FILE_OPTIONS_H_

#include <CLI/CLI.hpp>

#include "command_line/options.h"

namespace skald::program {

void AddInspectOptions(CLI::App& command, Options& options);
void AddTokenizeOptions(CLI::App& command, Options& options);
void AddPackOptions(CLI::App& command, Options& options);
void AddStoreOptions(CLI::App& command, Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMAND_LINE_OF_COMMANDS_FILE_OPTIONS_H_
