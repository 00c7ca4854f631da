// SPDX-License-Identifier: Apache-2.0
//
// Reads the pieces of a SentencePiece model of merges, with their scores: the inverse of sentencepiece_writer.h.
// Pure; safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_SENTENCEPIECE_SENTENCEPIECE_PIECES_H_
#define SKALD_TOKENIZERS_DETAIL_SENTENCEPIECE_SENTENCEPIECE_PIECES_H_

#include <cstdint>
#include <cstring>
#include <optional>
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
  while (!message.empty()) {
    const std::string_view before = message;
    const std::optional<uint64_t> field = TakeField(message);
    if (!field) break;
    std::string_view value = ContentOfField(before, message);
    if (*field == kText) piece.text = value;
    if (*field == kScore && value.size() == sizeof(piece.score)) {
      std::memcpy(&piece.score, value.data(), sizeof(piece.score));
    }
    if (*field == kType) piece.type = static_cast<PieceType>(TakeVarint(value).value_or(1));
  }
  return piece;
}

// Whether the trainer's specification says that pieces are merged, not chosen by their likelihood.
inline bool SaysMerges(std::string_view trainer_spec) {
  constexpr uint64_t kModelType = 3, kMerges = 2;
  uint64_t type = 1;
  while (!trainer_spec.empty()) {
    const std::string_view before = trainer_spec;
    const std::optional<uint64_t> field = TakeField(trainer_spec);
    if (!field) break;
    std::string_view value = ContentOfField(before, trainer_spec);
    if (*field == kModelType) type = TakeVarint(value).value_or(type);
  }
  return type == kMerges;
}

// Returns the pieces of a whole model file, in the order of their ids. Error: kUnsupported for a model of another kind.
inline Result<std::vector<NewPiece>> ReadPieces(std::string_view model) {
  constexpr uint64_t kPieces = 1, kTrainerSpec = 2;
  SKALD_TRY(CheckSentencePieceOutline(model));
  std::vector<NewPiece> pieces;
  bool merges = false;
  while (!model.empty()) {
    const std::string_view before = model;
    const std::optional<uint64_t> field = TakeField(model);
    if (!field) break;
    if (*field == kPieces) pieces.push_back(ReadPiece(ContentOfField(before, model)));
    if (*field == kTrainerSpec) merges = SaysMerges(ContentOfField(before, model));
  }
  if (merges) return pieces;
  return Fail(ErrorCode::kUnsupported, "only SentencePiece models of merges can be written to a GGUF file");
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_SENTENCEPIECE_SENTENCEPIECE_PIECES_H_
