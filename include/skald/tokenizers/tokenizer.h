// SPDX-License-Identifier: Apache-2.0
//
// Tokenizers as models' publishers write them down: SentencePiece models (tokenizer.model of Gemma, Llama 2, Mistral),
// Hugging Face's tokenizer.json (Llama 3, Qwen and most others), RWKV's lists of pieces, the metadata of GGUF files,
// and Skald's own form, which opens at once. tokenizer_value.h describes a Tokenizer. Any file that is missing, cut
// short or of another kind is an Error.

#ifndef SKALD_TOKENIZERS_TOKENIZER_H_
#define SKALD_TOKENIZERS_TOKENIZER_H_

#include "skald/base/result.h"
#include "skald/tokenizers/tokenizer_spec.h"
#include "skald/tokenizers/tokenizer_value.h"

#ifndef SKALD_COMPILED
#include "skald/tokenizers/detail/tokenizer.h"
#endif

#endif  // SKALD_TOKENIZERS_TOKENIZER_H_
