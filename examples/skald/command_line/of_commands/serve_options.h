// SPDX-License-Identifier: Apache-2.0
//
// The options of 'skald serve'.

#ifndef SKALD_EXAMPLES_SKALD_COMMAND_LINE_OF_COMMANDS_SERVE_OPTIONS_H_
#define SKALD_EXAMPLES_SKALD_COMMAND_LINE_OF_COMMANDS_SERVE_OPTIONS_H_

#include <CLI/CLI.hpp>

#include "command_line/options.h"

namespace skald::program {

// Adds the option that names the models, one or more.
CLI::Option* AddServedModels(CLI::App& command, Options& options);

void AddServeOptions(CLI::App& command, Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMAND_LINE_OF_COMMANDS_SERVE_OPTIONS_H_
