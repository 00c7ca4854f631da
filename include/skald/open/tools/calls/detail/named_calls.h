// SPDX-License-Identifier: Apache-2.0
//
// NamedCalls: calls that are a name and then arguments in one of several notations, with marks around both.

#ifndef SKALD_OPEN_TOOLS_CALLS_DETAIL_NAMED_CALLS_H_
#define SKALD_OPEN_TOOLS_CALLS_DETAIL_NAMED_CALLS_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "skald/open/tools/calls/detail/arguments.h"
#include "skald/open/tools/calls/detail/call_reader.h"
#include "skald/open/tools/calls/detail/json_text.h"
#include "skald/open/tools/calls/detail/tag_arguments.h"

namespace skald::internal::calls {

class NamedCalls final : public CallReader {
 public:
  NamedCalls(const CallForm& form, const ToolList& tools) : CallReader(form, tools) {
    if (Trimmed(form.open).empty()) phase_ = Phase::kHead;
  }

 private:
  enum class Phase {
    kOpen,  // the bracket before all calls
    kHead,  // up to the arguments: the name and the marks around it, or the end of all calls
    kArguments,
    kCallEnd,  // the mark
    kBetween,  // a comma or nothing, or the end of all calls
    kEnd,      // the mark
  };

  void TakeByte(char c) override {
    if (phase_ == Phase::kArguments) return TakeArguments(c);
    if (text_.empty() && IsSpace(c)) return;
    switch (phase_) {
      case Phase::kOpen:
        return TakeMark(c, Trimmed(form_.open), Phase::kHead);
      case Phase::kHead:
        return TakeHead(c);
      case Phase::kCallEnd:
        return TakeMark(c, Trimmed(form_.call_end), Phase::kBetween);
      case Phase::kBetween:
        return TakeBetween(c);
      default:
        return TakeMark(c, Trimmed(form_.end), Phase::kEnd);
    }
  }

  void TakeMark(char c, std::string_view mark, Phase next) {
    text_ += c;
    if (!mark.starts_with(text_)) return Fail();
    if (text_ == mark) phase_ == Phase::kEnd ? EndCalls() : Enter(next);
  }

  // Goes on to `next`, or further if there is no mark to wait for.
  void Enter(Phase next) {
    text_.clear();
    phase_ = next;
    if (next == Phase::kCallEnd && Trimmed(form_.call_end).empty()) return Enter(Phase::kBetween);
    if (next == Phase::kBetween && form_.several != Several::kTogether) return Enter(Phase::kEnd);
    if (next == Phase::kEnd && Trimmed(form_.end).empty()) EndCalls();
  }

  // The byte that ends a call's head.
  bool EndsHead(char c) const {
    switch (form_.notation) {
      case Notation::kPython:
      case Notation::kPythonAsIs:
        return c == '(';
      case Notation::kTags:
        return form_.call_begin.empty() ? c == '\n' || c == '<' : c == '>';
      default:
        return c == '{';
    }
  }

  void TakeHead(char c) {
    // The mark before the name may have that byte too.
    if (!EndsHead(c) || text_.size() < Trimmed(form_.call_begin).size()) {
      text_ += c;
      if (text_.size() > kMostName) Fail();
      return;
    }
    tool_ = tools_.Find(NameIn(text_));
    if (tool_ == nullptr) return Fail();
    BeginCall(tool_->name);
    BeginArguments();
    phase_ = Phase::kArguments;
    TakeArguments(c);
  }

  // The name between the marks of a head; none of the model's white space and, of newer marks, none where it wrote
  // none.
  std::string_view NameIn(std::string_view head) const {
    head = Trimmed(head);
    std::string_view begin = Trimmed(form_.call_begin);
    if (const size_t id = begin.find('%'); id != begin.npos) {  // an id comes before the name
      const size_t name = head.find(begin.substr(id + 2));
      if (!head.starts_with(begin.substr(0, id)) || name == head.npos) return {};
      head.remove_prefix(name);
      begin.remove_prefix(id + 2);
    }
    if (!head.starts_with(begin)) return {};
    head.remove_prefix(begin.size());
    const size_t id = form_.name_end.find('%');
    std::string_view before_id = Trimmed(form_.name_end.substr(0, std::min(id, form_.name_end.size())));
    if (before_id.size() > 1 && EndsHead(before_id.back())) before_id.remove_suffix(1);
    if (id == form_.name_end.npos && head.ends_with(before_id)) head.remove_suffix(before_id.size());
    if (id != form_.name_end.npos) head = head.substr(0, head.rfind(before_id));
    return Trimmed(head);
  }

  void BeginArguments() {
    if (form_.notation == Notation::kTags) {
      std::vector<std::string_view> ends = {Trimmed(form_.end)};
      if (const std::string_view end = Trimmed(form_.call_end); !end.empty()) ends.push_back(end);
      auto tags = std::make_unique<TagArguments>(form_.tags, std::move(ends), *tool_);
      tags_ = tags.get();
      arguments_ = std::move(tags);
    } else if (form_.notation == Notation::kPython || form_.notation == Notation::kPythonAsIs) {
      arguments_ = std::make_unique<PythonArguments>(form_.notation == Notation::kPythonAsIs ? tool_ : nullptr);
    } else {
      arguments_ = std::make_unique<ObjectArguments>(form_.notation);
    }
  }

  void TakeArguments(char c) {
    std::string json;
    arguments_->Take(c, json);
    AddArguments(json);
    if (arguments_->state() == ArgumentsReader::State::kWrong) return Fail();
    if (arguments_->state() != ArgumentsReader::State::kWhole) return;
    EndCall();
    // Tags end with one of the marks that others have still to come.
    if (tags_ != nullptr) return tags_->end() == 0 ? EndCalls() : Enter(Phase::kBetween);
    const std::string left = arguments_->left();
    Enter(Phase::kCallEnd);
    for (const char next : left) TakeByte(next);
  }

  void TakeBetween(char c) {
    const std::string_view comma = Trimmed(form_.between), close = Trimmed(form_.close), end = Trimmed(form_.end);
    text_ += c;
    if (!close.empty() && text_ == close) return Enter(Phase::kEnd);
    if (!comma.empty() && text_ == comma) return Enter(Phase::kHead);
    if (close.empty() && text_ == end) return EndCalls();
    if (!close.empty() || !comma.empty()) return Fail();
    if (end.starts_with(text_)) return;
    const std::string head = text_;
    Enter(Phase::kHead);
    for (const char byte : head) TakeHead(byte);
  }

  Phase phase_ = Phase::kOpen;
  std::string text_;  // of the mark or head, as far as it has come
  const Tool* tool_ = nullptr;
  std::unique_ptr<ArgumentsReader> arguments_;
  TagArguments* tags_ = nullptr;  // the same, if it is one
};

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_CALLS_DETAIL_NAMED_CALLS_H_
