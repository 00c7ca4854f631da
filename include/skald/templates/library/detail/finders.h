// SPDX-License-Identifier: Apache-2.0
//
// All filters, tests and methods that there are, by name.

#ifndef SKALD_TEMPLATES_LIBRARY_DETAIL_FINDERS_H_
#define SKALD_TEMPLATES_LIBRARY_DETAIL_FINDERS_H_

#include <string_view>

#include "skald/templates/library/detail/list_filters.h"
#include "skald/templates/library/detail/methods.h"
#include "skald/templates/library/detail/tests.h"
#include "skald/templates/library/detail/text_filters.h"
#include "skald/templates/library/detail/word_wrap.h"
#include "skald/templates/values/machine.h"

namespace skald::internal::jinja {

inline const Builtin* FindFilter(std::string_view name) {
  for (const Builtin* const filter : {FindIn(kTextFilters, name), FindIn(kListFilters, name)}) {
    if (filter != nullptr) return filter;
  }
  return FindIn(kWrapFilters, name);
}

inline const Builtin* FindTest(std::string_view name) { return FindIn(kTests, name); }

inline constexpr Finders kFinders = {FindMethod, FindFilter, FindTest};

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_LIBRARY_DETAIL_FINDERS_H_
