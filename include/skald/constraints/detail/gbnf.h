// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/constraints/gbnf.h.

#ifndef SKALD_CONSTRAINTS_DETAIL_GBNF_H_
#define SKALD_CONSTRAINTS_DETAIL_GBNF_H_

#include "skald/constraints/gbnf.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/base/text/utf8.h"
#include "skald/constraints/grammar/characters.h"
#include "skald/constraints/grammar/limits.h"

namespace skald {

namespace internal {

class GbnfParser {
 public:
  explicit GbnfParser(std::string_view text) : text_(text) {}

  Result<Grammar> Parse() {
    if (text_.size() > kMaxGrammarText) {
      return Fail(ErrorCode::kUnsupported, Concat({"the grammar has ", std::to_string(text_.size()), " bytes; at most ",
                                                   std::to_string(kMaxGrammarText), " are supported"}));
    }
    SkipSpace(Lines::kAny);
    while (!failure_ && at_ < text_.size()) ParseRule();
    if (!failure_ && !defined_[Grammar::kRoot]) Complain("there is no rule 'root'");
    for (const auto& [name, use] : uses_) {
      if (failure_ || defined_[use.rule]) continue;
      at_ = use.at;
      Complain(Concat({"there is no rule ", QuotedName(name)}));
    }
    if (failure_) return Failure(*failure_);
    return std::move(grammar_);
  }

 private:
  using Expression = Grammar::Expression;
  enum class Lines { kOne, kAny };  // whether a line may end here
  struct Use {
    Grammar::Rule rule;
    size_t at;  // in the text, where the rule is named first
  };

  // Remembers the first thing that is wrong. All that follows comes to nothing.
  Expression Complain(std::string_view what) {
    if (!failure_) {
      const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
      failure_ = Error{ErrorCode::kInvalidArgument, Concat({"line ", std::to_string(line), " of the grammar: ", what})};
    }
    at_ = text_.size();
    return Grammar::kEmpty;
  }

  bool Ahead(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  bool Take(std::string_view word) {
    if (!Ahead(word)) return false;
    at_ += word.size();
    return true;
  }
  void SkipSpace(Lines lines) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
      } else if (c == ' ' || c == '\t' || (lines == Lines::kAny && (c == '\n' || c == '\r'))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  static bool IsNameLetter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  }
  std::string_view TakeName() {
    const size_t begin = at_;
    while (at_ < text_.size() && IsNameLetter(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  Grammar::Rule RuleNamed(std::string_view name, size_t at) {
    const auto [entry, is_new] = uses_.try_emplace(std::string(name), Use{Grammar::kRoot, at});
    if (is_new && name != "root") {
      entry->second.rule = grammar_.AddRule(std::string(name));
      defined_.push_back(false);
    }
    return entry->second.rule;
  }

  void ParseRule() {
    const size_t begin = at_;
    const std::string_view name = TakeName();
    if (name.empty()) {
      Complain("expected the name of a rule");
      return;
    }
    const Grammar::Rule rule = RuleNamed(name, begin);
    if (defined_[rule]) {
      at_ = begin;
      Complain(Concat({"rule ", QuotedName(name), " is defined twice"}));
      return;
    }
    SkipSpace(Lines::kOne);
    if (!Take("::=")) {
      Complain(Concat({"expected ::= after ", QuotedName(name)}));
      return;
    }
    SkipSpace(Lines::kAny);
    grammar_.Define(rule, ParseChoice(Lines::kOne, 0));
    defined_[rule] = true;
    if (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\r') Complain("expected the end of the line");
    SkipSpace(Lines::kAny);
  }

  Expression ParseChoice(Lines lines, size_t depth) {
    std::vector<Expression> parts = {ParseSequence(lines, depth)};
    while (Take("|")) {
      SkipSpace(Lines::kAny);
      parts.push_back(ParseSequence(lines, depth));
    }
    return parts.size() == 1 ? parts[0] : grammar_.Add(Grammar::Choice{std::move(parts)});
  }

  Expression ParseSequence(Lines lines, size_t depth) {
    std::vector<Expression> parts;
    while (const std::optional<Expression> item = ParseItem(depth)) {
      parts.push_back(ParseRepetition(*item));
      SkipSpace(lines);
    }
    return grammar_.Add(Grammar::Sequence{std::move(parts)});
  }

  // The expression that a repetition may follow, or nothing at the end of a sequence.
  std::optional<Expression> ParseItem(size_t depth) {
    if (Take("\"")) return ParseLiteral();
    if (Take("[")) return ParseSet();
    if (Take(".")) return grammar_.Add(Grammar::Characters{Complement({})});
    if (Take("(")) {
      if (depth == kMaxGrammarNesting) {
        return Complain(Concat({"more than ", std::to_string(kMaxGrammarNesting), " parentheses in parentheses"}));
      }
      SkipSpace(Lines::kAny);
      const Expression inside = ParseChoice(Lines::kAny, depth + 1);
      return Take(")") ? inside : Complain("expected )");
    }
    if (Ahead("<") || Ahead("!")) return Complain("terminals for single tokens (<...>) are not supported");
    const size_t begin = at_;
    if (const std::string_view name = TakeName(); !name.empty()) {
      return grammar_.Add(Grammar::Call{RuleNamed(name, begin)});
    }
    return std::nullopt;
  }

  Expression ParseLiteral() {
    std::string bytes;
    while (!failure_ && !Take("\"")) bytes += Utf8Of(TakeCharacter("\""));
    return grammar_.Literal(bytes);
  }

  Expression ParseSet() {
    const bool is_outside = Take("^");
    CharacterRanges set;
    while (!failure_ && !Take("]")) {
      const char32_t first = TakeCharacter("]");
      char32_t last = first;
      if (Ahead("-") && !Ahead("-]")) {
        ++at_;
        last = TakeCharacter("]");
      }
      if (first > last) return Complain("a range of characters ends before it begins");
      set.push_back({first, last});
    }
    return grammar_.Add(Grammar::Characters{is_outside ? Complement(std::move(set)) : Tidied(std::move(set))});
  }

  char32_t TakeCharacter(std::string_view end) {
    const auto complain = [this](std::string_view what) { return char32_t{Complain(what)}; };
    if (at_ == text_.size()) return complain(Concat({"expected ", end}));
    if (Take("\\")) return TakeEscape();
    const std::string_view rest = text_.substr(at_);
    const Utf8Character character = FirstUtf8Character(rest);
    if (character.status != Utf8Status::kComplete) return complain("not valid UTF-8");
    at_ += character.length;
    return CharacterIn(rest.substr(0, character.length));
  }

  char32_t TakeEscape() {
    const char c = at_ < text_.size() ? text_[at_++] : '\0';
    switch (c) {
      case 'x':
        return TakeHex(2);
      case 'u':
        return TakeHex(4);
      case 'U':
        return TakeHex(8);
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case 'n':
        return '\n';
      case '\\':
      case '"':
      case '[':
      case ']':
        return static_cast<char32_t>(c);
      default:
        return Complain("unknown escape; there are \\x \\u \\U \\t \\r \\n \\\\ \\\" \\[ and \\]");
    }
  }

  char32_t TakeHex(size_t digits) {
    uint32_t value = 0;
    const std::string_view text = text_.substr(at_, digits);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (text.size() < digits || error != std::errc() || end != text.data() + digits) {
      return Complain(Concat({"expected ", std::to_string(digits), " hexadecimal digits"}));
    }
    at_ += digits;
    if (value > kLastCharacter || (value >= kSurrogates.first && value <= kSurrogates.last)) {
      return Complain("an escape means no character");
    }
    return value;
  }

  Expression ParseRepetition(Expression part) {
    for (;;) {
      if (Take("*")) {
        part = grammar_.Add(Grammar::Repeat{part});
      } else if (Take("+")) {
        part = grammar_.Add(Grammar::Repeat{part, 1});
      } else if (Take("?")) {
        part = grammar_.Maybe(part);
      } else if (Take("{")) {
        part = ParseCounts(part);
      } else {
        return part;
      }
      constexpr size_t kMostInRow = 8;
      if (++repetitions_ > kMostInRow) return Complain("too many repetitions of repetitions");
      if (!Ahead("*") && !Ahead("+") && !Ahead("?") && !Ahead("{")) repetitions_ = 0;
    }
  }

  Expression ParseCounts(Expression part) {
    SkipSpace(Lines::kOne);
    const std::optional<size_t> min = TakeCount();
    if (!min) return Complain("expected a number after {");
    std::optional<size_t> max = min;
    SkipSpace(Lines::kOne);
    if (Take(",")) {
      SkipSpace(Lines::kOne);
      max = TakeCount();
      SkipSpace(Lines::kOne);
    }
    if (!Take("}")) return Complain("expected } after the numbers of a repetition");
    if (max && *max < *min) return Complain("a repetition has fewer times at most than at least");
    return grammar_.Add(Grammar::Repeat{part, *min, max});
  }

  std::optional<size_t> TakeCount() {
    size_t count = 0;
    const std::string_view rest = text_.substr(at_);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
    if (error != std::errc()) return std::nullopt;
    at_ += static_cast<size_t>(end - rest.data());
    return count;
  }

  std::string_view text_;
  size_t at_ = 0;
  Grammar grammar_;
  std::vector<bool> defined_ = {false};  // by rule
  std::map<std::string, Use> uses_;
  size_t repetitions_ = 0;  // in a row
  std::optional<Error> failure_;
};

}  // namespace internal

SKALD_INLINE Result<Grammar> ParseGbnf(std::string_view text) {
  return NoThrow("a grammar", [&] { return internal::GbnfParser(text).Parse(); });
}

}  // namespace skald

#endif  // SKALD_CONSTRAINTS_DETAIL_GBNF_H_
