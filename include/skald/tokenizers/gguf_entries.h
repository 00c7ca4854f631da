// SPDX-License-Identifier: Apache-2.0
//
// Says in the metadata of a GGUF file what a tokenizer is: the inverse of gguf_tokenizer.h. Names and habits are those
// of llama.cpp (https://github.com/ggml-org/llama.cpp, conversion/).

#ifndef SKALD_TOKENIZERS_GGUF_ENTRIES_H_
#define SKALD_TOKENIZERS_GGUF_ENTRIES_H_

#include <cstddef>
#include <filesystem>
#include <vector>

#include "skald/base/result.h"
#include "skald/weights/writing/gguf_draft.h"

namespace skald {

/// Returns the entries "tokenizer.ggml.*" of the tokenizer in a folder, for a model whose embedding has `rows` rows:
/// rows without a piece are unused ones. Errors, which name the file: those of reading it; kUnsupported for a tokenizer
/// of another kind than merges of bytes, whose split pattern GGUF files have a name for, merges by score, word pieces
/// as BERT has them, and likeliest pieces as XLM-RoBERTa, T5 and PLaMo 2 have them.
Result<std::vector<GgufEntry>> GgufTokenizerEntries(const std::filesystem::path& folder, size_t rows);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/tokenizers/detail/gguf_entries.h"
#endif

#endif  // SKALD_TOKENIZERS_GGUF_ENTRIES_H_
