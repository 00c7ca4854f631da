// SPDX-License-Identifier: Apache-2.0
//
// The prompts of 'skald generate': from the command line, a file, a list of them, or standard input.

#ifndef SKALD_EXAMPLES_SKALD_TEXTS_PROMPTS_H_
#define SKALD_EXAMPLES_SKALD_TEXTS_PROMPTS_H_

#include <optional>
#include <string>
#include <vector>

#include "command_line/options.h"
#include "skald/base/result.h"

namespace skald::program {

// Returns one text or, of --prompts, several; none with --token-ids. Without an option it is standard input unless that
// is a terminal, and for the demo model a default. Errors: what cannot be read; a line that is no prompt; no prompt at
// all.
Result<std::vector<std::string>> ReadPrompts(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_TEXTS_PROMPTS_H_
