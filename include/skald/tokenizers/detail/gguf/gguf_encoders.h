// SPDX-License-Identifier: Apache-2.0
//
// The tokenizers of encoders in GGUF files, as a TokenizerSpec: word pieces, called "bert" (BERT, NomicBERT), and
// likeliest pieces, called "t5" (T5, XLM-RoBERTa). Texts have the ids that they have with the original, whose steps the
// files do not hold: converters write them for models with these steps alone. Pure; safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_ENCODERS_H_
#define SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_ENCODERS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/tokenizers/detail/encoders/bert_steps.h"
#include "skald/tokenizers/detail/encoders/input_frames.h"
#include "skald/tokenizers/detail/encoders/unigram_steps.h"
#include "skald/tokenizers/detail/gguf/gguf_pieces.h"
#include "skald/tokenizers/tokenizer_engine.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

// Pieces that begin a word have a space symbol, the others have lost their prefix; names of special tokens are as they
// are.
inline std::string WordPieceFromGguf(const std::string& text, GgufTokenType type) {
  if (text.starts_with(kSpaceSymbol)) return text.substr(kSpaceSymbol.size());
  return type == GgufTokenType::kControl || type == GgufTokenType::kUnknown ? text : "##" + text;
}

// Whether a piece could not be in a vocabulary of small letters: "[unused1]" could.
inline bool HasCapital(std::string_view piece) {
  return std::any_of(piece.begin(), piece.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

// Errors: kNotFound and kDataLoss for values that are missing or cannot be right.
inline Result<TokenizerSpec> BertFromGguf(const GgufTokenizerReader& reader) {
  TokenizerSpec spec;
  const size_t count = reader.SizeOf("tokens");
  const std::vector<GgufTokenType> types = reader.ReadTypes(count);
  bool has_capitals = false;  // files that do not say it tell it so
  reader.ReadStrings("tokens", count, [&](size_t i, const std::string& text) {
    const std::string piece = WordPieceFromGguf(text, types[i]);
    const auto id = static_cast<int32_t>(i);
    if (piece.empty()) return;
    spec.vocabulary.Add(piece, id);
    const bool is_special = types[i] == GgufTokenType::kControl || types[i] == GgufTokenType::kUnknown;
    if (is_special) spec.added_tokens.push_back({.content = piece, .id = id, .special = true});
    has_capitals |= !is_special && !piece.starts_with('[') && HasCapital(piece);
  });
  constexpr int32_t kCls = 101, kSep = 102, kUnknown = 100, kPad = 0;  // of BERT
  const std::optional<int32_t> begin = reader.TokenId("bos_token_id", count);
  const int32_t cls = reader.TokenId("cls_token_id", count).value_or(begin.value_or(kCls));
  const int32_t sep = reader.TokenId("seperator_token_id", count).value_or(kSep);  // spelled so
  spec.unk_id = reader.TokenId("unknown_token_id", count).value_or(kUnknown);
  spec.pad_id = reader.TokenId("padding_token_id", count).value_or(kPad);
  const bool lowercase = reader.fields().Flag("normalizer.lowercase", !has_capitals);
  const bool strip_accents = reader.fields().Flag("normalizer.strip_accents", lowercase);
  if (!reader.ok()) return reader.failure();
  const auto text_of = [&spec](int32_t id) -> std::string {
    const auto& ids = spec.vocabulary.ids;
    const auto found = std::find(ids.begin(), ids.end(), id);
    return found == ids.end() ? "" : std::string(spec.vocabulary.texts[static_cast<size_t>(found - ids.begin())]);
  };
  AddBertSteps({.lowercase = lowercase, .strip_accents = strip_accents}, text_of(*spec.unk_id), spec);
  SetClassified(cls, sep, FrameForm::kBert, spec);
  return spec;
}

// Pieces that no text becomes count as the least likely ones, so that they do not make unknown text less likely.
inline void ReadGgufLikelyPieces(const GgufTokenizerReader& reader, TokenizerSpec& spec) {
  const size_t count = reader.SizeOf("tokens");
  const std::vector<GgufTokenType> types = reader.ReadTypes(count);
  std::vector<double> scores(count);
  double lowest = 0;
  reader.Read("scores", count, "numbers, one for each token", [&](size_t i, const nlohmann::json& score) {
    if (!score.is_number()) return false;
    scores[i] = score.get<double>();
    if (types[i] == GgufTokenType::kNormal) lowest = std::min(lowest, scores[i]);
    return true;
  });
  reader.ReadStrings("tokens", count, [&](size_t i, const std::string& text) {
    AddScoredPiece(text, std::max(scores[i], lowest), spec);
    const bool is_special = types[i] == GgufTokenType::kControl || types[i] == GgufTokenType::kUnknown;
    if (!is_special && types[i] != GgufTokenType::kUserDefined) return;
    spec.added_tokens.push_back({.content = text, .id = static_cast<int32_t>(i), .special = is_special});
  });
}

inline std::string ReadGgufCharsmap(const GgufTokenizerReader& reader) {
  const size_t size = reader.SizeOf("precompiled_charsmap");
  std::string bytes;
  if (size == 0) return bytes;
  reader.Read("precompiled_charsmap", size, "bytes", [&](size_t, const nlohmann::json& byte) {
    if (!byte.is_number_integer()) return false;
    const auto value = byte.get<int64_t>();
    bytes += static_cast<char>(value);
    return value >= -128 && value <= 255;
  });
  return bytes;
}

// A text that begins with a token is XLM-RoBERTa's. Errors: kNotFound and kDataLoss for values that are missing or
// cannot be right; kUnsupported for a habit that no model has with this tokenizer.
inline Result<TokenizerSpec> LikelyPiecesFromGguf(const GgufTokenizerReader& reader) {
  constexpr int32_t kEnd = 1, kUnknown = 2, kPad = 0;  // of T5
  TokenizerSpec spec;
  const size_t count = reader.SizeOf("tokens");
  token_model::Unigram model;
  model.unk_id = reader.TokenId("unknown_token_id", count).value_or(kUnknown);
  spec.unk_id = model.unk_id;
  spec.model = std::move(model);
  ReadGgufLikelyPieces(reader, spec);
  AddUnigramSteps(ReadGgufCharsmap(reader), spec);
  spec.bos_id = reader.TokenId("bos_token_id", count);
  spec.eos_id = reader.TokenId("eos_token_id", count).value_or(kEnd);
  spec.pad_id = reader.TokenId("padding_token_id", count).value_or(kPad);
  const int32_t sep = reader.TokenId("seperator_token_id", count).value_or(*spec.eos_id);
  const std::optional<int32_t> mask = reader.TokenId("mask_token_id", count);
  reader.fields().Expect("add_space_prefix", true);
  const bool adds_bos = reader.fields().Flag("add_bos_token", false);
  const bool adds_eos = reader.fields().Flag("add_eos_token", true);
  if (!reader.ok()) return reader.failure();
  if (adds_bos && adds_eos && spec.bos_id) {
    // The masked token takes the space before it, which the file does not say.
    for (AddedToken& token : spec.added_tokens) token.lstrip = token.id == mask;
    SetClassified(*spec.bos_id, sep, FrameForm::kRoberta, spec);
  } else if (adds_eos && !adds_bos) {
    SetEndedTexts(*spec.eos_id, spec);
  } else if (adds_bos && spec.bos_id) {
    spec.prefix.push_back(*spec.bos_id);
  }
  return spec;
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_ENCODERS_H_
