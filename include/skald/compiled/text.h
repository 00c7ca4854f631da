// SPDX-License-Identifier: Apache-2.0
//
// Definitions of text/, for the one source of a program that compiles them (skald/compiled.h).
// They need SentencePiece, Oniguruma and utf8proc.

#ifndef SKALD_COMPILED_TEXT_H_
#define SKALD_COMPILED_TEXT_H_

#include "skald/text/detail/chat.h"
#include "skald/text/detail/generation_config.h"
#include "skald/text/detail/gguf_tokenizer.h"
#include "skald/text/detail/marked_text.h"
#include "skald/text/detail/sentencepiece.h"
#include "skald/text/detail/stream_decoder.h"
#include "skald/text/detail/tokenizer.h"
#include "skald/text/detail/tokenizer_file.h"
#include "skald/text/detail/tokenizer_value.h"
#include "skald/text/filters/detail/gbnf.h"
#include "skald/text/filters/detail/grammar_filter.h"
#include "skald/text/filters/detail/grammar_masks.h"
#include "skald/text/filters/detail/json_schema.h"
#include "skald/text/filters/detail/token_filter.h"
#include "skald/text/filters/detail/token_vocabulary.h"
#include "skald/text/filters/grammar/detail/automaton.h"
#include "skald/text/filters/grammar/detail/automaton_analysis.h"
#include "skald/text/filters/grammar/detail/automaton_making.h"
#include "skald/text/filters/grammar/detail/characters.h"
#include "skald/text/filters/grammar/detail/counted_loops.h"
#include "skald/text/filters/grammar/detail/explorer.h"
#include "skald/text/filters/grammar/detail/grammar.h"
#include "skald/text/filters/grammar/detail/rule_graph.h"
#include "skald/text/filters/grammar/detail/shortest_text.h"
#include "skald/text/templates/detail/built_in.h"
#include "skald/text/templates/detail/chat_template.h"
#include "skald/text/templates/detail/published.h"
#include "skald/text/templates/detail/variables.h"
#include "skald/text/templates/syntax/detail/syntax.h"
#include "skald/text/templates/values/detail/machine.h"
#include "skald/text/templates/values/detail/value.h"
#include "skald/text/tokenizers/detail/tokenizer_engine.h"
#include "skald/text/tokenizers/detail/tokenizer_spec.h"

#endif  // SKALD_COMPILED_TEXT_H_
