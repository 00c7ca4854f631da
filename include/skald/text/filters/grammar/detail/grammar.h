// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/text/filters/grammar/grammar.h.

#ifndef SKALD_TEXT_FILTERS_GRAMMAR_DETAIL_GRAMMAR_H_
#define SKALD_TEXT_FILTERS_GRAMMAR_DETAIL_GRAMMAR_H_

#include "skald/text/filters/grammar/grammar.h"

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

#endif  // SKALD_TEXT_FILTERS_GRAMMAR_DETAIL_GRAMMAR_H_
