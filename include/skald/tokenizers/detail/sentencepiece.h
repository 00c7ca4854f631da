// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/tokenizers/sentencepiece.h.

#ifndef SKALD_TOKENIZERS_DETAIL_SENTENCEPIECE_H_
#define SKALD_TOKENIZERS_DETAIL_SENTENCEPIECE_H_

#include "skald/tokenizers/sentencepiece.h"

#include <string>

#include "skald/base/files/path_text.h"
#include "skald/base/files/small_file.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/tokenizers/detail/sentencepiece/sentencepiece_engine.h"

namespace skald {

SKALD_INLINE Result<Tokenizer> LoadSentencePiece(const std::filesystem::path& path) {
  return NoThrow(PathText(path), [&]() -> Result<Tokenizer> {
    const Result<std::string> bytes = ReadSmallFile(path, kMaxTokenizerFile);
    if (!bytes) return Fail(bytes.error().code, bytes.error().message + "; expected a SentencePiece model");
    auto engine = internal::SentencePieceEngine::Parse(*bytes);
    if (!engine) return Annotate(PathText(path), engine);
    return Tokenizer::From(*engine);
  });
}

}  // namespace skald

#endif  // SKALD_TOKENIZERS_DETAIL_SENTENCEPIECE_H_
