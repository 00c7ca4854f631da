// SPDX-License-Identifier: Apache-2.0
//
// `skald store`: what a folder of chunks holds, whether all of it is whole, and how to make it smaller.

#ifndef SKALD_EXAMPLES_SKALD_COMMANDS_TEXTS_STORE_H_
#define SKALD_EXAMPLES_SKALD_COMMANDS_TEXTS_STORE_H_

#include "command_line/options.h"
#include "skald/base/result.h"

namespace skald::program {

// Returns the program's exit code.
Result<int> RunStore(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMANDS_TEXTS_STORE_H_
