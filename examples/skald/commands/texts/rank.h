// SPDX-License-Identifier: Apache-2.0
//
// 'skald rank' orders documents by how well they fit a query.

#ifndef SKALD_EXAMPLES_SKALD_COMMANDS_TEXTS_RANK_H_
#define SKALD_EXAMPLES_SKALD_COMMANDS_TEXTS_RANK_H_

#include "command_line/options.h"
#include "skald/base/result.h"

namespace skald::program {

// Returns the program's exit code.
Result<int> RunRank(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMANDS_TEXTS_RANK_H_
