// SPDX-License-Identifier: Apache-2.0
//
// Texts that end where a mark begins, as a grammar.

#ifndef SKALD_CONSTRAINTS_GRAMMAR_TEXT_WITHOUT_H_
#define SKALD_CONSTRAINTS_GRAMMAR_TEXT_WITHOUT_H_

#include <string_view>

#include "skald/constraints/grammar/grammar.h"

namespace skald {

/// Adds any text of whole characters that does not have `mark` within. The mark is UTF-8, not empty, and its first
/// character comes nowhere else in it. Throws std::bad_alloc.
Grammar::Expression AddTextWithout(std::string_view mark, Grammar& grammar);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/constraints/grammar/detail/text_without.h"
#endif

#endif  // SKALD_CONSTRAINTS_GRAMMAR_TEXT_WITHOUT_H_
