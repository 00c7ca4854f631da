// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/tools/output_parser.h.

#ifndef SKALD_OPEN_TOOLS_DETAIL_OUTPUT_PARSER_H_
#define SKALD_OPEN_TOOLS_DETAIL_OUTPUT_PARSER_H_

#include "skald/open/tools/output_parser.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "skald/base/inline.h"
#include "skald/open/tools/calls/detail/call_reader.h"
#include "skald/open/tools/calls/detail/json_text.h"
#include "skald/open/tools/calls/detail/marks.h"
#include "skald/open/tools/calls/detail/named_calls.h"
#include "skald/open/tools/calls/detail/object_calls.h"
#include "skald/open/tools/calls/forms/detail/call_forms.h"
#include "skald/open/tools/detail/harmony_parser.h"

namespace skald {

namespace internal::calls {

// Reads calls of `form` from the end of its mark. Both must outlive it.
inline std::unique_ptr<CallReader> MakeCallReader(const CallForm& form, const ToolList& tools) {
  const bool is_object = form.notation == Notation::kObjects || form.notation == Notation::kNamesFirst;
  if (is_object) return std::make_unique<ObjectCalls>(form, tools);
  return std::make_unique<NamedCalls>(form, tools);
}

// Thoughts, then text in which calls may be. It goes from mark to mark.
class FormParser final : public OutputParser {
 public:
  explicit FormParser(OutputReading reading)
      : reading_(std::move(reading)),
        form_(FindForm(reading_.format.tools)),
        state_(reading_.begins_thinking ? State::kThought
               : reading_.continues     ? State::kText
                                        : State::kStart) {
    if (form_ == nullptr) return;
    may_call_ = reading_.tools.may_call() && !(form_->begins_answer && reading_.continues);
    in_prompt_ = form_->begins_in_prompt && !reading_.continues;
    if (in_prompt_) stream_.Push(form_->begin);
  }

  std::vector<OutputPart> Push(std::string_view text) override {
    stream_.Push(text);
    return Take(false);
  }

  std::vector<OutputPart> Finish() override {
    std::vector<OutputPart> parts = Take(true);
    if (state_ == State::kCall && !calls_->has_begun()) AddText(begin_ + held_, parts);
    return parts;
  }

 private:
  // kStart: nothing has come yet but white space; kCall: within calls.
  enum class State { kStart, kThought, kText, kCall };
  enum Mark : size_t { kCalls, kThoughtBegin };  // others are no text

  std::vector<OutputPart> Take(bool is_whole) {
    std::vector<OutputPart> parts;
    while (Step(is_whole, parts)) {
    }
    return parts;
  }

  // Takes what it can; returns whether more may follow.
  bool Step(bool is_whole, std::vector<OutputPart>& parts) {
    if (state_ == State::kThought) return StepInThought(is_whole, parts);
    if (state_ == State::kCall) return StepInCalls(parts);
    const bool is_start = state_ == State::kStart;
    auto taken = stream_.TakeUntil(Marks(), is_whole);
    AddText(std::move(taken.text), parts);
    if (!taken.mark) return false;
    const bool is_first = is_start && state_ == State::kStart;
    if (*taken.mark == kThoughtBegin) {
      is_first ? void(state_ = State::kThought) : AddText(reading_.format.think_begin, parts);
    } else if (*taken.mark == kCalls && may_call_) {
      is_first || !begins_answer() ? BeginCalls() : AddText(std::string(form_->begin), parts);
    }
    in_prompt_ = false;
    return true;
  }

  // Whether calls begin only where the answer does: where it is either calls or a text, a mark in the text is text.
  bool begins_answer() const { return form_->begins_answer || reading_.is_text_or_calls; }

  // By number; an empty one is none that counts now. A thought begins an answer, or never.
  std::array<std::string_view, 5> Marks() const {
    const bool is_start = state_ == State::kStart;
    std::array<std::string_view, 5> marks;
    if (is_start && !has_thought_ && !has_called_) marks[kThoughtBegin] = reading_.format.think_begin;
    if (form_ == nullptr) return marks;
    if ((may_call_ && (is_start || !begins_answer())) || in_prompt_) marks[kCalls] = form_->begin;
    if (is_start || !form_->begins_answer) std::ranges::copy(form_->no_text, marks.begin() + 2);
    return marks;
  }

  bool StepInThought(bool is_whole, std::vector<OutputPart>& parts) {
    auto taken = stream_.TakeUntil(std::array{std::string_view(reading_.format.think_end)}, is_whole);
    if (!has_thought_) taken.text.erase(0, std::min(taken.text.find_first_not_of("\r\n"), taken.text.size()));
    has_thought_ |= !taken.text.empty();
    AddPart(parts, Kind::kReasoning, taken.text);
    has_thought_ |= taken.mark.has_value();
    if (taken.mark) state_ = State::kStart;
    return taken.mark.has_value();
  }

  void BeginCalls() {
    state_ = State::kCall;
    held_.clear();
    begin_ = in_prompt_ || form_->begins_answer ? "" : form_->begin;
    calls_ = MakeCallReader(*form_, reading_.tools);
    // Where calls are told by no mark of their own, what tells them belongs to them.
    if (form_->begins_answer) stream_.PutBack(form_->begin);
  }

  bool StepInCalls(std::vector<OutputPart>& parts) {
    const std::string text = stream_.TakeRest();
    for (size_t i = 0; i < text.size(); ++i) {
      const CallReader::State state = calls_->Take(text[i], parts);
      if (!calls_->has_begun()) held_ += text[i];
      if (state == CallReader::State::kOpen) continue;
      const bool is_wrong = state == CallReader::State::kWrong;
      if (is_wrong && !calls_->has_begun()) return NoCalls(text.substr(i + 1), parts);
      state_ = is_wrong ? State::kText : State::kStart;
      has_called_ = true;
      stream_.Push(std::string_view(text).substr(is_wrong ? i : i + 1));
      return true;
    }
    return false;
  }

  // The mark was text, and what came after it may have another one.
  bool NoCalls(const std::string& rest, std::vector<OutputPart>& parts) {
    std::string held = std::exchange(held_, {});
    // A text that tells calls without a mark must not tell them again.
    const size_t told = form_->begins_answer ? form_->begin.size() : 0;
    state_ = State::kText;
    AddText(begin_ + held.substr(0, told), parts);
    stream_.Push(held.substr(told) + rest);
    return true;
  }

  // White space between thoughts, calls and the text's beginning is dropped, and so is what divides calls.
  void AddText(std::string text, std::vector<OutputPart>& parts) {
    const bool divides = !reading_.format.think_end.empty() || may_call_;
    const std::string_view dropped = has_called_ && form_->begins_answer ? " \t\r\n;" : kSpace;
    if (state_ == State::kStart && divides) text.erase(0, std::min(text.find_first_not_of(dropped), text.size()));
    if (text.empty()) return;
    state_ = State::kText;
    AddPart(parts, Kind::kText, text);
  }

  const OutputReading reading_;
  const CallForm* const form_;  // null: nothing begins a call
  State state_;
  bool may_call_ = false, has_thought_ = false, has_called_ = false;
  bool in_prompt_ = false;  // the mark of calls that the stream begins with is the prompt's
  MarkedStream stream_;
  std::unique_ptr<CallReader> calls_;  // in kCall
  std::string begin_;                  // the mark that came before them
  std::string held_;                   // what came of them, as long as they may be text
};

}  // namespace internal::calls

SKALD_INLINE std::unique_ptr<OutputParser> MakeOutputParser(OutputReading reading) {
  if (reading.format.tools == ToolForm::kHarmony) {
    return std::make_unique<internal::calls::HarmonyParser>(std::move(reading));
  }
  return std::make_unique<internal::calls::FormParser>(std::move(reading));
}

}  // namespace skald

#endif  // SKALD_OPEN_TOOLS_DETAIL_OUTPUT_PARSER_H_
