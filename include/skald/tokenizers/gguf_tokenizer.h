// SPDX-License-Identifier: Apache-2.0
//
// The steps of a tokenizer that a GGUF file holds in its metadata. Tokenizer::Load makes a tokenizer of these. Pure;
// safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_GGUF_TOKENIZER_H_
#define SKALD_TOKENIZERS_GGUF_TOKENIZER_H_

#include "skald/base/result.h"
#include "skald/tokenizers/tokenizer_spec.h"
#include "skald/weights/files/gguf_metadata.h"

namespace skald {

/// Returns what the tokenizer that `metadata` describe does, step by step. Errors: those
/// of Tokenizer::Load, and kUnsupported for a SentencePiece tokenizer.
Result<TokenizerSpec> TokenizerSpecFromGguf(const GgufMetadata& metadata);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/tokenizers/detail/gguf_tokenizer.h"
#endif

#endif  // SKALD_TOKENIZERS_GGUF_TOKENIZER_H_
