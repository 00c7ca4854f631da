// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/tools/output_format.h.

#ifndef SKALD_OPEN_TOOLS_DETAIL_OUTPUT_FORMAT_H_
#define SKALD_OPEN_TOOLS_DETAIL_OUTPUT_FORMAT_H_

#include "skald/open/tools/output_format.h"

#include <string_view>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE OutputFormat OutputFormatOf(std::string_view template_source) {
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
    format.mistral_arguments = has("[ARGS]");
  } else if (has("<|python_tag|>") || (has("\"parameters\"") && has("<|eot_id|>"))) {
    format.tools = ToolForm::kLlama3;
  } else {
    format.tools = ToolForm::kUnknown;
  }
  return format;
}

}  // namespace skald

#endif  // SKALD_OPEN_TOOLS_DETAIL_OUTPUT_FORMAT_H_
