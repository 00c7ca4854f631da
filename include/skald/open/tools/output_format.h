// SPDX-License-Identifier: Apache-2.0
//
// The form in which a model writes its thoughts and its calls of tools. Models learn the form from their chat
// templates, so the template's source tells it. Pure; safe for concurrent calls.

#ifndef SKALD_OPEN_TOOLS_OUTPUT_FORMAT_H_
#define SKALD_OPEN_TOOLS_OUTPUT_FORMAT_H_

#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"

namespace skald {

/// How tools are called. calls/forms/ has the marks of each form, as tables.
enum class ToolForm {
  kJson,           ///< the template knows no tools: a system text describes them, and calls are those of kHermes
  kUnknown,        ///< the template knows tools, but in a form that is none of these
  kHermes,         ///< `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`: Hermes, Qwen 2.5 and 3, SmolLM3,
                   ///< Granite 4
  kQwenCoder,      ///< `<tool_call><function=NAME><parameter=KEY>value</parameter></function></tool_call>`:
                   ///< Qwen3-Coder, 3.5, Nemotron 3
  kSeed,           ///< the same between `<seed:tool_call>` and `</seed:tool_call>`: Seed-OSS
  kGlm,            ///< `<tool_call>NAME<arg_key>KEY</arg_key><arg_value>value</arg_value></tool_call>`: GLM 4.x
  kLlama3,         ///< `{"name": ..., "parameters": {...}}` as the whole answer
  kMistral,        ///< `[TOOL_CALLS]` and a list of calls
  kMistralArgs,    ///< `[TOOL_CALLS]NAME[ARGS]{...}`: Mistral's models from 2025 on
  kMistralIds,     ///< the same with [CALL_ID] and an id after the name: Mistral Small 3.2
  kHarmony,        ///< gpt-oss: all of an answer is messages with channels
  kGemma4,         ///< `<|tool_call>call:NAME{key:<|"|>text<|"|>}<tool_call|>`
  kFunctionGemma,  ///< `<start_function_call>call:NAME{key:<escape>text<escape>}<end_function_call>`
  kLfm2,           ///< `<|tool_call_start|>[NAME(key="text")]<|tool_call_end|>`: LFM2
  kLfm25,          ///< the same, and texts between single quotes are as they are, with quotes within: LFM2.5
  kOlmo3,          ///< `<function_calls>` and lines of NAME(key="text"): Olmo 3
  kPhi4,           ///< `<|tool_call|>{"name": ..., "arguments": {...}}<|/tool_call|>`: Phi-4-mini
  kGranite,        ///< `<|tool_call|>` and a list of calls: Granite 3
  kNemotron,       ///< `<TOOLCALL>` and a list of calls: Nemotron Nano 2 and Llama-Nemotron
  kDeepSeekV3,     ///< a call has a type, a name and a block of JSON: DeepSeek V3 and R1
  kDeepSeekV31,    ///< a call has a name and JSON: DeepSeek V3.1
  kKimiK2,         ///< a call has the id functions.NAME:NUMBER, and JSON
  kCommandR7b,     ///< `<|START_ACTION|>` and a list of calls with numbers: Command R7B and A
  kCommandR,       ///< `Action:` and a block of JSON: Command R and R+
  kFunctionary,    ///< `<function=NAME>{...}</function>`: Functionary 3.1
  kRecipients,     ///< `>>>NAME` and JSON, `>>>all` and text: Functionary 3.2
  kFireFunction,   ///< `functools[...]`, a list of calls: FireFunction 2
  kMiniMax,        ///< `<minimax:tool_call><invoke name="NAME"><parameter name="KEY">value...`: MiniMax M2
  kHunyuan,        ///< `<tool_calls>` and a list of calls: Hunyuan A13B, Apriel
  kGigaChat,       ///< `<|function_call|>` and a call: GigaChat 3.1
  kApertus,        ///< `<|tools_prefix|>[{NAME: {...}}]<|tools_suffix|>`
  kMiniMaxM1,      ///< `<tool_calls>` and a line with a call as an object for each: MiniMax M1
  kErnie,          ///< as kHermes, and texts between `<response>` and `</response>`: ERNIE 4.5 Thinking
  kHy3,            ///< between marks of calls: name, and each argument between tags: Hunyuan 3
  kDeepSeekV32,    ///< between marks of DSML, each argument between tags that say whether it is a text: DeepSeek V3.2
  kDeepSeekV4,     ///< the same with other marks around all calls: DeepSeek V4
  kKimiK3,         ///< between marks of calls: name and number, and each argument between tags with its type
  kSolar,          ///< between marks of calls: an id, the name and JSON: Solar Open
};

/// The forms of one model.
struct OutputFormat {
  ToolForm tools = ToolForm::kJson;  ///< of calls
  std::string think_begin = {};      ///< begins a thought; empty if the model writes none, and of Harmony
  std::string think_end = {};        ///< ends it

  /// Returns whether special tokens divide the answer, so that its text must have their names.
  bool needs_special_text() const;
};

/// Returns the forms that a chat template with this source teaches.
OutputFormat OutputFormatOf(std::string_view template_source);

/// Returns whether a chat template with this source writes tools and their calls.
bool KnowsTools(std::string_view template_source);

/// The names of all forms but kUnknown, for options of programs.
std::vector<std::string> ToolFormNames();

/// Returns the form of that name. The error lists all names.
Result<ToolForm> ToolFormNamed(std::string_view name);

/// Returns the name of a form, or "unknown".
std::string_view NameOf(ToolForm form);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/tools/detail/output_format.h"
#endif

#endif  // SKALD_OPEN_TOOLS_OUTPUT_FORMAT_H_
