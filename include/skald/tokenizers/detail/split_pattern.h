// SPDX-License-Identifier: Apache-2.0
//
// The patterns by which tokenizers split text before they merge bytes: regular expressions as Hugging Face's tokenizers
// understand them, which means Oniguruma's own syntax on UTF-8 without options. A SplitPattern is immutable, small to
// copy and safe for concurrent calls. A pattern from a file may be hostile: steps and memory of a search are limited,
// and what needs more is an error. Published patterns have scanners of their own (published_patterns.h).
// Source: github.com/kkos/oniguruma, doc/RE and doc/API.

#ifndef SKALD_TOKENIZERS_DETAIL_SPLIT_PATTERN_H_
#define SKALD_TOKENIZERS_DETAIL_SPLIT_PATTERN_H_

#include <oniguruma.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/printable.h"
#include "skald/tokenizers/detail/byte_range.h"
#include "skald/tokenizers/detail/published_patterns.h"
#include "skald/tokenizers/detail/unicode.h"

namespace skald::internal {

class SplitPattern {
 public:
  // Compiles a regular expression. The error names the pattern and says what Oniguruma dislikes about it.
  static Result<SplitPattern> Compile(std::string_view regex);

  // Finds `text` literally.
  static SplitPattern Literal(std::string_view text);

  // Puts all matches in `utf8`, which must be valid, into `matches`, in their order. They do not overlap. An empty
  // match counts where Hugging Face's tokenizers count it. Errors: kResourceExhausted for a search of too many steps,
  // kOutOfRange for a text of 2 GB.
  Result<void> FindAll(std::string_view utf8, std::vector<ByteRange>& matches) const;

 private:
  using Regex = std::remove_pointer_t<OnigRegex>;

  SplitPattern() = default;

  std::string text_;                    // the pattern, to be named in errors; or the literal
  PatternScanner scan_ = nullptr;       // for a published pattern
  std::shared_ptr<const Regex> regex_;  // for any other; both are null for a literal
};

// --- Only definitions from here on -----------------------------------------------------------------------------

inline std::string OnigurumaMessage(int code, const OnigErrorInfo* info) {
  OnigUChar message[ONIG_MAX_ERROR_MESSAGE_LEN];
  const int length = info == nullptr ? onig_error_code_to_str(message, code)
                                     : onig_error_code_to_str(message, code, const_cast<OnigErrorInfo*>(info));
  return {reinterpret_cast<const char*>(message), static_cast<size_t>(std::max(length, 0))};
}

inline const OnigUChar* OnigurumaText(std::string_view text) { return reinterpret_cast<const OnigUChar*>(text.data()); }

inline OnigSyntaxType* OnigurumaSyntax() { return ONIG_SYNTAX_ONIGURUMA; }

inline Result<SplitPattern> SplitPattern::Compile(std::string_view regex) {
  SplitPattern pattern;
  pattern.text_ = regex;
  pattern.scan_ = FindPublishedPattern(regex);
  if (pattern.scan_ != nullptr) return pattern;
  static std::mutex mutex;  // compiling is said to be safe for threads, but Hugging Face's binding locks here too
  const std::lock_guard lock(mutex);
  OnigEncoding encoding = ONIG_ENCODING_UTF8;
  static const int initialized = onig_initialize(&encoding, 1);
  const auto refuse = [regex](int code, const OnigErrorInfo* info) {
    return Fail(ErrorCode::kInvalidArgument,
                "the split pattern \"" + Printable(regex) + "\" does not compile: " + OnigurumaMessage(code, info));
  };
  if (initialized != ONIG_NORMAL) return refuse(initialized, nullptr);
  OnigRegex compiled = nullptr;
  OnigErrorInfo info = {};
  const OnigUChar* const begin = OnigurumaText(regex);
  const int code =
      onig_new(&compiled, begin, begin + regex.size(), ONIG_OPTION_NONE, encoding, OnigurumaSyntax(), &info);
  if (code != ONIG_NORMAL) return refuse(code, &info);
  pattern.regex_ = std::shared_ptr<const Regex>(compiled, [](const Regex* r) { onig_free(const_cast<Regex*>(r)); });
  return pattern;
}

inline SplitPattern SplitPattern::Literal(std::string_view text) {
  SplitPattern pattern;
  pattern.text_ = text;
  return pattern;
}

// The search for one text's matches: holds what Oniguruma writes to, and counts its steps. A search starts with a small
// limit on the times that it may go back and try otherwise, and on the places it may remember to go back to. One that
// reaches it starts again with a larger one, at the expense of what the whole text is allowed. So a text that needs no
// such steps may be of any length, and a pattern that takes exponential time ends soon, as does one that looks ahead
// far from each of its matches: what it remembers counts even where it never goes back.
class OnigurumaSearch {
 public:
  OnigurumaSearch(std::remove_pointer_t<OnigRegex>* regex, std::string_view text) : regex_(regex), text_(text) {}

  // Finds the first match that begins at `from` or later. Returns ONIG_MISMATCH, or another code of Oniguruma's that is
  // an error, or 0 and the match.
  int Find(size_t from, ByteRange& match) {
    if (region_ == nullptr || parameters_ == nullptr) return ONIGERR_MEMORY;
    for (unsigned long limit = kFirstLimit;; limit *= kGrowth) {
      const int found = FindWithin(limit, from);
      if (found == ONIGERR_RETRY_LIMIT_IN_MATCH_OVER || found == ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER ||
          found == ONIGERR_MATCH_STACK_LIMIT_OVER) {
        if (limit > budget_ || (found == ONIGERR_MATCH_STACK_LIMIT_OVER && limit >= kStackEntries)) return found;
        budget_ -= limit;
        continue;
      }
      if (found < 0) return found;
      match = {static_cast<size_t>(region_->beg[0]), static_cast<size_t>(region_->end[0])};
      return 0;
    }
  }

 private:
  static constexpr unsigned long kFirstLimit = 4096, kGrowth = 8;
  static constexpr unsigned long kStepsPerText = 100'000'000, kStepsPerByte = 64;
  static constexpr unsigned long kStackEntries = 1ul << 24;  // of about 40 bytes

  struct FreeRegion {
    void operator()(OnigRegion* region) const { onig_region_free(region, 1); }
  };
  struct FreeParameters {
    void operator()(OnigMatchParam* parameters) const { onig_free_match_param(parameters); }
  };

  int FindWithin(unsigned long limit, size_t from) {
    onig_set_retry_limit_in_match_of_match_param(parameters_.get(), limit);
    onig_set_retry_limit_in_search_of_match_param(parameters_.get(), limit);
    onig_set_match_stack_limit_size_of_match_param(parameters_.get(),
                                                   static_cast<unsigned>(std::min(limit, kStackEntries)));
    const OnigUChar* const begin = OnigurumaText(text_);
    const OnigUChar* const end = begin + text_.size();
    return onig_search_with_param(regex_, begin, end, begin + from, end, region_.get(), ONIG_OPTION_NONE,
                                  parameters_.get());
  }

  std::remove_pointer_t<OnigRegex>* regex_;
  std::string_view text_;
  std::unique_ptr<OnigRegion, FreeRegion> region_{onig_region_new()};
  std::unique_ptr<OnigMatchParam, FreeParameters> parameters_{onig_new_match_param()};
  unsigned long budget_ = kStepsPerText + kStepsPerByte * static_cast<unsigned long>(text_.size());
};

// All matches of a literal; an empty one matches before every character and at the end.
inline void FindLiteral(std::string_view text, std::string_view literal, std::vector<ByteRange>& matches) {
  if (literal.empty()) {
    for (size_t at = 0; at < text.size(); at += FirstCodePoint(text.substr(at)).length) matches.push_back({at, at});
    matches.push_back({text.size(), text.size()});
    return;
  }
  for (size_t at = text.find(literal); at != text.npos; at = text.find(literal, at + literal.size())) {
    matches.push_back({at, at + literal.size()});
  }
}

inline Result<void> SplitPattern::FindAll(std::string_view utf8, std::vector<ByteRange>& matches) const {
  matches.clear();
  // A list that grows bit by bit is written several times, and new pages are what a long text costs most.
  constexpr size_t kBytesOfWord = 4;
  matches.reserve(utf8.size() / kBytesOfWord);
  if (scan_ != nullptr) {
    scan_(utf8, matches);
    return {};
  }
  if (regex_ == nullptr) {
    FindLiteral(utf8, text_, matches);
    return {};
  }
  if (utf8.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {  // Oniguruma counts in int
    return Fail(ErrorCode::kOutOfRange, "a text of " + std::to_string(utf8.size()) + " bytes cannot be split at once");
  }
  OnigurumaSearch search(const_cast<Regex*>(regex_.get()), utf8);
  // As the crate onig goes through a text: of the empty matches after one that is not, the first does not count.
  bool skips_empty = false;
  for (size_t from = 0; from <= utf8.size();) {
    ByteRange match;
    const int code = search.Find(from, match);
    if (code == ONIG_MISMATCH) break;
    if (code != 0) {
      return Fail(ErrorCode::kResourceExhausted, "the split pattern \"" + Printable(text_) + "\" fails on a text of " +
                                                     std::to_string(utf8.size()) +
                                                     " bytes: " + OnigurumaMessage(code, nullptr));
    }
    if (!match.empty() || !skips_empty) matches.push_back(match);
    skips_empty = !match.empty();
    from = match.end;
    if (match.empty()) from += from < utf8.size() ? FirstCodePoint(utf8.substr(from)).length : 1;
  }
  return {};
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_SPLIT_PATTERN_H_
