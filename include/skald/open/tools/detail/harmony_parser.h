// SPDX-License-Identifier: Apache-2.0
//
// HarmonyParser: answers of gpt-oss, which are messages with channels and recipients:
// <|channel|>NAME [to=RECIPIENT]<|message|>content<|end|><|start|>assistant... Source: github.com/openai/harmony.

#ifndef SKALD_OPEN_TOOLS_DETAIL_HARMONY_PARSER_H_
#define SKALD_OPEN_TOOLS_DETAIL_HARMONY_PARSER_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/open/tools/calls/detail/arguments.h"
#include "skald/open/tools/calls/detail/call_reader.h"
#include "skald/open/tools/calls/detail/marks.h"
#include "skald/open/tools/output_parser.h"

namespace skald::internal::calls {

inline constexpr std::string_view kHarmonyFunctions = "to=functions.";

class HarmonyParser final : public OutputParser {
 public:
  explicit HarmonyParser(OutputReading reading) : reading_(std::move(reading)), is_content_(reading_.continues) {}

  std::vector<OutputPart> Push(std::string_view text) override {
    stream_.Push(text);
    std::vector<OutputPart> parts;
    while (Step(parts)) {
    }
    return parts;
  }

  std::vector<OutputPart> Finish() override {
    std::vector<OutputPart> parts;
    if (is_content_) AddContent(held_ + stream_.TakeRest(), parts);
    return parts;
  }

 private:
  // Takes what it can; returns whether more may follow.
  bool Step(std::vector<OutputPart>& parts) {
    if (!is_content_) {
      auto taken = stream_.TakeUntil(std::array{std::string_view("<|message|>")});
      header_ += taken.text;
      if (taken.mark) ReadHeader();
      return taken.mark.has_value();
    }
    if (arguments_) return StepInArguments(parts);
    constexpr std::array<std::string_view, 5> kEnds = {"<|end|>", "<|call|>", "<|return|>", "<|start|>", "<|channel|>"};
    auto taken = stream_.TakeUntil(kEnds);
    if (!is_call_) AddContent(taken.text, parts);
    if (!taken.mark) return false;
    is_content_ = is_call_ = false;
    if (*taken.mark == 4) header_ = kEnds[4];
    return true;
  }

  void ReadHeader() {
    is_content_ = true;
    tool_ = nullptr;
    if (const size_t at = header_.find(kHarmonyFunctions); at != header_.npos && reading_.tools.may_call()) {
      const std::string_view rest = std::string_view(header_).substr(at + kHarmonyFunctions.size());
      tool_ = reading_.tools.Find(rest.substr(0, rest.find_first_of(" <")));
    }
    if (tool_ != nullptr) arguments_.emplace(Notation::kJson);
    is_thought_ = header_.find("analysis") != header_.npos;
    header_.clear();
  }

  // Arguments may have marks in their strings. All but objects is text.
  bool StepInArguments(std::vector<OutputPart>& parts) {
    const std::string text = stream_.TakeRest();
    for (size_t i = 0; i < text.size(); ++i) {
      std::string json;
      arguments_->Take(text[i], json);
      if (!is_call_) held_ += text[i];
      if (!is_call_ && json == "{") {
        is_call_ = true;
        held_.clear();
        call_.Begin(tool_->name, parts);
      }
      call_.Add(json, parts);
      if (arguments_->state() == ArgumentsReader::State::kOpen) continue;
      const bool is_whole = arguments_->state() == ArgumentsReader::State::kWhole;
      arguments_.reset();
      // All that follows whole arguments up to the message's end is dropped.
      is_call_ = is_whole && call_.End(parts);
      stream_.PutBack((is_whole ? "" : held_.empty() ? text.substr(i, 1) : held_) + text.substr(i + 1));
      held_.clear();
      return true;
    }
    return false;
  }

  void AddContent(std::string_view text, std::vector<OutputPart>& parts) const {
    AddPart(parts, is_thought_ && tool_ == nullptr ? Kind::kReasoning : Kind::kText, text);
  }

  const OutputReading reading_;
  MarkedStream stream_;
  std::string header_;
  bool is_content_;  // else a header
  bool is_thought_ = false;
  const Tool* tool_ = nullptr;                // that the message is for
  std::optional<ObjectArguments> arguments_;  // that have not ended
  bool is_call_ = false;                      // they have begun
  std::string held_;                          // white space before them
  OpenCall call_;
};

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_DETAIL_HARMONY_PARSER_H_
