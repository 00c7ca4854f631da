// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer and the chat template that a GGUF file holds in its metadata, so that texts have the ids that they have
// with the original. Names and defaults are those of llama.cpp (https://github.com/ggml-org/llama.cpp, llama-vocab.cpp
// and convert_hf_to_gguf.py). Pure; safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_GGUF_TOKENIZER_H_
#define SKALD_TOKENIZERS_GGUF_TOKENIZER_H_

#include <string>

#include "skald/base/result.h"
#include "skald/tokenizers/tokenizer_spec.h"
#include "skald/tokenizers/tokenizer_value.h"
#include "skald/weights/files/gguf_metadata.h"

namespace skald {

/// Returns the tokenizer that values of names like "tokenizer.ggml.tokens" in `metadata` describe. Errors: kNotFound if
/// there is none; kUnsupported for one of another kind than "llama", "gpt2" and "rwkv", or with a pre-tokenizer of an
/// unknown name; kDataLoss and those of Tokenizer::Parse for values that cannot be right.
Result<Tokenizer> TokenizerFromGguf(const GgufMetadata& metadata);

/// Returns the SentencePiece model, as the content of its file, that `metadata` describe. Errors: the same, and
/// kUnsupported for a byte-level tokenizer.
Result<std::string> SentencePieceFromGguf(const GgufMetadata& metadata);

/// Returns what the byte-level tokenizer, or RWKV's, that `metadata` describe does, step by step. Errors: the same, and
/// kUnsupported for a SentencePiece tokenizer.
Result<TokenizerSpec> TokenizerSpecFromGguf(const GgufMetadata& metadata);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/tokenizers/detail/gguf_tokenizer.h"
#endif

#endif  // SKALD_TOKENIZERS_GGUF_TOKENIZER_H_
