// SPDX-License-Identifier: Apache-2.0
//
// Tells the kinds of files with tokenizers apart, and makes engines of them. Pure; safe for concurrent calls.

#ifndef SKALD_TEXT_TOKENIZERS_ENGINE_FILES_H_
#define SKALD_TEXT_TOKENIZERS_ENGINE_FILES_H_

#include <memory>
#include <string_view>
#include <utility>

#include "skald/base/result.h"
#include "skald/text/tokenizers/json/tokenizer_config.h"
#include "skald/text/tokenizers/json/tokenizer_json.h"
#include "skald/text/tokenizers/pipeline/pipeline_engine.h"
#include "skald/text/tokenizers/pipeline/pipeline_file.h"
#include "skald/text/tokenizers/sentencepiece/sentencepiece_engine.h"
#include "skald/text/tokenizers/tokenizer_engine.h"

namespace skald::internal {

using EnginePointer = std::shared_ptr<const TokenizerEngine>;

// A JSON object: no SentencePiece model begins so.
inline bool IsTokenizerJson(std::string_view bytes) {
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  return first != bytes.npos && bytes[first] == '{';
}

// Makes an engine of the bytes of a file. `config` is what lies beside it.
inline Result<EnginePointer> ParseEngine(std::string_view bytes, const TokenizerConfig& config) {
  if (IsPipelineFile(bytes)) return ReadPipelineFile(bytes);
  if (!IsTokenizerJson(bytes)) {
    return SentencePieceEngine::Parse(bytes,
                                      SentencePieceAdds{config.add_bos.value_or(true), config.add_eos.value_or(false)});
  }
  Result<TokenizerSpec> spec = ReadTokenizerJson(bytes);
  if (!spec) return Failure(spec.error());
  ApplyTokenizerConfig(config, *spec);
  return PipelineEngine::Make(*std::move(spec));
}

}  // namespace skald::internal

#endif  // SKALD_TEXT_TOKENIZERS_ENGINE_FILES_H_
