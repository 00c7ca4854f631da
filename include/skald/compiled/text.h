// SPDX-License-Identifier: Apache-2.0
//
// Definitions of text/, for the one source of a program that compiles them (skald/compiled.h).
// They need SentencePiece, Oniguruma and utf8proc.

#ifndef SKALD_COMPILED_TEXT_H_
#define SKALD_COMPILED_TEXT_H_

#include "skald/open/detail/chat.h"
#include "skald/open/detail/generation_config.h"
#include "skald/tokenizers/detail/gguf_tokenizer.h"
#include "skald/base/text/detail/marked_text.h"
#include "skald/tokenizers/detail/sentencepiece.h"
#include "skald/tokenizers/detail/stream_decoder.h"
#include "skald/tokenizers/detail/tokenizer.h"
#include "skald/tokenizers/detail/tokenizer_file.h"
#include "skald/tokenizers/detail/tokenizer_value.h"
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
#include "skald/templates/detail/built_in.h"
#include "skald/templates/detail/chat_template.h"
#include "skald/templates/detail/published.h"
#include "skald/templates/detail/variables.h"
#include "skald/templates/syntax/detail/syntax.h"
#include "skald/templates/values/detail/machine.h"
#include "skald/templates/values/detail/value.h"
#include "skald/tokenizers/detail/tokenizer_engine.h"
#include "skald/tokenizers/detail/tokenizer_spec.h"

#endif  // SKALD_COMPILED_TEXT_H_
