// SPDX-License-Identifier: Apache-2.0
//
// Tells the kinds of files with tokenizers apart, and makes engines of them. Pure; safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_ENGINE_FILES_H_
#define SKALD_TOKENIZERS_DETAIL_ENGINE_FILES_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "skald/base/result.h"
#include "skald/tokenizers/detail/encoders/encoder_sentencepiece.h"
#include "skald/tokenizers/detail/encoders/vocab_txt.h"
#include "skald/tokenizers/detail/json/tokenizer_config.h"
#include "skald/tokenizers/detail/json/tokenizer_json.h"
#include "skald/tokenizers/detail/pipeline/pipeline_engine.h"
#include "skald/tokenizers/detail/pipeline/pipeline_file.h"
#include "skald/tokenizers/detail/plamo_vocabulary.h"
#include "skald/tokenizers/detail/rwkv_vocabulary.h"
#include "skald/tokenizers/detail/sentencepiece/sentencepiece_engine.h"
#include "skald/tokenizers/tokenizer_engine.h"

namespace skald::internal {

using EnginePointer = std::shared_ptr<const TokenizerEngine>;

// A JSON object: no SentencePiece model begins so.
inline bool IsTokenizerJson(std::string_view bytes) {
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  return first != bytes.npos && bytes[first] == '{';
}

// Pieces are spelled with the letters of bytes, and only there: the file and `config` have them as they are.
inline Result<EnginePointer> ParseRwkvVocabulary(std::string_view bytes, TokenizerConfig config) {
  SKALD_ASSIGN(auto spec, ReadRwkvVocabulary(bytes));
  for (std::optional<std::string>* const name : {&config.bos, &config.eos, &config.unk, &config.pad}) {
    if (!*name) *name = kRwkvEndOfText;
    if (**name == kRwkvEndOfText) continue;
    std::string letters;
    AppendByteLetters(**name, letters);
    *name = letters;
  }
  ApplyTokenizerConfig(config, spec);
  return PipelineEngine::Make(std::move(spec));
}

// Makes an engine of the bytes of a file. `config` is what lies beside it.
inline Result<EnginePointer> ParseEngine(std::string_view bytes, const TokenizerConfig& config) {
  if (IsPipelineFile(bytes)) return ReadPipelineFile(bytes);
  if (IsRwkvVocabulary(bytes)) return ParseRwkvVocabulary(bytes, config);
  if (IsPlamoVocabulary(bytes)) {
    SKALD_ASSIGN(auto spec, ReadPlamoVocabulary(bytes));
    ApplyTokenizerConfig(config, spec);
    return PipelineEngine::Make(std::move(spec));
  }
  if (!IsTokenizerJson(bytes)) {
    return SentencePieceEngine::Parse(bytes,
                                      SentencePieceAdds{config.add_bos.value_or(true), config.add_eos.value_or(false)});
  }
  SKALD_ASSIGN(auto spec, ReadTokenizerJson(bytes));
  ApplyTokenizerConfig(config, spec);
  return PipelineEngine::Make(std::move(spec));
}

// Whether a file of this name is one of those that encoders have where they have no tokenizer.json. Their
// content does not tell the steps around it.
inline bool IsEncoderFile(std::string_view name) {
  return name == kVocabTxt || name == kFairseqPieces || name == kT5Pieces;
}

// Returns the steps of such a file's tokenizer.
inline Result<TokenizerSpec> ReadEncoderFile(std::string_view name, std::string_view bytes,
                                             const TokenizerConfig& config) {
  if (name == kVocabTxt) return ReadVocabTxt(bytes, config);
  return name == kFairseqPieces ? ReadFairseqPieces(bytes, config) : ReadT5Pieces(bytes, config);
}

inline Result<EnginePointer> ParseEncoderFile(std::string_view name, std::string_view bytes,
                                              const TokenizerConfig& config) {
  SKALD_ASSIGN(auto spec, ReadEncoderFile(name, bytes, config));
  return PipelineEngine::Make(std::move(spec));
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_ENGINE_FILES_H_
