// SPDX-License-Identifier: Apache-2.0
//
// Text to token ids and back, with a SentencePiece model (tokenizer.model of Gemma, Llama 2,
// Mistral, TinyLlama). A Tokenizer is immutable: it holds no conversation state, and all its
// functions are safe for concurrent calls. Any text, and any file that is missing, cut short or of
// another kind, is at worst an Error. What a whole model contains the SentencePiece library trusts
// (above all its normalisation table), so load models from sources that you trust.
//
// Source: Kudo and Richardson, "SentencePiece", EMNLP 2018; github.com/google/sentencepiece.

#ifndef SKALD_TEXT_TOKENIZER_H_
#define SKALD_TEXT_TOKENIZER_H_

#include <sentencepiece_processor.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/text/sentencepiece_file.h"
#include "skald/text/special_pieces.h"

namespace skald {

// Whether Encode turns the names of special pieces that it meets in a text into these pieces. Never
// ask for it with text from a user: a "</s>" or "<start_of_turn>" in it would end the user's turn.
enum class ParseSpecial { kNo, kYes };

enum class PieceKind {
  kText,     // stands for its own letters, with U+2581 for spaces
  kByte,     // one byte of a character that has no piece
  kControl,  // <s>, </s>, <pad>: stands for no text
  kUnknown,  // stands for any text that cannot be encoded
};

// What decoding does with the U+2581 at the start of pieces while there is no text yet: encoding
// put it there.
enum class LeadingSpace { kKeep, kDropOne, kDropAll };

// How pieces spell a space: U+2581.
inline constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";

class Tokenizer {
 public:
  // Reads a SentencePiece model file. The error names the file.
  static Result<Tokenizer> Load(const std::filesystem::path& path);

  // Makes a tokenizer of the bytes of a SentencePiece model file, which are copied.
  static Result<Tokenizer> Parse(std::string_view bytes);

  // Returns the ids of `text`, without BOS or EOS. Any bytes are allowed: each one that is not part
  // of valid UTF-8 counts as U+FFFD. With ParseSpecial::kYes each stretch of text between special
  // pieces is encoded on its own, and so starts with the space that some models put before every
  // text.
  Result<std::vector<int32_t>> Encode(std::string_view text,
                                      ParseSpecial parse_special = ParseSpecial::kNo) const;

  // Returns the text of `ids`. Control pieces leave no trace, bytes that form no character become
  // one U+FFFD each, and the leading space that encoding adds is dropped. An id beyond the
  // vocabulary is an error.
  Result<std::string> Decode(std::span<const int32_t> ids) const;

  // The number of pieces; their ids are 0 to vocab_size() - 1.
  size_t vocab_size() const { return static_cast<size_t>(processor_->GetPieceSize()); }

  // Begin and end of a text, unknown text, padding; a model may lack any.
  std::optional<int32_t> bos_id() const { return IfDefined(processor_->bos_id()); }
  std::optional<int32_t> eos_id() const { return IfDefined(processor_->eos_id()); }
  std::optional<int32_t> unk_id() const { return IfDefined(processor_->unk_id()); }
  std::optional<int32_t> pad_id() const { return IfDefined(processor_->pad_id()); }

  // Returns the id of the piece spelled exactly so, with U+2581 for spaces, if there is one.
  std::optional<int32_t> PieceToId(std::string_view piece) const;

  // Returns the id of the control piece or turn marker spelled so, if there is one.
  std::optional<int32_t> SpecialId(std::string_view name) const;

  // Returns the spelling of a piece, which lives as long as the tokenizer. An id beyond the
  // vocabulary is an error.
  Result<std::string_view> IdToPiece(int32_t id) const;

  // What stream_decoder.h needs to decode piece by piece. `id` must be in the vocabulary.
  PieceKind KindOf(int32_t id) const;
  uint8_t ByteOf(int32_t id) const;  // of a kByte piece
  LeadingSpace leading_space() const { return leading_space_; }
  const std::string& unknown_text() const { return unknown_text_; }

 private:
  // SentencePiece's vectors of ids are passed on without a copy.
  static_assert(std::is_same_v<int, int32_t>);

  explicit Tokenizer(std::unique_ptr<const sentencepiece::SentencePieceProcessor> processor)
      : processor_(std::move(processor)) {}

  static std::optional<int32_t> IfDefined(int id) {
    return id < 0 ? std::nullopt : std::optional<int32_t>(id);
  }

  Result<void> CheckId(int32_t id) const;
  int32_t SameSpelling(int32_t id) const {
    return processor_->PieceToId(processor_->IdToPiece(id));
  }
  Result<std::vector<int32_t>> EncodeAsLibraryDoes(std::string_view text) const;
  Result<std::vector<int32_t>> EncodePlain(std::string_view text) const;
  Result<std::vector<int32_t>> SpellOut(std::string_view name, int32_t id) const;
  Result<void> FindSpecialPieces();
  Result<void> FindDecodingRules();

  std::unique_ptr<const sentencepiece::SentencePieceProcessor> processor_;
  SpecialPieces specials_;
  LeadingSpace leading_space_ = LeadingSpace::kKeep;
  std::string unknown_text_;
};

// Checks that `tokenizer` fits a model whose embedding has `model_vocab_size` rows: as many as
// there are pieces, or up to 127 more if the number of rows is a multiple of 64. Some models add a
// few tokens that no text encodes to and then pad the embedding for speed (Gemma 3: 262144 pieces,
// 262208 rows); rounding up to a multiple of 128, the usual choice in training, adds at most 127.
// More pieces than rows can never work.
inline Result<void> CheckVocabulary(const Tokenizer& tokenizer, size_t model_vocab_size) {
  constexpr size_t kPaddedTo = 64, kMaxPadding = 127;
  const size_t pieces = tokenizer.vocab_size();
  if (model_vocab_size == pieces) return {};
  const bool padded = model_vocab_size > pieces && model_vocab_size - pieces <= kMaxPadding &&
                      model_vocab_size % kPaddedTo == 0;
  if (padded) return {};
  return Fail(ErrorCode::kInvalidArgument, "the tokenizer has " + std::to_string(pieces) +
                                               " pieces, but the model has a vocabulary of " +
                                               std::to_string(model_vocab_size) +
                                               ": they do not belong together");
}

// Implementation.

inline Result<Tokenizer> Tokenizer::Load(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return Fail(ErrorCode::kNotFound,
                path.string() + ": no such file, expected a SentencePiece model");
  }
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.is_open() || file.bad()) {
    return Fail(ErrorCode::kNotFound, path.string() + ": cannot be read");
  }
  Result<Tokenizer> tokenizer = Parse(bytes);
  if (!tokenizer) return Annotate(path.string(), tokenizer);
  return tokenizer;
}

inline Result<Tokenizer> Tokenizer::Parse(std::string_view bytes) {
  if (Result<void> whole = internal::CheckSentencePieceOutline(bytes); !whole) {
    return Failure(whole.error());
  }
  auto processor = std::make_unique<sentencepiece::SentencePieceProcessor>();
  if (const auto status = processor->LoadFromSerializedProto(std::string(bytes)); !status.ok()) {
    return Fail(ErrorCode::kDataLoss,
                std::string("not a usable SentencePiece model: ") + status.message());
  }
  Tokenizer tokenizer(std::move(processor));
  if (Result<void> found = tokenizer.FindSpecialPieces(); !found) return Failure(found.error());
  if (Result<void> found = tokenizer.FindDecodingRules(); !found) return Failure(found.error());
  return tokenizer;
}

inline Result<std::vector<int32_t>> Tokenizer::Encode(std::string_view text,
                                                      ParseSpecial parse_special) const {
  if (parse_special == ParseSpecial::kNo) return EncodePlain(text);
  std::vector<int32_t> ids;
  while (!text.empty()) {
    size_t length = 0;  // of the plain text before the next special piece
    const SpecialPiece* special = nullptr;
    while (length < text.size() && !(special = specials_.AtStartOf(text.substr(length)))) ++length;
    const Result<std::vector<int32_t>> plain = EncodePlain(text.substr(0, length));
    if (!plain) return plain;
    ids.insert(ids.end(), plain->begin(), plain->end());
    text.remove_prefix(length);
    if (!special) break;
    ids.push_back(special->id);
    text.remove_prefix(special->name.size());
  }
  return ids;
}

inline Result<std::string> Tokenizer::Decode(std::span<const int32_t> ids) const {
  for (const int32_t id : ids) {
    if (Result<void> valid = CheckId(id); !valid) return Failure(valid.error());
  }
  std::string text;
  const auto status = processor_->Decode(std::vector<int>(ids.begin(), ids.end()), &text);
  if (!status.ok()) {
    return Fail(ErrorCode::kInvalidArgument, std::string("cannot decode: ") + status.message());
  }
  return text;
}

inline std::optional<int32_t> Tokenizer::PieceToId(std::string_view piece) const {
  const int id = processor_->PieceToId(piece);  // that of <unk> if there is no such piece
  if (id < 0 || processor_->IdToPiece(id) != piece) return std::nullopt;
  return id;
}

inline std::optional<int32_t> Tokenizer::SpecialId(std::string_view name) const {
  const SpecialPiece* special = specials_.Named(name);
  return special ? std::optional<int32_t>(special->id) : std::nullopt;
}

inline Result<std::string_view> Tokenizer::IdToPiece(int32_t id) const {
  if (Result<void> valid = CheckId(id); !valid) return Failure(valid.error());
  return std::string_view(processor_->IdToPiece(id));
}

inline PieceKind Tokenizer::KindOf(int32_t id) const {
  const int32_t same = SameSpelling(id);
  if (processor_->IsByte(same)) return PieceKind::kByte;
  if (processor_->IsControl(same)) return PieceKind::kControl;
  return processor_->IsUnknown(same) ? PieceKind::kUnknown : PieceKind::kText;
}

inline uint8_t Tokenizer::ByteOf(int32_t id) const {
  const std::string& piece =
      processor_->IdToPiece(id);  // <0xNN>, which the library checked on loading
  uint8_t byte = 0;
  std::from_chars(piece.data() + 3, piece.data() + 5, byte, 16);
  return byte;
}

inline Result<void> Tokenizer::CheckId(int32_t id) const {
  if (id >= 0 && static_cast<size_t>(id) < vocab_size()) return {};
  return Fail(ErrorCode::kInvalidArgument, "token id " + std::to_string(id) +
                                               " is outside of the vocabulary of " +
                                               std::to_string(vocab_size()) + " pieces");
}

// Encodes with turn markers matched wherever the library matches them.
inline Result<std::vector<int32_t>> Tokenizer::EncodeAsLibraryDoes(std::string_view text) const {
  // The library counts bytes in int, after normalisation, which can triple them.
  constexpr size_t kMaxBytes = size_t{1} << 29;
  if (text.size() > kMaxBytes) {
    return Fail(ErrorCode::kOutOfRange, "a text of " + std::to_string(text.size()) +
                                            " bytes is longer than the tokenizer's limit of " +
                                            std::to_string(kMaxBytes));
  }
  std::vector<int32_t> ids;
  const auto status = processor_->Encode(text, &ids);
  if (!status.ok()) {
    return Fail(ErrorCode::kInvalidArgument, std::string("cannot encode: ") + status.message());
  }
  return ids;
}

// Encodes without turn markers. They are replaced in the ids, not searched for in the text, because
// normalisation can turn other spellings into them.
inline Result<std::vector<int32_t>> Tokenizer::EncodePlain(std::string_view text) const {
  Result<std::vector<int32_t>> matched = EncodeAsLibraryDoes(text);
  if (!matched) return matched;
  std::vector<int32_t> ids;
  ids.reserve(matched->size());
  for (const int32_t id : *matched) {
    if (const SpecialPiece* special = specials_.ToSpellOut(id)) {
      ids.insert(ids.end(), special->spelled_out.begin(), special->spelled_out.end());
    } else {
      ids.push_back(id);
    }
  }
  return ids;
}

// Returns ids of other pieces for the name of a turn marker, or none if it is never found in a
// text. Encodes the name in two parts, so that neither is the marker, each behind a whole marker,
// so that no space is added.
inline Result<std::vector<int32_t>> Tokenizer::SpellOut(std::string_view name, int32_t id) const {
  std::vector<int32_t> spelled_out;
  for (const std::string_view part : {name.substr(0, 1), name.substr(1)}) {
    const Result<std::vector<int32_t>> ids = EncodeAsLibraryDoes(std::string(name).append(part));
    if (!ids) return ids;
    const auto marker = std::find(ids->begin(), ids->end(), id);
    if (marker == ids->end()) return std::vector<int32_t>{};
    spelled_out.insert(spelled_out.end(), marker + 1, ids->end());
  }
  return spelled_out;
}

inline Result<void> Tokenizer::FindSpecialPieces() {
  for (int32_t id = 0; static_cast<size_t>(id) < vocab_size(); ++id) {
    if (processor_->IsControl(id)) specials_.Add({processor_->IdToPiece(id), id, {}});
  }
  for (const std::string_view name : kTurnMarkers) {
    const std::optional<int32_t> id = PieceToId(name);
    if (!id || specials_.Named(name)) continue;
    Result<std::vector<int32_t>> spelled_out = SpellOut(name, *id);
    if (!spelled_out) return Failure(spelled_out.error());
    specials_.Add({std::string(name), *id, *std::move(spelled_out)});
  }
  return {};
}

// Asks the library how it decodes instead of reading its specifications, which it does not expose.
inline Result<void> Tokenizer::FindDecodingRules() {
  if (const std::optional<int32_t> unk = unk_id()) {
    const Result<std::string> text = Decode(std::vector<int32_t>{*unk});
    if (!text) return Failure(text.error());
    unknown_text_ = *text;
  }
  // Any piece with a leading space shows whether it is dropped. Whether a second one would be
  // dropped too only matters, and only shows, if there is a piece that is nothing but a space.
  std::optional<int32_t> spaced = PieceToId(kSpaceSymbol);
  for (int32_t id = 0; !spaced && static_cast<size_t>(id) < vocab_size(); ++id) {
    const bool starts_with_space = processor_->IdToPiece(id).starts_with(kSpaceSymbol);
    if (starts_with_space && KindOf(id) == PieceKind::kText) spaced = id;
  }
  if (!spaced) return {};
  const Result<std::string> once = Decode(std::vector<int32_t>{*spaced});
  const Result<std::string> twice = Decode(std::vector<int32_t>{*spaced, *spaced});
  if (!once || !twice) return Failure((once ? twice : once).error());
  if (once->starts_with(' ')) {
    leading_space_ = LeadingSpace::kKeep;
  } else {
    leading_space_ = twice->empty() ? LeadingSpace::kDropAll : LeadingSpace::kDropOne;
  }
  return {};
}

}  // namespace skald

#endif  // SKALD_TEXT_TOKENIZER_H_
