// SPDX-License-Identifier: Apache-2.0
//
// Text to token ids and back with a SentencePiece model (tokenizer.model of Gemma, Llama 2, Mistral, TinyLlama), by the
// SentencePiece library. Any text, and any file that is cut short or of another kind, is at worst an Error. The library
// trusts the content of a whole model (above all its normalisation table), so load models from sources that you trust.
// Immutable; safe for concurrent calls. Left out in decoding id by id: denormalisation, with which SentencePiece can
// rewrite whole texts on decoding. The models of the supported families do not use it.
//
// Source: Kudo and Richardson, "SentencePiece", EMNLP 2018; github.com/google/sentencepiece.

#ifndef SKALD_TOKENIZERS_DETAIL_SENTENCEPIECE_SENTENCEPIECE_ENGINE_H_
#define SKALD_TOKENIZERS_DETAIL_SENTENCEPIECE_SENTENCEPIECE_ENGINE_H_

#include <sentencepiece_processor.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/marked_text.h"
#include "skald/base/text/printable.h"
#include "skald/base/text/utf8.h"
#include "skald/tokenizers/detail/sentencepiece/sentencepiece_file.h"
#include "skald/tokenizers/detail/sentencepiece/special_pieces.h"
#include "skald/tokenizers/detail/text_of_id.h"
#include "skald/tokenizers/tokenizer_engine.h"

namespace skald::internal {

// The ids around a text if special tokens are requested. The model's file does not say; most models want BOS.
struct SentencePieceAdds {
  bool bos = true, eos = false;
};

class SentencePieceEngine final : public TokenizerEngine {
 public:
  // Makes an engine of the bytes of a SentencePiece model file, which are copied.
  static Result<std::shared_ptr<const SentencePieceEngine>> Parse(std::string_view bytes, SentencePieceAdds adds = {});

  size_t vocab_size() const override { return static_cast<size_t>(processor_->GetPieceSize()); }
  NamedIds named_ids() const override {
    return {IfDefined(processor_->bos_id()), IfDefined(processor_->eos_id()), IfDefined(processor_->unk_id()),
            IfDefined(processor_->pad_id())};
  }
  Result<std::vector<int32_t>> Encode(const MarkedText& text) const override;
  Result<std::vector<int32_t>> Encode(std::string_view text, Author author) const override;
  size_t LeastIds(std::string_view text) const override { return text_of_id_.LeastIds(text); }
  std::span<const int32_t> prefix() const override { return prefix_; }
  std::span<const int32_t> suffix() const override { return suffix_; }
  Result<std::string> Decode(std::span<const int32_t> ids, SkipSpecial skip_special) const override;
  std::string DecodeNext(DecodingState& state, int32_t id) const override;
  std::string DecodeRest(DecodingState& state) const override;
  std::optional<int32_t> PieceToId(std::string_view piece) const override;
  std::optional<int32_t> SpecialId(std::string_view name) const override;
  std::string_view IdToPiece(int32_t id) const override { return processor_->IdToPiece(id); }
  PieceKind KindOf(int32_t id) const override;
  uint8_t ByteOf(int32_t id) const override;
  std::optional<std::string> BytesOf(int32_t id) const override;
  LeadingSpace leading_space() const override { return leading_space_; }
  std::string_view unknown_text() const override { return unknown_text_; }
  Result<std::string> ToBytes() const override { return std::string(processor_->serialized_model_proto()); }

 private:
  // SentencePiece's vectors of ids are passed on without a copy.
  static_assert(std::is_same_v<int, int32_t>);

  explicit SentencePieceEngine(std::unique_ptr<const sentencepiece::SentencePieceProcessor> processor)
      : processor_(std::move(processor)) {}

  static std::optional<int32_t> IfDefined(int id) { return id < 0 ? std::nullopt : std::optional<int32_t>(id); }

  std::optional<int32_t> FindPiece(PieceKind kind, std::string_view beginning = {}) const;
  int32_t SameSpelling(int32_t id) const { return processor_->PieceToId(processor_->IdToPiece(id)); }
  Result<std::vector<int32_t>> EncodeAsLibraryDoes(std::string_view text) const;
  Result<std::vector<int32_t>> EncodePlain(std::string_view text) const;
  Result<std::vector<int32_t>> SpellOut(std::string_view name, int32_t id) const;
  Result<std::vector<SpecialPiece>> FindMarkers(const std::vector<bool>& is_user_defined) const;
  Result<void> FindSpecialPieces(const std::vector<bool>& is_user_defined);
  Result<void> FindDecodingRules();
  void FindTextOfId(const SentencePieceHabits& habits);

  // Decoding id by id: `held` are the bytes of an unfinished character, `started` says that no leading space is dropped
  // any more.
  enum class AtIncomplete { kWait, kReplace };
  static DecodingState::Step& StepOf(DecodingState& state);
  static std::string TakeCharacters(DecodingState::Step& step, AtIncomplete at_incomplete);
  std::string Spell(DecodingState::Step& step, std::string_view piece) const;

  std::unique_ptr<const sentencepiece::SentencePieceProcessor> processor_;
  SpecialPieces specials_;
  LeadingSpace leading_space_ = LeadingSpace::kKeep;
  std::string unknown_text_;
  TextOfId text_of_id_;
  std::vector<int32_t> prefix_, suffix_;
};

// Implementation.

inline Result<std::shared_ptr<const SentencePieceEngine>> SentencePieceEngine::Parse(std::string_view bytes,
                                                                                     SentencePieceAdds adds) {
  if (Result<void> whole = CheckSentencePieceOutline(bytes); !whole) return Failure(whole.error());
  auto processor = std::make_unique<sentencepiece::SentencePieceProcessor>();
  if (const auto status = processor->LoadFromSerializedProto(std::string(bytes)); !status.ok()) {
    return Fail(ErrorCode::kDataLoss, Printable(std::string("not a usable SentencePiece model: ") + status.message()));
  }
  const std::shared_ptr<SentencePieceEngine> engine(new SentencePieceEngine(std::move(processor)));
  const std::vector<bool> is_user_defined = FindUserDefined(bytes);
  if (is_user_defined.size() != engine->vocab_size()) {
    return Fail(ErrorCode::kDataLoss, "not a usable SentencePiece model: it lists its pieces in an unknown manner");
  }
  if (Result<void> found = engine->FindSpecialPieces(is_user_defined); !found) return Failure(found.error());
  if (Result<void> found = engine->FindDecodingRules(); !found) return Failure(found.error());
  engine->FindTextOfId(FindHabits(bytes));
  const NamedIds ids = engine->named_ids();
  if (adds.bos && ids.bos) engine->prefix_.push_back(*ids.bos);
  if (adds.eos && ids.eos) engine->suffix_.push_back(*ids.eos);
  return engine;
}

inline Result<std::vector<int32_t>> SentencePieceEngine::Encode(std::string_view text, Author author) const {
  return author == Author::kMessage ? EncodePlain(text) : Encode(MarkedText(text, author));
}

inline Result<std::vector<int32_t>> SentencePieceEngine::Encode(const MarkedText& text) const {
  std::vector<int32_t> ids;
  const std::string_view whole = text.text();
  for (size_t begin = 0; begin < whole.size();) {
    size_t end = begin;  // of the plain text before the next special piece
    const SpecialPiece* special = nullptr;
    for (; end < whole.size() && special == nullptr; end += special == nullptr) {
      special = specials_.AtStartOf(whole.substr(end));
      if (special != nullptr && !text.IsTemplates(end, special->name.size())) special = nullptr;
    }
    SKALD_ASSIGN(const auto plain, EncodePlain(whole.substr(begin, end - begin)));
    ids.insert(ids.end(), plain.begin(), plain.end());
    begin = end;
    if (special == nullptr) break;
    ids.push_back(special->id);
    begin += special->name.size();
  }
  return ids;
}

inline Result<std::string> SentencePieceEngine::Decode(std::span<const int32_t> ids, SkipSpecial skip_special) const {
  std::string text;
  if (skip_special == SkipSpecial::kNo) {
    DecodingState state;
    for (const int32_t id : ids) {
      if (KindOf(id) == PieceKind::kControl) {
        text += DecodeRest(state) += IdToPiece(id);
        StepOf(state).started = true;  // the space of the word after a name stays
      } else {
        text += DecodeNext(state, id);
      }
    }
    return text += DecodeRest(state);
  }
  const auto status = processor_->Decode(std::vector<int>(ids.begin(), ids.end()), &text);
  if (status.ok()) return text;
  return Fail(ErrorCode::kInvalidArgument, Printable(std::string("cannot decode: ") + status.message()));
}

inline std::optional<int32_t> SentencePieceEngine::PieceToId(std::string_view piece) const {
  const int id = processor_->PieceToId(piece);  // that of <unk> if there is no such piece
  if (id < 0 || processor_->IdToPiece(id) != piece) return std::nullopt;
  return id;
}

inline std::optional<int32_t> SentencePieceEngine::SpecialId(std::string_view name) const {
  const SpecialPiece* special = specials_.Named(name);
  return special ? std::optional<int32_t>(special->id) : std::nullopt;
}

inline PieceKind SentencePieceEngine::KindOf(int32_t id) const {
  const int32_t same = SameSpelling(id);
  if (processor_->IsByte(same)) return PieceKind::kByte;
  if (processor_->IsControl(same)) return PieceKind::kControl;
  return processor_->IsUnknown(same) ? PieceKind::kUnknown : PieceKind::kText;
}

inline uint8_t SentencePieceEngine::ByteOf(int32_t id) const {
  const std::string& piece = processor_->IdToPiece(id);  // <0xNN>, which the library checked on loading
  uint8_t byte = 0;
  std::from_chars(piece.data() + 3, piece.data() + 5, byte, 16);
  return byte;
}

inline std::optional<std::string> SentencePieceEngine::BytesOf(int32_t id) const {
  const PieceKind kind = KindOf(id);
  if (kind == PieceKind::kByte) return std::string(1, static_cast<char>(ByteOf(id)));
  if (kind == PieceKind::kUnknown) return unknown_text_;
  if (kind == PieceKind::kControl) return std::string(IdToPiece(id));
  DecodingState::Step inside;
  inside.started = true;
  return Spell(inside, IdToPiece(id));
}

// Returns the first piece of a kind that begins so. (unk_id() is that of a name, which need not be the unknown
// piece's.)
inline std::optional<int32_t> SentencePieceEngine::FindPiece(PieceKind kind, std::string_view beginning) const {
  for (int32_t id = 0; static_cast<size_t>(id) < vocab_size(); ++id) {
    if (processor_->IdToPiece(id).starts_with(beginning) && KindOf(id) == kind) return id;
  }
  return std::nullopt;
}

// Encodes with turn markers matched wherever the library matches them.
inline Result<std::vector<int32_t>> SentencePieceEngine::EncodeAsLibraryDoes(std::string_view text) const {
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
inline Result<std::vector<int32_t>> SentencePieceEngine::EncodePlain(std::string_view text) const {
  SKALD_ASSIGN(auto matched, EncodeAsLibraryDoes(text));
  std::vector<int32_t> ids;
  ids.reserve(matched.size());
  for (const int32_t id : matched) {
    if (const SpecialPiece* special = specials_.ToSpellOut(id)) {
      ids.insert(ids.end(), special->spelled_out.begin(), special->spelled_out.end());
    } else {
      ids.push_back(id);
    }
  }
  return ids;
}

// Returns ids of other pieces for the name of a marker, or none if it is never found in a text. Encodes the name in two
// parts, so that neither is the marker, each after a whole marker, so that no space is added.
inline Result<std::vector<int32_t>> SentencePieceEngine::SpellOut(std::string_view name, int32_t id) const {
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
inline Result<std::vector<SpecialPiece>> SentencePieceEngine::FindMarkers(
    const std::vector<bool>& is_user_defined) const {
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
    SKALD_ASSIGN(const auto parts, SpellOut(marker.name, marker.id));
    for (const int32_t part : parts) {
      const auto shorter = spellings.find(part);
      if (shorter == spellings.end()) {
        marker.spelled_out.push_back(part);
      } else {
        marker.spelled_out.insert(marker.spelled_out.end(), shorter->second.begin(), shorter->second.end());
      }
    }
    if (!parts.empty() && marker.spelled_out.empty() && unknown) marker.spelled_out.push_back(*unknown);
    spellings[marker.id] = marker.spelled_out;
  }
  return markers;
}

inline Result<void> SentencePieceEngine::FindSpecialPieces(const std::vector<bool>& is_user_defined) {
  SKALD_ASSIGN(auto pieces, FindMarkers(is_user_defined));
  for (int32_t id = 0; static_cast<size_t>(id) < vocab_size(); ++id) {
    if (processor_->IsControl(id)) pieces.push_back({processor_->IdToPiece(id), id, {}});
  }
  specials_ = SpecialPieces(std::move(pieces));
  return {};
}

// Asks the library how it decodes instead of reading its specifications, which it does not expose.
inline Result<void> SentencePieceEngine::FindDecodingRules() {
  if (const std::optional<int32_t> unknown = FindPiece(PieceKind::kUnknown)) {
    SKALD_ASSIGN(const auto text, Decode(std::vector<int32_t>{*unknown}, SkipSpecial::kYes));
    unknown_text_ = text;
  }
  // Any piece with a leading space shows whether it is dropped. Whether a second one would be
  // dropped too only matters, and only shows, if there is a piece that is nothing but a space.
  std::optional<int32_t> spaced = PieceToId(kSpaceSymbol);
  if (!spaced || KindOf(*spaced) != PieceKind::kText) spaced = FindPiece(PieceKind::kText, kSpaceSymbol);
  if (!spaced) return {};
  const Result<std::string> once = Decode(std::vector<int32_t>{*spaced}, SkipSpecial::kYes);
  const Result<std::string> twice = Decode(std::vector<int32_t>{*spaced, *spaced}, SkipSpecial::kYes);
  if (!once || !twice) return Failure((once ? twice : once).error());
  if (once->starts_with(' ')) {
    leading_space_ = LeadingSpace::kKeep;
  } else {
    leading_space_ = twice->empty() ? LeadingSpace::kDropAll : LeadingSpace::kDropOne;
  }
  return {};
}

// A piece represents as many bytes of the text as it has itself, or fewer if it has symbols for spaces. Without bytes
// to fall back to, any number of unknown letters becomes one id; a table may drop letters.
inline void SentencePieceEngine::FindTextOfId(const SentencePieceHabits& habits) {
  if (!habits.has_byte_fallback || habits.has_table) return;
  text_of_id_.drops_spaces = habits.drops_spaces;
  for (size_t id = 0; id < vocab_size(); ++id) {
    text_of_id_.most_bytes = std::max(text_of_id_.most_bytes, IdToPiece(static_cast<int32_t>(id)).size());
  }
}

inline DecodingState::Step& SentencePieceEngine::StepOf(DecodingState& state) {
  if (state.steps.empty()) state.steps.emplace_back();
  return state.steps.front();
}

inline std::string SentencePieceEngine::DecodeNext(DecodingState& state, int32_t id) const {
  DecodingState::Step& step = StepOf(state);
  const PieceKind kind = KindOf(id);
  std::string text;
  if (kind == PieceKind::kByte) {
    step.held += static_cast<char>(ByteOf(id));
    text = TakeCharacters(step, AtIncomplete::kWait);
  } else {
    text = DecodeRest(state);
    if (kind == PieceKind::kUnknown) text += unknown_text_;
    if (kind == PieceKind::kText) text += Spell(step, IdToPiece(id));
  }
  step.started |= !text.empty();
  return text;
}

// A character of which bytes are missing is U+FFFD for each byte. So short a text needs no memory.
inline std::string SentencePieceEngine::DecodeRest(DecodingState& state) const {
  if (state.steps.empty()) return {};
  DecodingState::Step& step = state.steps.front();
  std::string text = TakeCharacters(step, AtIncomplete::kReplace);
  step.started |= !text.empty();
  return text;
}

// Takes characters off the front of the held bytes, and U+FFFD for bytes that belong to none.
inline std::string SentencePieceEngine::TakeCharacters(DecodingState::Step& step, AtIncomplete at_incomplete) {
  std::string text;
  std::string_view rest = step.held;
  while (!rest.empty()) {
    const Utf8Character character = FirstUtf8Character(rest);
    if (character.status == Utf8Status::kIncomplete && at_incomplete == AtIncomplete::kWait) break;
    const bool complete = character.status == Utf8Status::kComplete;
    text += complete ? rest.substr(0, character.length) : kReplacementCharacter;
    rest.remove_prefix(complete ? character.length : 1);
  }
  step.held = std::string(rest);
  return text;
}

// Returns the text of an ordinary piece: its letters, with spaces for their symbol.
inline std::string SentencePieceEngine::Spell(DecodingState::Step& step, std::string_view piece) const {
  if (!step.started && leading_space_ != LeadingSpace::kKeep && piece.starts_with(kSpaceSymbol)) {
    piece.remove_prefix(kSpaceSymbol.size());
    step.started = leading_space_ == LeadingSpace::kDropOne;
  }
  std::string text;
  while (!piece.empty()) {
    const bool space = piece.starts_with(kSpaceSymbol);
    text += space ? ' ' : piece[0];
    piece.remove_prefix(space ? kSpaceSymbol.size() : 1);
  }
  return text;
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_SENTENCEPIECE_SENTENCEPIECE_ENGINE_H_
