// SPDX-License-Identifier: Apache-2.0
//
// TagArguments: arguments of which each is written between tags, as <parameter=KEY>value</parameter>. Texts are written
// as they are, other values as JSON (parameters.h): only a text can be told while it comes.

#ifndef SKALD_OPEN_TOOLS_CALLS_DETAIL_TAG_ARGUMENTS_H_
#define SKALD_OPEN_TOOLS_CALLS_DETAIL_TAG_ARGUMENTS_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/json/json_value_tree.h"
#include "skald/open/tools/calls/detail/arguments.h"
#include "skald/open/tools/calls/detail/json_text.h"
#include "skald/open/tools/calls/detail/marks.h"
#include "skald/open/tools/calls/detail/parameters.h"
#include "skald/open/tools/calls/detail/value_reader.h"
#include "skald/open/tools/calls/forms/detail/call_forms.h"
#include "skald/open/tools/tools.h"

namespace skald::internal::calls {

class TagArguments final : public ArgumentsReader {
 public:
  // They go on to the first of `ends`, which are no empty texts. `tool` must outlive this.
  TagArguments(const ArgumentTags& tags, std::vector<std::string_view> ends, const Tool& tool)
      : key_begin_(tags.key_begin),
        key_end_(Trimmed(tags.key_end)),
        value_begin_(AfterType(tags.value_begin)),
        text_begin_(tags.text_begin),
        value_end_(Trimmed(tags.value_end)),
        values_(tags.values),
        has_lines_(tags.value_begin.empty() && tags.key_end.ends_with('\n')),
        ends_(std::move(ends)),
        tool_(tool) {}

  void Take(char c, std::string& json) override {
    std::string open(1, c);  // what is still to be taken, the next byte last
    while (!open.empty() && state_ == State::kOpen) {
      const char next = open.back();
      open.pop_back();
      const std::string again = TakeOne(next, json);
      open.append(again.rbegin(), again.rend());
    }
  }

  // Which of the ends came.
  size_t end() const { return end_; }

 private:
  // Of a mark with the name of a type what comes after that.
  static std::string_view AfterType(std::string_view mark) {
    const size_t type = mark.find("%t");
    return type == mark.npos ? mark : mark.substr(type + 2);
  }

  // kText: a text; kOther: a value that may be something else.
  enum class Phase { kBetween, kKey, kValueBegin, kText, kOther };

  // Takes a byte, and returns what must be taken again.
  std::string TakeOne(char c, std::string& json) {
    text_ += c;
    switch (phase_) {
      case Phase::kBetween:
        TakeBetween(json);
        break;
      case Phase::kKey:
        TakeKey(json);
        break;
      case Phase::kValueBegin:
        if (!text_begin_.empty() && text_.ends_with(text_begin_)) {
          BeginValue(ParameterKind::kText, json);
        } else if (text_.ends_with(value_begin_)) {
          BeginValue(text_begin_.empty() ? std::nullopt : std::optional(ParameterKind::kJson), json);
        }
        if (text_.size() > kMostName) state_ = State::kWrong;
        break;
      case Phase::kText:
        TakeText(json);
        break;
      case Phase::kOther:
        return TakeOther(json);
    }
    return {};
  }

  // Passes over all but tags.
  void TakeBetween(std::string& json) {
    if (text_.ends_with(key_begin_)) return Enter(Phase::kKey);
    for (size_t i = 0; i < ends_.size(); ++i) {
      if (!text_.ends_with(ends_[i])) continue;
      end_ = i;
      json += is_empty_ ? "{}" : "}";
      state_ = State::kWhole;
      return;
    }
    if (text_.size() > kMostName) text_.erase(0, kMostName / 2);
  }

  void TakeKey(std::string& json) {
    if (text_.size() > kMostParameterName + key_end_.size()) state_ = State::kWrong;
    if (!text_.ends_with(key_end_)) return;
    key_ = text_.substr(0, text_.size() - key_end_.size());
    Enter(Phase::kValueBegin);
    if (value_begin_.empty()) BeginValue(std::nullopt, json);
  }

  // Its mark tells more of a value than the schema does, if the form's marks tell anything.
  void BeginValue(std::optional<ParameterKind> told, std::string& json) {
    types_.clear();
    const Json& root = TreeOf(tool_.parameters);
    if (root.is_object()) {
      const auto properties = root.find("properties");
      const bool is_known = properties != root.end() && properties->is_object() && properties->contains(key_);
      if (is_known) types_ = TypesOf((*properties)[key_], root);
    }
    json += (is_empty_ ? "{" : ",") + QuotedJson(key_) + ":";
    is_empty_ = false;
    kind_ = told.value_or(KindOf(types_));
    Enter(kind_ == ParameterKind::kText ? Phase::kText : Phase::kOther);
    is_first_ = true;
    whole_ = std::nullopt;
    if (kind_ == ParameterKind::kText) json += '"';
    if (kind_ == ParameterKind::kJson) value_.emplace(values_);
  }

  void TakeText(std::string& json) {
    if (std::exchange(is_first_, false) && has_lines_ && text_ == "\n") return text_.clear();
    size_t certain = text_.size() - HeldBack(text_, value_end_);
    const bool has_ended = text_.ends_with(value_end_);
    if (has_ended) certain = text_.size() - value_end_.size();
    if (has_lines_ && certain > 0 && text_[certain - 1] == '\n') --certain;
    for (const char c : std::string_view(text_).substr(0, certain)) AddInString(c, json);
    text_.erase(0, certain);
    if (!has_ended) return;
    json += '"';
    Enter(Phase::kBetween);
  }

  // Its tag ends a value, but not within the texts of one that is JSON.
  std::string TakeOther(std::string& json) {
    size_t end = text_.ends_with(value_end_) ? text_.size() - value_end_.size() : text_.npos;
    if (value_) {
      const bool is_taken = value_->Take(text_.back(), ignored_);
      ignored_.clear();
      if (value_->state() == State::kOpen) return {};
      if (value_->state() == State::kWhole) whole_ = text_.size() - !is_taken;
      if (value_->state() == State::kWrong) end = text_.find(value_end_);
      value_.reset();
    }
    if (whole_) {
      const std::string_view rest = Trimmed(std::string_view(text_).substr(*whole_));
      if (value_end_.starts_with(rest) && rest != value_end_) return {};
      whole_ = std::nullopt;
      end = text_.find(value_end_, rest == value_end_ ? text_.size() - value_end_.size() : 0);
    }
    if (end == text_.npos) return {};
    std::string again = text_.substr(end + value_end_.size());
    AddOther(std::string_view(text_).substr(0, end), json);
    Enter(Phase::kBetween);
    return again;
  }

  void AddOther(std::string_view value, std::string& json) {
    if (has_lines_ && value.starts_with('\n')) value.remove_prefix(1);
    if (has_lines_ && value.ends_with('\n')) value.remove_suffix(1);
    std::optional<std::string> other;
    if (kind_ == ParameterKind::kJson) {
      other = ValueAsJson(value, Notation::kJson);
      if (!other) other = ValueAsJson(value, Notation::kPython);  // some templates write objects so
    } else if (IsOfTypes(value, types_) && !Trimmed(value).starts_with('"')) {
      other = ValueAsJson(value, Notation::kJson);
    }
    json += other ? *other : QuotedJson(value);
  }

  void Enter(Phase phase) {
    phase_ = phase;
    text_.clear();
  }

  const std::string_view key_begin_, key_end_, value_begin_, text_begin_, value_end_;
  const Notation values_;
  const bool has_lines_;  // a value has lines of its own
  const std::vector<std::string_view> ends_;
  const Tool& tool_;
  Phase phase_ = Phase::kBetween;
  std::string text_;  // of the phase, as far as it is still needed
  size_t end_ = 0;
  bool is_empty_ = true;
  std::string key_;                 // of the value that is being read
  std::vector<std::string> types_;  // of that, by the schema
  ParameterKind kind_ = ParameterKind::kText;
  bool is_first_ = true;              // of its text nothing has come
  std::optional<ValueReader> value_;  // reads it as JSON, as long as that may be
  std::optional<size_t> whole_;       // bytes of JSON that is whole
  std::string ignored_;
};

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_CALLS_DETAIL_TAG_ARGUMENTS_H_
