// SPDX-License-Identifier: Apache-2.0
//
// Only SentencePiece models, for programs that need no other kind: what tokenizer.h reads too, with a dependency less
// and less to compile.

#ifndef SKALD_TEXT_SENTENCEPIECE_H_
#define SKALD_TEXT_SENTENCEPIECE_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "skald/base/files/small_file.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/text/tokenizer_value.h"
#include "skald/text/tokenizers/sentencepiece/sentencepiece_engine.h"

namespace skald {

// Reads a SentencePiece model, tokenizer.model, of at most kMaxTokenizerFile bytes. Errors name the file.
inline Result<Tokenizer> LoadSentencePiece(const std::filesystem::path& path) {
  return NoThrow(path.native(), [&]() -> Result<Tokenizer> {
    const Result<std::string> bytes = ReadSmallFile(path, kMaxTokenizerFile);
    if (!bytes) return Fail(bytes.error().code, bytes.error().message + "; expected a SentencePiece model");
    auto engine = internal::SentencePieceEngine::Parse(*bytes);
    if (!engine) return Annotate(path.string(), engine);
    return Tokenizer::From(*engine);
  });
}

}  // namespace skald

#endif  // SKALD_TEXT_SENTENCEPIECE_H_
