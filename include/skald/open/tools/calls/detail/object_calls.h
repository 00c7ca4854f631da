// SPDX-License-Identifier: Apache-2.0
//
// ObjectCalls: calls that are objects of JSON, one or several with commas between, in brackets or not. A call begins
// where its name is known and its arguments begin; where they come before the name, when both are there.

#ifndef SKALD_OPEN_TOOLS_CALLS_DETAIL_OBJECT_CALLS_H_
#define SKALD_OPEN_TOOLS_CALLS_DETAIL_OBJECT_CALLS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "skald/open/tools/calls/detail/call_reader.h"
#include "skald/open/tools/calls/detail/json_text.h"
#include "skald/open/tools/calls/detail/value_reader.h"

namespace skald::internal::calls {

class ObjectCalls final : public CallReader {
 public:
  ObjectCalls(const CallForm& form, const ToolList& tools) : CallReader(form, tools), end_(Trimmed(form.end)) {}

 private:
  enum class Phase {
    kItem,         // an object, or the bracket before the first
    kFirstMember,  // a name, or the end of the object
    kMember,
    kName,   // within one
    kColon,  // after it
    kValue,
    kAfterMember,
    kAfterItem,
    kEnd,  // the mark
  };

  void TakeByte(char c) override {
    switch (phase_) {
      case Phase::kName:
        return TakeName(c);
      case Phase::kValue:
        return TakeValue(c);
      case Phase::kEnd:
        return TakeEnd(c);
      default:
        if (!IsSpace(c)) TakeBetween(c);
    }
  }

  void TakeBetween(char c) {
    switch (phase_) {
      case Phase::kItem:
        if (c == '[' && is_first_ && !is_list_) {
          is_list_ = true;
        } else {
          c == '{' ? BeginItem() : Fail();
        }
        return;
      case Phase::kFirstMember:
      case Phase::kMember:
        if (c == '}' && phase_ == Phase::kFirstMember) return EndItem();
        if (c != '"') return Fail();
        value_.emplace(Notation::kJson);
        text_.clear();
        value_->Take(c, text_);
        phase_ = Phase::kName;
        return;
      case Phase::kColon:
        return c == ':' ? BeginValue() : Fail();
      case Phase::kAfterMember:
        if (c == '}') return EndItem();
        if (c != ',') return Fail();
        phase_ = Phase::kMember;
        return;
      default:
        return TakeAfterItem(c);
    }
  }

  void BeginItem() {
    is_first_ = false;
    tool_ = nullptr;
    arguments_.clear();
    has_arguments_ = false;
    phase_ = Phase::kFirstMember;
  }

  void TakeName(char c) {
    value_->Take(c, text_);
    if (value_->state() == ValueReader::State::kWrong || text_.size() > kMostName) return Fail();
    if (value_->state() != ValueReader::State::kWhole) return;
    name_ = UnquotedJson(text_).value_or("");
    phase_ = Phase::kColon;
  }

  void BeginValue() {
    const bool is_named = form_.notation == Notation::kNamesFirst;
    if (is_named && !has_arguments_) tool_ = tools_.Find(name_);
    is_arguments_ = is_named || name_ == "arguments" || name_ == "parameters";
    is_open_ = false;
    value_.emplace(Notation::kJson);
    text_.clear();
    phase_ = Phase::kValue;
  }

  void TakeValue(char c) {
    // Some models write the arguments' JSON as a string, which must be whole before it can be read.
    const bool is_first = !is_open_ && text_.empty();
    if (is_first && is_arguments_ && !has_arguments_ && tool_ != nullptr && c == '{') {
      is_open_ = true;
      BeginCall(tool_->name);
    }
    const bool is_taken = value_->Take(c, text_);
    if (is_open_) {
      AddArguments(text_);
      text_.clear();
    }
    if (value_->state() == ValueReader::State::kWrong) return Fail();
    if (value_->state() != ValueReader::State::kWhole) return;
    phase_ = Phase::kAfterMember;
    EndValue();
    if (!is_taken) TakeByte(c);
  }

  void EndValue() {
    if (is_open_) {
      has_arguments_ = true;
      return EndCall();
    }
    if (is_arguments_ && !has_arguments_) {
      const auto spelled = UnquotedJson(text_);
      arguments_ = spelled ? ValueAsJson(*spelled, Notation::kJson).value_or("") : text_;
      if (!arguments_.starts_with('{')) return Fail();
      has_arguments_ = true;
    } else if (name_ == "name" || name_ == "tool_name") {
      tool_ = tools_.Find(UnquotedJson(text_).value_or(""));
    }
    if (arguments_.empty() || tool_ == nullptr) return;
    BeginCall(tool_->name);
    AddArguments(arguments_);
    arguments_.clear();
    EndCall();
  }

  void EndItem() {
    if (tool_ == nullptr || !has_arguments_ || !arguments_.empty()) return Fail();
    phase_ = Phase::kAfterItem;
    if (!is_list_ && end_.empty()) EndCalls();
  }

  void TakeAfterItem(char c) {
    if (c == ',') {
      phase_ = Phase::kItem;
    } else if (c == '{' && !is_list_ && form_.several == Several::kTogether) {
      BeginItem();
    } else if (is_list_ && c == ']') {
      phase_ = Phase::kEnd;
      if (end_.empty()) EndCalls();
    } else if (!is_list_) {
      phase_ = Phase::kEnd;
      TakeEnd(c);
    } else {
      Fail();
    }
  }

  void TakeEnd(char c) {
    if (matched_ == 0 && IsSpace(c)) return;
    if (c != end_[matched_]) return Fail();
    if (++matched_ == end_.size()) EndCalls();
  }

  const std::string_view end_;
  size_t matched_ = 0;  // bytes of it that have come
  Phase phase_ = Phase::kItem;
  bool is_first_ = true, is_list_ = false;
  const Tool* tool_ = nullptr;  // of the object, once its name has come
  std::string name_;            // of the member
  std::optional<ValueReader> value_;
  std::string text_;           // of the member's name or value, unless it goes to the call
  bool is_arguments_ = false;  // the value is
  bool is_open_ = false;       // and goes to the call
  bool has_arguments_ = false;
  std::string arguments_;  // that came before the tool's name
};

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_CALLS_DETAIL_OBJECT_CALLS_H_
