// SPDX-License-Identifier: Apache-2.0
//
// All forms of calls, by their numbers.

#ifndef SKALD_OPEN_TOOLS_CALLS_FORMS_DETAIL_CALL_FORMS_H_
#define SKALD_OPEN_TOOLS_CALLS_FORMS_DETAIL_CALL_FORMS_H_

#include <algorithm>
#include <array>
#include <iterator>

#include "skald/open/tools/calls/forms/detail/call_form.h"
#include "skald/open/tools/calls/forms/detail/named_forms.h"
#include "skald/open/tools/calls/forms/detail/object_forms.h"

namespace skald::internal::calls {

inline constexpr auto kCallForms = [] {
  std::array<CallForm, std::size(kObjectForms) + std::size(kNamedForms)> all = {};
  std::ranges::copy(kNamedForms, std::ranges::copy(kObjectForms, all.begin()).out);
  return all;
}();

// The row of a form, or null of kHarmony and kUnknown.
inline constexpr const CallForm* FindForm(ToolForm form) {
  for (const CallForm& row : kCallForms) {
    if (row.form == form) return &row;
  }
  return nullptr;
}

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_CALLS_FORMS_DETAIL_CALL_FORMS_H_
