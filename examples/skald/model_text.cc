// SPDX-License-Identifier: Apache-2.0

#include "model_text.h"

#include <filesystem>

#include "skald/text/gguf_tokenizer.h"
#include "skald/weights/files/gguf.h"

namespace skald::program {
namespace {

// The tokenizer in a file of its own.
Result<Tokenizer> OpenTokenizer(const std::filesystem::path& path) {
  if (!IsGgufFile(path)) return Tokenizer::Load(path);
  const auto file = GgufFile::Open(path);
  if (!file) return Failure(file.error());
  auto tokenizer = TokenizerFromGguf(file->metadata());
  if (!tokenizer) return Annotate(path.string(), tokenizer);
  return tokenizer;
}

}  // namespace

Result<Tokenizer> LoadTokenizer(const Options& options, const ModelInfo& info) {
  auto tokenizer = options.tokenizer ? OpenTokenizer(*options.tokenizer) : info.load_tokenizer();
  if (!tokenizer) return tokenizer;
  const auto path = options.tokenizer.value_or(options.model);
  if (auto fits = CheckVocabulary(*tokenizer, static_cast<size_t>(info.spec.vocab_size)); !fits)
    return Annotate(path.string(), fits);
  return tokenizer;
}

Result<Tokenizer> LoadTokenizerAlone(const Options& options) {
  if (options.tokenizer) return OpenTokenizer(*options.tokenizer);
  const auto info = IdentifyModel(options.model);
  if (!info) return Failure(info.error());
  return LoadTokenizer(options, *info);
}

}  // namespace skald::program
