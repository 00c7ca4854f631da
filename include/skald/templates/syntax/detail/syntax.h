// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/templates/syntax/syntax.h.

#ifndef SKALD_TEMPLATES_SYNTAX_DETAIL_SYNTAX_H_
#define SKALD_TEMPLATES_SYNTAX_DETAIL_SYNTAX_H_

#include "skald/templates/syntax/syntax.h"

#include "skald/base/inline.h"

namespace skald {

namespace internal {

namespace jinja {

SKALD_INLINE int Names::Add(std::string_view name) {
  const auto known = numbers_.find(name);
  if (known != numbers_.end()) return known->second;
  texts_.emplace_back(name);
  return numbers_.emplace(std::string(name), static_cast<int>(texts_.size()) - 1).first->second;
}

SKALD_INLINE int Names::Find(std::string_view name) const {
  const auto known = numbers_.find(name);
  return known == numbers_.end() ? -1 : known->second;
}

}  // namespace jinja
}  // namespace internal
}  // namespace skald

#endif  // SKALD_TEMPLATES_SYNTAX_DETAIL_SYNTAX_H_
