// SPDX-License-Identifier: Apache-2.0
//
// 'skald tokenize': which ids a text has, and which pieces of it they stand for.

#ifndef SKALD_EXAMPLES_SKALD_COMMANDS_TOKENIZE_H_
#define SKALD_EXAMPLES_SKALD_COMMANDS_TOKENIZE_H_

#include "command_line/options.h"
#include "skald/base/result.h"

namespace skald::program {

// Returns the exit code.
Result<int> RunTokenize(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMANDS_TOKENIZE_H_
