// SPDX-License-Identifier: Apache-2.0
//
// Lines of standard input, while signals come.

#ifndef SKALD_EXAMPLES_SKALD_TERMINAL_LINE_READER_H_
#define SKALD_EXAMPLES_SKALD_TERMINAL_LINE_READER_H_

#include <cstddef>
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
  // Waits for the next line and puts it into `line`, without its end. Call after CatchSignals. Errors: the system's; a
  // line of more than kMaxPromptBytes.
  Result<InputEvent> Next(std::string& line);

 private:
  std::string buffer_;   // read, and not yet returned
  size_t searched_ = 0;  // bytes of it that are known to hold no end of a line
};

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_TERMINAL_LINE_READER_H_
