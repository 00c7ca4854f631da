// SPDX-License-Identifier: Apache-2.0
//
// ValueReader: reads a value byte by byte, in JSON or a notation like it, and writes it as JSON without white space
// while it comes. The JSON depends on the bytes so far alone, not on how they were divided. Nothing recurses.

#ifndef SKALD_OPEN_TOOLS_CALLS_DETAIL_VALUE_READER_H_
#define SKALD_OPEN_TOOLS_CALLS_DETAIL_VALUE_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "skald/constraints/grammar/characters.h"
#include "skald/constraints/schema/value_notation.h"
#include "skald/open/tools/calls/detail/json_text.h"
#include "skald/open/tools/calls/forms/detail/call_form.h"
#include "skald/open/tools/output_part.h"

namespace skald::internal::calls {

inline constexpr size_t kMostName = 1024;  // bytes of a name, and of a number

// How a form's filter writes the values that its parser reads.
constexpr ValueNotation WrittenAs(Notation notation) {
  switch (notation) {
    case Notation::kGemma:
      return ValueNotation::kGemma;
    case Notation::kFunctionGemma:
      return ValueNotation::kFunctionGemma;
    case Notation::kPython:
      return ValueNotation::kPythonCall;
    case Notation::kPythonAsIs:
      return ValueNotation::kPythonCallAsIs;
    default:
      return ValueNotation::kJson;
  }
}

// A byte of a text as it is written in a string of JSON.
inline void AddInString(char c, std::string& json) {
  constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
  constexpr char kDigits[] = "0123456789abcdef";
  const size_t escape = kEscaped.find(c);
  const auto byte = static_cast<unsigned char>(c);
  if (escape != kEscaped.npos) {
    json += {'\\', kLetters[escape]};
  } else if (byte < 0x20) {
    json += {'\\', 'u', '0', '0', kDigits[byte >> 4], kDigits[byte & 0xF]};
  } else {
    json += c;
  }
}

class ValueReader {
 public:
  enum class State { kOpen, kWhole, kWrong };

  // kJson, kGemma, kFunctionGemma or kPython.
  explicit ValueReader(Notation notation) : notation_(notation), mark_(TextMarkOf(WrittenAs(notation))) {}

  // Takes the next byte, and adds to `json` what it makes certain. White space may come before the value. Returns false
  // if the byte is not part of the value, which it ends: numbers and words end so.
  bool Take(char c, std::string& json);

  State state() const { return state_; }

 private:
  enum class Phase {
    kValue,        // one must come
    kFirstItem,    // a value, or the end of the array
    kKey,          // one must come
    kFirstMember,  // a key, or the end of the object
    kBareKey,      // within a key without quotes
    kColon,
    kAfter,  // a comma, or the end of the object or array
    kMark,   // within the mark that begins a text
    kString,
    kEscape,  // after a backslash
    kDigits,  // of an escape
    kWord,    // within a number or a word
  };

  void Dispatch(char c, std::string& json);
  void BeginValue(char c, std::string& json);
  bool BeginText(char c, std::string& json);
  void TakeKey(char c, std::string& json);
  void TakeInText(char c, std::string& json);
  void TakeInMarkedText(char c, std::string& json);
  void TakeEscape(char c, std::string& json);
  void TakeDigit(char c, std::string& json);
  void Open(char c, std::string& json);
  void Close(char c, std::string& json);
  void EndText(std::string& json);
  void EndWord(std::string& json);
  void EndValue() {
    phase_ = Phase::kAfter;
    if (open_.empty()) state_ = State::kWhole;
  }
  void Fail() { state_ = State::kWrong; }

  const Notation notation_;
  const std::string_view mark_;  // of texts; empty: they are in quotes
  State state_ = State::kOpen;
  Phase phase_ = Phase::kValue;
  std::string open_;     // the brackets that are still to come, the next one last
  bool is_key_ = false;  // the text is
  char quote_ = '"';     // that ends it; 0: the mark
  size_t marked_ = 0;    // bytes of the mark that have come
  std::string word_;     // so far: a number, a word, a key, the digits of an escape
  size_t digits_ = 0;    // of an escape, in all
};

inline bool IsWordByte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '+' || c == '-';
}

inline bool ValueReader::Take(char c, std::string& json) {
  if (phase_ == Phase::kWord && !IsWordByte(c)) {
    EndWord(json);
    if (state_ == State::kWhole) return false;
  }
  if (state_ == State::kOpen) Dispatch(c, json);
  return true;
}

inline void ValueReader::Dispatch(char c, std::string& json) {
  switch (phase_) {
    case Phase::kString:
      return TakeInText(c, json);
    case Phase::kEscape:
      return TakeEscape(c, json);
    case Phase::kDigits:
      return TakeDigit(c, json);
    case Phase::kMark:
      if (c != mark_[marked_]) return Fail();
      if (++marked_ < mark_.size()) return;
      marked_ = 0;
      phase_ = Phase::kString;
      json += '"';
      return;
    case Phase::kWord:
      word_ += c;
      return word_.size() > kMostName ? Fail() : void();
    case Phase::kBareKey:
      return TakeKey(c, json);
    default:
      break;
  }
  if (IsSpace(c)) return;
  switch (phase_) {
    case Phase::kFirstItem:
      if (c == ']') return Close(c, json);
      [[fallthrough]];
    case Phase::kValue:
      return BeginValue(c, json);
    case Phase::kFirstMember:
      if (c == '}') return Close(c, json);
      [[fallthrough]];
    case Phase::kKey:
      return TakeKey(c, json);
    case Phase::kColon:
      if (c != ':') return Fail();
      json += ':';
      phase_ = Phase::kValue;
      return;
    default:  // kAfter
      if (c != ',') return Close(c, json);
      json += ',';
      phase_ = open_.back() == '}' ? Phase::kKey : Phase::kValue;
  }
}

inline void ValueReader::BeginValue(char c, std::string& json) {
  is_key_ = false;
  if (BeginText(c, json)) return;
  if (c == '{' || c == '[') return Open(c, json);
  if (!IsWordByte(c)) return Fail();
  word_ = c;
  phase_ = Phase::kWord;
}

inline bool ValueReader::BeginText(char c, std::string& json) {
  if (!mark_.empty() && c == mark_[0]) {
    quote_ = 0;
    marked_ = 1;
    phase_ = Phase::kMark;
    return true;
  }
  if (c != '"' && !(notation_ == Notation::kPython && c == '\'')) return false;
  quote_ = c;
  phase_ = Phase::kString;
  json += '"';
  return true;
}

inline void ValueReader::TakeKey(char c, std::string& json) {
  if (phase_ != Phase::kBareKey) {
    is_key_ = true;
    if (BeginText(c, json)) return;
    constexpr std::string_view kNoKey = ":{}[],\"";
    if (mark_.empty() || kNoKey.find(c) != kNoKey.npos) return Fail();
    word_.clear();
    phase_ = Phase::kBareKey;
  }
  if (c == ':') {
    json += QuotedJson(Trimmed(word_)) + ":";
    phase_ = Phase::kValue;
  } else {
    word_ += c;
    if (word_.size() > kMostName) Fail();
  }
}

inline void ValueReader::TakeInText(char c, std::string& json) {
  if (quote_ == 0) return TakeInMarkedText(c, json);
  if (c == quote_) {
    EndText(json);
  } else if (c == '\\') {
    phase_ = Phase::kEscape;
  } else if (notation_ == Notation::kJson && static_cast<unsigned char>(c) < 0x20) {
    Fail();
  } else {
    AddInString(c, json);
  }
}

// The mark's first byte comes nowhere else in it, so a mark that breaks off can only begin again with the byte that
// broke it.
inline void ValueReader::TakeInMarkedText(char c, std::string& json) {
  if (c == mark_[marked_]) {
    if (++marked_ < mark_.size()) return;
    marked_ = 0;
    return EndText(json);
  }
  for (const char held : mark_.substr(0, marked_)) AddInString(held, json);
  marked_ = c == mark_[0] ? 1 : 0;
  if (marked_ == 0) AddInString(c, json);
}

inline void ValueReader::TakeEscape(char c, std::string& json) {
  phase_ = Phase::kString;
  constexpr std::string_view kSame = "\"\\bfnrt";
  if (kSame.find(c) != kSame.npos) {
    json += {'\\', c};
  } else if (c == 'u' || (notation_ == Notation::kPython && (c == 'x' || c == 'U'))) {
    digits_ = c == 'u' ? 4 : c == 'x' ? 2 : 8;
    word_.clear();
    phase_ = Phase::kDigits;
  } else if (notation_ != Notation::kPython) {
    if (c != '/') return Fail();
    json += c;
  } else if (c == '\'') {
    json += c;
  } else if (c == 'a' || c == 'v' || c == '0') {
    AddInString(c == 'a' ? '\a' : c == 'v' ? '\v' : '\0', json);
  } else if (c != '\n') {  // unknown escapes are what they are; a line that goes on is nothing
    json += "\\\\";
    AddInString(c, json);
  }
}

inline void ValueReader::TakeDigit(char c, std::string& json) {
  const bool is_digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  if (!is_digit) return Fail();
  word_ += c;
  if (word_.size() < digits_) return;
  phase_ = Phase::kString;
  if (digits_ == 4) {
    json += "\\u" + word_;
    return;
  }
  uint32_t code = 0;
  for (const char digit : word_) {
    code = code * 16 + static_cast<uint32_t>(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
  }
  constexpr uint32_t kLastCode = 0x10FFFF;
  if (code > kLastCode || (code >= 0xD800 && code <= 0xDFFF)) return Fail();
  for (const char byte : Utf8Of(static_cast<char32_t>(code))) AddInString(byte, json);
}

inline void ValueReader::Open(char c, std::string& json) {
  if (open_.size() == kMostAnswerNesting) return Fail();
  open_ += c == '{' ? '}' : ']';
  phase_ = c == '{' ? Phase::kFirstMember : Phase::kFirstItem;
  json += c;
}

inline void ValueReader::Close(char c, std::string& json) {
  if (open_.back() != c) return Fail();
  open_.pop_back();
  json += c;
  EndValue();
}

inline void ValueReader::EndText(std::string& json) {
  json += '"';
  if (!is_key_) return EndValue();
  phase_ = Phase::kColon;
}

inline void ValueReader::EndWord(std::string& json) {
  std::string_view word = word_;
  if (notation_ != Notation::kJson) {
    word = word == "None" ? "null" : word == "True" ? "true" : word == "False" ? "false" : word;
  }
  if (!IsJson(word)) return Fail();
  json += word;
  EndValue();
}

// The value that all of a text is, as JSON; nothing if it is none.
inline std::optional<std::string> ValueAsJson(std::string_view text, Notation notation) {
  ValueReader reader(notation);
  std::string json;
  text = Trimmed(text);
  for (size_t i = 0; i < text.size(); ++i) {
    if (reader.state() != ValueReader::State::kOpen || !reader.Take(text[i], json)) return std::nullopt;
  }
  if (reader.state() == ValueReader::State::kOpen) static_cast<void>(reader.Take(' ', json));  // ends a number
  if (reader.state() != ValueReader::State::kWhole || !IsJson(json)) return std::nullopt;
  return json;
}

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_CALLS_DETAIL_VALUE_READER_H_
