// SPDX-License-Identifier: Apache-2.0

#include "serve/chat/output_parser.h"

#include <cctype>
#include <optional>
#include <utility>

#include "serve/api/request/json_reader.h"
#include "serve/chat/marks.h"

namespace skald::serve {
namespace {

using Kind = OutputPart::Kind;

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  const size_t end = text.find_last_not_of(kSpace);
  return end == text.npos ? std::string_view() : text.substr(begin, end + 1 - begin);
}

void AddPart(std::vector<OutputPart>& parts, Kind kind, std::string text) {
  if (text.empty()) return;
  if (!parts.empty() && parts.back().kind == kind && kind != Kind::kToolCall) {
    parts.back().text += text;
  } else {
    parts.push_back({kind, std::move(text)});
  }
}

// The call that a JSON object is, with its arguments under one of the names that models use for them.
std::optional<OutputPart> CallOf(const Json& json) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string()) return std::nullopt;
  for (const char* const name : {"arguments", "parameters"}) {
    if (!json.contains(name)) continue;
    const Json& arguments = json[name];
    return OutputPart{Kind::kToolCall, arguments.is_string() ? arguments.get<std::string>() : arguments.dump(),
                      json["name"].get<std::string>()};
  }
  return std::nullopt;
}

// Calls of a text that is one JSON object, or a list of them; nothing where it is something else.
std::vector<OutputPart> CallsOf(std::string_view text) {
  const Json json = TryParseJson(text).value_or(Json());
  std::vector<OutputPart> calls;
  if (const auto call = CallOf(json)) return {*call};
  if (!json.is_array()) return {};
  for (const Json& one : json) {
    const auto call = CallOf(one);
    if (!call) return {};
    calls.push_back(*call);
  }
  return calls;
}

// Whether a schema does not say that a property is something else.
bool IsString(const Json& schema, const std::string& property) {
  const Json* value = &schema;
  for (const std::string& name : {std::string("properties"), property, std::string("type")}) {
    if (!value->is_object() || !value->contains(name)) return true;
    value = &(*value)[name];
  }
  return *value == "string";
}

// <function=NAME><parameter=KEY>value</parameter>...</function>. Values are JSON where the tool's schema does not say
// that they are strings.
std::vector<OutputPart> CallsOfFunctions(std::string_view text, const ToolList& tools) {
  constexpr std::string_view kFunction = "<function=", kParameter = "<parameter=", kEnd = "</parameter>";
  std::vector<OutputPart> calls;
  for (size_t at = text.find(kFunction); at != text.npos; at = text.find(kFunction, at)) {
    at += kFunction.size();
    const size_t name_end = text.find('>', at);
    if (name_end == text.npos) return {};
    const std::string name(Trimmed(text.substr(at, name_end - at)));
    const size_t end = std::min(text.find("</function>", name_end), text.size());
    const Tool* const tool = tools.Find(name);
    Json arguments = Json::object();
    for (size_t key = text.find(kParameter, name_end); key < end; key = text.find(kParameter, key)) {
      key += kParameter.size();
      const size_t key_end = text.find('>', key);
      const size_t value_end = text.find(kEnd, key);
      if (key_end == text.npos || value_end == text.npos) return {};
      const std::string parameter(text.substr(key, key_end - key));
      std::string_view value = text.substr(key_end + 1, value_end - key_end - 1);
      if (value.starts_with('\n')) value.remove_prefix(1);
      if (value.ends_with('\n')) value.remove_suffix(1);
      const bool is_string = tool == nullptr || IsString(tool->parameters, parameter);
      auto parsed = is_string ? std::nullopt : TryParseJson(value);
      arguments[parameter] = parsed ? *std::move(parsed) : Json(value);
    }
    calls.push_back({Kind::kToolCall, arguments.dump(), name});
    at = end;
  }
  return calls;
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

// Thoughts, then text in which calls may stand between two marks, or behind one.
class TaggedParser final : public MarkedParser {
 public:
  TaggedParser(const OutputFormat& format, const ToolList& tools, bool begins_thinking)
      : format_(format), tools_(tools), state_(begins_thinking ? State::kThought : State::kStart) {
    if (!tools.may_call()) return;
    if (format.tools == ToolForm::kHermes || format.tools == ToolForm::kQwenCoder) {
      call_begin_ = "<tool_call>";
      call_end_ = "</tool_call>";
    } else if (format.tools == ToolForm::kMistral) {
      call_begin_ = "[TOOL_CALLS]";
    }
  }

  std::vector<OutputPart> Finish() override {
    std::vector<OutputPart> parts;
    std::string rest = stream_.TakeRest();
    if (state_ == State::kCall) {
      EndCall(call_ + rest, parts);
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
    if (state_ == State::kThought) {
      auto taken = stream_.TakeUntil({format_.think_end});
      if (!has_thought_) taken.text.erase(0, std::min(taken.text.find_first_not_of("\r\n"), taken.text.size()));
      has_thought_ |= !taken.text.empty();
      AddPart(parts, Kind::kReasoning, std::move(taken.text));
      if (taken.mark) state_ = State::kStart;
      return taken.mark.has_value();
    }
    if (state_ == State::kCall) {
      auto taken = stream_.TakeUntil({call_end_});
      call_ += taken.text;
      if (!taken.mark) return false;
      EndCall(std::exchange(call_, {}), parts);
      state_ = State::kStart;
      return true;
    }
    // A thought begins an answer, or never.
    const bool may_think = state_ == State::kStart && !has_thought_;
    auto taken = stream_.TakeUntil({call_begin_, may_think ? std::string_view(format_.think_begin) : ""});
    AddText(std::move(taken.text), parts);
    if (!taken.mark) return false;
    const bool is_thought = *taken.mark == 1 && state_ == State::kStart;
    if (*taken.mark == 1 && !is_thought) AddText(format_.think_begin, parts);
    state_ = is_thought ? State::kThought : *taken.mark == 0 ? State::kCall : state_;
    return true;
  }

  // White space between thoughts, calls and the text's beginning is nobody's.
  void AddText(std::string text, std::vector<OutputPart>& parts) {
    const bool divides = !format_.think_end.empty() || !call_begin_.empty();
    if (state_ == State::kStart && divides) text.erase(0, std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (text.empty()) return;
    state_ = State::kText;
    AddPart(parts, Kind::kText, std::move(text));
  }

  void EndCall(const std::string& text, std::vector<OutputPart>& parts) {
    std::vector<OutputPart> calls = format_.tools == ToolForm::kQwenCoder ? CallsOfFunctions(text, tools_)
                                    : format_.tools == ToolForm::kMistral ? MistralCalls(text)
                                                                          : CallsOf(Trimmed(text));
    if (calls.empty()) AddPart(parts, Kind::kText, call_begin_ + text + call_end_);
    for (OutputPart& call : calls) parts.push_back(std::move(call));
  }

  // A list of calls; or, of newer models, names and objects: NAME{...} or NAME[ARGS]{...}, each behind a mark.
  static std::vector<OutputPart> MistralCalls(std::string_view text) {
    constexpr std::string_view kMark = "[TOOL_CALLS]", kArguments = "[ARGS]";
    if (auto calls = CallsOf(Trimmed(text)); !calls.empty()) return calls;
    std::vector<OutputPart> calls;
    while (!Trimmed(text).empty()) {
      const size_t next = std::min(text.find(kMark), text.size());
      const std::string_view one = text.substr(0, next);
      text.remove_prefix(std::min(next + kMark.size(), text.size()));
      const size_t brace = one.find('{');
      if (brace == one.npos) return {};
      std::string_view name = one.substr(0, std::min(brace, one.find('[')));
      const size_t marked = one.find(kArguments);
      const auto arguments = TryParseJson(one.substr(marked == one.npos ? brace : marked + kArguments.size()));
      if (!arguments || !arguments->is_object() || Trimmed(name).empty()) return {};
      calls.push_back({Kind::kToolCall, arguments->dump(), std::string(Trimmed(name))});
    }
    return calls;
  }

  const OutputFormat format_;
  const ToolList tools_;
  State state_;
  bool has_thought_ = false;
  std::string call_begin_, call_end_;  // empty: nothing begins a call, or a call ends with the answer
  std::string call_;                   // what came of it
};

// Llama 3: an answer that begins as a call does is one, or several.
class WholeCallParser final : public OutputParser {
 public:
  std::vector<OutputPart> Push(std::string_view text) override {
    std::vector<OutputPart> parts;
    text_ += text;
    const std::string_view begin = Trimmed(text_);
    if (begin.empty() || kPythonTag.starts_with(begin.substr(0, kPythonTag.size()))) return parts;
    if (begin.starts_with('{') || begin.starts_with(kPythonTag)) return parts;
    AddPart(parts, Kind::kText, std::exchange(text_, {}));
    is_text_ = true;
    return parts;
  }

  std::vector<OutputPart> Finish() override {
    std::vector<OutputPart> parts;
    std::string_view rest = Trimmed(text_);
    if (rest.starts_with(kPythonTag)) rest.remove_prefix(kPythonTag.size());
    for (bool goes_on = !is_text_; goes_on && !rest.empty();) {
      // Several are divided by semicolons, which strings may have too: the first that makes a whole object ends one.
      goes_on = false;
      for (size_t end = rest.find('}'); end != rest.npos && !goes_on; end = rest.find('}', end + 1)) {
        auto calls = CallsOf(rest.substr(0, end + 1));
        if (calls.empty()) continue;
        parts.push_back(std::move(calls[0]));
        rest = Trimmed(rest.substr(end + 1));
        if (rest.starts_with(';')) rest = Trimmed(rest.substr(1));
        goes_on = true;
      }
    }
    if (parts.empty()) AddPart(parts, Kind::kText, text_);
    return parts;
  }

 private:
  static constexpr std::string_view kPythonTag = "<|python_tag|>";
  std::string text_;
  bool is_text_ = false;
};

// Harmony (github.com/openai/harmony): <|channel|>NAME [to=RECIPIENT]<|message|>content<|end|><|start|>assistant...
class HarmonyParser final : public MarkedParser {
 public:
  std::vector<OutputPart> Finish() override {
    std::vector<OutputPart> parts;
    std::string rest = stream_.TakeRest();
    if (is_content_) {
      AddContent(std::move(rest), parts);
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
    auto taken = stream_.TakeUntil({"<|end|>", "<|call|>", "<|return|>", "<|start|>", "<|channel|>"});
    AddContent(std::move(taken.text), parts);
    if (!taken.mark) return false;
    EndMessage(parts);
    if (*taken.mark == 4) header_ = "<|channel|>";
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
    if (!recipient_.empty()) parts.push_back({Kind::kToolCall, std::exchange(arguments_, {}), recipient_});
    is_content_ = false;
  }

  std::string header_, recipient_, arguments_;
  bool is_content_ = false, is_thought_ = false;
};

}  // namespace

std::unique_ptr<OutputParser> MakeOutputParser(const OutputFormat& format, const ToolList& tools,
                                               bool begins_thinking) {
  if (format.tools == ToolForm::kHarmony) return std::make_unique<HarmonyParser>();
  if (format.tools == ToolForm::kLlama3 && tools.may_call()) return std::make_unique<WholeCallParser>();
  return std::make_unique<TaggedParser>(format, tools, begins_thinking);
}

}  // namespace skald::serve
