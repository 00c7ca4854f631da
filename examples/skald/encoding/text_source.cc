// SPDX-License-Identifier: Apache-2.0

#include "encoding/text_source.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "skald/base/files/path_text.h"
#include "terminal/interrupt.h"
#include "terminal/standard_streams.h"

namespace skald::program {
namespace {

constexpr size_t kBlock = size_t{1} << 18;

bool IsReady(int descriptor) {
  pollfd input = {descriptor, POLLIN, 0};
  return ::poll(&input, 1, 0) != 0;
}

}  // namespace

Result<TextSource> TextSource::Open(const EncodingOptions& encoding) {
  TextSource source(encoding);
  if (source.files_.empty()) source.files_.emplace_back("-");
  for (const std::filesystem::path& file : source.files_) {
    std::error_code error;
    const auto status = std::filesystem::status(file, error);
    if (file == "-" || (std::filesystem::exists(status) && !std::filesystem::is_directory(status))) continue;
    const bool is_folder = std::filesystem::is_directory(status);
    return Fail(
        is_folder ? ErrorCode::kInvalidArgument : ErrorCode::kNotFound,
        PathText(file) + (is_folder ? ": expected a file with texts, not a folder" : ": there is no such file"));
  }
  return source;
}

Result<std::vector<std::string>> TextSource::Next(size_t most) {
  std::vector<std::string> texts;
  has_paused_ = false;
  while (texts.size() < most && !has_paused_) {
    const size_t end = buffer_.find('\n', begin_);
    if (is_open_ && end != buffer_.npos) {
      TakeLine(std::string_view(buffer_).substr(begin_, end - begin_), texts);
      begin_ = end + 1;
      continue;
    }
    if (is_open_) {
      SKALD_ASSIGN(const bool has_more, ReadMore(/*may_wait=*/texts.empty()));
      if (has_more || has_paused_) continue;
      TakeLine(std::string_view(buffer_).substr(begin_), texts);
      is_open_ = false;
    } else if (next_file_ == files_.size()) {
      break;
    } else if (encoding_.whole_files) {
      SKALD_ASSIGN(auto text, ReadFileOrStandardInput(files_[next_file_++], kMaxPromptBytes));
      texts.push_back(std::move(text));
    } else {
      SKALD_TRY(OpenNext());
    }
  }
  return texts;
}

Result<void> TextSource::OpenNext() {
  const std::filesystem::path& path = files_[next_file_++];
  buffer_.clear();
  begin_ = 0;
  is_open_ = true;
  if (path == "-") return {};
  file_ = std::ifstream(path, std::ios::binary);
  if (file_) return {};
  is_open_ = false;
  return Fail(ErrorCode::kFailedPrecondition, PathText(path) + ": it cannot be opened");
}

// Appends to the buffer what comes next. Returns false at the end, and where standard input has paused.
Result<bool> TextSource::ReadMore(bool may_wait) {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::string name = PathText(files_[next_file_ - 1]);
  if (buffer_.size() > kMaxPromptBytes) {
    return Fail(ErrorCode::kInvalidArgument,
                name + ": a line has more than " + std::to_string(kMaxPromptBytes) + " bytes");
  }
  const size_t before = buffer_.size();
  buffer_.resize(before + kBlock);
  size_t count = 0;
  if (!IsOfStandardInput()) {
    count = static_cast<size_t>(file_.read(buffer_.data() + before, kBlock).gcount());
    if (file_.bad()) return Fail(ErrorCode::kFailedPrecondition, name + ": it cannot be read");
  } else {
    has_paused_ = may_wait ? !WaitForInput(STDIN_FILENO) : !IsReady(STDIN_FILENO);
    const ssize_t got = has_paused_ ? 0 : ::read(STDIN_FILENO, buffer_.data() + before, kBlock);
    if (got < 0 && errno != EINTR && errno != EAGAIN) {
      return Fail(ErrorCode::kFailedPrecondition, "standard input: " + std::generic_category().message(errno));
    }
    has_paused_ = has_paused_ || got < 0;
    count = got > 0 ? static_cast<size_t>(got) : 0;
  }
  buffer_.resize(before + count);
  return count > 0;
}

void TextSource::TakeLine(std::string_view line, std::vector<std::string>& texts) const {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!line.empty()) texts.emplace_back(line);
}

Result<std::optional<size_t>> TextSource::Count() const {
  if (encoding_.whole_files) return std::optional(files_.size());
  const bool can_be_read_again = std::ranges::all_of(
      files_, [](const auto& file) { return file != "-" && std::filesystem::is_regular_file(file); });
  if (!can_be_read_again) return std::optional<size_t>();
  SKALD_ASSIGN(auto again, Open(encoding_));
  size_t count = 0;
  while (!again.IsAtEnd()) {
    constexpr size_t kTexts = 1024;
    SKALD_ASSIGN(const auto texts, again.Next(kTexts));
    count += texts.size();
  }
  return std::optional(count);
}

Result<std::vector<std::string>> ReadTexts(const EncodingOptions& encoding) {
  SKALD_ASSIGN(auto source, TextSource::Open(encoding));
  std::vector<std::string> all;
  while (!source.IsAtEnd()) {
    constexpr size_t kTexts = 1024;
    SKALD_ASSIGN(auto texts, source.Next(kTexts));
    std::ranges::move(texts, std::back_inserter(all));
  }
  if (all.empty()) return FailNoText(encoding);
  return all;
}

Failure FailNoText(const EncodingOptions& encoding) {
  const std::string first = encoding.files.empty() ? "-" : PathText(encoding.files.front());
  return Fail(ErrorCode::kInvalidArgument, first + ": there is no text in it");
}

}  // namespace skald::program
