// SPDX-License-Identifier: Apache-2.0
//
// Arguments of a call while they come, byte by byte, as the JSON object that they are. tag_arguments.h has those
// between tags.

#ifndef SKALD_OPEN_TOOLS_CALLS_DETAIL_ARGUMENTS_H_
#define SKALD_OPEN_TOOLS_CALLS_DETAIL_ARGUMENTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "skald/open/tools/calls/detail/json_text.h"
#include "skald/open/tools/calls/detail/parameters.h"
#include "skald/open/tools/calls/detail/quoted_text.h"
#include "skald/open/tools/calls/detail/value_reader.h"
#include "skald/open/tools/calls/forms/detail/call_form.h"

namespace skald::internal::calls {

// Used by one thread at a time.
class ArgumentsReader {
 public:
  using State = ValueReader::State;

  virtual ~ArgumentsReader() = default;

  // Takes the next byte, and adds to `json` what has become certain of the object.
  virtual void Take(char c, std::string& json) = 0;

  State state() const { return state_; }
  // The bytes that were taken after the end of arguments that are whole.
  const std::string& left() const { return left_; }

 protected:
  State state_ = State::kOpen;
  std::string left_;
};

// An object, which begins with a brace.
class ObjectArguments final : public ArgumentsReader {
 public:
  explicit ObjectArguments(Notation notation) : value_(notation) {}

  void Take(char c, std::string& json) override {
    if (!has_begun_ && !IsSpace(c) && c != '{') {
      state_ = State::kWrong;
      return;
    }
    has_begun_ |= c == '{';
    value_.Take(c, json);
    state_ = value_.state();
  }

 private:
  ValueReader value_;
  bool has_begun_ = false;
};

// (KEY=VALUE, ...)
class PythonArguments final : public ArgumentsReader {
 public:
  // Arguments of `as_is` that are texts are read as they are between single quotes; null: of no tool.
  explicit PythonArguments(const Tool* as_is = nullptr) : as_is_(as_is) {}

  void Take(char c, std::string& json) override {
    if (state_ != State::kOpen) {
      left_ += c;
      return;
    }
    if (text_) return TakeInText(c, json);
    if (may_be_text_ && value_ && !IsSpace(c)) {
      may_be_text_ = false;
      if (c == QuotedText::kQuote) {
        value_.reset();
        text_.emplace();
        json += '"';
        return;
      }
    }
    if (value_) {
      const bool is_taken = value_->Take(c, json);
      if (value_->state() == State::kWrong) state_ = State::kWrong;
      if (value_->state() != State::kWhole) return;
      value_.reset();
      has_value_ = true;
      if (is_taken) return;
    }
    if (IsSpace(c) && (has_value_ || key_.empty())) return;
    if (!has_begun_) {
      has_begun_ = c == '(';
      if (!has_begun_) state_ = State::kWrong;
      return;
    }
    if (c == ')' && key_.empty()) return End(json);
    if (has_value_) return TakeComma(c);
    if (c == '=') return BeginValue(json);
    constexpr std::string_view kNoKey = "()[]{},\"'";
    key_ += c;
    if (kNoKey.find(c) != kNoKey.npos || key_.size() > kMostName) state_ = State::kWrong;
  }

 private:
  void End(std::string& json) {
    json += is_empty_ ? "{}" : "}";
    state_ = State::kWhole;
  }
  void TakeComma(char c) {
    if (c != ',') state_ = State::kWrong;
    has_value_ = false;
  }
  void BeginValue(std::string& json) {
    const std::string_view key = Trimmed(key_);
    if (key.empty()) {
      state_ = State::kWrong;
      return;
    }
    json += (is_empty_ ? "{" : ",") + QuotedJson(key) + ":";
    is_empty_ = false;
    may_be_text_ = as_is_ != nullptr && IsTextOf(*as_is_, key);
    key_.clear();
    value_.emplace(Notation::kPython);
  }
  void TakeInText(char c, std::string& json) {
    std::string text;
    text_->Take(c, text);
    for (const char one : text) AddInString(one, json);
    if (!text_->has_ended()) return;
    json += '"';
    has_value_ = true;
    const std::string left = text_->left();
    text_.reset();
    for (const char next : left) Take(next, json);
  }

  const Tool* const as_is_;
  std::string key_;
  bool may_be_text_ = false;        // the value that begins now
  std::optional<QuotedText> text_;  // that is being read
  std::optional<ValueReader> value_;
  bool has_begun_ = false, has_value_ = false, is_empty_ = true;
};

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_CALLS_DETAIL_ARGUMENTS_H_
