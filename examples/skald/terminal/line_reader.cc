// SPDX-License-Identifier: Apache-2.0

#include "terminal/line_reader.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <iostream>
#include <utility>

#include "command_line/options.h"
#include "skald/base/files/system_call.h"
#include "terminal/interrupt.h"

namespace skald::program {
namespace {

class PlainLines : public LineReader {
 public:
  Result<InputEvent> Next(const std::string& prompt, std::string& line) override {
    if (!terminal_) return Read(line);
    std::cerr << prompt;
    auto event = Read(line);
    if (event && *event != InputEvent::kLine) std::cerr << '\n';
    return event;
  }

 private:
  Result<InputEvent> Read(std::string& line) {
    for (;;) {
      if (const size_t end = buffer_.find('\n', searched_); end != std::string::npos) {
        line.assign(buffer_, 0, end);
        buffer_.erase(0, end + 1);
        searched_ = 0;
        return InputEvent::kLine;
      }
      searched_ = buffer_.size();
      if (buffer_.size() > kMaxPromptBytes) {
        return Fail(ErrorCode::kOutOfRange,
                    "standard input: expected lines of at most " + std::to_string(kMaxPromptBytes) + " bytes");
      }
      if (!WaitForInput(STDIN_FILENO)) {
        if (TakeInterrupt()) return InputEvent::kInterrupted;
        continue;
      }
      std::array<char, 65536> piece;
      const ssize_t count = ::read(STDIN_FILENO, piece.data(), piece.size());
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (count < 0) return internal::SystemFailure("standard input");
      buffer_.append(piece.data(), static_cast<size_t>(count));
      if (count > 0) continue;
      line = std::exchange(buffer_, "");
      searched_ = 0;
      return line.empty() ? InputEvent::kEnd : InputEvent::kLine;
    }
  }

  const bool terminal_ = isatty(STDIN_FILENO) == 1;
  std::string buffer_;   // read, and not yet returned
  size_t searched_ = 0;  // bytes of it that are known to hold no end of a line
};

}  // namespace

std::unique_ptr<LineReader> ReadPlainLines() { return std::make_unique<PlainLines>(); }

}  // namespace skald::program
