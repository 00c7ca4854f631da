// SPDX-License-Identifier: Apache-2.0
//
// Patterns, shared by normalizers, pre-tokenizers and decoders. Pure; safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_PATTERNS_H_
#define SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_PATTERNS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/tokenizers/detail/byte_range.h"
#include "skald/tokenizers/detail/split_pattern.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

inline Result<SplitPattern> CompilePattern(const TextPattern& pattern) {
  return pattern.is_regex ? SplitPattern::Compile(pattern.text) : SplitPattern::Literal(pattern.text);
}

// Replaces all matches. `matches` is room to work in. Error: those of FindAll; kResourceExhausted for a result of more
// than `most` bytes, which is not made.
inline Result<std::string> ReplaceMatches(const SplitPattern& pattern, std::string_view text, std::string_view content,
                                          std::vector<ByteRange>& matches, size_t most) {
  if (Result<void> found = pattern.FindAll(text, matches); !found) return Failure(found.error());
  size_t size = text.size();
  for (const ByteRange& match : matches) size -= match.size();
  if (size > most || (!matches.empty() && content.size() > (most - size) / matches.size())) {
    return Fail(ErrorCode::kResourceExhausted,
                "makes more than " + std::to_string(most) + " bytes of a text of " + std::to_string(text.size()));
  }
  std::string replaced;
  replaced.reserve(size + matches.size() * content.size());
  size_t done = 0;
  for (const ByteRange& match : matches) {
    replaced.append(text.substr(done, match.begin - done)).append(content);
    done = match.end;
  }
  return replaced.append(text.substr(done));
}

// The same for these very letters, which must not be empty. Allocates nothing but the result.
inline std::string ReplaceLetters(std::string_view text, std::string_view letters, std::string_view content) {
  std::string replaced;
  replaced.reserve(text.size());
  size_t done = 0;
  for (size_t at = text.find(letters); at != text.npos; at = text.find(letters, done)) {
    replaced.append(text.substr(done, at - done)).append(content);
    done = at + letters.size();
  }
  return replaced.append(text.substr(done));
}

// Calls take(character, its bytes) with each character of valid UTF-8.
template <class Take>
void ForEachCharacter(std::string_view text, Take take) {
  while (!text.empty()) {
    const CodePoint c = FirstCodePoint(text);
    take(c.value, text.substr(0, c.length));
    text.remove_prefix(c.length);
  }
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_PATTERNS_H_
