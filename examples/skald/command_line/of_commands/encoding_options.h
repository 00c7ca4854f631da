// SPDX-License-Identifier: Apache-2.0
//
// The options of the commands for encoders: skald embed and skald rank.

#ifndef SKALD_EXAMPLES_SKALD_COMMAND_LINE_OF_COMMANDS_ENCODING_OPTIONS_H_
#define SKALD_EXAMPLES_SKALD_COMMAND_LINE_OF_COMMANDS_ENCODING_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <vector>

#include "command_line/options.h"

namespace skald::program {

// Returns the commands, which lack the options on loading a model.
std::vector<CLI::App*> AddEncodingCommands(CLI::App& app, Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMAND_LINE_OF_COMMANDS_ENCODING_OPTIONS_H_
