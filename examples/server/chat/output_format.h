// SPDX-License-Identifier: Apache-2.0
//
// How a model writes what is not plain text: its thoughts and its calls of tools. Models learn the form from their chat
// templates, so it is the template's source that tells.

#ifndef SKALD_EXAMPLES_SERVER_CHAT_OUTPUT_FORMAT_H_
#define SKALD_EXAMPLES_SERVER_CHAT_OUTPUT_FORMAT_H_

#include <string>
#include <string_view>

namespace skald::serve {

// How tools are called.
enum class ToolForm {
  kNone,       // the template does not know of tools
  kUnknown,    // it does, but in a form that is none of these
  kHermes,     // <tool_call>{"name": ..., "arguments": {...}}</tool_call>: Hermes, Qwen 2.5 and 3, SmolLM3
  kQwenCoder,  // <tool_call><function=NAME><parameter=KEY>value</parameter></function></tool_call>: Qwen3-Coder, 3.5
  kLlama3,     // {"name": ..., "parameters": {...}} as the whole answer
  kMistral,    // [TOOL_CALLS] and a list of calls, or names and arguments
  kHarmony,    // gpt-oss: all of an answer is messages with channels
};

struct OutputFormat {
  ToolForm tools = ToolForm::kNone;
  // Thoughts are between these; empty where the model writes none. (Harmony's are a channel.)
  std::string think_begin = {}, think_end = {};

  // Whether special tokens divide the answer, so that its text must have their names.
  bool needs_special_text() const {
    return tools == ToolForm::kLlama3 || tools == ToolForm::kMistral || tools == ToolForm::kHarmony;
  }
};

inline OutputFormat OutputFormatOf(std::string_view template_source) {
  const auto has = [&](std::string_view text) { return template_source.find(text) != template_source.npos; };
  OutputFormat format;
  if (has("<|channel|>") && has("<|start|>")) return {ToolForm::kHarmony};
  if (has("<think>")) format = {ToolForm::kNone, "<think>", "</think>"};
  if (has("[THINK]")) format = {ToolForm::kNone, "[THINK]", "[/THINK]"};
  if (!has("tools") && !has("tool_calls")) return format;
  if (has("<function=") && has("<tool_call>")) {
    format.tools = ToolForm::kQwenCoder;
  } else if (has("<tool_call>")) {
    format.tools = ToolForm::kHermes;
  } else if (has("[TOOL_CALLS]")) {
    format.tools = ToolForm::kMistral;
  } else if (has("<|python_tag|>") || (has("\"parameters\"") && has("<|eot_id|>"))) {
    format.tools = ToolForm::kLlama3;
  } else {
    format.tools = ToolForm::kUnknown;
  }
  return format;
}

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_CHAT_OUTPUT_FORMAT_H_
