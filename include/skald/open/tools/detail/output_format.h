// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/tools/output_format.h.

#ifndef SKALD_OPEN_TOOLS_DETAIL_OUTPUT_FORMAT_H_
#define SKALD_OPEN_TOOLS_DETAIL_OUTPUT_FORMAT_H_

#include "skald/open/tools/output_format.h"

#include <algorithm>

#include "skald/base/inline.h"
#include "skald/base/text/message.h"
#include "skald/base/text/printable.h"
#include "skald/open/tools/calls/forms/detail/call_forms.h"
#include "skald/open/tools/calls/forms/detail/form_signs.h"

namespace skald {

namespace internal::calls {

inline constexpr std::string_view kHarmonyName = "harmony";

inline bool Has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace internal::calls

SKALD_INLINE bool KnowsTools(std::string_view template_source) {
  return internal::calls::Has(template_source, "tools") || internal::calls::Has(template_source, "tool_calls");
}

SKALD_INLINE OutputFormat OutputFormatOf(std::string_view template_source) {
  namespace calls = internal::calls;
  const auto has = [&](std::string_view text) { return calls::Has(template_source, text); };
  OutputFormat format;
  if (KnowsTools(template_source)) format.tools = ToolForm::kUnknown;
  for (const calls::FormSigns& signs : calls::kFormSigns) {
    // Harmony is known by its channels, with tools or without.
    if (format.tools == ToolForm::kJson && signs.form != ToolForm::kHarmony) continue;
    if (!std::ranges::all_of(signs.all, has)) continue;
    format.tools = signs.form;
    break;
  }
  if (format.tools == ToolForm::kHarmony) return format;
  const auto thought = std::ranges::find_if(calls::kThoughtForms, has, &calls::ThoughtForm::sign);
  if (thought != std::end(calls::kThoughtForms)) {
    format.think_begin = thought->begin;
    format.think_end = thought->end;
  }
  return format;
}

SKALD_INLINE bool OutputFormat::needs_special_text() const {
  if (tools == ToolForm::kHarmony) return true;
  const internal::calls::CallForm* const form = internal::calls::FindForm(tools);
  return (form != nullptr && form->is_special) ||
         std::ranges::any_of(internal::calls::kThoughtForms, [&](const internal::calls::ThoughtForm& thought) {
           return thought.is_special && thought.begin == think_begin;
         });
}

SKALD_INLINE std::vector<std::string> ToolFormNames() {
  std::vector<std::string> names;
  for (const internal::calls::CallForm& form : internal::calls::kCallForms) names.emplace_back(form.name);
  names.emplace_back(internal::calls::kHarmonyName);
  return names;
}

SKALD_INLINE Result<ToolForm> ToolFormNamed(std::string_view name) {
  if (name == internal::calls::kHarmonyName) return ToolForm::kHarmony;
  std::string known;
  for (const internal::calls::CallForm& form : internal::calls::kCallForms) {
    if (form.name == name) return form.form;
    known.append(form.name).append(", ");
  }
  return Fail(ErrorCode::kInvalidArgument, Concat({"there is no form of tool calls named ", QuotedName(name),
                                                   ", expected one of: ", known, internal::calls::kHarmonyName}));
}

SKALD_INLINE std::string_view NameOf(ToolForm form) {
  if (form == ToolForm::kHarmony) return internal::calls::kHarmonyName;
  const internal::calls::CallForm* const row = internal::calls::FindForm(form);
  return row == nullptr ? "unknown" : row->name;
}

}  // namespace skald

#endif  // SKALD_OPEN_TOOLS_DETAIL_OUTPUT_FORMAT_H_
