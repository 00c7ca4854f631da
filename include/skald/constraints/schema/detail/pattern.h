// SPDX-License-Identifier: Apache-2.0
//
// Regular expressions of JSON Schemas' "pattern" as expressions of a grammar: those that describe a regular language.
// Characters are those of a string's value, written as JSON writes them. Source: ECMA-262, section 22.2, with \d, \w
// and \s as there; lookaround and back references (lookahead, \b, \1) are refused. A pattern that is not anchored with
// ^ or $ leaves that side open, so ^ and $ may be only at the ends of the alternatives of the whole.

#ifndef SKALD_CONSTRAINTS_SCHEMA_DETAIL_PATTERN_H_
#define SKALD_CONSTRAINTS_SCHEMA_DETAIL_PATTERN_H_

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/base/text/printable.h"
#include "skald/base/text/utf8.h"
#include "skald/constraints/grammar/characters.h"
#include "skald/constraints/grammar/grammar.h"
#include "skald/constraints/grammar/limits.h"
#include "skald/constraints/schema/detail/json_texts.h"

namespace skald::internal {

inline const CharacterRanges kDigitSet = {{'0', '9'}};
inline const CharacterRanges kWordSet = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
inline const CharacterRanges kLineEndSet = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
inline const CharacterRanges kSpaceSet = {{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680},
                                          {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
                                          {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};

class PatternParser {
 public:
  using Expression = Grammar::Expression;

  // `pattern` must be valid UTF-8.
  PatternParser(std::string_view pattern, Grammar& grammar, JsonTexts& json)
      : pattern_(pattern), grammar_(grammar), json_(json) {}

  // Returns the texts between the quotes of a string. The error describes the mistake in the pattern.
  Result<Expression> Parse() {
    std::vector<Expression> ways;
    do {
      ways.push_back(ParseWay());
    } while (Take("|"));
    if (at_ < pattern_.size()) Complain("a ) without its (");
    if (!complaint_.empty()) return Fail(ErrorCode::kUnsupported, complaint_);
    return json_.Choice(std::move(ways));
  }

 private:
  Expression Complain(std::string_view what) {
    if (complaint_.empty()) complaint_ = what;
    at_ = pattern_.size();
    return Grammar::kEmpty;
  }
  bool Ahead(std::string_view word) const { return pattern_.substr(at_).starts_with(word); }
  bool Take(std::string_view word) {
    if (!Ahead(word)) return false;
    at_ += word.size();
    return true;
  }

  // One alternative of the whole.
  Expression ParseWay() {
    const bool begins = Take("^");
    const Expression inside = ParseSequence(0);
    const bool ends = Take("$");
    std::vector<Expression> parts;
    if (!begins) parts.push_back(json_.AnyCharacters());
    parts.push_back(inside);
    if (!ends) parts.push_back(json_.AnyCharacters());
    return json_.Sequence(std::move(parts));
  }

  Expression ParseChoice(size_t depth) {
    std::vector<Expression> parts;
    do {
      parts.push_back(ParseSequence(depth));
    } while (Take("|"));
    return json_.Choice(std::move(parts));
  }

  Expression ParseSequence(size_t depth) {
    std::vector<Expression> parts;
    while (at_ < pattern_.size() && !Ahead("|") && !Ahead(")")) {
      if (Ahead("$") && depth == 0 && (at_ + 1 == pattern_.size() || pattern_[at_ + 1] == '|')) break;
      parts.push_back(ParseRepetition(ParseItem(depth)));
    }
    return json_.Sequence(std::move(parts));
  }

  Expression ParseItem(size_t depth) {
    if (grammar_.expressions() > kMaxGrammarExpressions) return Complain("it makes the grammar too large");
    if (Ahead("^") || Ahead("$")) return Complain("^ and $ are supported only at the ends of the whole pattern");
    if (Ahead("*") || Ahead("+") || Ahead("?") || Ahead("{")) return Complain("a repetition of nothing");
    if (Take("(")) return ParseGroup(depth);
    if (Take(".")) return json_.CharacterOf(Complement(kLineEndSet));
    if (Take("[")) return json_.CharacterOf(ParseSet());
    if (Take("\\")) return json_.CharacterOf(ParseEscape());
    const char32_t c = TakeCharacter();
    return json_.CharacterOf({{c, c}});
  }

  Expression ParseGroup(size_t depth) {
    if (depth == kMaxGrammarNesting) return Complain("too many groups in groups");
    if (Ahead("?=") || Ahead("?!") || Ahead("?<=") || Ahead("?<!")) {
      return Complain("lookahead and lookbehind are not supported");
    }
    if (Take("?<")) {
      const size_t end = pattern_.find('>', at_);
      if (end == std::string_view::npos) return Complain("the name of a group does not end");
      at_ = end + 1;
    } else if (Ahead("?") && !Take("?:")) {
      return Complain("an unknown kind of group");
    }
    const Expression inside = ParseChoice(depth + 1);
    return Take(")") ? inside : Complain("a ( without its )");
  }

  char32_t TakeCharacter() {
    const std::string_view rest = pattern_.substr(at_);
    const Utf8Character character = FirstUtf8Character(rest);
    if (character.status != Utf8Status::kComplete) return Complain("not valid UTF-8");
    at_ += character.length;
    return CharacterIn(rest.substr(0, character.length));
  }

  CharacterRanges ParseSet() {
    const bool is_outside = Take("^");
    CharacterRanges set;
    while (!Take("]")) {
      if (at_ == pattern_.size()) {
        Complain("a [ without its ]");
        return {};
      }
      const CharacterRanges first = ParseSetItem();
      if (!Ahead("-") || Ahead("-]")) {
        set.insert(set.end(), first.begin(), first.end());
        continue;
      }
      ++at_;
      const CharacterRanges last = at_ < pattern_.size() ? ParseSetItem() : CharacterRanges();
      if (!IsOne(first) || !IsOne(last) || first[0].first > last[0].first) {
        Complain("a range of characters whose ends are not two characters in order");
        return {};
      }
      set.push_back({first[0].first, last[0].first});
    }
    return is_outside ? Complement(std::move(set)) : Tidied(std::move(set));
  }
  CharacterRanges ParseSetItem() {
    if (Take("\\")) return Take("b") ? CharacterRanges{{'\b', '\b'}} : ParseEscape();
    const char32_t c = TakeCharacter();
    return {{c, c}};
  }
  static bool IsOne(const CharacterRanges& set) { return set.size() == 1 && set[0].first == set[0].last; }

  CharacterRanges ParseEscape() {
    const char c = at_ < pattern_.size() ? pattern_[at_++] : '\0';
    const auto one = [](char32_t character) { return CharacterRanges{{character, character}}; };
    switch (c) {
      case 'd':
        return kDigitSet;
      case 'D':
        return Complement(kDigitSet);
      case 'w':
        return kWordSet;
      case 'W':
        return Complement(kWordSet);
      case 's':
        return kSpaceSet;
      case 'S':
        return Complement(kSpaceSet);
      case 't':
        return one('\t');
      case 'n':
        return one('\n');
      case 'r':
        return one('\r');
      case 'f':
        return one('\f');
      case 'v':
        return one('\v');
      case 'x':
        return one(TakeHex(2));
      case 'u':
        return one(TakeCodePoint());
      default:
        break;
    }
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (c != '\0' && !is_letter && static_cast<unsigned char>(c) < 0x80) return one(static_cast<char32_t>(c));
    Complain(c == '\0' ? std::string("a \\ at the end") : Concat({"\\", Printable({&c, 1}), " is not supported"}));
    return {};
  }

  char32_t TakeCodePoint() {
    if (!Take("{")) return TakeHex(4);
    const size_t end = pattern_.find('}', at_);
    if (end == std::string_view::npos) return Complain("a \\u{ without its }");
    const char32_t value = TakeHex(end - at_);
    Take("}");
    return value;
  }
  char32_t TakeHex(size_t digits) {
    uint32_t value = 0;
    const std::string_view text = pattern_.substr(at_, digits);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (digits == 0 || text.size() < digits || error != std::errc() || end != text.data() + digits) {
      return Complain("an escape without its hexadecimal digits");
    }
    at_ += digits;
    if (value > kLastCharacter || (value >= kSurrogates.first && value <= kSurrogates.last)) {
      return Complain("an escape that means no single character");
    }
    return value;
  }

  Expression ParseRepetition(Expression part) {
    std::optional<Grammar::Repeat> repeat;
    if (Take("*"))
      repeat = {part, 0, std::nullopt};
    else if (Take("+"))
      repeat = {part, 1, std::nullopt};
    else if (Take("?"))
      repeat = {part, 0, 1};
    else if (Take("{"))
      repeat = ParseCounts(part);
    if (!repeat) return part;
    Take("?");  // that a match be short changes nothing in what matches
    return grammar_.Add(*repeat);
  }

  Grammar::Repeat ParseCounts(Expression part) {
    const std::optional<size_t> min = TakeCount();
    std::optional<size_t> max = min;
    if (Take(",")) max = TakeCount();
    if (!min || !Take("}") || (max && *max < *min)) Complain("{} without one number, or two in order");
    return {part, min.value_or(0), max};
  }
  std::optional<size_t> TakeCount() {
    size_t count = 0;
    const std::string_view rest = pattern_.substr(at_);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
    if (error != std::errc()) return std::nullopt;
    at_ += static_cast<size_t>(end - rest.data());
    return count;
  }

  std::string_view pattern_;
  size_t at_ = 0;
  Grammar& grammar_;
  JsonTexts& json_;
  std::string complaint_;
};

}  // namespace skald::internal

#endif  // SKALD_CONSTRAINTS_SCHEMA_DETAIL_PATTERN_H_
