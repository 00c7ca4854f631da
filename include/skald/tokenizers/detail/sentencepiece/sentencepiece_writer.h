// SPDX-License-Identifier: Apache-2.0
//
// Writes a SentencePiece model: the message ModelProto of sentencepiece_model.proto, field by field. Pure; safe for
// concurrent calls. Source of the wire format: protobuf.dev/programming-guides/encoding.

#ifndef SKALD_TOKENIZERS_DETAIL_SENTENCEPIECE_SENTENCEPIECE_WRITER_H_
#define SKALD_TOKENIZERS_DETAIL_SENTENCEPIECE_SENTENCEPIECE_WRITER_H_

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skald::internal {

// A message of a protocol buffer. Fields are written in the order of the calls.
class ProtoMessage {
 public:
  void Varint(uint32_t field, uint64_t value) {
    Raw(uint64_t{field} << 3);
    Raw(value);
  }

  void Float(uint32_t field, float value) {
    Raw(uint64_t{field} << 3 | 5);
    char bytes[sizeof(value)];  // little-endian, as the message is
    std::memcpy(bytes, &value, sizeof(value));
    bytes_.append(bytes, sizeof(bytes));
  }

  // A string, or a message inside this one.
  void Bytes(uint32_t field, std::string_view value) {
    Raw(uint64_t{field} << 3 | 2);
    Raw(value.size());
    bytes_.append(value);
  }

  const std::string& bytes() const { return bytes_; }

 private:
  void Raw(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

// SentencePiece's own numbers.
enum class PieceType : int { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

struct NewPiece {
  std::string text;
  float score = 0;
  PieceType type = PieceType::kNormal;
};

// The parts of a model of merges (byte-pair encoding).
struct NewSentencePieceModel {
  std::vector<NewPiece> pieces;
  std::optional<size_t> bos, eos, unk, pad;  // indices into pieces
  bool add_dummy_prefix = true;              // a space before each text
  bool remove_extra_whitespaces = false;
};

// Returns the bytes of a model file.
inline std::string WriteSentencePieceModel(const NewSentencePieceModel& model) {
  ProtoMessage file, trainer, normalizer;
  bool byte_fallback = false;
  for (const NewPiece& piece : model.pieces) {
    ProtoMessage message;
    message.Bytes(1, piece.text);
    message.Float(2, piece.score);
    message.Varint(3, static_cast<uint64_t>(piece.type));
    file.Bytes(1, message.bytes());
    byte_fallback |= piece.type == PieceType::kByte;
  }
  constexpr uint64_t kByMerges = 2;  // TrainerSpec.ModelType.BPE
  trainer.Varint(3, kByMerges);
  trainer.Varint(4, model.pieces.size());
  trainer.Varint(35, byte_fallback ? 1 : 0);
  // Which pieces these are the library tells by their text, or by one of its own choice where that is empty. So one
  // that is absent gets a text that no piece has.
  const auto name = [&](uint32_t field, std::optional<size_t> piece) {
    trainer.Bytes(field, piece ? std::string_view(model.pieces[*piece].text) : std::string_view("\x01"));
  };
  name(45, model.unk);
  name(46, model.bos);
  name(47, model.eos);
  name(48, model.pad);
  normalizer.Bytes(1, "identity");
  normalizer.Varint(3, model.add_dummy_prefix ? 1 : 0);
  normalizer.Varint(4, model.remove_extra_whitespaces ? 1 : 0);
  normalizer.Varint(5, 1);  // spaces become U+2581
  file.Bytes(2, trainer.bytes());
  file.Bytes(3, normalizer.bytes());
  return file.bytes();
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_SENTENCEPIECE_SENTENCEPIECE_WRITER_H_
