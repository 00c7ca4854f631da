// SPDX-License-Identifier: Apache-2.0
//
// Cuts the source of a chat template into tokens, with white space around tags as models' templates are written for:
// trim_blocks and lstrip_blocks of Jinja are on, and the last line break of a source does not count. A pure function.
// Source: jinja.palletsprojects.com/en/stable/templates, "Whitespace Control" and what follows there.

#ifndef SKALD_TEMPLATES_SYNTAX_DETAIL_LEXER_H_
#define SKALD_TEMPLATES_SYNTAX_DETAIL_LEXER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/templates/values/detail/characters.h"

namespace skald::internal::jinja {

enum class TokenType {
  kData,        // text between tags
  kPrintBegin,  // {{
  kPrintEnd,    // }}
  kBlockBegin,  // {%
  kBlockEnd,    // %}
  kName,
  kText,  // a literal, without quotes and escapes
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Position {
  size_t line = 1, column = 1;
};

struct Token {
  TokenType type;
  std::string text;
  Position at;
};

inline Error SyntaxError(Position at, std::string_view what) {
  return {ErrorCode::kInvalidArgument,
          Concat({"line ", std::to_string(at.line), ", column ", std::to_string(at.column), ": ", what})};
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(WithPlainLineBreaks(source)) {}

  Result<std::vector<Token>> Run() && {
    while (!error_ && at_ < source_.size()) NextStretch();
    if (error_) return Failure(*std::move(error_));
    Add(TokenType::kEnd, "end of template");
    return std::move(tokens_);
  }

 private:
  // Every kind of line break becomes a newline, and one at the very end goes.
  static std::string WithPlainLineBreaks(std::string_view source) {
    std::string text;
    text.reserve(source.size());
    for (size_t i = 0; i < source.size(); ++i) {
      if (source[i] == '\r' && source.substr(i + 1).starts_with('\n')) continue;
      text += source[i] == '\r' ? '\n' : source[i];
    }
    if (text.ends_with('\n')) text.pop_back();
    return text;
  }

  std::string_view Rest() const { return std::string_view(source_).substr(at_); }

  void Move(size_t bytes) {
    for (const char c : std::string_view(source_).substr(at_, bytes)) {
      if (c == '\n') {
        ++place_.line;
        place_.column = 1;
      } else if ((c & 0xC0) != 0x80) {
        ++place_.column;
      }
    }
    at_ = std::min(source_.size(), at_ + bytes);
  }
  void MoveOverSpaces() { Move(LeadingSpaces(Rest())); }

  void Add(TokenType type, std::string_view text) { tokens_.push_back({type, std::string(text), place_}); }
  void Complain(std::string_view what) {
    if (!error_) error_ = SyntaxError(place_, what);
  }

  // Text up to a tag, and the tag.
  void NextStretch() {
    const std::string_view rest = Rest();
    size_t tag = 0;
    for (;; ++tag) {
      tag = rest.find('{', tag);
      if (tag == rest.npos || tag + 1 == rest.size()) {
        AddData(rest);
        return Move(rest.size());
      }
      const char second = rest[tag + 1];
      if (second == '{' || second == '%' || second == '#') break;
    }
    const char kind = rest[tag + 1];
    const bool has_sign = tag + 2 < rest.size() && (rest[tag + 2] == '-' || rest[tag + 2] == '+');
    const char sign = has_sign ? rest[tag + 2] : ' ';
    AddData(TrimmedBefore(rest.substr(0, tag), sign, kind == '{'));
    Move(tag);
    const Position begin = place_;
    Move(has_sign ? 3 : 2);
    if (kind == '#') return SkipComment(begin);
    if (kind == '%' && SkipRawBegin()) return ReadRaw(begin);
    tokens_.push_back({kind == '{' ? TokenType::kPrintBegin : TokenType::kBlockBegin, "", begin});
    ReadTag(kind == '{' ? "}}" : "%}");
  }

  void AddData(std::string_view text) {
    if (!text.empty()) Add(TokenType::kData, text);
  }

  // The rest of a text before a tag. Indentation before a tag that is not {{ is removed, unless a + keeps it.
  std::string_view TrimmedBefore(std::string_view text, char sign, bool is_print) const {
    if (sign == '-') return text.substr(0, text.size() - TrailingSpaces(text));
    if (sign == '+' || is_print) return text;
    const size_t line = text.rfind('\n') + 1;  // 0 if there is none
    if (line == 0 && !at_line_start_) return text;
    return LeadingSpaces(text.substr(line)) == text.size() - line ? text.substr(0, line) : text;
  }

  // Takes the end of a tag, if it is here, and the white space that belongs to it. Returns whether it is one.
  bool TakeEnd(std::string_view end) {
    const std::string_view rest = Rest();
    const bool strips = rest.starts_with('-') && rest.substr(1).starts_with(end);
    const bool keeps = rest.starts_with('+') && rest.substr(1).starts_with(end) && end != "}}";
    if (!strips && !keeps && !rest.starts_with(end)) return false;
    const size_t before = at_;
    Move(end.size() + (strips || keeps));
    if (strips) {
      MoveOverSpaces();
    } else if (!keeps && end != "}}" && Rest().starts_with('\n')) {
      Move(1);
    }
    at_line_start_ = at_ > before && source_[at_ - 1] == '\n';
    return true;
  }

  void SkipComment(Position begin) {
    const size_t end = Rest().find("#}");
    if (end == Rest().npos) {
      place_ = begin;
      return Complain("the comment has no end; expected #}");
    }
    const bool has_sign = end > 0 && (Rest()[end - 1] == '-' || Rest()[end - 1] == '+');
    Move(has_sign ? end - 1 : end);
    TakeEnd("#}");
  }

  // Takes "raw %}", if it is here.
  bool SkipRawBegin() {
    std::string_view rest = Rest();
    rest.remove_prefix(LeadingSpaces(rest));
    if (!rest.starts_with("raw")) return false;
    rest.remove_prefix(3);
    rest.remove_prefix(LeadingSpaces(rest));
    const bool strips = rest.starts_with("-%}");
    if (!strips && !rest.starts_with("%}")) return false;
    Move(source_.size() - at_ - rest.size() + (strips ? 3 : 2));
    if (strips) MoveOverSpaces();
    at_line_start_ = false;
    return true;
  }

  void ReadRaw(Position begin) {
    for (size_t tag = Rest().find("{%"); tag != std::string_view::npos; tag = Rest().find("{%", tag + 1)) {
      std::string_view inside = Rest().substr(tag + 2);
      const char sign = inside.starts_with('-') ? '-' : inside.starts_with('+') ? '+' : ' ';
      if (sign != ' ') inside.remove_prefix(1);
      inside.remove_prefix(LeadingSpaces(inside));
      if (!inside.starts_with("endraw")) continue;
      inside.remove_prefix(6);
      inside.remove_prefix(LeadingSpaces(inside));
      if (!inside.starts_with("%}") && !inside.starts_with("-%}") && !inside.starts_with("+%}")) continue;
      AddData(TrimmedBefore(Rest().substr(0, tag), sign, false));
      Move(source_.size() - at_ - inside.size());
      TakeEnd("%}");
      return;
    }
    place_ = begin;
    Complain("raw text has no end; expected {% endraw %}");
  }

  // The tokens of a tag and its end.
  void ReadTag(std::string_view end) {
    std::string open;  // the brackets that wait for their closing ones
    while (!error_) {
      MoveOverSpaces();
      const std::string_view rest = Rest();
      if (rest.empty()) return Complain(Concat({"the template ends inside of a tag; expected ", end}));
      const Position begin = place_;
      if (open.empty() && TakeEnd(end)) {
        tokens_.push_back({end == "}}" ? TokenType::kPrintEnd : TokenType::kBlockEnd, std::string(end), begin});
        return;
      }
      if (IsNameStart(rest)) {
        const size_t size = NameSize(rest);
        Add(TokenType::kName, rest.substr(0, size));
        Move(size);
      } else if (rest[0] >= '0' && rest[0] <= '9') {
        ReadNumber(rest);
      } else if (rest[0] == '"' || rest[0] == '\'') {
        ReadText(rest);
      } else {
        ReadOperator(rest, open);
      }
    }
  }

  static bool IsNameStart(std::string_view text) {
    const int32_t code = CodePoint(text.substr(0, CharacterSize(text)));
    return code == '_' || IsLetter(code);
  }
  static size_t NameSize(std::string_view text) {
    size_t size = 0;
    while (size < text.size()) {
      const size_t next = CharacterSize(text.substr(size));
      const int32_t code = CodePoint(text.substr(size, next));
      if (code != '_' && !IsLetter(code) && !IsNumeric(code)) break;
      size += next;
    }
    return size;
  }

  // The digits at the start of a text, with single underscores between them.
  static size_t DigitsSize(std::string_view text, int base = 10) {
    const auto is_digit = [&](size_t i) {
      if (i >= text.size()) return false;
      const char c = static_cast<char>(text[i] | 0x20);
      return base <= 10 ? text[i] >= '0' && text[i] < '0' + base
                        : (text[i] >= '0' && text[i] <= '9') || (c >= 'a' && c <= 'f');
    };
    size_t size = 0;
    while (is_digit(size) ||
           (size > 0 && text[size - 1] != '_' && text.substr(size).starts_with('_') && is_digit(size + 1))) {
      ++size;
    }
    return size;
  }

  void ReadNumber(std::string_view rest) {
    TokenType type = TokenType::kInteger;
    size_t size = 0;
    const char prefix = rest.size() > 1 && rest[0] == '0' ? static_cast<char>(rest[1] | 0x20) : ' ';
    if (prefix == 'x' || prefix == 'o' || prefix == 'b') {
      size = DigitsSize(rest.substr(2), prefix == 'x' ? 16 : prefix == 'o' ? 8 : 2);
      size = size > 0 ? size + 2 : 1;
    } else {
      size = DigitsSize(rest);
      if (rest.substr(size).starts_with('.')) {
        if (const size_t fraction = DigitsSize(rest.substr(size + 1)); fraction > 0) {
          size += 1 + fraction;
          type = TokenType::kFloat;
        }
      }
      if (size < rest.size() && (rest[size] | 0x20) == 'e') {
        const size_t sign = size + 1 < rest.size() && (rest[size + 1] == '+' || rest[size + 1] == '-');
        if (const size_t exponent = DigitsSize(rest.substr(size + 1 + sign)); exponent > 0) {
          size += 1 + sign + exponent;
          type = TokenType::kFloat;
        }
      }
    }
    std::string digits(rest.substr(0, size));
    std::erase(digits, '_');
    Add(type, digits);
    Move(size);
  }

  void ReadText(std::string_view rest) {
    size_t end = 1;
    while (end < rest.size() && rest[end] != rest[0]) end += rest[end] == '\\' ? 2 : 1;
    if (end >= rest.size()) return Complain("the text in quotes has no end");
    std::string text;
    if (!Unescape(rest.substr(1, end - 1), text)) return Complain("the text in quotes has an escape of no meaning");
    Add(TokenType::kText, text);
    Move(end + 1);
  }

  // Resolves escapes as Python does. Those that it does not know stay as they are.
  static bool Unescape(std::string_view quoted, std::string& text) {
    while (!quoted.empty()) {
      const size_t plain = std::min(quoted.find('\\'), quoted.size());
      text += quoted.substr(0, plain);
      quoted.remove_prefix(plain);
      if (quoted.empty()) break;
      constexpr std::string_view kLetters = "\n\\'\"abfnrtv";
      constexpr std::string_view kMeanings[] = {"", "\\", "'", "\"", "\a", "\b", "\f", "\n", "\r", "\t", "\v"};
      const char letter = quoted[1];  // there is one, or the quote would not have ended
      quoted.remove_prefix(2);
      if (const size_t known = kLetters.find(letter); known != kLetters.npos) {
        text += kMeanings[known];
      } else if (letter == 'x' || letter == 'u' || letter == 'U') {
        if (!UnescapeHex(letter == 'x' ? 2 : letter == 'u' ? 4 : 8, quoted, text)) return false;
      } else if (letter >= '0' && letter <= '7') {
        int32_t code = letter - '0';
        for (int i = 0; i < 2 && !quoted.empty() && quoted[0] >= '0' && quoted[0] <= '7'; ++i) {
          code = code * 8 + (quoted[0] - '0');
          quoted.remove_prefix(1);
        }
        AppendCodePoint(code, text);
      } else {
        text.append("\\") += letter;
      }
    }
    return true;
  }

  static bool ReadHex(size_t digits, std::string_view quoted, uint32_t& code) {
    if (quoted.size() < digits) return false;
    code = 0;
    for (const char c : quoted.substr(0, digits)) {
      const char low = static_cast<char>(c | 0x20);
      const bool is_digit = c >= '0' && c <= '9';
      if (!is_digit && (low < 'a' || low > 'f')) return false;
      code = code << 4 | static_cast<uint32_t>(is_digit ? c - '0' : low - 'a' + 10);
    }
    return true;
  }

  // Two halves of a surrogate pair become one character, other surrogates U+FFFD.
  static bool UnescapeHex(size_t digits, std::string_view& quoted, std::string& text) {
    uint32_t code = 0, low = 0;
    if (!ReadHex(digits, quoted, code) || code > 0x10FFFF) return false;
    quoted.remove_prefix(digits);
    const bool is_high = code >= 0xD800 && code < 0xDC00;
    if (is_high && quoted.starts_with("\\u") && ReadHex(4, quoted.substr(2), low) && low >= 0xDC00 && low < 0xE000) {
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      quoted.remove_prefix(6);
    }
    AppendCodePoint(code >= 0xD800 && code < 0xE000 ? 0xFFFD : static_cast<int32_t>(code), text);
    return true;
  }

  void ReadOperator(std::string_view rest, std::string& open) {
    constexpr std::string_view kOperators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
                                               "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    for (const std::string_view name : kOperators) {
      if (!rest.starts_with(name)) continue;
      if (name == "(") open += ')';
      if (name == "[") open += ']';
      if (name == "{") open += '}';
      if (name == ")" || name == "]" || name == "}") {
        if (open.empty()) return Complain(Concat({"there is no bracket that this ", name, " closes"}));
        if (open.back() != name[0]) {
          return Complain(Concat({"expected '", std::string_view(&open.back(), 1), "', but found '", name, "'"}));
        }
        open.pop_back();
      }
      Add(TokenType::kOperator, name);
      return Move(name.size());
    }
    Complain(Concat({"the character ", QuotedName(rest.substr(0, CharacterSize(rest))), " has no meaning here"}));
  }

  const std::string source_;
  size_t at_ = 0;
  Position place_;
  bool at_line_start_ = true;
  std::vector<Token> tokens_;
  std::optional<Error> error_;
};

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_SYNTAX_DETAIL_LEXER_H_
