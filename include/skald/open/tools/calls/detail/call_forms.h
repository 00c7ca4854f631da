// SPDX-License-Identifier: Apache-2.0
//
// How each form writes calls and thoughts, and how chat templates tell of it, as data: the parser, the filter and the
// search for a template's form are made of these tables alone. A new form is a row; code is needed only for arguments
// in a notation of their own (arguments.h) and for Harmony, whose whole answer is messages.
//
// Calls are written
//     begin open CALL between CALL ... close end
// where CALL is
//     call_begin NAME name_end ARGUMENTS call_end
// In these texts %d represents a number, %w an id of nine letters and digits. The parser takes any white space,
// or none, where they have some, and objects in brackets or not. Sources: the publishers' chat templates and model
// cards.

#ifndef SKALD_OPEN_TOOLS_CALLS_DETAIL_CALL_FORMS_H_
#define SKALD_OPEN_TOOLS_CALLS_DETAIL_CALL_FORMS_H_

#include <array>
#include <string_view>

#include "skald/open/tools/output_format.h"

namespace skald::internal::calls {

// How the parser finds a call's name, and how arguments are written.
enum class Notation {
  kObjects,        // a call is an object of JSON with members for name and arguments, in any order
  kNamesFirst,     // a call is an object of JSON with its name as the one key
  kJson,           // after the name an object of JSON
  kGemma,          // after the name an object with keys without quotes, and texts between two marks
  kFunctionGemma,  // the same with another mark
  kPython,         // after the name arguments of a call in Python
  kPythonAsIs,     // the same, and texts between single quotes that are arguments are as they are (quoted_texts.h)
  kTags,           // after the name each argument between tags; texts as they are
};

// More calls than one.
enum class Several {
  kNever,
  kTogether,  // all between one `begin` and `end`
  kApart,     // each with a `begin` and an `end` of its own, and apart_by before the next
};

// The tags of kTags: key_begin KEY key_end value_begin VALUE value_end.
struct ArgumentTags {
  std::string_view key_begin = {}, key_end = {}, value_begin = {}, value_end = {};
  Notation values = Notation::kJson;  // of values that are no texts; kPython too, which reads JSON as well
};
inline constexpr ArgumentTags kParameterTags = {"<parameter=", ">\n", "", "\n</parameter>\n", Notation::kPython};
inline constexpr ArgumentTags kSeedTags = {"<parameter=", ">", "", "</parameter>\n", Notation::kPython};
inline constexpr ArgumentTags kMiniMaxTags = {"<parameter name=\"", "\">", "", "</parameter>\n"};
inline constexpr ArgumentTags kGlmTags = {"<arg_key>", "</arg_key>\n", "<arg_value>", "</arg_value>\n"};

struct CallForm {
  ToolForm form;
  std::string_view name;  // for options
  bool is_special;        // its marks are special tokens, whose names an answer's text must have
  Notation notation;
  Several several;
  std::string_view begin, open = {}, call_begin = {}, name_end = {}, call_end = {}, between = {}, close = {}, end = {};
  std::string_view apart_by = {};
  ArgumentTags tags = {};
  std::string_view or_call_end = {};  // that a filter allows too
  bool may_lack_lines = false;        // some models write its marks without their line breaks
  // Calls begin only where the answer does, or after a call. `begin` belongs to the first.
  bool begins_answer = false;
  std::string_view trigger = {};                 // what a filter waits for if it is not `begin`
  bool begins_in_prompt = false;                 // a prompt ends with `begin`, unless the model goes on with a text
  std::array<std::string_view, 2> no_text = {};  // marks around texts, which no reader of the text shall see
};

inline constexpr CallForm kCallForms[] = {
    {.form = ToolForm::kHermes,
     .name = "hermes",
     .is_special = false,
     .notation = Notation::kObjects,
     .several = Several::kApart,
     .begin = "<tool_call>",
     .open = "\n",
     .call_begin = "{\"name\": \"",
     .name_end = "\", \"arguments\": ",
     .call_end = "}",
     .close = "\n",
     .end = "</tool_call>",
     .apart_by = "\n"},
    {.form = ToolForm::kJson,
     .name = "json",
     .is_special = false,
     .notation = Notation::kObjects,
     .several = Several::kApart,
     .begin = "<tool_call>",
     .open = "\n",
     .call_begin = "{\"name\": \"",
     .name_end = "\", \"arguments\": ",
     .call_end = "}",
     .close = "\n",
     .end = "</tool_call>",
     .apart_by = "\n"},
    {.form = ToolForm::kQwenCoder,
     .name = "qwen-coder",
     .is_special = false,
     .notation = Notation::kTags,
     .several = Several::kApart,
     .begin = "<tool_call>",
     .call_begin = "\n<function=",
     .name_end = ">\n",
     .call_end = "</function>\n",
     .end = "</tool_call>",
     .apart_by = "\n",
     .tags = kParameterTags},
    {.form = ToolForm::kSeed,
     .name = "seed",
     .is_special = false,
     .notation = Notation::kTags,
     .several = Several::kApart,
     .begin = "<seed:tool_call>",
     .call_begin = "\n<function=",
     .name_end = ">\n",
     .call_end = "</function>\n",
     .end = "</seed:tool_call>",
     .apart_by = "\n",
     .tags = kSeedTags},
    {.form = ToolForm::kGlm,
     .name = "glm",
     .is_special = false,
     .notation = Notation::kTags,
     .several = Several::kApart,
     .begin = "<tool_call>",
     .name_end = "\n",
     .end = "</tool_call>",
     .apart_by = "\n",
     .tags = kGlmTags,
     .may_lack_lines = true},
    {.form = ToolForm::kLlama3,
     .name = "llama3",
     .is_special = true,
     .notation = Notation::kObjects,
     .several = Several::kNever,
     .begin = "{",
     .call_begin = "\"name\": \"",
     .name_end = "\", \"parameters\": ",
     .call_end = "}",
     .begins_answer = true,
     .trigger = "{\"name\":",
     .no_text = {"<|python_tag|>"}},
    {.form = ToolForm::kMistral,
     .name = "mistral",
     .is_special = true,
     .notation = Notation::kObjects,
     .several = Several::kTogether,
     .begin = "[TOOL_CALLS]",
     .open = "[",
     .call_begin = "{\"name\": \"",
     .name_end = "\", \"arguments\": ",
     .call_end = "}",
     .between = ", ",
     .close = "]",
     .or_call_end = ", \"id\": \"%w\"}"},
    {.form = ToolForm::kMistralArgs,
     .name = "mistral-args",
     .is_special = true,
     .notation = Notation::kJson,
     .several = Several::kApart,
     .begin = "[TOOL_CALLS]",
     .name_end = "[ARGS]"},
    {.form = ToolForm::kMistralIds,
     .name = "mistral-ids",
     .is_special = true,
     .notation = Notation::kJson,
     .several = Several::kApart,
     .begin = "[TOOL_CALLS]",
     .name_end = "[CALL_ID]%w[ARGS]"},
    {.form = ToolForm::kGemma4,
     .name = "gemma4",
     .is_special = true,
     .notation = Notation::kGemma,
     .several = Several::kApart,
     .begin = "<|tool_call>",
     .call_begin = "call:",
     .end = "<tool_call|>",
     .no_text = {"<|tool_response>"}},
    {.form = ToolForm::kFunctionGemma,
     .name = "functiongemma",
     .is_special = true,
     .notation = Notation::kFunctionGemma,
     .several = Several::kApart,
     .begin = "<start_function_call>",
     .call_begin = "call:",
     .end = "<end_function_call>",
     .no_text = {"<start_function_response>"}},
    {.form = ToolForm::kLfm2,
     .name = "lfm2",
     .is_special = true,
     .notation = Notation::kPython,
     .several = Several::kTogether,
     .begin = "<|tool_call_start|>",
     .open = "[",
     .between = ", ",
     .close = "]",
     .end = "<|tool_call_end|>"},
    {.form = ToolForm::kLfm25,
     .name = "lfm2.5",
     .is_special = true,
     .notation = Notation::kPythonAsIs,
     .several = Several::kTogether,
     .begin = "<|tool_call_start|>",
     .open = "[",
     .between = ", ",
     .close = "]",
     .end = "<|tool_call_end|>"},
    {.form = ToolForm::kOlmo3,
     .name = "olmo3",
     .is_special = false,
     .notation = Notation::kPython,
     .several = Several::kTogether,
     .begin = "<function_calls>",
     .open = "\n",
     .between = "\n",
     .close = "\n",
     .end = "</function_calls>"},
    {.form = ToolForm::kPhi4,
     .name = "phi4",
     .is_special = true,
     .notation = Notation::kObjects,
     .several = Several::kApart,
     .begin = "<|tool_call|>",
     .call_begin = "{\"name\": \"",
     .name_end = "\", \"arguments\": ",
     .call_end = "}",
     .end = "<|/tool_call|>"},
    {.form = ToolForm::kGranite,
     .name = "granite",
     .is_special = true,
     .notation = Notation::kObjects,
     .several = Several::kTogether,
     .begin = "<|tool_call|>",
     .open = "[",
     .call_begin = "{\"name\": \"",
     .name_end = "\", \"arguments\": ",
     .call_end = "}",
     .between = ", ",
     .close = "]"},
    {.form = ToolForm::kNemotron,
     .name = "nemotron",
     .is_special = false,
     .notation = Notation::kObjects,
     .several = Several::kTogether,
     .begin = "<TOOLCALL>",
     .open = "[",
     .call_begin = "{\"name\": \"",
     .name_end = "\", \"arguments\": ",
     .call_end = "}",
     .between = ", ",
     .close = "]",
     .end = "</TOOLCALL>"},
    {.form = ToolForm::kDeepSeekV3,
     .name = "deepseek-v3",
     .is_special = true,
     .notation = Notation::kJson,
     .several = Several::kTogether,
     .begin = "<\uFF5Ctool\u2581calls\u2581begin\uFF5C>",
     .call_begin = "<\uFF5Ctool\u2581call\u2581begin\uFF5C>function<\uFF5Ctool\u2581sep\uFF5C>",
     .name_end = "\n```json\n",
     .call_end = "\n```<\uFF5Ctool\u2581call\u2581end\uFF5C>",
     .between = "\n",
     .end = "<\uFF5Ctool\u2581calls\u2581end\uFF5C>"},
    {.form = ToolForm::kDeepSeekV31,
     .name = "deepseek-v3.1",
     .is_special = true,
     .notation = Notation::kJson,
     .several = Several::kTogether,
     .begin = "<\uFF5Ctool\u2581calls\u2581begin\uFF5C>",
     .call_begin = "<\uFF5Ctool\u2581call\u2581begin\uFF5C>",
     .name_end = "<\uFF5Ctool\u2581sep\uFF5C>",
     .call_end = "<\uFF5Ctool\u2581call\u2581end\uFF5C>",
     .end = "<\uFF5Ctool\u2581calls\u2581end\uFF5C>"},
    {.form = ToolForm::kKimiK2,
     .name = "kimi-k2",
     .is_special = true,
     .notation = Notation::kJson,
     .several = Several::kTogether,
     .begin = "<|tool_calls_section_begin|>",
     .call_begin = "<|tool_call_begin|>functions.",
     .name_end = ":%d<|tool_call_argument_begin|>",
     .call_end = "<|tool_call_end|>",
     .end = "<|tool_calls_section_end|>"},
    {.form = ToolForm::kCommandR7b,
     .name = "command-r7b",
     .is_special = true,
     .notation = Notation::kObjects,
     .several = Several::kTogether,
     .begin = "<|START_ACTION|>",
     .open = "[\n    ",
     .call_begin = "{\"tool_call_id\": \"%d\", \"tool_name\": \"",
     .name_end = "\", \"parameters\": ",
     .call_end = "}",
     .between = ",\n    ",
     .close = "\n]",
     .end = "<|END_ACTION|>",
     .no_text = {"<|START_RESPONSE|>", "<|END_RESPONSE|>"}},
    {.form = ToolForm::kCommandR,
     .name = "command-r",
     .is_special = false,
     .notation = Notation::kObjects,
     .several = Several::kTogether,
     .begin = "Action:\n```json\n[",
     .open = "\n    ",
     .call_begin = "{\n        \"tool_name\": \"",
     .name_end = "\",\n        \"parameters\": ",
     .call_end = "\n    }",
     .between = ",\n    ",
     .end = "\n]```"},
    {.form = ToolForm::kFunctionary,
     .name = "functionary-v3.1",
     .is_special = false,
     .notation = Notation::kJson,
     .several = Several::kApart,
     .begin = "<function=",
     .name_end = ">",
     .end = "</function>"},
    {.form = ToolForm::kRecipients,
     .name = "functionary-v3.2",
     .is_special = false,
     .notation = Notation::kJson,
     .several = Several::kApart,
     .begin = ">>>",
     .name_end = "\n",
     .begins_in_prompt = true,
     .no_text = {">>>all\n"}},
    {.form = ToolForm::kFireFunction,
     .name = "firefunction",
     .is_special = false,
     .notation = Notation::kObjects,
     .several = Several::kTogether,
     .begin = "functools[",
     .call_begin = "{\"name\": \"",
     .name_end = "\", \"arguments\": ",
     .call_end = "}",
     .between = ", ",
     .end = "]"},
    {.form = ToolForm::kMiniMax,
     .name = "minimax-m2",
     .is_special = false,
     .notation = Notation::kTags,
     .several = Several::kTogether,
     .begin = "<minimax:tool_call>",
     .open = "\n",
     .call_begin = "<invoke name=\"",
     .name_end = "\">\n",
     .call_end = "</invoke>\n",
     .end = "</minimax:tool_call>",
     .tags = kMiniMaxTags},
    {.form = ToolForm::kHunyuan,
     .name = "hunyuan",
     .is_special = false,
     .notation = Notation::kObjects,
     .several = Several::kTogether,
     .begin = "<tool_calls>",
     .open = "[",
     .call_begin = "{\"name\": \"",
     .name_end = "\", \"arguments\": ",
     .call_end = "}",
     .between = ", ",
     .close = "]",
     .end = "</tool_calls>"},
    {.form = ToolForm::kGigaChat,
     .name = "gigachat",
     .is_special = true,
     .notation = Notation::kObjects,
     .several = Several::kNever,
     .begin = "<|function_call|>",
     .call_begin = "{\"name\": \"",
     .name_end = "\", \"arguments\": ",
     .call_end = "}"},
    {.form = ToolForm::kApertus,
     .name = "apertus",
     .is_special = true,
     .notation = Notation::kNamesFirst,
     .several = Several::kTogether,
     .begin = "<|tools_prefix|>",
     .open = "[",
     .call_begin = "{\"",
     .name_end = "\": ",
     .call_end = "}",
     .between = ", ",
     .close = "]",
     .end = "<|tools_suffix|>"},
};

// Texts by which templates are known that write a form: all of a line. The first such line counts.
struct FormSigns {
  ToolForm form;
  std::array<std::string_view, 2> all;
};
inline constexpr FormSigns kFormSigns[] = {
    {ToolForm::kHarmony, {"<|channel|>", "<|start|>"}},
    {ToolForm::kSeed, {"<seed:tool_call>"}},
    {ToolForm::kGlm, {"<tool_call>", "<arg_key>"}},
    {ToolForm::kQwenCoder, {"<tool_call>", "<function="}},
    {ToolForm::kGemma4, {"<|tool_call>"}},
    {ToolForm::kFunctionGemma, {"<start_function_call>"}},
    {ToolForm::kOlmo3, {"<function_calls>"}},
    {ToolForm::kLfm25, {"<|tool_call_start|>", "\"'\" + arg_value + \"'\""}},
    {ToolForm::kLfm2, {"<|tool_call_start|>"}},
    {ToolForm::kLfm2, {"<|tool_list_start|>"}},
    {ToolForm::kLfm2, {"<|im_start|>", "List of tools: "}},
    {ToolForm::kMiniMax, {"<minimax:tool_call>", "<invoke name="}},
    {ToolForm::kGigaChat, {"<|function_call|>"}},
    {ToolForm::kPhi4, {"<|/tool_call|>"}},
    {ToolForm::kPhi4, {"<|/tool|>"}},
    {ToolForm::kKimiK2, {"<|tool_calls_section_begin|>"}},
    {ToolForm::kDeepSeekV3, {"<\uFF5Ctool\u2581calls\u2581begin\uFF5C>", "```json"}},
    {ToolForm::kDeepSeekV31, {"<\uFF5Ctool\u2581calls\u2581begin\uFF5C>"}},
    {ToolForm::kNemotron, {"<TOOLCALL>"}},
    {ToolForm::kCommandR7b, {"<|START_ACTION|>"}},
    {ToolForm::kCommandR, {"Action:", "\"tool_name\""}},
    {ToolForm::kApertus, {"<|tools_prefix|>"}},
    {ToolForm::kRecipients, {">>>all"}},
    {ToolForm::kHunyuan, {"<tool_calls>["}},
    {ToolForm::kUnknown, {"<tool_call>", "<invoke name="}},
    {ToolForm::kHermes, {"<tool_call>"}},
    {ToolForm::kMistralIds, {"[TOOL_CALLS]", "[CALL_ID]"}},
    {ToolForm::kMistralArgs, {"[TOOL_CALLS]", "[ARGS]"}},
    {ToolForm::kMistral, {"[TOOL_CALLS]"}},
    {ToolForm::kFireFunction, {"functools["}},
    {ToolForm::kFunctionary, {"<function="}},
    {ToolForm::kGranite, {"<|tool_call|>"}},
    {ToolForm::kLlama3, {"<|python_tag|>"}},
    {ToolForm::kLlama3, {"\"parameters\"", "<|eot_id|>"}},
};

// Thoughts, which begin an answer.
struct ThoughtForm {
  std::string_view sign, begin, end;  // the first whose sign a template has counts
  bool is_special;
};
inline constexpr ThoughtForm kThoughtForms[] = {
    {"[THINK]", "[THINK]", "[/THINK]", true},
    {"<seed:think>", "<seed:think>", "</seed:think>", false},
    {"<|channel>thought", "<|channel>thought\n", "<channel|>", true},
    {"<|START_THINKING|>", "<|START_THINKING|>", "<|END_THINKING|>", true},
    {"<|inner_prefix|>", "<|inner_prefix|>", "<|inner_suffix|>", true},
    {"<think>", "<think>", "</think>", false},
};

// The row of a form, or null of kHarmony and kUnknown.
inline constexpr const CallForm* FindForm(ToolForm form) {
  for (const CallForm& row : kCallForms) {
    if (row.form == form) return &row;
  }
  return nullptr;
}

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_CALLS_DETAIL_CALL_FORMS_H_
