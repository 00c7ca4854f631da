// SPDX-License-Identifier: Apache-2.0
//
// Cuts added tokens out of a text: of all that begin at the leftmost place the longest. Immutable; safe for concurrent
// calls. Source: tokenizers/src/tokenizer/added_vocabulary.rs of github.com/huggingface/tokenizers.

#ifndef SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_ADDED_TOKENS_H_
#define SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_ADDED_TOKENS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/tokenizers/detail/byte_range.h"
#include "skald/tokenizers/detail/marker_names.h"
#include "skald/tokenizers/detail/pipeline/models/prefix_trie.h"
#include "skald/tokenizers/detail/pipeline/models/token_table.h"
#include "skald/tokenizers/detail/unicode.h"
#include "skald/tokenizers/tokenizer_engine.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

// The start of the last character of `text`, which must not be empty.
inline size_t LastCharacter(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && ContinuesUtf8(text[at])) --at;
  return at;
}

// The characters that regular expressions match by \w.
inline bool IsWordCharacter(char32_t c) {
  return IsLetter(c) || IsMark(c) || IsCategory(c, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NL) ||
         IsCategory(c, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PC) || c == 0x200C || c == 0x200D;
}

// Whether an added token of this content is text like any other: a single character, white space, words, or a tag of
// formatted text. Models have such tokens to spell texts in fewer ids, so a message needs them. For all others it is
// unknown whether a template or a model's own output gives them a meaning: each is a marker, which only a template
// writes. The file's flag of a token ("special") does not tell: half of the marks that steer models do not have it.
inline bool StandsForText(std::string_view content) {
  if (content.empty() || FirstCodePoint(content).length == content.size() || IsFormattingTag(content)) return true;
  while (!content.empty()) {
    const CodePoint c = FirstCodePoint(content);
    const bool is_word = IsLetter(c.value) || IsMark(c.value) || IsNumber(c.value);
    const bool is_space = IsWhiteSpace(c.value) || content.starts_with(kSpaceSymbol);
    if (!is_word && !is_space) return false;
    content.remove_prefix(c.length);
  }
  return true;
}

class AddedTokenFinder {
 public:
  // A part of a text: a token, or what lies between tokens, with id kNoToken.
  struct Part {
    ByteRange range;
    int32_t id = kNoToken;
  };

  AddedTokenFinder() = default;

  // Looks for the contents of `tokens`.
  explicit AddedTokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
    std::vector<std::pair<std::string_view, int32_t>> contents;
    for (size_t i = 0; i < tokens_.size(); ++i) contents.emplace_back(tokens_[i].content, static_cast<int32_t>(i));
    trie_ = PrefixTrie(std::move(contents));
  }

  bool empty() const { return tokens_.empty(); }

  // Returns the parts of `text`, none of them empty. may_be(token, range) says whether the token may be there.
  template <class MayBe>
  std::vector<Part> Cut(std::string_view text, MayBe may_be) const {
    std::vector<Part> parts;
    size_t done = 0;
    for (size_t at = 0; at < text.size() && !empty();) {
      if (!trie_.HasFirst(text[at])) {
        ++at;
        continue;
      }
      const AddedToken* token = nullptr;
      ByteRange range;
      trie_.ForEachPrefix(text.substr(at), [&](size_t length, int32_t index) {
        const AddedToken& candidate = tokens_[static_cast<size_t>(index)];
        const ByteRange there = {at, at + length};
        if (!may_be(candidate, there)) return;
        token = &candidate;
        range = there;
      });
      if (token == nullptr) {
        ++at;
        continue;
      }
      at = range.end;
      if (token->single_word && !StandsAlone(text, range)) continue;
      if (token->lstrip) range.begin = std::max(done, SpaceBefore(text, range.begin));
      if (token->rstrip) range.end = SpaceAfter(text, range.end);
      if (done < range.begin) parts.push_back({{done, range.begin}, kNoToken});
      parts.push_back({range, token->id});
      done = range.end;
      at = std::max(at, done);
    }
    if (done < text.size()) parts.push_back({{done, text.size()}, kNoToken});
    return parts;
  }

 private:
  static bool StandsAlone(std::string_view text, const ByteRange& range) {
    const std::string_view before = text.substr(0, range.begin), after = text.substr(range.end);
    const bool word_before =
        !before.empty() && IsWordCharacter(FirstCodePoint(before.substr(LastCharacter(before))).value);
    return !word_before && (after.empty() || !IsWordCharacter(FirstCodePoint(after).value));
  }

  static size_t SpaceBefore(std::string_view text, size_t end) {
    while (end > 0) {
      const size_t last = LastCharacter(text.substr(0, end));
      if (!IsWhiteSpace(FirstCodePoint(text.substr(last)).value)) break;
      end = last;
    }
    return end;
  }

  static size_t SpaceAfter(std::string_view text, size_t begin) {
    while (begin < text.size()) {
      const CodePoint next = FirstCodePoint(text.substr(begin));
      if (!IsWhiteSpace(next.value)) break;
      begin += next.length;
    }
    return begin;
  }

  std::vector<AddedToken> tokens_;
  PrefixTrie trie_;
};

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_ADDED_TOKENS_H_
