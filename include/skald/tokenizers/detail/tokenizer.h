// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/tokenizers/tokenizer.h.

#ifndef SKALD_TOKENIZERS_DETAIL_TOKENIZER_H_
#define SKALD_TOKENIZERS_DETAIL_TOKENIZER_H_

#include "skald/tokenizers/tokenizer.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "skald/base/files/file_calls.h"
#include "skald/base/files/path_text.h"
#include "skald/base/files/small_file.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/tokenizers/detail/engine_files.h"
#include "skald/tokenizers/detail/json/tokenizer_config.h"
#include "skald/tokenizers/detail/pipeline/pipeline_engine.h"
#include "skald/tokenizers/gguf_tokenizer.h"
#include "skald/tokenizers/tokenizer_file.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/opened/opened_model.h"
#include "skald/weights/packed_files/packed_file.h"

namespace skald {

namespace internal {

// Reads tokenizer_config.json in the folder of a tokenizer's file; nothing if there is no such file.
inline Result<TokenizerConfig> ConfigBeside(const std::filesystem::path& file) {
  const std::filesystem::path beside = file.parent_path() / "tokenizer_config.json";
  if (!internal::Exists(beside)) return TokenizerConfig();
  SKALD_ASSIGN(const auto text, ReadSmallFile(beside, kMaxTokenizerFile));
  auto config = ReadTokenizerConfig(text);
  if (!config) return Annotate(PathText(beside), config);
  return config;
}

// Old folders have no tokenizer_config.json, or one without a class: then the model's type tells it.
inline Result<void> FindTokenizerClass(const std::filesystem::path& file, TokenizerConfig& config) {
  const std::filesystem::path beside = file.parent_path() / "config.json";
  if (config.tokenizer_class || !internal::Exists(beside)) return {};
  SKALD_ASSIGN(const auto text, ReadSmallFile(beside, kMaxTokenizerFile));
  config.tokenizer_class = ClassOfModelType(text);
  return {};
}

// Older folders list the tokens that a model got later in a file of its own.
inline Result<void> CheckNoAddedTokens(const std::filesystem::path& file) {
  const std::filesystem::path added = file.parent_path() / "added_tokens.json";
  if (!internal::Exists(added)) return {};
  return Fail(ErrorCode::kUnsupported, PathText(added) + ": Skald reads added tokens from a tokenizer.json alone");
}

// Reads a tokenizer's own file.
inline Result<EnginePointer> LoadEngine(const std::filesystem::path& file) {
  const Result<std::string> bytes = ReadSmallFile(file, kMaxTokenizerFile);
  if (!bytes) {
    return Fail(bytes.error().code, bytes.error().message + "; expected a SentencePiece model or a tokenizer.json");
  }
  SKALD_ASSIGN(auto config, ConfigBeside(file));
  const std::string name = PathText(file.filename());
  if (IsEncoderFile(name)) {
    SKALD_TRY(CheckNoAddedTokens(file));
    SKALD_TRY(FindTokenizerClass(file, config));
  }
  auto engine = IsEncoderFile(name) ? ParseEncoderFile(name, *bytes, config) : ParseEngine(*bytes, config);
  if (!engine) return Annotate(PathText(file), engine);
  return engine;
}

// The tokenizer within a GGUF or packed file.
inline Result<Tokenizer> LoadWithin(const OpenedModel& model) {
  const auto parse = [&]() -> Result<Tokenizer> {
    if (model.gguf() != nullptr) return Tokenizer::Load(model.gguf()->metadata());
    SKALD_ASSIGN(const auto bytes, model.packed()->Attachment(kPackedTokenizer));
    return Tokenizer::Parse(bytes);
  };
  auto tokenizer = parse();
  if (!tokenizer) return Annotate(PathText(model.path()), tokenizer);
  return tokenizer;
}

}  // namespace internal

SKALD_INLINE Result<Tokenizer> Tokenizer::Load(const std::filesystem::path& path) {
  return NoThrow(PathText(path), [&]() -> Result<Tokenizer> {
    if (internal::IsFolder(path)) {
      SKALD_ASSIGN(const auto file, TokenizerFileIn(path));
      SKALD_ASSIGN(const auto engine, internal::LoadEngine(file));
      return Tokenizer(engine);
    }
    const auto model = OpenedModel::Open(path);
    if (!model && model.error().code != ErrorCode::kNotFound) return Failure(model.error());
    if (model && model->is_whole()) return internal::LoadWithin(*model);
    SKALD_ASSIGN(const auto engine, internal::LoadEngine(path));
    return Tokenizer(engine);
  });
}

SKALD_INLINE Result<Tokenizer> Tokenizer::Load(const OpenedModel& model) {
  return model.is_whole() ? internal::LoadWithin(model) : Load(model.folder());
}

SKALD_INLINE Result<Tokenizer> Tokenizer::Parse(std::string_view bytes) {
  return NoThrow("the tokenizer", [&]() -> Result<Tokenizer> {
    SKALD_ASSIGN(const auto engine, internal::ParseEngine(bytes, {}));
    return Tokenizer(engine);
  });
}

SKALD_INLINE Result<Tokenizer> Tokenizer::From(TokenizerSpec spec) {
  return NoThrow("the tokenizer", [&]() -> Result<Tokenizer> {
    SKALD_ASSIGN(const auto engine, internal::PipelineEngine::Make(std::move(spec)));
    return Tokenizer(engine);
  });
}

}  // namespace skald

#endif  // SKALD_TOKENIZERS_DETAIL_TOKENIZER_H_
