// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/constraints/grammar/grammar.h.

#ifndef SKALD_CONSTRAINTS_GRAMMAR_DETAIL_GRAMMAR_H_
#define SKALD_CONSTRAINTS_GRAMMAR_DETAIL_GRAMMAR_H_

#include "skald/constraints/grammar/grammar.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE Grammar::Grammar(std::string root_name) {
  Add(Sequence{});
  AddRule(std::move(root_name));
}

SKALD_INLINE Grammar::Rule Grammar::AddRule(std::string name) {
  rules_.push_back({std::move(name), kEmpty});
  return static_cast<Rule>(rules_.size() - 1);
}

}  // namespace skald

#endif  // SKALD_CONSTRAINTS_GRAMMAR_DETAIL_GRAMMAR_H_
