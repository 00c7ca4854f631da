// SPDX-License-Identifier: Apache-2.0

#include "terminal/standard_streams.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iostream>

#include "skald/base/files/small_file.h"
#include "skald/base/files/system_call.h"
#include "skald/base/text/printable.h"
#include "terminal/interrupt.h"

namespace skald::program {
namespace {

// Printable, but for the line ends and tabs that belong to a text.
std::string PrintableText(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\n\t"), text.size());
    shown.append(Printable(text.substr(0, end))).append(text.substr(end, 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return shown;
}

Result<std::string> ReadStandardInput(size_t max_bytes) {
  std::string text;
  for (;;) {
    std::array<char, 65536> piece;
    const auto count = internal::Uninterrupted([&] { return ::read(STDIN_FILENO, piece.data(), piece.size()); });
    if (count < 0) return internal::SystemFailure("standard input");
    if (count == 0) return text;
    text.append(piece.data(), static_cast<size_t>(count));
    if (text.size() > max_bytes) {
      return Fail(ErrorCode::kOutOfRange, "standard input: expected at most " + std::to_string(max_bytes) + " bytes");
    }
  }
}

}  // namespace

void PrepareStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // Opened for the other direction, so that reading or writing fails. It gets the lowest number, which is fd.
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

StandardOutput::StandardOutput() : before_(std::cout.rdbuf(this)) {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
}

StandardOutput::~StandardOutput() { std::cout.rdbuf(before_); }

Result<void> StandardOutput::Finish() {
  sync();
  return error_ == 0 ? Result<void>() : internal::SystemFailure("standard output", error_);
}

int StandardOutput::sync() {
  for (const char* next = pbase(); error_ == 0 && next != pptr();) {
    const ssize_t written = ::write(STDOUT_FILENO, next, static_cast<size_t>(pptr() - next));
    if (written >= 0) {
      next += written;
    } else if (errno == EAGAIN) {
      pollfd output = {STDOUT_FILENO, POLLOUT, 0};
      ::poll(&output, 1, -1);
    } else if (errno != EINTR || StopSignal() != 0) {  // a program that has to end does not wait for a reader
      error_ = errno;
    }
  }
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  return error_ == 0 ? 0 : -1;
}

StandardOutput::int_type StandardOutput::overflow(int_type c) {
  if (sync() != 0) return traits_type::eof();
  if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
  return traits_type::not_eof(c);
}

bool PrintText(std::string_view text) {
  static const bool is_terminal = isatty(STDOUT_FILENO) == 1;
  if (is_terminal) {
    std::cout << PrintableText(text) << std::flush;
  } else {
    std::cout << text << std::flush;
  }
  return std::cout.good();
}

Result<std::string> ReadFileOrStandardInput(const std::filesystem::path& path, size_t max_bytes) {
  if (path == "-") return ReadStandardInput(max_bytes);
  auto text = ReadSmallFile(path, max_bytes);
  if (!text && text.error().code == ErrorCode::kInvalidArgument) {
    return Fail(text.error().code, text.error().message + "; - is standard input");
  }
  return text;
}

}  // namespace skald::program
