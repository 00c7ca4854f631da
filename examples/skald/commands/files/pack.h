// SPDX-License-Identifier: Apache-2.0
//
// skald pack: writes a model down as it lies in memory, and checks such files.

#ifndef SKALD_EXAMPLES_SKALD_COMMANDS_FILES_PACK_H_
#define SKALD_EXAMPLES_SKALD_COMMANDS_FILES_PACK_H_

#include "command_line/options.h"
#include "skald/base/result.h"

namespace skald::program {

// Returns the exit code.
Result<int> RunPack(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMANDS_FILES_PACK_H_
