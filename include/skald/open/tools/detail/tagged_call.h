// SPDX-License-Identifier: Apache-2.0
//
// TaggedCall: the text between <tool_call> and </tool_call> while it comes. Only the call itself can tell where it
// ends, because its arguments may have any of the marks within: they are JSON (Hermes), or parameters between tags of
// which each ends by its own (Qwen3-Coder).

#ifndef SKALD_OPEN_TOOLS_DETAIL_TAGGED_CALL_H_
#define SKALD_OPEN_TOOLS_DETAIL_TAGGED_CALL_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/json/json_value_tree.h"
#include "skald/open/tools/detail/json_calls.h"
#include "skald/open/tools/detail/json_text.h"
#include "skald/open/tools/detail/parameters.h"
#include "skald/open/tools/output_format.h"
#include "skald/open/tools/output_part.h"
#include "skald/open/tools/tools.h"

namespace skald::internal::calls {

inline constexpr std::string_view kCallBegin = "<tool_call>", kCallEnd = "</tool_call>";

// Used by one thread at a time.
class TaggedCall {
 public:
  virtual ~TaggedCall() = default;

  // Takes the next piece of the text after the mark that begins the call. Returns whether the call has ended.
  bool Push(std::string_view text) {
    text_ += text;
    while (!has_ended_ && Step()) {
    }
    return has_ended_;
  }

  // The calls that it is; none where it cannot be read. Of one that has not ended, those that are whole but for the
  // mark.
  virtual std::vector<OutputPart> Calls() const = 0;

  // The text up to the end, the mark too, and the text after it.
  std::string_view text() const { return std::string_view(text_).substr(0, has_ended_ ? at_ : text_.size()); }
  std::string_view rest() const { return std::string_view(text_).substr(text().size()); }

 protected:
  // Goes on from at_ as far as is certain; returns whether it can go on from there at once.
  virtual bool Step() = 0;

  // Moves at_ past white space and `mark`. Returns whether they were there; if the text so far does not tell,
  // `is_certain` is false.
  bool Take(std::string_view mark, bool& is_certain);
  // Moves at_ past the first `mark`, or to where the beginning of one may be.
  bool TakeUntil(std::string_view mark);
  // Ends the call at at_.
  void End() { has_ended_ = true; }

  std::string text_;
  size_t at_ = 0;  // what is before it is certain

 private:
  bool has_ended_ = false;
};

// Makes one of `form`, kHermes or kQwenCoder. `tools` must outlive it.
inline std::unique_ptr<TaggedCall> MakeTaggedCall(ToolForm form, const ToolList& tools);

using Kind = OutputPart::Kind;

// How many bytes at the end of `text` may be the beginning of `mark`.
inline size_t HeldBack(std::string_view text, std::string_view mark) {
  size_t size = std::min(mark.size() - 1, text.size());
  while (!text.ends_with(mark.substr(0, size))) --size;
  return size;
}

// {"name": ..., "arguments": {...}}
class JsonCall final : public TaggedCall {
 public:
  std::vector<OutputPart> Calls() const override {
    if (phase_ == Phase::kValue) return {};
    std::string_view content = text();
    if (content.ends_with(kCallEnd)) content.remove_suffix(kCallEnd.size());
    return CallsOf(Trimmed(content));
  }

 private:
  // kPlain: no JSON, so that the first mark ends it.
  enum class Phase { kValue, kAfter, kPlain };

  bool Step() override {
    if (phase_ == Phase::kValue) {
      at_ += json_.Push(std::string_view(text_).substr(at_));
      if (json_.state() == JsonScanner::State::kOpen) return false;
      return Enter(json_.state() == JsonScanner::State::kWhole ? Phase::kAfter : Phase::kPlain);
    }
    if (phase_ == Phase::kAfter) {
      bool is_certain = true;
      if (Take(kCallEnd, is_certain)) {
        End();
        return false;
      }
      return is_certain && Enter(Phase::kPlain);
    }
    if (TakeUntil(kCallEnd)) End();
    return false;
  }

  bool Enter(Phase phase) {
    phase_ = phase;
    if (phase == Phase::kPlain) at_ = 0;
    return true;
  }

  Phase phase_ = Phase::kValue;
  JsonScanner json_;
};

// <function=NAME><parameter=KEY>value</parameter>...</function>
class ParameterCall final : public TaggedCall {
 public:
  explicit ParameterCall(const ToolList& tools) : tools_(tools) {}

  std::vector<OutputPart> Calls() const override {
    std::vector<OutputPart> calls;
    if (phase_ != Phase::kTags) return {};
    for (const Function& function : functions_) {
      std::string arguments;
      for (const auto& [key, value] : function.arguments) {
        arguments += (arguments.empty() ? "{" : ",") + QuotedJson(key) + ":" + value;
      }
      calls.push_back({Kind::kToolCall, arguments.empty() ? "{}" : arguments + "}", function.name});
    }
    return calls;
  }

 private:
  struct Function {
    std::string name;
    std::vector<std::pair<std::string, std::string>> arguments = {};  // values as JSON
  };
  // kValue: within one of JSON; kAfter: after that; kText: within one that is anything up to its end.
  enum class Phase { kTags, kValue, kAfter, kText };

  bool Step() override {
    switch (phase_) {
      case Phase::kTags:
        return TakeTag();
      case Phase::kValue:
        at_ += json_.Push(std::string_view(text_).substr(at_));
        if (json_.state() == JsonScanner::State::kOpen) return false;
        if (json_.state() == JsonScanner::State::kWrong) return Reread();
        phase_ = Phase::kAfter;
        return true;
      case Phase::kAfter: {
        bool is_certain = true;
        if (Take(kParameterEnd, is_certain)) return EndValue();
        return is_certain && Reread();
      }
      case Phase::kText:
        return TakeUntil(kParameterEnd) && EndValue();
    }
    return false;
  }

  // Goes to the next tag that means something, and reads it.
  bool TakeTag() {
    constexpr std::array kTags = {kCallEnd, std::string_view("<function="), std::string_view("<parameter=")};
    const std::string_view text = text_;
    size_t tag = kTags.size(), begin = text.npos, held = 0;
    for (size_t i = 0; i < kTags.size(); ++i) {
      const size_t found = text.find(kTags[i], at_);
      if (found < begin) tag = i, begin = found;
      held = std::max(held, HeldBack(text.substr(at_), kTags[i]));
    }
    if (tag == kTags.size()) {
      at_ = text.size() - held;
      return false;
    }
    at_ = begin;
    if (tag == 0) {
      at_ += kCallEnd.size();
      End();
      return false;
    }
    const size_t name = begin + kTags[tag].size();
    const std::string_view ahead = text.substr(name, kMostParameterName + 1);
    const size_t size = ahead.find('>');
    const bool is_tag = size != ahead.npos;
    if (!is_tag && ahead.size() <= kMostParameterName) return false;
    at_ = is_tag ? name + size + 1 : name;
    const std::string_view inside = ahead.substr(0, size);
    if (!is_tag) return true;
    if (tag == 1) {
      functions_.push_back({std::string(Trimmed(inside))});
    } else if (!functions_.empty()) {
      BeginValue(inside);
    }
    return true;
  }

  void BeginValue(std::string_view key) {
    const Tool* const tool = tools_.Find(functions_.back().name);
    key_ = key;
    types_.clear();
    const Json* const root = tool == nullptr ? nullptr : &TreeOf(tool->parameters);
    if (root != nullptr && root->is_object()) {
      const auto properties = root->find("properties");
      const bool is_known = properties != root->end() && properties->is_object() && properties->contains(key_);
      if (is_known) types_ = TypesOf((*properties)[key_], *root);
    }
    value_ = at_;
    json_ = JsonScanner();
    phase_ = KindOf(types_) == ParameterKind::kJson ? Phase::kValue : Phase::kText;
  }

  // A value that looked like JSON is none, or is a number or a word.
  bool Reread() {
    at_ = value_;
    phase_ = Phase::kText;
    return true;
  }

  // The value ends before at_, after which the text goes on.
  bool EndValue() {
    std::string_view value = std::string_view(text_).substr(value_, at_ - kParameterEnd.size() - value_);
    if (value.starts_with('\n')) value.remove_prefix(1);
    if (value.ends_with('\n')) value.remove_suffix(1);
    const ParameterKind kind = KindOf(types_);
    const bool is_json = kind == ParameterKind::kJson || (kind == ParameterKind::kEither && IsOfTypes(value, types_) &&
                                                          !Trimmed(value).starts_with('"'));
    std::string json = is_json && IsJson(value) ? WithoutSpace(value) : QuotedJson(value);
    auto& arguments = functions_.back().arguments;
    const auto same = std::ranges::find(arguments, key_, [](const auto& one) { return one.first; });
    if (same == arguments.end()) {
      arguments.emplace_back(key_, std::move(json));
    } else {
      same->second = std::move(json);
    }
    phase_ = Phase::kTags;
    return true;
  }

  const ToolList& tools_;
  Phase phase_ = Phase::kTags;
  JsonScanner json_;
  std::vector<Function> functions_;
  std::string key_;                 // of the value that is being read
  std::vector<std::string> types_;  // of that
  size_t value_ = 0;                // where it begins
};

inline bool TaggedCall::Take(std::string_view mark, bool& is_certain) {
  at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
  const std::string_view rest = std::string_view(text_).substr(at_, mark.size());
  is_certain = !mark.starts_with(rest) || rest == mark;
  if (rest != mark) return false;
  at_ += mark.size();
  return true;
}

inline bool TaggedCall::TakeUntil(std::string_view mark) {
  const size_t found = text_.find(mark, at_);
  if (found != text_.npos) {
    at_ = found + mark.size();
    return true;
  }
  at_ = text_.size() - HeldBack(std::string_view(text_).substr(at_), mark);
  return false;
}

inline std::unique_ptr<TaggedCall> MakeTaggedCall(ToolForm form, const ToolList& tools) {
  if (form == ToolForm::kQwenCoder) return std::make_unique<ParameterCall>(tools);
  return std::make_unique<JsonCall>();
}

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_DETAIL_TAGGED_CALL_H_
