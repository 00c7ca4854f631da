// SPDX-License-Identifier: Apache-2.0
//
// The engine of all tokenizers that are a pipeline of steps: those of tokenizer.json, and of GGUF files with byte-level
// vocabularies. Immutable; safe for concurrent calls. tokenizer_spec.h describes the steps.

#ifndef SKALD_TOKENIZERS_DETAIL_PIPELINE_PIPELINE_ENGINE_H_
#define SKALD_TOKENIZERS_DETAIL_PIPELINE_PIPELINE_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/marked_text.h"
#include "skald/base/text/message.h"
#include "skald/tokenizers/detail/pipeline/models/bpe_model.h"
#include "skald/tokenizers/detail/pipeline/models/piece_model.h"
#include "skald/tokenizers/detail/pipeline/models/unigram_model.h"
#include "skald/tokenizers/detail/pipeline/models/word_models.h"
#include "skald/tokenizers/detail/pipeline/pipeline_tables.h"
#include "skald/tokenizers/detail/pipeline/pipeline_text_of_id.h"
#include "skald/tokenizers/detail/pipeline/steps/added_tokens.h"
#include "skald/tokenizers/detail/pipeline/steps/decoders.h"
#include "skald/tokenizers/detail/pipeline/steps/normalizers.h"
#include "skald/tokenizers/detail/pipeline/steps/pre_tokenizers.h"
#include "skald/tokenizers/detail/text_of_id.h"
#include "skald/tokenizers/detail/utf8_repair.h"
#include "skald/tokenizers/tokenizer_engine.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

// The authors of a text. For a text without marks `all` says whether the special tokens in it are parsed, as with the
// library that defines tokenizer.json: all other added tokens are in any case. In a marked text a message becomes no
// marker, whether the file calls it special or not.
struct Authors {
  const MarkedText* marked = nullptr;
  Author all = Author::kMessage;

  // A message's if any of it is.
  Author Of(const ByteRange& range) const {
    if (marked == nullptr) return all;
    return marked->IsTemplates(range.begin, range.size()) ? Author::kTemplate : Author::kMessage;
  }
};

class PipelineEngine final : public TokenizerEngine {
 public:
  // Errors name what in the spec cannot be.
  static Result<std::shared_ptr<const PipelineEngine>> Make(TokenizerSpec spec) {
    SKALD_ASSIGN(auto tables, MakeTables(spec));
    return Make(std::move(spec), std::move(tables));
  }

  // The same with tables that fit the rest of `spec`, whose own vocabulary and merges do not count.
  static Result<std::shared_ptr<const PipelineEngine>> Make(TokenizerSpec spec, PipelineTables tables) {
    const std::shared_ptr<PipelineEngine> engine(new PipelineEngine(std::move(spec), std::move(tables)));
    if (Result<void> made = engine->Prepare(); !made) return Failure(made.error());
    return engine;
  }

  size_t vocab_size() const override { return tables_.pieces.size(); }
  NamedIds named_ids() const override { return {spec_.bos_id, spec_.eos_id, spec_.unk_id, spec_.pad_id}; }
  size_t LeastIds(std::string_view text) const override { return text_of_id_.LeastIds(text); }
  std::span<const int32_t> prefix() const override { return spec_.prefix; }
  std::span<const int32_t> suffix() const override { return spec_.suffix; }
  std::span<const int32_t> types() const override { return spec_.types; }
  std::span<const InputPart> pair() const override { return spec_.pair; }

  Result<std::vector<int32_t>> Encode(const MarkedText& text) const override {
    if (ValidUtf8Prefix(text.text()) == text.size()) return EncodeValid(text.text(), {&text, Author::kMessage});
    const MarkedText repaired = Repair(text);
    return EncodeValid(repaired.text(), {&repaired, Author::kMessage});
  }

  Result<std::vector<int32_t>> Encode(std::string_view text, Author author) const override {
    if (ValidUtf8Prefix(text) == text.size()) return EncodeValid(text, {nullptr, author});
    std::string bytes(text), repaired;
    TakeLastUtf8(bytes, repaired);
    return EncodeValid(repaired, {nullptr, author});
  }

  Result<std::string> Decode(std::span<const int32_t> ids, SkipSpecial skip_special) const override {
    DecodingState state;
    std::string text;
    for (const int32_t id : ids) {
      if (Leaves(id, skip_special)) text += decoders_.Push(state, IdToPiece(id), IsAdded(id), DecodingMode::kWhole);
    }
    return text += decoders_.Flush(state, DecodingMode::kWhole);
  }

  std::string DecodeNext(DecodingState& state, int32_t id) const override {
    if (!Leaves(id, SkipSpecial::kYes)) return {};
    return decoders_.Push(state, IdToPiece(id), IsAdded(id), DecodingMode::kStream);
  }
  std::string DecodeRest(DecodingState& state) const override { return decoders_.Flush(state, DecodingMode::kStream); }

  std::optional<int32_t> PieceToId(std::string_view piece) const override {
    if (piece.empty()) return std::nullopt;
    std::string bytes;
    const bool has_bytes = takes_bytes_ && AppendLettersBytes(piece, bytes);
    int32_t id = vocabulary_.Find(has_bytes ? bytes : piece);
    if (id == kNoToken || tables_.pieces[id] != piece) id = other_names_.Find(piece, tables_.pieces);
    return id == kNoToken ? std::nullopt : std::optional<int32_t>(id);
  }
  std::optional<int32_t> SpecialId(std::string_view name) const override {
    const std::optional<int32_t> id = PieceToId(name);
    return id && IsAdded(*id) ? id : std::nullopt;
  }
  std::string_view IdToPiece(int32_t id) const override { return tables_.pieces[id]; }

  PieceKind KindOf(int32_t id) const override {
    if (id == spec_.unk_id) return PieceKind::kUnknown;
    if (IsSpecial(id)) return PieceKind::kControl;
    return has_byte_pieces_ && ByteOfPiece(IdToPiece(id)) ? PieceKind::kByte : PieceKind::kText;
  }
  uint8_t ByteOf(int32_t id) const override { return ByteOfPiece(IdToPiece(id)).value_or(0); }
  std::optional<std::string> BytesOf(int32_t id) const override {
    return decoders_.Inside(std::string(IdToPiece(id)), IsAdded(id));
  }
  LeadingSpace leading_space() const override { return decoders_.leading_space(); }

  Result<std::string> ToBytes() const override;  // in pipeline_file.h

 private:
  PipelineEngine(TokenizerSpec spec, PipelineTables tables) : spec_(std::move(spec)), tables_(std::move(tables)) {
    spec_.vocabulary = {};
    if (auto* const bpe = std::get_if<token_model::Bpe>(&spec_.model)) bpe->merges = {};
    if (auto* const unigram = std::get_if<token_model::Unigram>(&spec_.model)) unigram->scores = {};
  }

  bool IsAdded(int32_t id) const { return is_added_[static_cast<size_t>(id)]; }
  bool IsSpecial(int32_t id) const { return is_special_[static_cast<size_t>(id)]; }

  // Whether decoding leaves a piece in the text. An id without a piece is none.
  bool Leaves(int32_t id, SkipSpecial skip_special) const {
    return (skip_special == SkipSpecial::kNo || !IsSpecial(id)) && !IdToPiece(id).empty();
  }

  Result<void> Prepare();
  std::vector<int32_t> TokensAround() const;
  Result<void> CheckIds() const;
  Result<void> CheckAddedTokens() const;
  Result<void> PrepareAddedTokens();
  void PrepareVocabulary();
  void PrepareMarkers();
  void PrepareModel();
  bool TakesBytes() const;
  std::optional<int32_t> VocabularyId(const std::optional<std::string>& piece) const;

  static MarkedText Repair(const MarkedText& text);
  bool MayBe(const AddedToken& token, const Authors& authors, Author author) const {
    if (author == Author::kTemplate) return true;
    return !token.special && (authors.marked == nullptr || !IsMarker(is_marker_, token.id));
  }
  Result<std::vector<int32_t>> EncodeValid(std::string_view text, Authors authors) const;
  Result<void> EncodeStretch(std::string_view text, const ByteRange& range, const Authors& authors,
                             std::vector<int32_t>& ids) const;

  TokenizerSpec spec_;  // but for the vocabulary and the merges
  PipelineTables tables_;
  ModelVocabulary vocabulary_;  // the model's pieces as it meets them
  bool takes_bytes_ = false;    // which is by their bytes, where the file spells them with letters
  TextIndex other_names_;       // all other pieces as the file spells them
  bool has_byte_pieces_ = false;
  TextOfId text_of_id_;
  std::vector<bool> is_added_, is_special_;  // by id
  Markers is_marker_;
  // Added tokens to look for in the text as it comes; the same with the markers in it that a template wrote and that
  // would be looked for later; and those to look for in the normalized text.
  AddedTokenFinder raw_tokens_, raw_tokens_and_markers_, normalized_tokens_;
  NormalizerChain normalizers_;
  PreTokenizerChain pre_tokenizers_;
  std::unique_ptr<const PieceModel> model_;
  DecoderChain decoders_;
};

// Implementation.

inline Result<void> PipelineEngine::Prepare() {
  if (Result<void> checked = CheckIds(); !checked) return checked;
  SKALD_ASSIGN(auto normalizers, NormalizerChain::Make(spec_.normalizers));
  normalizers_ = std::move(normalizers);
  takes_bytes_ = TakesBytes();
  SKALD_ASSIGN(auto pre_tokenizers, PreTokenizerChain::Make(spec_.pre_tokenizers, takes_bytes_));
  pre_tokenizers_ = std::move(pre_tokenizers);
  SKALD_ASSIGN(auto decoders, DecoderChain::Make(spec_.decoders));
  decoders_ = std::move(decoders);
  PrepareVocabulary();
  if (Result<void> checked = CheckAddedTokens(); !checked) return checked;
  PrepareMarkers();
  PrepareModel();
  SKALD_ASSIGN(auto text_of_id, PipelineTextOfId(spec_, vocabulary_, normalizers_, takes_bytes_));
  text_of_id_ = text_of_id;
  return PrepareAddedTokens();
}

// The tokens around one text, and around two.
inline std::vector<int32_t> PipelineEngine::TokensAround() const {
  std::vector<int32_t> ids = spec_.prefix;
  ids.insert(ids.end(), spec_.suffix.begin(), spec_.suffix.end());
  for (const InputPart& part : spec_.pair) {
    if (part.content == InputPart::Content::kToken) ids.push_back(part.id);
  }
  return ids;
}

inline Result<void> PipelineEngine::CheckIds() const {
  const auto is_piece = [this](int32_t id) { return id >= 0 && static_cast<size_t>(id) < vocab_size(); };
  const auto check = [&](std::string_view what, int32_t id) -> Result<void> {
    if (is_piece(id)) return {};
    return Fail(ErrorCode::kDataLoss, Concat({what, " has the id ", std::to_string(id), ", but the vocabulary has ",
                                              std::to_string(vocab_size()), " ids"}));
  };
  const std::pair<std::string_view, std::optional<int32_t>> named[] = {{"BOS", spec_.bos_id},
                                                                       {"EOS", spec_.eos_id},
                                                                       {"the piece for unknown text", spec_.unk_id},
                                                                       {"padding", spec_.pad_id}};
  for (const auto& [what, id] : named) {
    if (!id) continue;
    if (Result<void> checked = check(what, *id); !checked) return checked;
  }
  for (const int32_t id : TokensAround()) {
    if (Result<void> checked = check("a token of the post-processor", id); !checked) return checked;
  }
  if (!spec_.types.empty() && spec_.types.size() != spec_.prefix.size() + 1 + spec_.suffix.size()) {
    return Fail(ErrorCode::kDataLoss, "the post-processor has " + std::to_string(spec_.types.size()) +
                                          " type ids, expected one for each of its tokens and one for the text");
  }
  const auto* const unigram = std::get_if<token_model::Unigram>(&spec_.model);
  return unigram != nullptr && unigram->unk_id ? check("the model's unk_id", *unigram->unk_id) : Result<void>();
}

// Whether the model may look at bytes instead of the letters that a ByteLevel step at the end would spell them with.
inline bool PipelineEngine::TakesBytes() const {
  const auto* const bpe = std::get_if<token_model::Bpe>(&spec_.model);
  return bpe != nullptr && !bpe->byte_fallback && bpe->continuing_subword_prefix.empty() &&
         bpe->end_of_word_suffix.empty() && !spec_.pre_tokenizers.empty() &&
         std::holds_alternative<pre_tokenizer::ByteLevel>(spec_.pre_tokenizers.back());
}

inline void PipelineEngine::PrepareVocabulary() {
  const TokenTexts& pieces = tables_.pieces;
  std::string bytes(pieces.bytes(), '\0');
  std::vector<uint32_t> ends(pieces.size());
  size_t end = 0;
  for (size_t id = 0; id < pieces.size(); ++id) {
    const std::string_view piece = tables_.in_vocabulary[id] != 0 ? pieces[static_cast<int32_t>(id)] : "";
    end += takes_bytes_ ? LettersToBytes(piece, bytes.data() + end).value_or(0)
                        : piece.copy(bytes.data() + end, piece.size());
    ends[id] = static_cast<uint32_t>(end);
  }
  bytes.resize(end);
  vocabulary_.texts = TokenTexts(std::move(bytes), ends);
  const auto is_known = [this](int32_t id) { return !vocabulary_.texts[id].empty(); };
  vocabulary_.index = TextIndex(vocabulary_.texts, is_known);
  other_names_ = TextIndex(pieces, [&](int32_t id) { return !is_known(id) && !pieces[id].empty(); });
}

inline Result<void> PipelineEngine::CheckAddedTokens() const {
  for (const AddedToken& token : spec_.added_tokens) {
    if (token.id >= 0 && static_cast<size_t>(token.id) < vocab_size()) continue;
    return FailOnId(token.content, token.id, "beyond the vocabulary");
  }
  return {};
}

// Markers are the added tokens that are not ordinary text, and the pieces that begin, end and pad texts, some of which
// look like tags ("<s>"). A single character cannot be spelled otherwise than by itself, whatever the file calls it.
inline void PipelineEngine::PrepareMarkers() {
  is_marker_.assign(vocab_size(), false);
  const auto add = [this](int32_t id, std::string_view content, bool special) {
    const bool is_character = !content.empty() && FirstCodePoint(content).length == content.size();
    if (!is_character && (special || !StandsForText(content))) is_marker_[static_cast<size_t>(id)] = true;
  };
  for (const AddedToken& token : spec_.added_tokens) add(token.id, token.content, token.special);
  const auto add_named = [&](int32_t id) { add(id, tables_.pieces[id], IsFormattingTag(tables_.pieces[id])); };
  for (const std::optional<int32_t>& id : {spec_.bos_id, spec_.eos_id, spec_.pad_id}) {
    if (id) add_named(*id);
  }
  for (const int32_t id : TokensAround()) add_named(id);
}

inline std::optional<int32_t> PipelineEngine::VocabularyId(const std::optional<std::string>& piece) const {
  return piece ? PieceToId(*piece) : std::nullopt;
}

inline void PipelineEngine::PrepareModel() {
  std::optional<int32_t> unk;
  if (const auto* const bpe = std::get_if<token_model::Bpe>(&spec_.model)) {
    unk = VocabularyId(bpe->unk_token);
    has_byte_pieces_ = bpe->byte_fallback;
    BpeOptions options{takes_bytes_,
                       unk.value_or(kNoToken),
                       bpe->continuing_subword_prefix,
                       bpe->end_of_word_suffix,
                       bpe->fuse_unk,
                       bpe->byte_fallback,
                       bpe->ignore_merges};
    model_ = std::make_unique<BpeModel>(vocabulary_, tables_.merges, std::move(options), tables_.is_whole, is_marker_);
  } else if (const auto* const unigram = std::get_if<token_model::Unigram>(&spec_.model)) {
    unk = unigram->unk_id;
    has_byte_pieces_ = unigram->byte_fallback;
    model_ = std::make_unique<UnigramModel>(vocabulary_, tables_.scores, unk.value_or(kNoToken), *unigram, is_marker_);
  } else if (const auto* const level = std::get_if<token_model::WordLevel>(&spec_.model)) {
    unk = VocabularyId(level->unk_token);
    model_ = std::make_unique<WordLevelModel>(vocabulary_, unk.value_or(kNoToken), is_marker_);
  } else if (const auto* const words = std::get_if<token_model::WordPiece>(&spec_.model)) {
    unk = VocabularyId(words->unk_token);
    model_ = std::make_unique<WordPieceModel>(vocabulary_, unk.value_or(kNoToken), words->continuing_subword_prefix,
                                              words->max_input_chars_per_word, is_marker_);
  }
  if (!spec_.unk_id) spec_.unk_id = unk;
}

inline Result<void> PipelineEngine::PrepareAddedTokens() {
  is_added_.assign(vocab_size(), false);
  is_special_.assign(vocab_size(), false);
  std::vector<AddedToken> raw, markers, normalized;
  for (const AddedToken& token : spec_.added_tokens) {
    const auto id = static_cast<size_t>(token.id);
    is_added_[id] = true;
    is_special_[id] = is_special_[id] || token.special;
    if (!token.normalized) {
      raw.push_back(token);
      continue;
    }
    if ((token.special || is_marker_[id]) && !normalizers_.empty()) markers.push_back(token);
    SKALD_ASSIGN(auto content, normalizers_.Apply(token.content));
    normalized.push_back(token);
    normalized.back().content = std::move(content);
  }
  markers.insert(markers.end(), raw.begin(), raw.end());
  raw_tokens_ = AddedTokenFinder(std::move(raw));
  raw_tokens_and_markers_ = AddedTokenFinder(std::move(markers));
  normalized_tokens_ = AddedTokenFinder(std::move(normalized));
  return {};
}

// Each replacement has the author of the text that it replaces: a message if any of it was one's.
inline MarkedText PipelineEngine::Repair(const MarkedText& text) {
  MarkedText repaired;
  for (size_t at = 0; at < text.size();) {
    const Utf8Part part = FirstUtf8Part(std::string_view(text.text()).substr(at));
    if (part.status == Utf8Status::kComplete) {
      repaired.Append(text.Substr(at, part.length));
    } else {
      repaired.Append(kReplacementCharacter, text.IsTemplates(at, part.length) ? Author::kTemplate : Author::kMessage);
    }
    at += part.length;
  }
  return repaired;
}

inline Result<std::vector<int32_t>> PipelineEngine::EncodeValid(std::string_view text, Authors authors) const {
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 4);
  const auto may_be = [&](const AddedToken& token, const ByteRange& range) {
    return MayBe(token, authors, authors.Of(range));
  };
  // If the text contains a message, its authors are unknown once it is normalized. So markers that a template spelled
  // there are looked for before.
  const bool is_mixed = authors.marked != nullptr && authors.Of({0, text.size()}) == Author::kMessage;
  const AddedTokenFinder& finder = is_mixed ? raw_tokens_and_markers_ : raw_tokens_;
  for (const AddedTokenFinder::Part& part : finder.Cut(text, may_be)) {
    if (part.id != kNoToken) {
      ids.push_back(part.id);
    } else if (Result<void> done = EncodeStretch(text, part.range, authors, ids); !done) {
      return Failure(done.error());
    }
  }
  return ids;
}

// Encodes the text between added tokens that are not normalized.
inline Result<void> PipelineEngine::EncodeStretch(std::string_view text, const ByteRange& range, const Authors& authors,
                                                  std::vector<int32_t>& ids) const {
  std::string_view stretch = range.Of(text);
  std::string normal;
  if (!normalizers_.empty()) {
    SKALD_ASSIGN(auto normalized, normalizers_.Apply(stretch));
    normal = std::move(normalized);
    stretch = normal;
  }
  const Author author = authors.Of(range);
  const auto author_of = [&](const ByteRange& part) {
    return normalizers_.empty() ? authors.Of({range.begin + part.begin, range.begin + part.end}) : author;
  };
  const auto may_be = [&](const AddedToken& token, const ByteRange& part) {
    return MayBe(token, authors, author_of(part));
  };
  for (const AddedTokenFinder::Part& part : normalized_tokens_.Cut(stretch, may_be)) {
    if (part.id != kNoToken) {
      ids.push_back(part.id);
      continue;
    }
    PieceList list(part.range.Of(stretch), range.begin + part.range.begin == 0);
    if (Result<void> cut = pre_tokenizers_.Apply(list); !cut) return cut;
    // The library's model knows no authors.
    const Author writer = authors.marked == nullptr ? Author::kTemplate : author_of(part.range);
    if (Result<void> done = model_->Encode(list.text(), list.pieces(), writer, ids); !done) return done;
  }
  return {};
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PIPELINE_PIPELINE_ENGINE_H_
