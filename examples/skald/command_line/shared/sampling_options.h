// SPDX-License-Identifier: Apache-2.0
//
// Options that say how tokens are drawn.

#ifndef SKALD_EXAMPLES_SKALD_COMMAND_LINE_SHARED_SAMPLING_OPTIONS_H_
#define SKALD_EXAMPLES_SKALD_COMMAND_LINE_SHARED_SAMPLING_OPTIONS_H_

#include <CLI/CLI.hpp>

#include "command_line/options.h"

namespace skald::program {

// Those of a sampler's settings.
void AddSamplerOptions(CLI::App& command, Options& options);

void AddSeedOption(CLI::App& command, const char* help, Options& options);

// Both, and the other ones of a command that writes texts.
void AddSamplingOptions(CLI::App& command, Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMAND_LINE_SHARED_SAMPLING_OPTIONS_H_
