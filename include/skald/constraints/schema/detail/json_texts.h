// SPDX-License-Identifier: Apache-2.0
//
// How values are written, as rules of a grammar: strings and their characters, white space, and values of any form, in
// JSON or a notation like it. White space is what people and programs write, bounded, so that a model cannot go on with
// it forever: nothing, one space, or a new line that is indented. Sources: RFC 8259; docs.python.org, lexical analysis.

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
#include "skald/constraints/grammar/text_without.h"
#include "skald/constraints/schema/detail/schema_value.h"
#include "skald/constraints/schema/detail/text_as_is.h"
#include "skald/constraints/schema/value_notation.h"

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

inline std::string InQuotes(std::string_view text, ValueNotation notation) {
  const std::string_view mark = TextMarkOf(notation);
  if (mark.empty()) return InQuotes(text);
  return std::string(mark).append(text).append(mark);
}

// Whether a name can be written without quotes: as a key of kGemma, and of an argument of kPythonCall.
inline bool CanBeBare(std::string_view name) {
  constexpr std::string_view kOthers = "_-.$@/";
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           kOthers.find(c) != kOthers.npos;
  });
}

// A value without white space.
inline std::string AsJson(const SchemaValue& value, ValueNotation notation) {
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
      return InQuotes(value.text, notation);
    case Kind::kArray:
    case Kind::kObject:
      break;
  }
  const bool is_object = value.kind == Kind::kObject;
  std::string json(1, is_object ? '{' : '[');
  for (size_t i = 0; i < value.items.size(); ++i) {
    if (i > 0) json += ',';
    const bool is_bare = is_object && !TextMarkOf(notation).empty() && CanBeBare(value.names[i]);
    if (is_object) json += (is_bare ? value.names[i] : InQuotes(value.names[i], notation)) + ':';
    json += AsJson(value.items[i], notation);
  }
  return json + (is_object ? '}' : ']');
}

// Adds to a grammar what its values are made of, each rule once.
class JsonTexts {
 public:
  using Expression = Grammar::Expression;

  JsonTexts(Grammar& grammar, ValueNotation notation)
      : grammar_(grammar),
        notation_(notation),
        mark_(TextMarkOf(notation)),
        is_gemma_(!mark_.empty()),
        is_python_(notation != ValueNotation::kJson && !is_gemma_) {}

  bool is_gemma() const { return is_gemma_; }

  Expression Call(Grammar::Rule rule) { return grammar_.Add(Grammar::Call{rule}); }
  Expression Sequence(std::vector<Expression> parts) { return grammar_.Add(Grammar::Sequence{std::move(parts)}); }
  Expression Choice(std::vector<Expression> parts) { return grammar_.Add(Grammar::Choice{std::move(parts)}); }
  Expression Digits(size_t min, size_t max) {
    return grammar_.Add(Grammar::Repeat{grammar_.Add(Grammar::Characters{{{'0', '9'}}}), min, max});
  }

  // White space, or none.
  Expression Space() {
    if (is_gemma_) return Grammar::kEmpty;
    return Once(space_, "space", [this] {
      constexpr size_t kMostSpaces = 32, kMostTabs = 8;
      const auto up_to = [this](std::string_view text, size_t most) {
        return grammar_.Add(Grammar::Repeat{grammar_.Literal(text), 0, most});
      };
      const Expression indent = Choice({up_to(" ", kMostSpaces), up_to("\t", kMostTabs)});
      return Choice({Grammar::kEmpty, grammar_.Literal(" "), Sequence({grammar_.Literal("\n"), indent})});
    });
  }

  Expression Null() { return is_python_ || is_gemma_ ? EitherOf("null", "None") : grammar_.Literal("null"); }
  Expression True() { return is_python_ ? EitherOf("true", "True") : grammar_.Literal("true"); }
  Expression False() { return is_python_ ? EitherOf("false", "False") : grammar_.Literal("false"); }
  // A value, written in one way but for what quotes a string of Python has.
  Expression Value(const SchemaValue& value) {
    switch (value.kind) {
      case SchemaValue::Kind::kNull:
        return Null();
      case SchemaValue::Kind::kBoolean:
        return value.boolean ? True() : False();
      default:
        break;
    }
    const Expression literal = grammar_.Literal(AsJson(value, notation_));
    const bool is_plain =
        value.kind == SchemaValue::Kind::kString && value.text.find_first_of("'\\") == std::string::npos;
    if (!is_python_ || !is_plain || InQuotes(value.text).size() != value.text.size() + 2) return literal;
    return Choice({literal, grammar_.Literal("'" + value.text + "'")});
  }

  // Text in the quotes of a string.
  Expression Quoted(Expression inside) {
    const Expression quote = grammar_.Literal(is_gemma_ ? mark_ : "\"");
    return Sequence({quote, inside, quote});
  }

  // One character of `set` in a string, written in one way.
  Expression CharacterOf(const CharacterRanges& set) {
    if (is_gemma_) return OneOf(Without(set, {{static_cast<char32_t>(mark_[0]), static_cast<char32_t>(mark_[0])}}));
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
    if (is_gemma_ && min == 0 && !max) return Quoted(AddTextWithout(mark_, grammar_));
    const auto in = [&](Expression character) { return grammar_.Add(Grammar::Repeat{character, min, max}); };
    if (!is_python_) return Quoted(in(is_gemma_ ? CharacterOf(Complement({})) : FreeCharacter()));
    const Expression quote = grammar_.Literal("'");
    // Such a string is read as it is in one place and with escapes in another, and must be the same in both.
    const Expression other = notation_ == ValueNotation::kPythonCallAsIs
                                 ? OneOf(Complement({{0, kFirstPrintable - 1}, {'\'', '\''}, {'\\', '\\'}}))
                                 : PythonCharacter('\'');
    return Choice({Quoted(in(PythonCharacter('"'))), Sequence({quote, in(other), quote})});
  }

  // The same as an argument of kPythonCallAsIs.
  Expression StringAsIs(size_t min, std::optional<size_t> max) {
    const Expression quote = grammar_.Literal("'");
    const Expression plain = OneOf(Complement({{'\'', '\''}}));
    const bool is_any = min == 0 && !max;
    const Expression text = is_any ? AddTextAsIs(grammar_) : grammar_.Add(Grammar::Repeat{plain, min, max});
    const Expression escaped = grammar_.Add(Grammar::Repeat{PythonCharacter('"'), min, max});
    return Choice({Quoted(escaped), Sequence({quote, text, quote})});
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
      return Choice({AnyObject(), AnyArray(), AnyString(), AnyNumber(), True(), False(), Null()});
    });
  }

  Expression AnyObject() {
    return Once(object_, "object", [this] { return List("{", Member(AnyKey(), AnyValue()), 0, std::nullopt, "}"); });
  }

  Expression AnyArray() {
    return Once(array_, "array", [this] { return List("[", AnyValue(), 0, std::nullopt, "]"); });
  }

  // A member of an object.
  Expression Member(Expression key, Expression value) { return Sequence({key, grammar_.Literal(":"), Space(), value}); }
  Expression Key(const std::string& name) {
    if (is_gemma_ && CanBeBare(name)) return grammar_.Literal(name);
    SchemaValue value;
    value.kind = SchemaValue::Kind::kString;
    value.text = name;
    return Value(value);
  }
  Expression AnyKey() { return is_gemma_ ? BareKey() : AnyString(); }
  // A key without quotes.
  Expression BareKey() {
    return Sequence({OneOf(KeyCharacters()), grammar_.Add(Grammar::Repeat{OneOf(KeyCharacters())})});
  }
  static CharacterRanges KeyCharacters() { return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}; }
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
  Expression EitherOf(std::string_view a, std::string_view b) {
    return Choice({grammar_.Literal(a), grammar_.Literal(b)});
  }

  // An integer above 0.
  Expression FromOne(size_t most_digits) { return Sequence({OneOf({{'1', '9'}}), Digits(0, most_digits - 1)}); }

  // After a backslash: u and four digits, twice for characters that have two.
  Expression UnicodeEscape() {
    const CharacterRanges digit = {{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
    const auto digits = [&](CharacterRanges first, CharacterRanges second) {
      return Sequence({OneOf(std::move(first)), OneOf(std::move(second)), OneOf(digit), OneOf(digit)});
    };
    const CharacterRanges d = {{'D', 'D'}, {'d', 'd'}}, low = {{'0', '7'}};
    const CharacterRanges high_half = {{'8', '9'}, {'A', 'B'}, {'a', 'b'}}, low_half = {{'C', 'F'}, {'c', 'f'}};
    const Expression pair = Sequence({digits(d, high_half), grammar_.Literal("\\u"), digits(d, low_half)});
    return Sequence({grammar_.Literal("u"), Choice({digits(Without(digit, d), digit), digits(d, low), pair})});
  }

  Expression FreeCharacter() {
    if (free_character_) return *free_character_;
    const Expression letter =
        OneOf({{'"', '"'}, {'/', '/'}, {'\\', '\\'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}});
    const Expression escape = Sequence({grammar_.Literal("\\"), Choice({letter, UnicodeEscape()})});
    const Expression plain = OneOf(Complement({{0, kFirstPrintable - 1}, {'"', '"'}, {'\\', '\\'}}));
    free_character_ = Choice({plain, escape});
    return *free_character_;
  }

  // A character between such quotes.
  Expression PythonCharacter(char quote) {
    const auto mark = static_cast<char32_t>(quote);
    const Expression letter =
        OneOf({{'"', '"'}, {'\'', '\''}, {'\\', '\\'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}});
    const CharacterRanges digit = {{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
    const Expression code = Sequence({grammar_.Literal("x"), OneOf({{'0', '7'}}), OneOf(digit)});
    const Expression escape = Sequence({grammar_.Literal("\\"), Choice({letter, code, UnicodeEscape()})});
    return Choice({OneOf(Complement({{0, kFirstPrintable - 1}, {mark, mark}, {'\\', '\\'}})), escape});
  }

  Grammar& grammar_;
  const ValueNotation notation_;
  const std::string_view mark_;  // of texts
  const bool is_gemma_, is_python_;
  std::optional<Grammar::Rule> space_, characters_, string_, number_, integer_, value_, object_, array_;
  std::optional<Expression> free_character_;
};

}  // namespace skald::internal

#endif  // SKALD_CONSTRAINTS_SCHEMA_DETAIL_JSON_TEXTS_H_
