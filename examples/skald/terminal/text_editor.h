// SPDX-License-Identifier: Apache-2.0
//
// Texts that a user writes in an editor of their own.

#ifndef SKALD_EXAMPLES_SKALD_TERMINAL_TEXT_EDITOR_H_
#define SKALD_EXAMPLES_SKALD_TERMINAL_TEXT_EDITOR_H_

#include <string>
#include <string_view>

#include "skald/base/result.h"

namespace skald::program {

// Opens a file that holds `text` in the editor that VISUAL or EDITOR names, else in vi, waits for its end, and returns
// what the file holds then, without line ends at its end. The file is its user's alone, and is removed. Errors:
// standard input or stderr is no terminal; the editor cannot be started, or fails; more than kMaxPromptBytes.
Result<std::string> EditText(std::string_view text);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_TERMINAL_TEXT_EDITOR_H_
