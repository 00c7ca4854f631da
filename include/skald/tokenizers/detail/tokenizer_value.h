// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/tokenizers/tokenizer_value.h.

#ifndef SKALD_TOKENIZERS_DETAIL_TOKENIZER_VALUE_H_
#define SKALD_TOKENIZERS_DETAIL_TOKENIZER_VALUE_H_

#include "skald/tokenizers/tokenizer_value.h"

#include <algorithm>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE Result<std::string> Tokenizer::ToBytes() const {
  return NoThrow("a tokenizer's bytes", [&] { return engine_->ToBytes(); });
}

SKALD_INLINE Result<void> CheckVocabulary(const Tokenizer& tokenizer, size_t model_vocab_size) {
  constexpr size_t kPaddedTo = 64, kMinPadding = 127, kPiecesPerPadding = 50, kSlightlyPaddedTo = 8;
  const size_t pieces = tokenizer.vocab_size();
  if (model_vocab_size == pieces) return {};
  if (model_vocab_size > pieces) {
    const size_t padding = model_vocab_size - pieces;
    const size_t most = std::max(kMinPadding, pieces / kPiecesPerPadding);
    if (padding <= most && model_vocab_size % kPaddedTo == 0) return {};
    if (padding < kSlightlyPaddedTo && model_vocab_size % kSlightlyPaddedTo == 0) return {};
  }
  return NoThrow("the vocabulary", [&]() -> Result<void> {
    return Fail(ErrorCode::kInvalidArgument, "the tokenizer has " + std::to_string(pieces) +
                                                 " pieces, but the model has a vocabulary of " +
                                                 std::to_string(model_vocab_size) + ": they do not belong together");
  });
}

SKALD_INLINE Result<std::vector<int32_t>> Tokenizer::Encode(std::string_view text, ParseSpecial parse_special,
                                                            AddSpecial add_special) const {
  const Author author = parse_special == ParseSpecial::kYes ? Author::kTemplate : Author::kMessage;
  return NoThrow("encoding a text", [&] { return Surround(engine_->Encode(text, author), add_special); });
}

SKALD_INLINE Result<std::vector<int32_t>> Tokenizer::Encode(const MarkedText& text, AddSpecial add_special) const {
  return NoThrow("encoding a text", [&] { return Surround(engine_->Encode(text), add_special); });
}

SKALD_INLINE Result<std::vector<int32_t>> Tokenizer::Surround(Result<std::vector<int32_t>> ids,
                                                              AddSpecial add_special) const {
  if (!ids || add_special == AddSpecial::kNo) return ids;
  const std::span<const int32_t> prefix = engine_->prefix(), suffix = engine_->suffix();
  ids->insert(ids->begin(), prefix.begin(), prefix.end());
  ids->insert(ids->end(), suffix.begin(), suffix.end());
  return ids;
}

SKALD_INLINE Result<std::string> Tokenizer::Decode(std::span<const int32_t> ids, SkipSpecial skip_special) const {
  return NoThrow("decoding ids", [&]() -> Result<std::string> {
    for (const int32_t id : ids) {
      if (Result<void> valid = CheckId(id); !valid) return Failure(valid.error());
    }
    return engine_->Decode(ids, skip_special);
  });
}

SKALD_INLINE Result<std::string_view> Tokenizer::IdToPiece(int32_t id) const {
  if (Result<void> valid = CheckId(id); !valid) return Failure(valid.error());
  return engine_->IdToPiece(id);
}

SKALD_INLINE Result<PieceKind> Tokenizer::KindOf(int32_t id) const {
  if (Result<void> valid = CheckId(id); !valid) return Failure(valid.error());
  return engine_->KindOf(id);
}

SKALD_INLINE Result<uint8_t> Tokenizer::ByteOf(int32_t id) const {
  if (Result<void> valid = CheckId(id); !valid) return Failure(valid.error());
  if (engine_->KindOf(id) == PieceKind::kByte) return engine_->ByteOf(id);
  return NoThrow("a piece", [&]() -> Result<uint8_t> {
    return Fail(ErrorCode::kInvalidArgument, "token id " + std::to_string(id) + " is not a byte");
  });
}

SKALD_INLINE Result<std::string> Tokenizer::BytesOf(int32_t id) const {
  return NoThrow("a piece", [&]() -> Result<std::string> {
    if (Result<void> valid = CheckId(id); !valid) return Failure(valid.error());
    std::optional<std::string> bytes = engine_->BytesOf(id);
    if (bytes) return *std::move(bytes);
    return Fail(ErrorCode::kUnsupported, "this tokenizer cannot say what one piece alone writes, token id " +
                                             std::to_string(id) + ": that depends on the pieces beside it");
  });
}

SKALD_INLINE Result<void> Tokenizer::CheckId(int32_t id) const {
  if (id >= 0 && static_cast<size_t>(id) < vocab_size()) return {};
  return NoThrow("a token id", [&]() -> Result<void> {
    return Fail(ErrorCode::kInvalidArgument, "token id " + std::to_string(id) + " is outside of the vocabulary of " +
                                                 std::to_string(vocab_size()) + " pieces");
  });
}

}  // namespace skald

#endif  // SKALD_TOKENIZERS_DETAIL_TOKENIZER_VALUE_H_
