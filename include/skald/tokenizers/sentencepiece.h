// SPDX-License-Identifier: Apache-2.0
//
// Only SentencePiece models, for programs that need no other kind: what tokenizer.h reads too, with a dependency less
// and less to compile.

#ifndef SKALD_TOKENIZERS_SENTENCEPIECE_H_
#define SKALD_TOKENIZERS_SENTENCEPIECE_H_

#include <filesystem>

#include "skald/base/result.h"
#include "skald/tokenizers/tokenizer_value.h"

namespace skald {

/// Reads a SentencePiece model, tokenizer.model, of at most kMaxTokenizerFile bytes. Errors name the file.
Result<Tokenizer> LoadSentencePiece(const std::filesystem::path& path);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/tokenizers/detail/sentencepiece.h"
#endif

#endif  // SKALD_TOKENIZERS_SENTENCEPIECE_H_
