// SPDX-License-Identifier: Apache-2.0
//
// `skald inspect --ranks N`: the memory that each of N ranks takes.

#ifndef SKALD_EXAMPLES_SKALD_COMMANDS_FILES_INSPECT_RANKS_H_
#define SKALD_EXAMPLES_SKALD_COMMANDS_FILES_INSPECT_RANKS_H_

#include "command_line/options.h"
#include "skald/base/result.h"

namespace skald::program {

// Returns the program's exit code.
Result<int> RunInspectRanks(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMANDS_FILES_INSPECT_RANKS_H_
