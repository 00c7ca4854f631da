// SPDX-License-Identifier: Apache-2.0

#include "model_files/open_tokenizer.h"

#include "skald/tokenizers/gguf_tokenizer.h"
#include "skald/tokenizers/tokenizer.h"
#include "skald/weights/files/gguf.h"

namespace skald::program {

Result<Tokenizer> OpenTokenizer(const std::filesystem::path& path) {
  if (!IsGgufFile(path)) return Tokenizer::Load(path);
  SKALD_ASSIGN(const auto file, GgufFile::Open(path));
  auto tokenizer = TokenizerFromGguf(file.metadata());
  if (!tokenizer) return Annotate(path.string(), tokenizer);
  return tokenizer;
}

Result<Tokenizer> OpenTokenizer(const GgufMetadata& metadata) { return TokenizerFromGguf(metadata); }

Result<Tokenizer> ParseTokenizer(std::string_view bytes) { return Tokenizer::Parse(bytes); }

}  // namespace skald::program
