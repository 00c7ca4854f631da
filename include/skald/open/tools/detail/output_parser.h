// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/tools/output_parser.h.

#ifndef SKALD_OPEN_TOOLS_DETAIL_OUTPUT_PARSER_H_
#define SKALD_OPEN_TOOLS_DETAIL_OUTPUT_PARSER_H_

#include "skald/open/tools/output_parser.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "skald/base/inline.h"
#include "skald/open/tools/detail/json_text.h"
#include "skald/open/tools/detail/marks.h"
#include "skald/open/tools/detail/tagged_call.h"
#include "skald/open/tools/detail/whole_calls.h"

namespace skald {

namespace internal::calls {

using Kind = OutputPart::Kind;

inline void AddPart(std::vector<OutputPart>& parts, Kind kind, std::string text) {
  if (text.empty()) return;
  if (!parts.empty() && parts.back().kind == kind && kind != Kind::kToolCall) {
    parts.back().text += text;
  } else {
    parts.push_back({kind, std::move(text)});
  }
}

// Goes from mark to mark.
class MarkedParser : public OutputParser {
 public:
  std::vector<OutputPart> Push(std::string_view text) final {
    stream_.Push(text);
    std::vector<OutputPart> parts;
    while (Step(parts)) {
    }
    return parts;
  }

 protected:
  // Takes what it can; returns whether a mark was found, so that more may follow.
  virtual bool Step(std::vector<OutputPart>& parts) = 0;

  MarkedStream stream_;
};

// Thoughts, then text in which calls may be between two marks, or after one.
class TaggedParser final : public MarkedParser {
 public:
  explicit TaggedParser(OutputReading reading)
      : reading_(std::move(reading)),
        state_(reading_.begins_thinking ? State::kThought
               : reading_.continues     ? State::kText
                                        : State::kStart) {
    if (!reading_.tools.may_call()) return;
    const ToolForm form = reading_.format.tools;
    if (form == ToolForm::kHermes || form == ToolForm::kQwenCoder) call_begin_ = kCallBegin;
    if (form == ToolForm::kMistral) call_begin_ = kMistralCalls;
  }

  std::vector<OutputPart> Finish() override {
    std::vector<OutputPart> parts;
    std::string rest = stream_.TakeRest();
    if (state_ == State::kCall) {
      rest_ += rest;
      EndCall(call_ ? call_->Calls() : MistralCallsOf(rest_), call_ ? std::string(call_->text()) : rest_, parts);
    } else if (state_ == State::kThought) {
      AddPart(parts, Kind::kReasoning, std::move(rest));
    } else {
      AddText(std::move(rest), parts);
    }
    return parts;
  }

 private:
  // kStart: nothing has come yet but white space.
  enum class State { kStart, kThought, kText, kCall };

  bool Step(std::vector<OutputPart>& parts) override {
    if (state_ == State::kThought) return StepInThought(parts);
    if (state_ == State::kCall) return StepInCall(parts);
    // A thought begins an answer, or never.
    const OutputFormat& format = reading_.format;
    const bool may_think = state_ == State::kStart && !has_thought_ && !has_called_;
    const bool may_call = state_ == State::kStart || !reading_.is_text_or_calls;
    auto taken = stream_.TakeUntil(
        {may_call ? std::string_view(call_begin_) : "", may_think ? std::string_view(format.think_begin) : ""});
    const bool was_start = state_ == State::kStart;
    AddText(std::move(taken.text), parts);
    if (!taken.mark) return false;
    const bool is_first = was_start && state_ == State::kStart;
    if (*taken.mark == 1) {
      if (is_first) {
        state_ = State::kThought;
      } else {
        AddText(format.think_begin, parts);
      }
    } else if (is_first || !reading_.is_text_or_calls) {
      BeginCall();
    } else {
      AddText(call_begin_, parts);
    }
    return true;
  }

  bool StepInThought(std::vector<OutputPart>& parts) {
    auto taken = stream_.TakeUntil({reading_.format.think_end});
    if (!has_thought_) taken.text.erase(0, std::min(taken.text.find_first_not_of("\r\n"), taken.text.size()));
    has_thought_ |= !taken.text.empty();
    AddPart(parts, Kind::kReasoning, std::move(taken.text));
    if (taken.mark) state_ = State::kStart;
    return taken.mark.has_value();
  }

  void BeginCall() {
    state_ = State::kCall;
    has_called_ = true;
    if (reading_.format.tools != ToolForm::kMistral) call_ = MakeTaggedCall(reading_.format.tools, reading_.tools);
  }

  bool StepInCall(std::vector<OutputPart>& parts) {
    const std::string text = stream_.TakeRest();
    if (!call_) {
      rest_ += text;  // it ends with the answer
      return false;
    }
    if (!call_->Push(text)) return false;
    EndCall(call_->Calls(), std::string(call_->text()), parts);
    stream_.Push(call_->rest());
    call_.reset();
    state_ = State::kStart;
    return true;
  }

  // White space between thoughts, calls and the text's beginning is dropped.
  void AddText(std::string text, std::vector<OutputPart>& parts) {
    const bool divides = !reading_.format.think_end.empty() || !call_begin_.empty();
    if (state_ == State::kStart && divides) text.erase(0, std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (text.empty()) return;
    state_ = State::kText;
    AddPart(parts, Kind::kText, std::move(text));
  }

  void EndCall(std::vector<OutputPart> calls, const std::string& text, std::vector<OutputPart>& parts) const {
    if (calls.empty()) AddPart(parts, Kind::kText, call_begin_ + text);
    for (OutputPart& call : calls) parts.push_back(std::move(call));
  }

  const OutputReading reading_;
  State state_;
  bool has_thought_ = false, has_called_ = false;
  std::string call_begin_;            // empty: nothing begins a call
  std::unique_ptr<TaggedCall> call_;  // that is being read, if it has an end mark
  std::string rest_;                  // what came of one without
};

// Llama 3: an answer that begins as a call does is one, or several.
class WholeCallParser final : public OutputParser {
 public:
  std::vector<OutputPart> Push(std::string_view text) override {
    std::vector<OutputPart> parts;
    text_ += text;
    const std::string_view begin = Trimmed(text_).substr(0, kPythonTag.size());
    if (begin.starts_with('{') || kPythonTag.starts_with(begin)) return parts;
    AddPart(parts, Kind::kText, std::exchange(text_, {}));
    is_text_ = true;
    return parts;
  }

  std::vector<OutputPart> Finish() override {
    std::vector<OutputPart> parts;
    if (!is_text_) parts = LlamaCallsOf(text_);
    if (parts.empty()) AddPart(parts, Kind::kText, text_);
    return parts;
  }

 private:
  std::string text_;
  bool is_text_ = false;
};

// Harmony (github.com/openai/harmony): <|channel|>NAME [to=RECIPIENT]<|message|>content<|end|><|start|>assistant...
class HarmonyParser final : public MarkedParser {
 public:
  // `continues`: within the content of a message for the user.
  explicit HarmonyParser(bool continues) : is_content_(continues) {}

  std::vector<OutputPart> Finish() override {
    std::vector<OutputPart> parts;
    if (is_content_) {
      AddContent(stream_.TakeRest(), parts);
      EndMessage(parts);
    }
    return parts;
  }

 private:
  bool Step(std::vector<OutputPart>& parts) override {
    if (!is_content_) {
      auto taken = stream_.TakeUntil({"<|message|>"});
      header_ += taken.text;
      if (!taken.mark) return false;
      ReadHeader();
      return true;
    }
    if (is_json_ && !StepInJson()) return false;
    auto taken = stream_.TakeUntil({"<|end|>", "<|call|>", "<|return|>", "<|start|>", "<|channel|>"});
    AddContent(std::move(taken.text), parts);
    if (!taken.mark) return false;
    EndMessage(parts);
    if (*taken.mark == 4) header_ = "<|channel|>";
    return true;
  }

  // Arguments may have marks in their strings. Returns whether they are over, so that a mark may come.
  bool StepInJson() {
    const std::string text = stream_.TakeRest();
    const size_t taken = json_.Push(text);
    arguments_ += text.substr(0, taken);
    if (json_.state() == JsonScanner::State::kOpen) return false;
    is_json_ = false;
    // A text that is no JSON may have any mark: it is looked through again.
    if (json_.state() == JsonScanner::State::kWrong) stream_.Push(std::exchange(arguments_, {}));
    stream_.Push(std::string_view(text).substr(taken));
    return true;
  }

  void ReadHeader() {
    constexpr std::string_view kFunctions = "to=functions.";
    is_content_ = true;
    recipient_.clear();
    if (const size_t at = header_.find(kFunctions); at != header_.npos) {
      const std::string_view rest = std::string_view(header_).substr(at + kFunctions.size());
      recipient_ = rest.substr(0, rest.find_first_of(" <"));
    }
    is_json_ = !recipient_.empty();
    json_ = JsonScanner();
    is_thought_ = header_.find("analysis") != header_.npos;
    header_.clear();
  }

  void AddContent(std::string text, std::vector<OutputPart>& parts) {
    if (!recipient_.empty()) {
      arguments_ += text;
    } else {
      AddPart(parts, is_thought_ ? Kind::kReasoning : Kind::kText, std::move(text));
    }
  }

  void EndMessage(std::vector<OutputPart>& parts) {
    std::string arguments = std::exchange(arguments_, {});
    if (!recipient_.empty() && MembersOf(arguments)) {
      parts.push_back({Kind::kToolCall, WithoutSpace(arguments), recipient_});
    } else {
      AddPart(parts, Kind::kText, std::move(arguments));
    }
    is_content_ = is_json_ = false;
  }

  std::string header_, recipient_, arguments_;
  JsonScanner json_;
  bool is_content_, is_thought_ = false;
  bool is_json_ = false;  // arguments that have not ended
};

}  // namespace internal::calls

SKALD_INLINE std::unique_ptr<OutputParser> MakeOutputParser(OutputReading reading) {
  if (reading.format.tools == ToolForm::kHarmony)
    return std::make_unique<internal::calls::HarmonyParser>(reading.continues);
  const bool may_be_call = reading.tools.may_call() && !reading.continues;
  if (reading.format.tools == ToolForm::kLlama3 && may_be_call)
    return std::make_unique<internal::calls::WholeCallParser>();
  return std::make_unique<internal::calls::TaggedParser>(std::move(reading));
}

}  // namespace skald

#endif  // SKALD_OPEN_TOOLS_DETAIL_OUTPUT_PARSER_H_
