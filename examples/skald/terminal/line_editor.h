// SPDX-License-Identifier: Apache-2.0
//
// Lines that a person types on a terminal, edited with libedit: cursor keys, a history that later runs know, and text
// of several lines. A paste is inserted as it is, and Alt-Enter or a backslash at the end of a line begins another one
// of the same message.

#ifndef SKALD_EXAMPLES_SKALD_TERMINAL_LINE_EDITOR_H_
#define SKALD_EXAMPLES_SKALD_TERMINAL_LINE_EDITOR_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "terminal/line_reader.h"

namespace skald::program {

struct EditorOptions {
  std::filesystem::path history = {};      // file of the lines of earlier runs; empty: none
  std::vector<std::string> commands = {};  // that Tab completes at the beginning of a line
};

// Returns an editor where standard input and stderr are a terminal that can move its cursor and the program was built
// with libedit; else a plain reader.
std::unique_ptr<LineReader> EditLines(const EditorOptions& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_TERMINAL_LINE_EDITOR_H_
