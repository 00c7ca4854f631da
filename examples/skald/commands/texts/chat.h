// SPDX-License-Identifier: Apache-2.0
//
// `skald chat`: a conversation on the terminal. One KVCache lives through all of it: each turn computes only
// its own tokens.

#ifndef SKALD_EXAMPLES_SKALD_COMMANDS_TEXTS_CHAT_H_
#define SKALD_EXAMPLES_SKALD_COMMANDS_TEXTS_CHAT_H_

#include "command_line/options.h"
#include "skald/base/result.h"

namespace skald::program {

// Returns the program's exit code.
Result<int> RunChat(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMANDS_TEXTS_CHAT_H_
