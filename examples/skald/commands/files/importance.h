// SPDX-License-Identifier: Apache-2.0
//
// skald imatrix: which weights of a model matter while it reads a text.

#ifndef SKALD_EXAMPLES_SKALD_COMMANDS_FILES_IMPORTANCE_H_
#define SKALD_EXAMPLES_SKALD_COMMANDS_FILES_IMPORTANCE_H_

#include "command_line/options.h"
#include "skald/base/result.h"

namespace skald::program {

// Returns the exit status.
Result<int> RunImportance(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMANDS_FILES_IMPORTANCE_H_
