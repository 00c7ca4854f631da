// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer of merges by score that GGUF files call "llama" (Llama 2, Mistral, TinyLlama, Gemma), rebuilt into a
// SentencePiece model, so that texts have the ids that they have with the original. Pure; safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_SENTENCEPIECE_H_
#define SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_SENTENCEPIECE_H_

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/tokenizers/detail/gguf/gguf_pieces.h"
#include "skald/tokenizers/detail/sentencepiece/sentencepiece_writer.h"
#include "skald/tokenizers/tokenizer_engine.h"

namespace skald::internal {

// Converters write spaces in user-defined pieces as they are; SentencePiece never does.
inline std::string WithSpaceSymbols(const std::string& text) {
  std::string replaced;
  for (const char c : text) {
    if (c == ' ') {
      replaced += kSpaceSymbol;
    } else {
      replaced += c;
    }
  }
  return replaced;
}

inline std::vector<NewPiece> ReadGgufScoredPieces(const GgufTokenizerReader& reader) {
  std::vector<NewPiece> pieces(reader.SizeOf("tokens"));
  reader.ReadStrings("tokens", pieces.size(), [&](size_t i, const std::string& text) { pieces[i].text = text; });
  reader.Read("scores", pieces.size(), "numbers, one for each token", [&](size_t i, const nlohmann::json& score) {
    if (score.is_number()) pieces[i].score = score.get<float>();
    return score.is_number();
  });
  const std::vector<GgufTokenType> types = reader.ReadTypes(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    pieces[i].type = static_cast<PieceType>(types[i]);  // the numbers are SentencePiece's
    if (types[i] == GgufTokenType::kUserDefined) pieces[i].text = WithSpaceSymbols(pieces[i].text);
  }
  return pieces;
}

// Makes one piece the unknown one, as SentencePiece needs: that which the metadata name, or else the first whose type
// says so. To llama.cpp all of that type steer as control pieces do, and files have fillers ("[PAD32011]") of it.
inline void ChooseUnknownPiece(std::optional<size_t> named, std::vector<NewPiece>& pieces) {
  const auto is_unknown = [](const NewPiece& piece) { return piece.type == PieceType::kUnknown; };
  const auto first = std::find_if(pieces.begin(), pieces.end(), is_unknown);
  const bool steers = named && (is_unknown(pieces[*named]) || pieces[*named].type == PieceType::kControl);
  if (!steers && first == pieces.end()) return;
  const size_t unknown = steers ? *named : static_cast<size_t>(first - pieces.begin());
  for (NewPiece& piece : pieces) {
    if (is_unknown(piece)) piece.type = PieceType::kControl;
  }
  pieces[unknown].type = PieceType::kUnknown;
}

// Returns the model as the content of its file.
inline Result<std::string> ScoredPiecesFromGguf(const GgufTokenizerReader& reader) {
  const auto id = [&reader, count = reader.SizeOf("tokens")](const char* name) -> std::optional<size_t> {
    const std::optional<int32_t> token = reader.TokenId(name, count);
    return token ? std::optional(static_cast<size_t>(*token)) : std::nullopt;
  };
  NewSentencePieceModel model;
  model.pieces = ReadGgufScoredPieces(reader);
  if (reader.fields().Flag("add_bos_token", true)) model.bos = id("bos_token_id");
  model.eos = id("eos_token_id");
  model.unk = id("unknown_token_id");
  if (reader.ok()) ChooseUnknownPiece(model.unk, model.pieces);
  model.pad = id("padding_token_id");
  model.add_dummy_prefix = reader.fields().Flag("add_space_prefix", true);
  model.remove_extra_whitespaces = reader.fields().Flag("remove_extra_whitespaces", false);
  if (!reader.ok()) return reader.failure();
  return WriteSentencePieceModel(model);
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_SENTENCEPIECE_H_
