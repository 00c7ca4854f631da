// SPDX-License-Identifier: Apache-2.0
//
// Options that say how a model is loaded and run.

#ifndef SKALD_EXAMPLES_SKALD_COMMAND_LINE_SHARED_RUNNING_OPTIONS_H_
#define SKALD_EXAMPLES_SKALD_COMMAND_LINE_SHARED_RUNNING_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <string>

#include "command_line/options.h"

namespace skald::program {

// The type of the weights.
CLI::Option* AddDType(CLI::App& command, Options& options);

// Those of a command that loads a model.
void AddLoadOptions(CLI::App& command, Options& options);

// Those of a command that computes with it. `default_cache` says what limits the cache where no option does.
void AddRuntimeOptions(CLI::App& command, const std::string& default_cache, Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMAND_LINE_SHARED_RUNNING_OPTIONS_H_
