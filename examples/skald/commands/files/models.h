// SPDX-License-Identifier: Apache-2.0

#ifndef SKALD_EXAMPLES_SKALD_COMMANDS_FILES_MODELS_H_
#define SKALD_EXAMPLES_SKALD_COMMANDS_FILES_MODELS_H_

#include "command_line/options.h"
#include "skald/base/result.h"

namespace skald::program {

// Prints the names of the known models, or the table that families/README.md has. Returns the exit code.
Result<int> RunModels(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMANDS_FILES_MODELS_H_
