// SPDX-License-Identifier: Apache-2.0
//
// Splits a normalized text into the pieces that the model encodes one by one. Immutable; safe for concurrent calls.
// Source: tokenizers/src/pre_tokenizers of github.com/huggingface/tokenizers.

#ifndef SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_PRE_TOKENIZERS_H_
#define SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_PRE_TOKENIZERS_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "skald/base/result.h"
#include "skald/tokenizers/detail/byte_range.h"
#include "skald/tokenizers/detail/pipeline/steps/bert_characters.h"
#include "skald/tokenizers/detail/pipeline/steps/byte_alphabet.h"
#include "skald/tokenizers/detail/pipeline/steps/patterns.h"
#include "skald/tokenizers/detail/pipeline/steps/script_pattern.h"
#include "skald/tokenizers/detail/split_pattern.h"
#include "skald/tokenizers/detail/unicode.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

// A text in pieces: ranges of a text that the caller owns until a step has to rewrite it.
class PieceList {
 public:
  // `text`, which must not be empty, as one piece. `is_first`: it is at the start of the caller's text.
  PieceList(std::string_view text, bool is_first) : text_(text), pieces_{{0, text.size()}}, is_first_(is_first) {}
  PieceList(const PieceList&) = delete;
  PieceList& operator=(const PieceList&) = delete;

  std::string_view text() const { return text_; }
  const std::vector<ByteRange>& pieces() const { return pieces_; }

  // Whether a piece is at the start of all text.
  bool IsFirst(const ByteRange& piece) const { return is_first_ && piece.begin == 0; }

  // Replaces each piece by what split(piece, parts) leaves in `parts`: ranges inside of the piece, of which empty ones
  // are dropped.
  template <class Split>
  Result<void> SplitEach(Split split) {
    std::vector<ByteRange> all, parts;
    all.reserve(pieces_.size());
    for (const ByteRange& piece : pieces_) {
      parts.clear();
      if (Result<void> done = split(piece, parts); !done) return done;
      if (pieces_.size() == 1) {  // most often the whole text: its many pieces need not move
        std::erase_if(parts, [](const ByteRange& part) { return part.empty(); });
        pieces_ = std::move(parts);
        return {};
      }
      for (const ByteRange& part : parts) {
        if (!part.empty()) all.push_back(part);
      }
    }
    pieces_ = std::move(all);
    return {};
  }

  // Replaces each piece by what rewrite(piece, text) appends to `text`.
  template <class Rewrite>
  void RewriteEach(Rewrite rewrite) {
    std::string rewritten;
    rewritten.reserve(text_.size() + text_.size() / 2);
    for (ByteRange& piece : pieces_) {
      const size_t begin = rewritten.size();
      rewrite(piece, rewritten);
      piece = {begin, rewritten.size()};
    }
    own_ = std::move(rewritten);
    text_ = own_;
  }

 private:
  std::string_view text_;
  std::string own_;
  std::vector<ByteRange> pieces_;
  bool is_first_;
};

// The treatment of a piece whose matches are known. They are in order and do not overlap.
inline void ApplyBehavior(const ByteRange& piece, const std::vector<ByteRange>& matches, bool invert,
                          pre_tokenizer::Behavior behavior, std::vector<ByteRange>& parts) {
  using pre_tokenizer::Behavior;
  parts.reserve(2 * matches.size() + 1);
  struct Part {
    ByteRange range;
    bool is_match;
  };
  bool before_is_match = false, has_before = false;
  std::optional<Part> held;  // for kMergedWithNext: a match that waits for what follows
  const auto take = [&](const Part& part) {
    const bool is_new_match = part.is_match && !before_is_match;
    switch (behavior) {
      case Behavior::kRemoved:
        if (!part.is_match) parts.push_back(part.range);
        break;
      case Behavior::kIsolated:
        parts.push_back(part.range);
        break;
      case Behavior::kContiguous:
      case Behavior::kMergedWithPrevious: {
        const bool joins = behavior == Behavior::kContiguous ? part.is_match == before_is_match : is_new_match;
        if (joins && has_before) {
          parts.back().end = part.range.end;
        } else {
          parts.push_back(part.range);
        }
        break;
      }
      case Behavior::kMergedWithNext:
        // A match joins what follows unless that is a match too.
        if (held && !part.is_match) {
          parts.push_back({held->range.begin, part.range.end});
        } else {
          if (held) parts.push_back(held->range);
          if (!part.is_match) parts.push_back(part.range);
        }
        held = part.is_match ? std::optional<Part>(part) : std::nullopt;
        break;
    }
    before_is_match = part.is_match;
    has_before = true;
  };
  size_t done = piece.begin;
  for (const ByteRange& match : matches) {
    if (match.begin > done) take({{done, match.begin}, invert});
    take({match, !invert});
    done = match.end;
  }
  if (done < piece.end) take({{done, piece.end}, invert});
  if (held) parts.push_back(held->range);
}

// Each character for which matches(character) is true, by itself.
template <class Matches>
void FindCharacters(std::string_view text, const ByteRange& piece, Matches matches, std::vector<ByteRange>& found) {
  size_t at = piece.begin;
  ForEachCharacter(piece.Of(text), [&](char32_t c, std::string_view bytes) {
    if (matches(c)) found.push_back({at, at + bytes.size()});
    at += bytes.size();
  });
}

inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// A pre-tokenizer with its pattern made ready.
class ReadyPreTokenizer {
 public:
  static Result<ReadyPreTokenizer> Make(const PreTokenizer& step) {
    using namespace pre_tokenizer;
    ReadyPreTokenizer ready;
    ready.step_ = step;
    TextPattern pattern;
    if (const auto* const split = std::get_if<Split>(&step)) {
      pattern = split->pattern;
      ready.behavior_ = split->behavior;
      ready.invert_ = split->invert;
    } else if (std::holds_alternative<Whitespace>(step)) {
      pattern = {R"(\w+|[^\w\s]+)", true};
      ready.behavior_ = Behavior::kRemoved;
      ready.invert_ = true;
    } else if (const auto* const bytes = std::get_if<ByteLevel>(&step); bytes != nullptr && bytes->use_regex) {
      pattern = {std::string(kGpt2Pattern), true};
    } else if (std::holds_alternative<UnicodeScripts>(step)) {
      pattern = {ScriptPattern(), true};
      ready.behavior_ = Behavior::kRemoved;
      ready.invert_ = true;
    } else {
      return ready;
    }
    if (pattern.text.empty()) return ready;  // an empty pattern finds nothing
    SKALD_ASSIGN(auto compiled, CompilePattern(pattern));
    ready.pattern_ = std::move(compiled);
    return ready;
  }

  // `keeps_bytes`: the model takes the bytes of a ByteLevel step as they are.
  Result<void> Apply(PieceList& list, bool keeps_bytes) const {
    using namespace pre_tokenizer;
    const auto by = [&](auto matches, Behavior behavior) {
      return list.SplitEach([&](const ByteRange& piece, std::vector<ByteRange>& parts) -> Result<void> {
        std::vector<ByteRange> found;
        FindCharacters(list.text(), piece, matches, found);
        ApplyBehavior(piece, found, false, behavior, parts);
        return {};
      });
    };
    if (const auto* const bytes = std::get_if<ByteLevel>(&step_)) return ApplyByteLevel(*bytes, list, keeps_bytes);
    if (const auto* const space = std::get_if<Metaspace>(&step_)) return ApplyMetaspace(*space, list);
    if (const auto* const digits = std::get_if<Digits>(&step_)) {
      return by(IsNumber, digits->individual_digits ? Behavior::kIsolated : Behavior::kContiguous);
    }
    if (const auto* const marks = std::get_if<Punctuation>(&step_)) return by(IsBertPunctuation, marks->behavior);
    if (std::holds_alternative<WhitespaceSplit>(step_)) return by(IsWhiteSpace, Behavior::kRemoved);
    if (std::holds_alternative<Bert>(step_)) {
      if (Result<void> done = by(IsWhiteSpace, Behavior::kRemoved); !done) return done;
      return by(IsBertPunctuation, Behavior::kIsolated);
    }
    if (const auto* const delimiter = std::get_if<CharDelimiterSplit>(&step_)) {
      if (delimiter->delimiter.empty()) return {};
      const char32_t wanted = FirstCodePoint(delimiter->delimiter).value;
      return by([wanted](char32_t c) { return c == wanted; }, Behavior::kRemoved);
    }
    if (const auto* const fixed = std::get_if<FixedLength>(&step_)) return ApplyFixedLength(fixed->length, list);
    return pattern_ ? SplitByPattern(list) : Result<void>();
  }

 private:
  Result<void> SplitByPattern(PieceList& list) const {
    std::vector<ByteRange> matches;
    return list.SplitEach([&](const ByteRange& piece, std::vector<ByteRange>& parts) -> Result<void> {
      if (Result<void> found = pattern_->FindAll(piece.Of(list.text()), matches); !found) return found;
      for (ByteRange& match : matches) match = {match.begin + piece.begin, match.end + piece.begin};
      ApplyBehavior(piece, matches, invert_, behavior_, parts);
      return {};
    });
  }

  Result<void> ApplyByteLevel(const pre_tokenizer::ByteLevel& step, PieceList& list, bool keeps_bytes) const {
    if (step.add_prefix_space) {
      list.RewriteEach([&](const ByteRange& piece, std::string& text) {
        const std::string_view old = piece.Of(list.text());
        if (!old.starts_with(' ')) text += ' ';
        text += old;
      });
    }
    if (pattern_) {
      if (Result<void> split = SplitByPattern(list); !split) return split;
    }
    if (!keeps_bytes) {
      list.RewriteEach(
          [&](const ByteRange& piece, std::string& text) { AppendByteLetters(piece.Of(list.text()), text); });
    }
    return {};
  }

  static Result<void> ApplyMetaspace(const pre_tokenizer::Metaspace& step, PieceList& list) {
    const std::string& symbol = step.replacement;
    list.RewriteEach([&](const ByteRange& piece, std::string& text) {
      const std::string replaced = ReplaceLetters(piece.Of(list.text()), " ", symbol);
      const bool prepends = step.prepend_scheme == PrependScheme::kAlways ||
                            (step.prepend_scheme == PrependScheme::kFirst && list.IsFirst(piece));
      if (prepends && !replaced.starts_with(symbol)) text += symbol;
      text += replaced;
    });
    if (!step.split || symbol.empty()) return {};
    return list.SplitEach([&](const ByteRange& piece, std::vector<ByteRange>& parts) -> Result<void> {
      std::vector<ByteRange> found;
      const std::string_view text = piece.Of(list.text());
      for (size_t at = text.find(symbol); at != text.npos; at = text.find(symbol, at + symbol.size())) {
        found.push_back({piece.begin + at, piece.begin + at + symbol.size()});
      }
      ApplyBehavior(piece, found, false, pre_tokenizer::Behavior::kMergedWithNext, parts);
      return {};
    });
  }

  static Result<void> ApplyFixedLength(size_t length, PieceList& list) {
    if (length == 0) return {};
    return list.SplitEach([&](const ByteRange& piece, std::vector<ByteRange>& parts) -> Result<void> {
      size_t characters = 0, at = piece.begin;
      ForEachCharacter(piece.Of(list.text()), [&](char32_t, std::string_view bytes) {
        if (characters++ % length == 0) parts.push_back({at, at});
        parts.back().end = at += bytes.size();
      });
      return {};
    });
  }

  PreTokenizer step_;
  std::optional<SplitPattern> pattern_;
  pre_tokenizer::Behavior behavior_ = pre_tokenizer::Behavior::kIsolated;
  bool invert_ = false;
};

class PreTokenizerChain {
 public:
  // `keeps_bytes`: the model knows bytes by themselves, so that a ByteLevel step at the end need not spell them.
  static Result<PreTokenizerChain> Make(const std::vector<PreTokenizer>& steps, bool keeps_bytes) {
    PreTokenizerChain chain;
    chain.keeps_bytes_ = keeps_bytes;
    for (const PreTokenizer& step : steps) {
      SKALD_ASSIGN(auto ready, ReadyPreTokenizer::Make(step));
      chain.steps_.push_back(std::move(ready));
    }
    return chain;
  }

  Result<void> Apply(PieceList& list) const {
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (Result<void> done = steps_[i].Apply(list, keeps_bytes_ && i + 1 == steps_.size()); !done) return done;
    }
    return {};
  }

 private:
  std::vector<ReadyPreTokenizer> steps_;
  bool keeps_bytes_ = false;
};

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_PRE_TOKENIZERS_H_
