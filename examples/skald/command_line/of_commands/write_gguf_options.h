// SPDX-License-Identifier: Apache-2.0
//
// The options of skald convert and skald quantize.

#ifndef SKALD_EXAMPLES_SKALD_COMMAND_LINE_OF_COMMANDS_WRITE_GGUF_OPTIONS_H_
#define SKALD_EXAMPLES_SKALD_COMMAND_LINE_OF_COMMANDS_WRITE_GGUF_OPTIONS_H_

#include <CLI/CLI.hpp>

#include "command_line/options.h"

namespace skald::program {

// Adds both commands. They fill in `options` and its command when they are parsed.
void AddGgufCommands(CLI::App& app, Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMAND_LINE_OF_COMMANDS_WRITE_GGUF_OPTIONS_H_
