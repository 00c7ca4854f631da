// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/tokenizers/tokenizer.h.

#ifndef SKALD_TOKENIZERS_DETAIL_TOKENIZER_H_
#define SKALD_TOKENIZERS_DETAIL_TOKENIZER_H_

#include "skald/tokenizers/tokenizer.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "skald/base/files/small_file.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/tokenizers/detail/engine_files.h"
#include "skald/tokenizers/detail/json/tokenizer_config.h"
#include "skald/tokenizers/detail/pipeline/pipeline_engine.h"
#include "skald/tokenizers/tokenizer_file.h"

namespace skald {

SKALD_INLINE Result<Tokenizer> Tokenizer::Load(const std::filesystem::path& path) {
  return NoThrow(path.native(), [&]() -> Result<Tokenizer> {
    std::error_code ignored;
    const bool is_folder = std::filesystem::is_directory(path, ignored);
    SKALD_ASSIGN(const auto file, is_folder ? TokenizerFileIn(path) : path);
    const Result<std::string> bytes = ReadSmallFile(file, kMaxTokenizerFile);
    if (!bytes) {
      return Fail(bytes.error().code, bytes.error().message + "; expected a SentencePiece model or a tokenizer.json");
    }
    const std::filesystem::path beside = file.parent_path() / "tokenizer_config.json";
    Result<internal::TokenizerConfig> config = internal::TokenizerConfig();
    if (std::filesystem::exists(beside, ignored)) {
      SKALD_ASSIGN(const auto text, ReadSmallFile(beside, kMaxTokenizerFile));
      config = internal::ReadTokenizerConfig(text);
      if (!config) return Annotate(beside.string(), config);
    }
    const Result<internal::EnginePointer> engine = internal::ParseEngine(*bytes, *config);
    if (!engine) return Annotate(file.string(), engine);
    return Tokenizer(*engine);
  });
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
