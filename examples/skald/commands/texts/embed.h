// SPDX-License-Identifier: Apache-2.0
//
// 'skald embed' writes embeddings of texts.

#ifndef SKALD_EXAMPLES_SKALD_COMMANDS_TEXTS_EMBED_H_
#define SKALD_EXAMPLES_SKALD_COMMANDS_TEXTS_EMBED_H_

#include "command_line/options.h"
#include "skald/base/result.h"

namespace skald::program {

// Returns the program's exit code.
Result<int> RunEmbed(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMANDS_TEXTS_EMBED_H_
