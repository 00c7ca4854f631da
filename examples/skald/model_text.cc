// SPDX-License-Identifier: Apache-2.0

#include "model_text.h"

#include <filesystem>
#include <string>

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

// The tokenizer that comes with the model, in the first of the files that there is.
Result<Tokenizer> ReadTokenizer(const std::filesystem::path& model, const ModelInfo& info) {
  for (const std::string_view name : {kTokenizerFile, std::string_view("tokenizer.model")}) {
    const auto bytes = info.read_file(name);
    if (!bytes && bytes.error().code == ErrorCode::kNotFound) continue;
    if (!bytes) return Failure(bytes.error());
    auto tokenizer = Tokenizer::Parse(*bytes);
    if (!tokenizer) return Annotate(model.string() + ": " + std::string(name), tokenizer);
    return tokenizer;
  }
  return Fail(ErrorCode::kNotFound, model.string() + " has neither tokenizer.json nor tokenizer.model; " +
                                        "'skald generate --token-ids' runs the model without a tokenizer");
}

}  // namespace

Result<Tokenizer> LoadTokenizer(const Options& options, const ModelInfo& info) {
  auto tokenizer = options.tokenizer ? OpenTokenizer(*options.tokenizer) : ReadTokenizer(options.model, info);
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
