// SPDX-License-Identifier: Apache-2.0
//
// `skald inspect`: what a checkpoint or a packed file holds, without reading a parameter.

#ifndef SKALD_EXAMPLES_SKALD_COMMANDS_FILES_INSPECT_H_
#define SKALD_EXAMPLES_SKALD_COMMANDS_FILES_INSPECT_H_

#include "command_line/options.h"
#include "skald/base/result.h"

namespace skald::program {

// Returns the program's exit code.
Result<int> RunInspect(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMANDS_FILES_INSPECT_H_
