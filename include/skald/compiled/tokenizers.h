// SPDX-License-Identifier: Apache-2.0
//
// The definitions in tokenizers/, for the one source of a program that compiles them (skald/compiled.h).
// They need SentencePiece, Oniguruma and utf8proc.

#ifndef SKALD_COMPILED_TOKENIZERS_H_
#define SKALD_COMPILED_TOKENIZERS_H_

#include "skald/tokenizers/detail/encoder_input.h"
#include "skald/tokenizers/detail/gguf_entries.h"
#include "skald/tokenizers/detail/gguf_tokenizer.h"
#include "skald/tokenizers/detail/sentencepiece.h"
#include "skald/tokenizers/detail/stream_decoder.h"
#include "skald/tokenizers/detail/tokenizer.h"
#include "skald/tokenizers/detail/tokenizer_engine.h"
#include "skald/tokenizers/detail/tokenizer_file.h"
#include "skald/tokenizers/detail/tokenizer_spec.h"
#include "skald/tokenizers/detail/tokenizer_value.h"

#endif  // SKALD_COMPILED_TOKENIZERS_H_
