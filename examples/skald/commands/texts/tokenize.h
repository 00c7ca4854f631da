// SPDX-License-Identifier: Apache-2.0
//
// 'skald tokenize': the ids of a text, and the piece of it that each one is.

#ifndef SKALD_EXAMPLES_SKALD_COMMANDS_TEXTS_TOKENIZE_H_
#define SKALD_EXAMPLES_SKALD_COMMANDS_TEXTS_TOKENIZE_H_

#include "command_line/options.h"
#include "skald/base/result.h"

namespace skald::program {

// Returns the exit code.
Result<int> RunTokenize(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMANDS_TEXTS_TOKENIZE_H_
