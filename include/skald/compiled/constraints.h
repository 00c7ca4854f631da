// SPDX-License-Identifier: Apache-2.0
//
// The definitions in constraints/, for the one source of a program that compiles them (skald/compiled.h).
// They need what skald/compiled/tokenizers.h does.

#ifndef SKALD_COMPILED_CONSTRAINTS_H_
#define SKALD_COMPILED_CONSTRAINTS_H_

#include "skald/constraints/detail/gbnf.h"
#include "skald/constraints/detail/grammar_filter.h"
#include "skald/constraints/detail/grammar_masks.h"
#include "skald/constraints/detail/json_schema.h"
#include "skald/constraints/detail/token_filter.h"
#include "skald/constraints/detail/token_vocabulary.h"
#include "skald/constraints/grammar/detail/automaton.h"
#include "skald/constraints/grammar/detail/automaton_analysis.h"
#include "skald/constraints/grammar/detail/automaton_making.h"
#include "skald/constraints/grammar/detail/characters.h"
#include "skald/constraints/grammar/detail/counted_loops.h"
#include "skald/constraints/grammar/detail/explorer.h"
#include "skald/constraints/grammar/detail/grammar.h"
#include "skald/constraints/grammar/detail/rule_graph.h"
#include "skald/constraints/grammar/detail/shortest_text.h"
#include "skald/constraints/grammar/detail/text_without.h"

#endif  // SKALD_COMPILED_CONSTRAINTS_H_
