// SPDX-License-Identifier: Apache-2.0
//
// Lines of standard input, while signals come.

#ifndef SKALD_EXAMPLES_SKALD_TERMINAL_LINE_READER_H_
#define SKALD_EXAMPLES_SKALD_TERMINAL_LINE_READER_H_

#include <memory>
#include <string>

#include "skald/base/result.h"

namespace skald::program {

enum class InputEvent {
  kLine,
  kEnd,          // of the input; a terminal can be asked again
  kInterrupted,  // a signal came: see StopSignal
};

class LineReader {
 public:
  virtual ~LineReader() = default;

  // Waits for the next line and puts it into `line`, without its end. On a terminal stderr shows `prompt` before it,
  // and what was pasted or continued is one line with line ends inside. Call after CatchSignals. Errors: the system's;
  // a line of more than kMaxPromptBytes.
  virtual Result<InputEvent> Next(const std::string& prompt, std::string& line) = 0;
};

// Reads what others write, or a terminal that edits its lines itself.
std::unique_ptr<LineReader> ReadPlainLines();

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_TERMINAL_LINE_READER_H_
