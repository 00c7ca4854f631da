// SPDX-License-Identifier: Apache-2.0
//
// The three streams that the program is started with. Output that is lost must be known: a run whose text went nowhere
// has failed.

#ifndef SKALD_EXAMPLES_SKALD_TERMINAL_STANDARD_STREAMS_H_
#define SKALD_EXAMPLES_SKALD_TERMINAL_STANDARD_STREAMS_H_

#include <array>
#include <filesystem>
#include <streambuf>
#include <string>
#include <string_view>

#include "skald/base/result.h"

namespace skald::program {

// Gives the descriptors 0 to 2 that were closed something that fails as they would, so that no file opened later gets
// such a number and what is meant for the terminal. Makes a closed pipe and a file at its size limit errors of the
// write, not signals that end the program with a conversation in it. Call first.
void PrepareStandardStreams();

// Takes over std::cout while it lives. Other than the library's own buffer it can say why a write failed.
class StandardOutput : public std::streambuf {
 public:
  StandardOutput();
  ~StandardOutput() override;
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;

  // Writes what is left. Error: some of the output, now or before, could not be written.
  Result<void> Finish();

 protected:
  int_type overflow(int_type c) override;
  int sync() override;

 private:
  std::array<char, 4096> buffer_;
  int error_ = 0;  // errno of the first write that failed; nothing is written after it
  std::streambuf* const before_;
};

// Writes a piece of a text that a model goes on with, at once. On a terminal question marks replace control
// characters other than line ends and tabs: a text is no command. Returns false if the output has failed.
bool PrintText(std::string_view text);

// Reads a whole file, or all of standard input for "-". Errors: the system's; more than `max_bytes`; no regular file.
Result<std::string> ReadFileOrStandardInput(const std::filesystem::path& path, size_t max_bytes);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_TERMINAL_STANDARD_STREAMS_H_
