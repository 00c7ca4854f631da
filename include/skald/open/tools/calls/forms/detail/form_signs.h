// SPDX-License-Identifier: Apache-2.0
//
// By what the source of a chat template tells the forms of calls and thoughts that it writes, as tables.

#ifndef SKALD_OPEN_TOOLS_CALLS_FORMS_DETAIL_FORM_SIGNS_H_
#define SKALD_OPEN_TOOLS_CALLS_FORMS_DETAIL_FORM_SIGNS_H_

#include <array>
#include <string_view>

#include "skald/open/tools/output_format.h"

namespace skald::internal::calls {

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
    {ToolForm::kMiniMaxM1, {"<tool_calls>\\n{"}},
    {ToolForm::kHy3, {"<tool_sep{}>", ":opensource"}},
    {ToolForm::kDeepSeekV32, {"\uFF5CDSML\uFF5C", "function_calls>"}},
    {ToolForm::kDeepSeekV4, {"\uFF5CDSML\uFF5C", "tool_calls>"}},
    {ToolForm::kKimiK3, {"<|open|>", "open_tag('tools')"}},
    {ToolForm::kSolar, {"<|tool_call:begin|>"}},
    {ToolForm::kUnknown, {"<tool_call>", "<invoke name="}},
    {ToolForm::kErnie, {"<tool_call>", "<response>"}},
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
    {"<think{}>", "<think:opensource>", "</think:opensource>", true},
    {"open_tag('think')", "<|open|>think<|sep|>", "<|close|>think<|sep|>", true},
    {"<|begin|>assistant<|think|>", "<|think|>", "<|end|>", true},
    {"<think>", "<think>", "</think>", false},
};

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_CALLS_FORMS_DETAIL_FORM_SIGNS_H_
