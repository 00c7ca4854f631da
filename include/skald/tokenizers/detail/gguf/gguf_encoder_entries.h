// SPDX-License-Identifier: Apache-2.0
//
// The tokenizers of encoders as entries of a GGUF file: word pieces, called "bert", and likeliest pieces of
// XLM-RoBERTa's and T5's kinds, called "t5". The inverse of gguf_encoders.h: what that does not read is refused.

#ifndef SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_ENCODER_ENTRIES_H_
#define SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_ENCODER_ENTRIES_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/tokenizers/detail/gguf/gguf_new_pieces.h"
#include "skald/tokenizers/detail/gguf/gguf_pieces.h"
#include "skald/tokenizers/detail/json/tokenizer_config.h"
#include "skald/tokenizers/tokenizer_engine.h"
#include "skald/tokenizers/tokenizer_spec.h"
#include "skald/weights/writing/gguf_draft.h"

namespace skald::internal {

// The tokens around a text, one on each side.
struct TextFrame {
  int32_t begin, end;
};

inline std::optional<TextFrame> FrameOf(const TokenizerSpec& spec) {
  if (spec.prefix.size() != 1 || spec.suffix.size() != 1) return std::nullopt;
  return TextFrame{spec.prefix.front(), spec.suffix.front()};
}

// llama.cpp calls the second token a separator, and spells it so.
inline void AddFrame(const TextFrame& frame, int32_t unknown, const TokenizerSpec& spec,
                     std::vector<GgufEntry>& entries) {
  const auto mask = std::ranges::find_if(spec.added_tokens, [](const AddedToken& token) {
    return token.content == "[MASK]" || token.content == "<mask>";
  });
  const std::pair<const char*, std::optional<int32_t>> ids[] = {
      {"bos_token_id", frame.begin},
      {"eos_token_id", frame.end},
      {"cls_token_id", frame.begin},
      {"seperator_token_id", frame.end},
      {"unknown_token_id", unknown},
      {"padding_token_id", spec.pad_id},
      {"mask_token_id", mask == spec.added_tokens.end() ? std::nullopt : std::optional(mask->id)}};
  for (const auto& [name, id] : ids) {
    if (id) entries.push_back(GgufNumber(EntryName(name), static_cast<uint32_t>(*id)));
  }
  for (const char* const name : {"add_bos_token", "add_eos_token"}) entries.push_back(GgufTruth(EntryName(name), true));
}

// A word's first piece has a space symbol in front, and its others lose their prefix.
inline std::string WordPieceForGguf(std::string_view piece, std::string_view prefix) {
  if (piece.starts_with(prefix)) return std::string(piece.substr(prefix.size()));
  return Concat({kSpaceSymbol, piece});
}

inline Result<std::vector<GgufEntry>> WordPieceEntries(const TokenizerSpec& spec, size_t rows) {
  const auto& model = std::get<token_model::WordPiece>(spec.model);
  const auto* const cleaning =
      spec.normalizers.size() == 1 ? std::get_if<normalizer::Bert>(&spec.normalizers.front()) : nullptr;
  const bool splits_words =
      spec.pre_tokenizers.size() == 1 && std::holds_alternative<pre_tokenizer::Bert>(spec.pre_tokenizers.front());
  const token_model::WordPiece usual;
  const auto frame = FrameOf(spec);
  const auto unknown = FindInSpec(spec, model.unk_token);
  if (!unknown || cleaning == nullptr || !cleaning->clean_text || !cleaning->handle_chinese_chars || !splits_words ||
      !frame || model.continuing_subword_prefix != usual.continuing_subword_prefix ||
      model.max_input_chars_per_word != usual.max_input_chars_per_word) {
    return Fail(ErrorCode::kUnsupported, "its steps are not those of BERT, which GGUF files mean");
  }
  GgufPieces pieces(rows);
  for (size_t i = 0; i < spec.vocabulary.ids.size(); ++i) {
    const std::string piece = WordPieceForGguf(spec.vocabulary.texts[i], model.continuing_subword_prefix);
    SKALD_TRY(pieces.Set(spec.vocabulary.ids[i], piece, GgufTokenType::kNormal));
  }
  SKALD_TRY(pieces.SetAdded(spec));
  std::vector<GgufEntry> entries = {GgufText(EntryName("model"), "bert"), GgufText(EntryName("pre"), "default")};
  AddPieces(pieces, entries);
  AddFrame(*frame, *unknown, spec, entries);
  entries.push_back(GgufTruth(EntryName("normalizer.lowercase"), cleaning->lowercase));
  entries.push_back(
      GgufTruth(EntryName("normalizer.strip_accents"), cleaning->strip_accents.value_or(cleaning->lowercase)));
  return entries;
}

// Whether all that happens to a text is that SentencePiece's table changes letters, spaces become one symbol, and one
// goes in front.
inline bool HasUnigramSteps(const TokenizerSpec& spec) {
  const auto is_usual = [](const Normalizer& step) {
    const auto* const replace = std::get_if<normalizer::Replace>(&step);
    return std::holds_alternative<normalizer::Precompiled>(step) || std::holds_alternative<normalizer::Strip>(step) ||
           (replace != nullptr && replace->pattern.text == " {2,}");
  };
  const auto splits = [](const PreTokenizer& step) {
    const auto* const metaspace = std::get_if<pre_tokenizer::Metaspace>(&step);
    return std::holds_alternative<pre_tokenizer::WhitespaceSplit>(step) ||
           (metaspace != nullptr && metaspace->prepend_scheme != PrependScheme::kNever);
  };
  return std::ranges::all_of(spec.normalizers, is_usual) && !spec.pre_tokenizers.empty() &&
         std::ranges::all_of(spec.pre_tokenizers, splits);
}

// Each text ends with a token.
inline void AddEnd(int32_t end, int32_t unknown, const TokenizerSpec& spec, std::vector<GgufEntry>& entries) {
  entries.push_back(GgufNumber(EntryName("eos_token_id"), static_cast<uint32_t>(end)));
  entries.push_back(GgufNumber(EntryName("unknown_token_id"), static_cast<uint32_t>(unknown)));
  if (spec.pad_id) entries.push_back(GgufNumber(EntryName("padding_token_id"), static_cast<uint32_t>(*spec.pad_id)));
  entries.push_back(GgufTruth(EntryName("add_bos_token"), false));
  entries.push_back(GgufTruth(EntryName("add_eos_token"), true));
}

inline Result<std::vector<GgufEntry>> LikelyPieceEntries(const TokenizerSpec& spec, size_t rows) {
  constexpr float kUnused = -10000.0f;
  const auto& model = std::get<token_model::Unigram>(spec.model);
  const auto frame = FrameOf(spec);
  const bool ends = spec.prefix.empty() && spec.suffix.size() == 1;
  if ((!frame && !ends) || !model.unk_id || model.byte_fallback || !HasUnigramSteps(spec)) {
    return Fail(ErrorCode::kUnsupported, "its steps are not those of XLM-RoBERTa or T5, which GGUF files mean");
  }
  GgufPieces pieces(rows);
  SKALD_TRY(pieces.SetAll(spec));
  pieces.scores.assign(rows, kUnused);
  for (size_t i = 0; i < spec.vocabulary.ids.size(); ++i) {
    pieces.scores[static_cast<size_t>(spec.vocabulary.ids[i])] = static_cast<float>(model.scores[i]);
  }
  pieces.types[static_cast<size_t>(*model.unk_id)] = static_cast<int32_t>(GgufTokenType::kUnknown);
  std::vector<GgufEntry> entries = {GgufText(EntryName("model"), "t5"), GgufText(EntryName("pre"), "default")};
  AddPieces(pieces, entries);
  frame ? AddFrame(*frame, *model.unk_id, spec, entries) : AddEnd(spec.suffix.front(), *model.unk_id, spec, entries);
  for (const Normalizer& step : spec.normalizers) {
    const auto* const table = std::get_if<normalizer::Precompiled>(&step);
    if (table != nullptr) entries.push_back(GgufBytes(EntryName("precompiled_charsmap"), table->charsmap));
  }
  entries.push_back(GgufTruth(EntryName("add_space_prefix"), true));
  entries.push_back(GgufTruth(EntryName("remove_extra_whitespaces"), true));
  return entries;
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_GGUF_GGUF_ENCODER_ENTRIES_H_
