// SPDX-License-Identifier: Apache-2.0
//
// The form in which a model writes its thoughts and its calls of tools. Models learn the form from their chat
// templates, so the template's source tells it. Pure; safe for concurrent calls.

#ifndef SKALD_OPEN_TOOLS_OUTPUT_FORMAT_H_
#define SKALD_OPEN_TOOLS_OUTPUT_FORMAT_H_

#include <string>
#include <string_view>

namespace skald {

/// How tools are called.
enum class ToolForm {
  kNone,       ///< the template does not know of tools
  kUnknown,    ///< it does, but in a form that is none of these
  kHermes,     ///< `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`: Hermes, Qwen 2.5 and 3, SmolLM3
  kQwenCoder,  ///< `<tool_call><function=NAME><parameter=KEY>value</parameter></function></tool_call>`:
               ///< Qwen3-Coder, 3.5
  kLlama3,     ///< `{"name": ..., "parameters": {...}}` as the whole answer
  kMistral,    ///< [TOOL_CALLS] and a list of calls, or names and arguments
  kHarmony,    ///< gpt-oss: all of an answer is messages with channels
};

/// The forms of one model.
struct OutputFormat {
  ToolForm tools = ToolForm::kNone;  ///< of calls
  std::string think_begin = {};      ///< begins a thought; empty if the model writes none, and of Harmony
  std::string think_end = {};        ///< ends it
  bool mistral_arguments = false;    ///< of kMistral: the template writes calls as NAME[ARGS]{...}

  /// Returns whether special tokens divide the answer, so that its text must have their names.
  bool needs_special_text() const {
    return tools == ToolForm::kLlama3 || tools == ToolForm::kMistral || tools == ToolForm::kHarmony;
  }
};

/// Returns the forms that a chat template with this source teaches.
OutputFormat OutputFormatOf(std::string_view template_source);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/tools/detail/output_format.h"
#endif

#endif  // SKALD_OPEN_TOOLS_OUTPUT_FORMAT_H_
