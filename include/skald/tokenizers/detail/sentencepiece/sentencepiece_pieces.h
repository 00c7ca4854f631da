// SPDX-License-Identifier: Apache-2.0
//
// Reads the pieces of a SentencePiece model, with their scores: the inverse of sentencepiece_writer.h.
// Pure; safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_SENTENCEPIECE_SENTENCEPIECE_PIECES_H_
#define SKALD_TOKENIZERS_DETAIL_SENTENCEPIECE_SENTENCEPIECE_PIECES_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/tokenizers/detail/sentencepiece/sentencepiece_file.h"
#include "skald/tokenizers/detail/sentencepiece/sentencepiece_writer.h"

namespace skald::internal {

inline NewPiece ReadPiece(std::string_view message) {
  constexpr uint64_t kText = 1, kScore = 2, kType = 3;
  NewPiece piece;
  ForEachField(message, [&piece](uint64_t field, std::string_view value) {
    if (field == kText) piece.text = value;
    if (field == kScore && value.size() == sizeof(piece.score)) {
      std::memcpy(&piece.score, value.data(), sizeof(piece.score));
    }
    if (field == kType) piece.type = static_cast<PieceType>(TakeVarint(value).value_or(1));
  });
  return piece;
}

// How a model chooses pieces, in SentencePiece's own numbers.
enum class PieceChoice : uint64_t { kByLikelihood = 1, kByMerges = 2 };

// The content of a model's file, as far as other files can hold it.
struct ReadSentencePieces {
  std::vector<NewPiece> pieces;  // in the order of their ids
  PieceChoice choice = PieceChoice::kByLikelihood;
  bool byte_fallback = false;
  std::string charsmap;  // the table of normalisation
};

// Reads a whole model file.
inline Result<ReadSentencePieces> ReadAllPieces(std::string_view model) {
  constexpr uint64_t kPieces = 1, kTrainerSpec = 2, kModelType = 3, kByteFallback = 35;
  constexpr uint64_t kNormalizerSpec = 3, kCharsmap = 2;
  SKALD_TRY(CheckSentencePieceOutline(model));
  ReadSentencePieces read;
  ForEachField(model, [&read](uint64_t field, std::string_view content) {
    if (field == kPieces) read.pieces.push_back(ReadPiece(content));
    if (field != kTrainerSpec && field != kNormalizerSpec) return;
    ForEachField(content, [&read, field](uint64_t part, std::string_view value) {
      if (field == kNormalizerSpec && part == kCharsmap) read.charsmap = value;
      if (field == kNormalizerSpec) return;
      if (part == kModelType) read.choice = static_cast<PieceChoice>(TakeVarint(value).value_or(0));
      if (part == kByteFallback) read.byte_fallback = TakeVarint(value).value_or(0) != 0;
    });
  });
  return read;
}

// Returns the pieces of a model of merges. Error: kUnsupported for one of another kind.
inline Result<std::vector<NewPiece>> ReadPieces(std::string_view model) {
  SKALD_ASSIGN(auto read, ReadAllPieces(model));
  if (read.choice == PieceChoice::kByMerges) return std::move(read.pieces);
  return Fail(ErrorCode::kUnsupported, "only SentencePiece models of merges can be written to a GGUF file");
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_SENTENCEPIECE_SENTENCEPIECE_PIECES_H_
