// SPDX-License-Identifier: Apache-2.0
//
// The options that name a model on the hub.

#ifndef SKALD_EXAMPLES_SKALD_COMMAND_LINE_SHARED_HUB_OPTIONS_H_
#define SKALD_EXAMPLES_SKALD_COMMAND_LINE_SHARED_HUB_OPTIONS_H_

#include <CLI/CLI.hpp>

#include "command_line/options.h"

namespace skald::program {

// Adds --hf, which excludes `path`, the option with the model's path, unless that is null.
CLI::Option* AddHub(CLI::App& command, CLI::Option* path, Options& options);

void AddPullOptions(CLI::App& command, Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMAND_LINE_SHARED_HUB_OPTIONS_H_
