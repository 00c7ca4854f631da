// SPDX-License-Identifier: Apache-2.0
//
// Which file of a model's folder is its tokenizer. Safe for concurrent calls.

#ifndef SKALD_TEXT_TOKENIZER_FILE_H_
#define SKALD_TEXT_TOKENIZER_FILE_H_

#include <filesystem>
#include <system_error>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"

namespace skald {

// Returns the file of a folder that Tokenizer::Load reads: tokenizer.json, else tokenizer.model, else RWKV's list of
// pieces. Where a model was given further tokens after its training, as most that chat were, only the first has them.
// Error: kNotFound.
inline Result<std::filesystem::path> TokenizerFileIn(const std::filesystem::path& folder) {
  return NoThrow(folder.native(), [&]() -> Result<std::filesystem::path> {
    for (const char* const name : {"tokenizer.json", "tokenizer.model", "rwkv_vocab_v20230424.txt"}) {
      std::error_code ignored;
      if (std::filesystem::exists(folder / name, ignored)) return folder / name;
    }
    return Fail(
        ErrorCode::kNotFound,
        folder.string() + ": is a folder with neither a tokenizer.json nor a SentencePiece model tokenizer.model");
  });
}

}  // namespace skald

#endif  // SKALD_TEXT_TOKENIZER_FILE_H_
