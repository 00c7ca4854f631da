// SPDX-License-Identifier: Apache-2.0
//
// Looks at the outline of a SentencePiece model file before the SentencePiece library parses it, because that library
// accepts a file cut short between two fields and fills in defaults for the rest; and reads what the library does not
// tell: which pieces are user-defined, and how texts are normalised. The file is a protocol buffer message ModelProto
// (sentencepiece_model.proto). Pure; safe for concurrent calls.
// Source of the wire format: protobuf.dev/programming-guides/encoding.

#ifndef SKALD_TOKENIZERS_DETAIL_SENTENCEPIECE_SENTENCEPIECE_FILE_H_
#define SKALD_TOKENIZERS_DETAIL_SENTENCEPIECE_SENTENCEPIECE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"

namespace skald::internal {

// Takes a base-128 number off the front of `bytes`, or returns nothing if there is no whole one.
inline std::optional<uint64_t> TakeVarint(std::string_view& bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const uint64_t byte = static_cast<unsigned char>(bytes[i]);
    value |= (byte & 0x7F) << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

// Takes a whole field off the front of `bytes` and returns its number, or nothing if there is no
// whole one.
inline std::optional<uint64_t> TakeField(std::string_view& bytes) {
  const std::optional<uint64_t> tag = TakeVarint(bytes);
  if (!tag) return std::nullopt;
  uint64_t size = 0;
  switch (*tag & 7) {
    case 0:  // varint
      if (!TakeVarint(bytes)) return std::nullopt;
      break;
    case 1:  // 64 bits
      size = 8;
      break;
    case 2: {  // length and that many bytes
      const std::optional<uint64_t> length = TakeVarint(bytes);
      if (!length) return std::nullopt;
      size = *length;
      break;
    }
    case 5:  // 32 bits
      size = 4;
      break;
    default:
      return std::nullopt;
  }
  if (size > bytes.size()) return std::nullopt;
  bytes.remove_prefix(static_cast<size_t>(size));
  return *tag >> 3;
}

// Returns what a field that TakeField took off the front of `before`, leaving `rest`, holds: the content of one with a
// length, or a number as it was taken for one.
inline std::string_view ContentOfField(std::string_view before, std::string_view rest) {
  std::string_view content = before.substr(0, before.size() - rest.size());
  const uint64_t tag = TakeVarint(content).value_or(0);
  if ((tag & 7) == 2) TakeVarint(content);
  return content;
}

// Calls take(number, content) with each field of a whole message, whose numbers are as they were taken for.
template <class Take>
void ForEachField(std::string_view message, Take take) {
  while (!message.empty()) {
    const std::string_view before = message;
    const std::optional<uint64_t> field = TakeField(message);
    if (!field) return;
    take(*field, ContentOfField(before, message));
  }
}

// Returns which of the pieces in a whole model file are user-defined, in the order of their ids.
inline std::vector<bool> FindUserDefined(std::string_view model) {
  constexpr uint64_t kPieces = 1, kType = 3, kUserDefined = 4;
  std::vector<bool> is_user_defined;
  while (!model.empty()) {
    const std::string_view before = model;
    const std::optional<uint64_t> field = TakeField(model);
    if (!field) break;
    if (*field != kPieces) continue;
    bool is_one = false;  // a message in which a field is there twice has the last value
    for (std::string_view piece = ContentOfField(before, model); !piece.empty();) {
      const std::string_view in_piece = piece;
      const std::optional<uint64_t> part = TakeField(piece);
      if (!part) break;
      std::string_view value = ContentOfField(in_piece, piece);
      if (*part == kType) is_one = TakeVarint(value) == kUserDefined;
    }
    is_user_defined.push_back(is_one);
  }
  return is_user_defined;
}

// The settings for encoding in a whole model file, which the library does not return.
struct SentencePieceHabits {
  bool has_byte_fallback = false;  // letters without a piece are spelled with bytes
  bool has_table = false;          // of letters that become others, or none
  bool drops_spaces = true;        // at the ends of a text and next to each other
};

inline SentencePieceHabits FindHabits(std::string_view model) {
  constexpr uint64_t kTrainerSpec = 2, kByteFallback = 35;
  constexpr uint64_t kNormalizerSpec = 3, kTable = 2, kRemoveExtraSpaces = 4;
  SentencePieceHabits habits;
  while (!model.empty()) {
    const std::string_view before = model;
    const std::optional<uint64_t> field = TakeField(model);
    if (!field) break;
    if (*field != kTrainerSpec && *field != kNormalizerSpec) continue;
    for (std::string_view spec = ContentOfField(before, model); !spec.empty();) {
      const std::string_view in_spec = spec;
      const std::optional<uint64_t> part = TakeField(spec);
      if (!part) break;
      std::string_view value = ContentOfField(in_spec, spec);
      const bool is_table = *field == kNormalizerSpec && *part == kTable;
      if (is_table) habits.has_table = !value.empty();
      const bool is_set = !is_table && TakeVarint(value).value_or(0) != 0;
      if (*field == kTrainerSpec && *part == kByteFallback) habits.has_byte_fallback = is_set;
      if (*field == kNormalizerSpec && *part == kRemoveExtraSpaces) habits.drops_spaces = is_set;
    }
  }
  return habits;
}

// Checks that `bytes` are a sequence of whole fields: pieces, and the two specifications that training writes after
// them.
inline Result<void> CheckSentencePieceOutline(std::string_view bytes) {
  constexpr uint64_t kPieces = 1, kTrainerSpec = 2, kNormalizerSpec = 3;
  bool has_pieces = false, has_trainer_spec = false, has_normalizer_spec = false;
  const size_t size = bytes.size();
  while (!bytes.empty()) {
    const size_t offset = size - bytes.size();
    const std::optional<uint64_t> field = TakeField(bytes);
    if (!field && !has_pieces) break;
    if (!field) {
      return Fail(ErrorCode::kDataLoss, "SentencePiece model damaged or cut short: it has " + std::to_string(size) +
                                            " bytes, and the field at byte " + std::to_string(offset) +
                                            " is not whole");
    }
    has_pieces |= *field == kPieces;
    has_trainer_spec |= *field == kTrainerSpec;
    has_normalizer_spec |= *field == kNormalizerSpec;
  }
  if (size == 0) return Fail(ErrorCode::kDataLoss, "no bytes, expected a SentencePiece model");
  if (!has_pieces) {
    return Fail(ErrorCode::kDataLoss,
                "not a SentencePiece model: none of its " + std::to_string(size) + " bytes start a list of pieces");
  }
  if (has_trainer_spec && has_normalizer_spec) return {};
  return Fail(ErrorCode::kDataLoss,
              "SentencePiece model cut short: it ends before its trainer and normalizer specifications");
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_SENTENCEPIECE_SENTENCEPIECE_FILE_H_
