// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/tokenizers/tokenizer_file.h.

#ifndef SKALD_TOKENIZERS_DETAIL_TOKENIZER_FILE_H_
#define SKALD_TOKENIZERS_DETAIL_TOKENIZER_FILE_H_

#include "skald/tokenizers/tokenizer_file.h"

#include "skald/base/files/file_calls.h"
#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE Result<std::filesystem::path> TokenizerFileIn(const std::filesystem::path& folder) {
  return NoThrow(PathText(folder), [&]() -> Result<std::filesystem::path> {
    for (const char* const name : {"tokenizer.json", "tokenizer.model", "rwkv_vocab_v20230424.txt", "tokenizer.jsonl",
                                   "sentencepiece.bpe.model", "spiece.model", "vocab.txt"}) {
      if (internal::Exists(folder / name)) return folder / name;
    }
    return Fail(
        ErrorCode::kNotFound,
        PathText(folder) + ": is a folder with neither a tokenizer.json nor a SentencePiece model tokenizer.model");
  });
}

}  // namespace skald

#endif  // SKALD_TOKENIZERS_DETAIL_TOKENIZER_FILE_H_
