// SPDX-License-Identifier: Apache-2.0

#ifndef SKALD_EXAMPLES_SKALD_COMMANDS_FILES_PULL_H_
#define SKALD_EXAMPLES_SKALD_COMMANDS_FILES_PULL_H_

#include "command_line/options.h"
#include "skald/base/result.h"

namespace skald::program {

// Prints the path of the model that LocateModel has downloaded. Returns the exit code.
Result<int> RunPull(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMANDS_FILES_PULL_H_
