// SPDX-License-Identifier: Apache-2.0
//
// `skald generate`: continues one text, or one sequence of token ids.

#ifndef SKALD_EXAMPLES_SKALD_COMMANDS_TEXTS_GENERATE_H_
#define SKALD_EXAMPLES_SKALD_COMMANDS_TEXTS_GENERATE_H_

#include "command_line/options.h"
#include "skald/base/result.h"

namespace skald::program {

// Returns the program's exit code.
Result<int> RunGenerate(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMANDS_TEXTS_GENERATE_H_
