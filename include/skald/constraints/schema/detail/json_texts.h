// SPDX-License-Identifier: Apache-2.0
//
// How JSON is written, as rules of a grammar: strings and their characters, white space, and values of any form. White
// space is what people and programs write, bounded, so that a model cannot go on with it forever: nothing, one space,
// or a new line that is indented. Source: RFC 8259.

#ifndef SKALD_CONSTRAINTS_SCHEMA_DETAIL_JSON_TEXTS_H_
#define SKALD_CONSTRAINTS_SCHEMA_DETAIL_JSON_TEXTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/text/utf8.h"
#include "skald/constraints/grammar/characters.h"
#include "skald/constraints/grammar/grammar.h"
#include "skald/constraints/schema/detail/schema_value.h"

namespace skald::internal {

// The characters that a JSON string has an escape of two letters for, and the second of these.
struct ShortEscape {
  char32_t character;
  char letter;
};
inline constexpr ShortEscape kShortEscapes[] = {{'"', '"'},  {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'},
                                                {'\n', 'n'}, {'\r', 'r'},  {'\t', 't'}};
inline constexpr char32_t kFirstPrintable = 0x20;  // those before it must be escaped in a string

// The one way that is used to write a control character, a quote or a backslash in a string.
inline std::string EscapeOf(char32_t c) {
  for (const ShortEscape& escape : kShortEscapes) {
    if (escape.character == c) return {'\\', escape.letter};
  }
  constexpr char kDigits[] = "0123456789abcdef";
  return std::string("\\u00") + kDigits[c >> 4 & 0xF] + kDigits[c & 0xF];
}

// A string as JSON, in quotes. `text` must be valid UTF-8.
inline std::string InQuotes(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte >= kFirstPrintable && c != '"' && c != '\\';
    quoted += is_plain ? std::string(1, c) : EscapeOf(byte);
  }
  return quoted + "\"";
}

// A value as JSON, without white space.
inline std::string AsJson(const SchemaValue& value) {
  using Kind = SchemaValue::Kind;
  switch (value.kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBoolean:
      return value.boolean ? "true" : "false";
    case Kind::kInteger:
    case Kind::kNumber:
      return value.text;
    case Kind::kString:
      return InQuotes(value.text);
    case Kind::kArray:
    case Kind::kObject:
      break;
  }
  const bool is_object = value.kind == Kind::kObject;
  std::string json(1, is_object ? '{' : '[');
  for (size_t i = 0; i < value.items.size(); ++i) {
    if (i > 0) json += ',';
    if (is_object) json += InQuotes(value.names[i]) + ':';
    json += AsJson(value.items[i]);
  }
  return json + (is_object ? '}' : ']');
}

// Adds to a grammar what its JSON is made of, each rule once.
class JsonTexts {
 public:
  using Expression = Grammar::Expression;

  explicit JsonTexts(Grammar& grammar) : grammar_(grammar) {}

  Expression Call(Grammar::Rule rule) { return grammar_.Add(Grammar::Call{rule}); }
  Expression Sequence(std::vector<Expression> parts) { return grammar_.Add(Grammar::Sequence{std::move(parts)}); }
  Expression Choice(std::vector<Expression> parts) { return grammar_.Add(Grammar::Choice{std::move(parts)}); }
  Expression Digits(size_t min, size_t max) {
    return grammar_.Add(Grammar::Repeat{grammar_.Add(Grammar::Characters{{{'0', '9'}}}), min, max});
  }

  // White space, or none.
  Expression Space() {
    return Once(space_, "space", [this] {
      constexpr size_t kMostSpaces = 32, kMostTabs = 8;
      const auto up_to = [this](std::string_view text, size_t most) {
        return grammar_.Add(Grammar::Repeat{grammar_.Literal(text), 0, most});
      };
      const Expression indent = Choice({up_to(" ", kMostSpaces), up_to("\t", kMostTabs)});
      return Choice({Grammar::kEmpty, grammar_.Literal(" "), Sequence({grammar_.Literal("\n"), indent})});
    });
  }

  // One character of `set` in a string, written in one way.
  Expression CharacterOf(const CharacterRanges& set) {
    CharacterRanges plain = Without(set, {{0, kFirstPrintable - 1}, {'"', '"'}, {'\\', '\\'}});
    std::vector<Expression> ways;
    if (!plain.empty()) ways.push_back(grammar_.Add(Grammar::Characters{std::move(plain)}));
    for (char32_t c = 0; c <= '\\'; ++c) {
      const bool is_escaped = c < kFirstPrintable || c == '"' || c == '\\';
      if (is_escaped && Contains(set, c)) ways.push_back(grammar_.Literal(EscapeOf(c)));
    }
    return ways.size() == 1 ? ways[0] : Choice(std::move(ways));
  }

  // Any number of any characters, each written in one way.
  Expression AnyCharacters() {
    return Once(characters_, "characters",
                [this] { return grammar_.Add(Grammar::Repeat{CharacterOf(Complement({}))}); });
  }

  // `min` to `max` characters in quotes, written in any way but as half of a surrogate pair.
  Expression String(size_t min, std::optional<size_t> max) {
    const Expression quote = grammar_.Literal("\"");
    return Sequence({quote, grammar_.Add(Grammar::Repeat{FreeCharacter(), min, max}), quote});
  }

  Expression AnyString() {
    return Once(string_, "string", [this] { return String(0, std::nullopt); });
  }

  // Any number that a double can hold about as it is written.
  Expression AnyNumber() {
    return Once(number_, "number", [this] {
      const Expression fraction = Sequence({grammar_.Literal("."), Digits(1, kMostDigits)});
      const Expression exponent =
          Sequence({OneOf({{'E', 'E'}, {'e', 'e'}}), grammar_.Maybe(OneOf({{'+', '+'}, {'-', '-'}})), Digits(1, 2)});
      return Sequence({grammar_.Maybe(grammar_.Literal("-")), Choice({grammar_.Literal("0"), FromOne(kMostDigits)}),
                       grammar_.Maybe(fraction), grammar_.Maybe(exponent)});
    });
  }

  // Any integer of 64 bits with a sign.
  Expression AnyInteger() {
    return Once(integer_, "integer", [this] {
      const Expression minus = grammar_.Maybe(grammar_.Literal("-"));
      return Choice({grammar_.Literal("0"), Sequence({minus, FromOne(kMostIntegerDigits)})});
    });
  }

  // Any value.
  Expression AnyValue() {
    return Once(value_, "value", [this] {
      return Choice({AnyObject(), AnyArray(), AnyString(), AnyNumber(), grammar_.Literal("true"),
                     grammar_.Literal("false"), grammar_.Literal("null")});
    });
  }

  Expression AnyObject() {
    return Once(object_, "object", [this] { return List("{", Member(AnyString(), AnyValue()), 0, std::nullopt, "}"); });
  }

  Expression AnyArray() {
    return Once(array_, "array", [this] { return List("[", AnyValue(), 0, std::nullopt, "]"); });
  }

  // A member of an object.
  Expression Member(Expression name, Expression value) {
    return Sequence({name, grammar_.Literal(":"), Space(), value});
  }
  Expression Comma() { return Sequence({grammar_.Literal(","), Space()}); }

  // `min` to `max` items with commas between.
  Expression List(std::string_view open, Expression item, size_t min, std::optional<size_t> max,
                  std::string_view close) {
    const Expression begin = Sequence({grammar_.Literal(open), Space()});
    if (max == 0) return Sequence({begin, grammar_.Literal(close)});
    const std::optional<size_t> more = max ? std::optional(*max - 1) : std::nullopt;
    const Expression others = grammar_.Add(Grammar::Repeat{Sequence({Comma(), item}), min > 0 ? min - 1 : 0, more});
    const Expression items = Sequence({item, others, Space()});
    return Sequence({begin, min > 0 ? items : grammar_.Maybe(items), grammar_.Literal(close)});
  }

  // A double keeps any decimal number of so many digits (DBL_DIG), so all readers see the number that was written.
  static constexpr size_t kMostDigits = 15;
  static constexpr size_t kMostIntegerDigits = 18;

 private:
  // A rule that is made when it is first asked for. It may call itself.
  template <class Make>
  Expression Once(std::optional<Grammar::Rule>& rule, const char* name, const Make& make) {
    if (!rule) {
      rule = grammar_.AddRule(name);
      grammar_.Define(*rule, make());
    }
    return Call(*rule);
  }

  Expression OneOf(CharacterRanges set) { return grammar_.Add(Grammar::Characters{std::move(set)}); }

  // An integer above 0.
  Expression FromOne(size_t most_digits) { return Sequence({OneOf({{'1', '9'}}), Digits(0, most_digits - 1)}); }

  Expression FreeCharacter() {
    if (free_character_) return *free_character_;
    const CharacterRanges digit = {{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
    const auto digits = [&](CharacterRanges first, CharacterRanges second) {
      return Sequence({OneOf(std::move(first)), OneOf(std::move(second)), OneOf(digit), OneOf(digit)});
    };
    const CharacterRanges d = {{'D', 'D'}, {'d', 'd'}}, low = {{'0', '7'}};
    const CharacterRanges high_half = {{'8', '9'}, {'A', 'B'}, {'a', 'b'}}, low_half = {{'C', 'F'}, {'c', 'f'}};
    const Expression pair = Sequence({digits(d, high_half), grammar_.Literal("\\u"), digits(d, low_half)});
    const Expression code = Choice({digits(Without(digit, d), digit), digits(d, low), pair});
    const Expression letter =
        OneOf({{'"', '"'}, {'/', '/'}, {'\\', '\\'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}});
    const Expression escape =
        Sequence({grammar_.Literal("\\"), Choice({letter, Sequence({grammar_.Literal("u"), code})})});
    const Expression plain = OneOf(Complement({{0, kFirstPrintable - 1}, {'"', '"'}, {'\\', '\\'}}));
    free_character_ = Choice({plain, escape});
    return *free_character_;
  }

  Grammar& grammar_;
  std::optional<Grammar::Rule> space_, characters_, string_, number_, integer_, value_, object_, array_;
  std::optional<Expression> free_character_;
};

}  // namespace skald::internal

#endif  // SKALD_CONSTRAINTS_SCHEMA_DETAIL_JSON_TEXTS_H_
