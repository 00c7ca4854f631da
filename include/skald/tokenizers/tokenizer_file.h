// SPDX-License-Identifier: Apache-2.0
//
// Where a model's tokenizer lies. Safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_TOKENIZER_FILE_H_
#define SKALD_TOKENIZERS_TOKENIZER_FILE_H_

#include <filesystem>
#include <string_view>

#include "skald/base/result.h"

namespace skald {

/// The name under which a packed file keeps the model's tokenizer, as Tokenizer::ToBytes has it.
inline constexpr std::string_view kPackedTokenizer = "tokenizer.skald";

/// Returns the file of a folder that Tokenizer::Load reads: tokenizer.json, else tokenizer.model, else RWKV's or
/// PLaMo's list of pieces, else those of encoders: XLM-RoBERTa's sentencepiece.bpe.model, T5's spiece.model, BERT's
/// vocab.txt. Where a model was given further tokens after its training, as most that chat were, only the first has
/// them. Error: kNotFound.
Result<std::filesystem::path> TokenizerFileIn(const std::filesystem::path& folder);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/tokenizers/detail/tokenizer_file.h"
#endif

#endif  // SKALD_TOKENIZERS_TOKENIZER_FILE_H_
