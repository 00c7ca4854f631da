// SPDX-License-Identifier: Apache-2.0
//
// Grammars in GBNF, the format of llama.cpp: rules `name ::= ...` of literals "...", characters [a-z], any character .,
// names, parentheses, alternatives |, and repetitions * + ? {m} {m,} {m,n}. The rule `root` is the whole text. Source:
// grammars/README.md of github.com/ggml-org/llama.cpp. Its terminals for single tokens (<...>) are not supported, nor
// is left recursion.

#ifndef SKALD_CONSTRAINTS_GBNF_H_
#define SKALD_CONSTRAINTS_GBNF_H_

#include <string_view>

#include "skald/base/result.h"
#include "skald/constraints/grammar/grammar.h"

namespace skald {

/// Errors name the line, and say what was expected.
Result<Grammar> ParseGbnf(std::string_view text);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/constraints/detail/gbnf.h"
#endif

#endif  // SKALD_CONSTRAINTS_GBNF_H_
