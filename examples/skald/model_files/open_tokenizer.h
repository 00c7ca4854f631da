// SPDX-License-Identifier: Apache-2.0
//
// Tokenizers from any file that holds one. Only open_tokenizer.cc compiles the kinds of tokenizers that there are.

#ifndef SKALD_EXAMPLES_SKALD_MODEL_FILES_OPEN_TOKENIZER_H_
#define SKALD_EXAMPLES_SKALD_MODEL_FILES_OPEN_TOKENIZER_H_

#include <filesystem>
#include <string_view>

#include "skald/base/result.h"
#include "skald/tokenizers/tokenizer_value.h"
#include "skald/weights/files/gguf_metadata.h"

namespace skald::program {

// Opens the tokenizer of a folder, a tokenizer's own file or a GGUF file. Errors: those of Tokenizer::Load and
// TokenizerFromGguf.
Result<Tokenizer> OpenTokenizer(const std::filesystem::path& path);

// See TokenizerFromGguf.
Result<Tokenizer> OpenTokenizer(const GgufMetadata& metadata);

// See Tokenizer::Parse.
Result<Tokenizer> ParseTokenizer(std::string_view bytes);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_MODEL_FILES_OPEN_TOKENIZER_H_
