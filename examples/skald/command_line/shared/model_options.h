// SPDX-License-Identifier: Apache-2.0
//
// Options that say which model is run, and what is added to it.

#ifndef SKALD_EXAMPLES_SKALD_COMMAND_LINE_SHARED_MODEL_OPTIONS_H_
#define SKALD_EXAMPLES_SKALD_COMMAND_LINE_SHARED_MODEL_OPTIONS_H_

#include <CLI/CLI.hpp>

#include "command_line/options.h"

namespace skald::program {

// The option that names the model's path, of a command with one model.
CLI::Option* AddModelPath(CLI::App& command, Options& options);

// `path` is the option that names the model's path.
void AddModelOptions(CLI::App& command, CLI::Option* path, const char* default_template, Options& options);

void AddAdapterOption(CLI::App& command, Options& options);

void AddSteeringOptions(CLI::App& command, Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMAND_LINE_SHARED_MODEL_OPTIONS_H_
