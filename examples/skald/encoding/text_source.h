// SPDX-License-Identifier: Apache-2.0
//
// TextSource: the texts that an encoder reads, a part of them in memory at a time.

#ifndef SKALD_EXAMPLES_SKALD_ENCODING_TEXT_SOURCE_H_
#define SKALD_EXAMPLES_SKALD_ENCODING_TEXT_SOURCE_H_

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command_line/options.h"
#include "skald/base/result.h"

namespace skald::program {

// The lines of the files or of standard input, without empty ones, or whole files.
class TextSource {
 public:
  // Error: a file that is not there, or a folder.
  static Result<TextSource> Open(const EncodingOptions& encoding);

  // Returns up to `most` further texts. Those of standard input come as soon as it pauses, or a signal comes; so that
  // there are none does not say that it is the end. Errors: those of reading; a line of more than kMaxPromptBytes, or
  // such a file that is one text.
  Result<std::vector<std::string>> Next(size_t most);

  // Whether all texts have been returned.
  bool IsAtEnd() const { return next_file_ == files_.size() && !is_open_; }

  // The number of all texts, which reads the files once more; nothing where they can be read only once.
  Result<std::optional<size_t>> Count() const;

 private:
  explicit TextSource(const EncodingOptions& encoding) : encoding_(encoding), files_(encoding.files) {}

  bool IsOfStandardInput() const { return files_[next_file_ - 1] == "-"; }
  Result<void> OpenNext();
  Result<bool> ReadMore(bool may_wait);
  void TakeLine(std::string_view line, std::vector<std::string>& texts) const;

  EncodingOptions encoding_;
  std::vector<std::filesystem::path> files_;
  size_t next_file_ = 0;
  bool is_open_ = false;
  bool has_paused_ = false;  // standard input
  std::ifstream file_;
  std::string buffer_;  // what was read, of which the first begin_ bytes have been returned
  size_t begin_ = 0;
};

// Returns all texts. Errors: those of TextSource; no text at all. Call before CatchSignals: a signal ends the program.
Result<std::vector<std::string>> ReadTexts(const EncodingOptions& encoding);

// The error of there being none.
Failure FailNoText(const EncodingOptions& encoding);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_ENCODING_TEXT_SOURCE_H_
