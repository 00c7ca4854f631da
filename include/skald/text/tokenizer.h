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
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "skald/base/files/small_file.h"
#include "skald/base/no_throw.h"
#include "skald/base/printable.h"
#include "skald/base/result.h"
#include "skald/text/marked_text.h"
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

// Most bytes of a file with a SentencePiece model. The largest published, of 262,144 pieces, has 5 MB.
inline constexpr uint64_t kMaxTokenizerFile = uint64_t{256} << 20;

class Tokenizer {
 public:
  // Reads a SentencePiece model file of at most kMaxTokenizerFile bytes. The error names the file.
  static Result<Tokenizer> Load(const std::filesystem::path& path);

  // Makes a tokenizer of the bytes of a SentencePiece model file, which are copied.
  static Result<Tokenizer> Parse(std::string_view bytes);

  // Returns the ids of `text`, without BOS or EOS, and without any control piece or marker: text from users cannot
  // steer the model. Any bytes are allowed: each one that is not part of valid UTF-8 counts as U+FFFD. With
  // ParseSpecial::kYes each stretch of text between special pieces is encoded on its own, and so starts with the space
  // that some models put before every text.
  Result<std::vector<int32_t>> Encode(std::string_view text, ParseSpecial parse_special = ParseSpecial::kNo) const;

  // The same for a text of several authors: a special piece is one only where a template wrote all of it.
  Result<std::vector<int32_t>> Encode(const MarkedText& text) const;

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

  static std::optional<int32_t> IfDefined(int id) { return id < 0 ? std::nullopt : std::optional<int32_t>(id); }

  Result<void> CheckId(int32_t id) const;
  std::optional<int32_t> FindPiece(PieceKind kind, std::string_view beginning = {}) const;
  int32_t SameSpelling(int32_t id) const { return processor_->PieceToId(processor_->IdToPiece(id)); }
  Result<std::vector<int32_t>> EncodeAsLibraryDoes(std::string_view text) const;
  Result<std::vector<int32_t>> EncodePlain(std::string_view text) const;
  Result<std::vector<int32_t>> SpellOut(std::string_view name, int32_t id) const;
  Result<std::vector<SpecialPiece>> FindMarkers(const std::vector<bool>& is_user_defined) const;
  Result<void> FindSpecialPieces(const std::vector<bool>& is_user_defined);
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
  const bool padded =
      model_vocab_size > pieces && model_vocab_size - pieces <= kMaxPadding && model_vocab_size % kPaddedTo == 0;
  if (padded) return {};
  return NoThrow("the vocabulary", [&]() -> Result<void> {
    return Fail(ErrorCode::kInvalidArgument, "the tokenizer has " + std::to_string(pieces) +
                                                 " pieces, but the model has a vocabulary of " +
                                                 std::to_string(model_vocab_size) + ": they do not belong together");
  });
}

// Implementation.

inline Result<Tokenizer> Tokenizer::Load(const std::filesystem::path& path) {
  return NoThrow(path.native(), [&]() -> Result<Tokenizer> {
    const Result<std::string> bytes = ReadSmallFile(path, kMaxTokenizerFile);
    if (!bytes) return Fail(bytes.error().code, bytes.error().message + "; expected a SentencePiece model");
    Result<Tokenizer> tokenizer = Parse(*bytes);
    if (!tokenizer) return Annotate(path.string(), tokenizer);
    return tokenizer;
  });
}

inline Result<Tokenizer> Tokenizer::Parse(std::string_view bytes) {
  return NoThrow("the SentencePiece model", [&]() -> Result<Tokenizer> {
    if (Result<void> whole = internal::CheckSentencePieceOutline(bytes); !whole) return Failure(whole.error());
    auto processor = std::make_unique<sentencepiece::SentencePieceProcessor>();
    if (const auto status = processor->LoadFromSerializedProto(std::string(bytes)); !status.ok()) {
      return Fail(ErrorCode::kDataLoss,
                  Printable(std::string("not a usable SentencePiece model: ") + status.message()));
    }
    Tokenizer tokenizer(std::move(processor));
    const std::vector<bool> is_user_defined = internal::FindUserDefined(bytes);
    if (is_user_defined.size() != tokenizer.vocab_size()) {
      return Fail(ErrorCode::kDataLoss, "not a usable SentencePiece model: it lists its pieces in an unknown manner");
    }
    if (Result<void> found = tokenizer.FindSpecialPieces(is_user_defined); !found) return Failure(found.error());
    if (Result<void> found = tokenizer.FindDecodingRules(); !found) return Failure(found.error());
    return tokenizer;
  });
}

inline Result<std::vector<int32_t>> Tokenizer::Encode(std::string_view text, ParseSpecial parse_special) const {
  return NoThrow("encoding a text", [&]() -> Result<std::vector<int32_t>> {
    if (parse_special == ParseSpecial::kNo) return EncodePlain(text);
    return Encode(MarkedText(text, Author::kTemplate));
  });
}

inline Result<std::vector<int32_t>> Tokenizer::Encode(const MarkedText& text) const {
  return NoThrow("encoding a text", [&]() -> Result<std::vector<int32_t>> {
    std::vector<int32_t> ids;
    const std::string_view whole = text.text();
    for (size_t begin = 0; begin < whole.size();) {
      size_t end = begin;  // of the plain text before the next special piece
      const SpecialPiece* special = nullptr;
      for (; end < whole.size() && special == nullptr; end += special == nullptr) {
        special = specials_.AtStartOf(whole.substr(end));
        if (special != nullptr && !text.IsTemplates(end, special->name.size())) special = nullptr;
      }
      const Result<std::vector<int32_t>> plain = EncodePlain(whole.substr(begin, end - begin));
      if (!plain) return plain;
      ids.insert(ids.end(), plain->begin(), plain->end());
      begin = end;
      if (special == nullptr) break;
      ids.push_back(special->id);
      begin += special->name.size();
    }
    return ids;
  });
}

inline Result<std::string> Tokenizer::Decode(std::span<const int32_t> ids) const {
  return NoThrow("decoding ids", [&]() -> Result<std::string> {
    for (const int32_t id : ids) {
      if (Result<void> valid = CheckId(id); !valid) return Failure(valid.error());
    }
    std::string text;
    const auto status = processor_->Decode(std::vector<int>(ids.begin(), ids.end()), &text);
    if (status.ok()) return text;
    return Fail(ErrorCode::kInvalidArgument, Printable(std::string("cannot decode: ") + status.message()));
  });
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
  const std::string& piece = processor_->IdToPiece(id);  // <0xNN>, which the library checked on loading
  uint8_t byte = 0;
  std::from_chars(piece.data() + 3, piece.data() + 5, byte, 16);
  return byte;
}

// Returns the first piece of a kind that begins so. (unk_id() is that of a name, which need not be the unknown
// piece's.)
inline std::optional<int32_t> Tokenizer::FindPiece(PieceKind kind, std::string_view beginning) const {
  for (int32_t id = 0; static_cast<size_t>(id) < vocab_size(); ++id) {
    if (processor_->IdToPiece(id).starts_with(beginning) && KindOf(id) == kind) return id;
  }
  return std::nullopt;
}

inline Result<void> Tokenizer::CheckId(int32_t id) const {
  if (id >= 0 && static_cast<size_t>(id) < vocab_size()) return {};
  return NoThrow("a token id", [&]() -> Result<void> {
    return Fail(ErrorCode::kInvalidArgument, "token id " + std::to_string(id) + " is outside of the vocabulary of " +
                                                 std::to_string(vocab_size()) + " pieces");
  });
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
    return Fail(ErrorCode::kInvalidArgument, Printable(std::string("cannot encode: ") + status.message()));
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

// Returns ids of other pieces for the name of a marker, or none if it is never found in a text. Encodes the name in two
// parts, so that neither is the marker, each behind a whole marker, so that no space is added.
inline Result<std::vector<int32_t>> Tokenizer::SpellOut(std::string_view name, int32_t id) const {
  const auto ids_behind = [id](const std::vector<int32_t>& ids) {
    const auto marker = std::find(ids.begin(), ids.end(), id);
    return marker == ids.end() ? marker : marker + 1;
  };
  const Result<std::vector<int32_t>> whole = EncodeAsLibraryDoes(name);
  if (!whole || std::find(whole->begin(), whole->end(), id) == whole->end()) {
    return whole ? std::vector<int32_t>{} : whole;
  }
  std::vector<int32_t> spelled_out;
  for (const std::string_view part : {name.substr(0, 1), name.substr(1)}) {
    Result<std::vector<int32_t>> ids = EncodeAsLibraryDoes(std::string(name).append(part));
    if (!ids) return ids;
    auto begin = ids_behind(*ids);
    if (begin == ids->end() && !part.empty()) {  // another piece took the end of the marker
      ids = EncodeAsLibraryDoes(part);
      if (!ids) return ids;
      begin = ids->begin();
    }
    spelled_out.insert(spelled_out.end(), begin, ids->cend());
  }
  return spelled_out;
}

// Returns the markers that are no control pieces, spelled out without any marker.
inline Result<std::vector<SpecialPiece>> Tokenizer::FindMarkers(const std::vector<bool>& is_user_defined) const {
  std::vector<SpecialPiece> markers;
  std::unordered_map<int32_t, std::vector<int32_t>> spellings;
  const auto add = [&](int32_t id) {
    if (!processor_->IsControl(id) && spellings.try_emplace(id).second) {
      markers.push_back({processor_->IdToPiece(id), id, {}});
    }
  };
  for (size_t id = 0; id < is_user_defined.size(); ++id) {
    const auto piece = static_cast<int32_t>(id);
    if (is_user_defined[id] && IsMarkerName(processor_->IdToPiece(piece))) add(piece);
  }
  for (const std::string_view name : kTurnMarkers) {
    if (const std::optional<int32_t> id = PieceToId(name)) add(*id);
  }
  const std::optional<int32_t> unknown = FindPiece(PieceKind::kUnknown);
  // A marker's parts can hold shorter ones.
  std::sort(markers.begin(), markers.end(),
            [](const SpecialPiece& a, const SpecialPiece& b) { return a.name.size() < b.name.size(); });
  for (SpecialPiece& marker : markers) {
    const Result<std::vector<int32_t>> parts = SpellOut(marker.name, marker.id);
    if (!parts) return Failure(parts.error());
    for (const int32_t part : *parts) {
      const auto shorter = spellings.find(part);
      if (shorter == spellings.end()) {
        marker.spelled_out.push_back(part);
      } else {
        marker.spelled_out.insert(marker.spelled_out.end(), shorter->second.begin(), shorter->second.end());
      }
    }
    if (!parts->empty() && marker.spelled_out.empty() && unknown) marker.spelled_out.push_back(*unknown);
    spellings[marker.id] = marker.spelled_out;
  }
  return markers;
}

inline Result<void> Tokenizer::FindSpecialPieces(const std::vector<bool>& is_user_defined) {
  Result<std::vector<SpecialPiece>> pieces = FindMarkers(is_user_defined);
  if (!pieces) return Failure(pieces.error());
  for (int32_t id = 0; static_cast<size_t>(id) < vocab_size(); ++id) {
    if (processor_->IsControl(id)) pieces->push_back({processor_->IdToPiece(id), id, {}});
  }
  specials_ = SpecialPieces(std::move(*pieces));
  return {};
}

// Asks the library how it decodes instead of reading its specifications, which it does not expose.
inline Result<void> Tokenizer::FindDecodingRules() {
  if (const std::optional<int32_t> unknown = FindPiece(PieceKind::kUnknown)) {
    const Result<std::string> text = Decode(std::vector<int32_t>{*unknown});
    if (!text) return Failure(text.error());
    unknown_text_ = *text;
  }
  // Any piece with a leading space shows whether it is dropped. Whether a second one would be
  // dropped too only matters, and only shows, if there is a piece that is nothing but a space.
  std::optional<int32_t> spaced = PieceToId(kSpaceSymbol);
  if (!spaced || KindOf(*spaced) != PieceKind::kText) spaced = FindPiece(PieceKind::kText, kSpaceSymbol);
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
