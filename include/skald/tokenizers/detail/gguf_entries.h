// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/tokenizers/gguf_entries.h.

#ifndef SKALD_TOKENIZERS_DETAIL_GGUF_ENTRIES_H_
#define SKALD_TOKENIZERS_DETAIL_GGUF_ENTRIES_H_

#include "skald/tokenizers/gguf_entries.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>

#include "skald/base/files/file_calls.h"
#include "skald/base/files/path_text.h"
#include "skald/base/files/small_file.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/tokenizers/detail/engine_files.h"
#include "skald/tokenizers/detail/gguf/gguf_encoder_entries.h"
#include "skald/tokenizers/detail/gguf/gguf_new_pieces.h"
#include "skald/tokenizers/detail/gguf/gguf_pieces.h"
#include "skald/tokenizers/detail/gguf/gguf_pre_tokenizers.h"
#include "skald/tokenizers/detail/json/tokenizer_config.h"
#include "skald/tokenizers/detail/json/tokenizer_json.h"
#include "skald/tokenizers/detail/plamo_vocabulary.h"
#include "skald/tokenizers/detail/sentencepiece/sentencepiece_pieces.h"
#include "skald/tokenizers/detail/tokenizer.h"
#include "skald/tokenizers/tokenizer_spec.h"
#include "skald/tokenizers/tokenizer_value.h"

namespace skald {

namespace internal {

// The regular expressions that pre-tokenizers split by, one after the other; nothing for another kind of steps.
inline std::optional<std::vector<std::string>> SplitsOf(const TokenizerSpec& spec) {
  std::vector<std::string> splits;
  for (const PreTokenizer& step : spec.pre_tokenizers) {
    const auto* const split = std::get_if<pre_tokenizer::Split>(&step);
    const auto* const digits = std::get_if<pre_tokenizer::Digits>(&step);
    const auto* const bytes = std::get_if<pre_tokenizer::ByteLevel>(&step);
    if (split != nullptr && split->pattern.is_regex && split->behavior == pre_tokenizer::Behavior::kIsolated) {
      splits.push_back(split->pattern.text);
    } else if (digits != nullptr && digits->individual_digits) {
      splits.push_back(R"(\p{N})");
    } else if (bytes != nullptr && !bytes->add_prefix_space) {
      if (bytes->use_regex) splits.emplace_back(kSplitGpt2);
    } else {
      return std::nullopt;
    }
  }
  return splits;
}

// Returns the name of the split pattern of merges of bytes.
inline std::optional<std::string> PreTokenizerName(const TokenizerSpec& spec) {
  const auto splits = SplitsOf(spec);
  const auto& model = std::get<token_model::Bpe>(spec.model);
  if (!splits) return std::nullopt;
  for (const GgufPreTokenizer& known : kGgufPreTokenizers) {
    std::vector<std::string> patterns;
    for (const std::string_view pattern : known.splits) {
      if (!pattern.empty()) patterns.emplace_back(pattern);
    }
    if (patterns != *splits || known.normalizes != !spec.normalizers.empty()) continue;
    if (known.ignore_merges != model.ignore_merges) continue;
    return std::string(known.names.substr(0, known.names.find(' ')));
  }
  return std::nullopt;
}

inline void AddMarkers(const TokenizerSpec& spec, std::vector<GgufEntry>& entries) {
  const std::pair<const char*, std::optional<int32_t>> ids[] = {{"bos_token_id", spec.bos_id},
                                                                {"eos_token_id", spec.eos_id},
                                                                {"unknown_token_id", spec.unk_id},
                                                                {"padding_token_id", spec.pad_id}};
  for (const auto& [name, id] : ids) {
    if (id) entries.push_back(GgufNumber(EntryName(name), static_cast<uint32_t>(*id)));
  }
  const auto has = [](const std::vector<int32_t>& around, std::optional<int32_t> id) {
    return id && std::ranges::find(around, *id) != around.end();
  };
  entries.push_back(GgufTruth(EntryName("add_bos_token"), has(spec.prefix, spec.bos_id)));
  entries.push_back(GgufTruth(EntryName("add_eos_token"), has(spec.suffix, spec.eos_id)));
}

// Merges of bytes.
inline Result<std::vector<GgufEntry>> BytePairEntries(const TokenizerSpec& spec, size_t rows) {
  const auto name = PreTokenizerName(spec);
  if (!name) return Fail(ErrorCode::kUnsupported, "its split pattern is none that GGUF files have a name for");
  GgufPieces pieces(rows);
  SKALD_TRY(pieces.SetAll(spec));
  std::vector<GgufEntry> entries = {GgufText(EntryName("model"), "gpt2"), GgufText(EntryName("pre"), *name)};
  AddPieces(pieces, entries);
  const TextList& merges = std::get<token_model::Bpe>(spec.model).merges;
  std::vector<std::string> joined;
  for (size_t i = 0; i + 1 < merges.size(); i += 2) joined.push_back(Concat({merges[i], " ", merges[i + 1]}));
  entries.push_back(GgufTexts(EntryName("merges"), joined));
  AddMarkers(spec, entries);
  return entries;
}

// Pieces of single bytes are spelled <0x41>.
inline GgufTokenType TypeOfPiece(std::string_view text) {
  const bool is_byte = text.size() == 6 && text.starts_with("<0x") && text.ends_with('>');
  return is_byte ? GgufTokenType::kByte : GgufTokenType::kNormal;
}

// Merges by score, of a tokenizer.json: a merge is the more urgent, the earlier it is listed.
inline Result<std::vector<GgufEntry>> ScoredEntriesOfMerges(const TokenizerSpec& spec, size_t rows) {
  GgufPieces pieces(rows);
  pieces.scores.assign(rows, 0.0f);
  std::unordered_map<std::string_view, int32_t> ids;
  for (size_t i = 0; i < spec.vocabulary.ids.size(); ++i) {
    const std::string_view text = spec.vocabulary.texts[i];
    ids.emplace(text, spec.vocabulary.ids[i]);
    SKALD_TRY(pieces.Set(spec.vocabulary.ids[i], text, TypeOfPiece(text)));
  }
  const auto& model = std::get<token_model::Bpe>(spec.model);
  for (size_t i = 0; i + 1 < model.merges.size(); i += 2) {
    const auto found = ids.find(Concat({model.merges[i], model.merges[i + 1]}));
    if (found == ids.end()) continue;
    float& score = pieces.scores[static_cast<size_t>(found->second)];
    if (score == 0.0f) score = -1.0f - static_cast<float>(i / 2);
  }
  SKALD_TRY(pieces.SetAdded(spec));
  if (spec.unk_id) pieces.types[static_cast<size_t>(*spec.unk_id)] = static_cast<int32_t>(GgufTokenType::kUnknown);
  std::vector<GgufEntry> entries = {GgufText(EntryName("model"), "llama"), GgufText(EntryName("pre"), "default")};
  AddPieces(pieces, entries);
  AddMarkers(spec, entries);
  const bool prepends =
      std::ranges::any_of(spec.normalizers,
                          [](const Normalizer& step) { return std::holds_alternative<normalizer::Prepend>(step); }) ||
      std::ranges::any_of(spec.pre_tokenizers, [](const PreTokenizer& step) {
        const auto* const metaspace = std::get_if<pre_tokenizer::Metaspace>(&step);
        return metaspace != nullptr && metaspace->prepend_scheme != PrependScheme::kNever;
      });
  entries.push_back(GgufTruth(EntryName("add_space_prefix"), prepends));
  return entries;
}

// Merges by score, of a SentencePiece model.
inline Result<std::vector<GgufEntry>> ScoredEntries(std::string_view bytes, const TokenizerConfig& config,
                                                    size_t rows) {
  SKALD_ASSIGN(const auto all, ReadAllPieces(bytes));
  if (all.choice != PieceChoice::kByMerges) {
    return Fail(ErrorCode::kUnsupported, "chooses pieces by likelihood, and GGUF files mean merges by score");
  }
  const std::vector<NewPiece>& model = all.pieces;
  GgufPieces pieces(rows);
  pieces.scores.assign(rows, 0.0f);
  for (size_t i = 0; i < model.size(); ++i) {
    SKALD_TRY(pieces.Set(static_cast<int32_t>(i), model[i].text, static_cast<GgufTokenType>(model[i].type)));
    pieces.scores[i] = model[i].score;
  }
  SKALD_ASSIGN(const auto tokenizer, Tokenizer::Parse(bytes));
  TokenizerSpec markers;
  markers.bos_id = tokenizer.bos_id(), markers.eos_id = tokenizer.eos_id();
  markers.unk_id = tokenizer.unk_id(), markers.pad_id = tokenizer.pad_id();
  if (markers.bos_id && config.add_bos.value_or(true)) markers.prefix.push_back(*markers.bos_id);
  if (markers.eos_id && config.add_eos.value_or(false)) markers.suffix.push_back(*markers.eos_id);
  std::vector<GgufEntry> entries = {GgufText(EntryName("model"), "llama"), GgufText(EntryName("pre"), "default")};
  AddPieces(pieces, entries);
  AddMarkers(markers, entries);
  entries.push_back(GgufTruth(EntryName("add_space_prefix"), tokenizer.leading_space() != LeadingSpace::kKeep));
  return entries;
}

// PLaMo's pieces, whose scores files have before they are multiplied and rounded. Texts become neither special tokens
// nor those of bytes, whose scores do not count.
inline Result<std::vector<GgufEntry>> PlamoEntries(const TokenizerSpec& spec, size_t rows) {
  constexpr float kUnused = -1000.0f;
  const auto& scores = std::get<token_model::Unigram>(spec.model).scores;
  GgufPieces pieces(rows);
  pieces.scores.assign(rows, kUnused);
  for (size_t i = 0; i < spec.vocabulary.ids.size(); ++i) {
    const std::string_view text = spec.vocabulary.texts[i];
    const GgufTokenType type = TypeOfPiece(text);
    SKALD_TRY(pieces.Set(spec.vocabulary.ids[i], text, type));
    const bool counts = type == GgufTokenType::kNormal;
    pieces.scores[i] = counts ? static_cast<float>(scores[i] / PlamoVocabulary::kScoreUnits) : 0.0f;
  }
  SKALD_TRY(pieces.SetAdded(spec));
  for (const AddedToken& token : spec.added_tokens) pieces.scores[static_cast<size_t>(token.id)] = 0.0f;
  if (spec.unk_id) pieces.types[static_cast<size_t>(*spec.unk_id)] = static_cast<int32_t>(GgufTokenType::kUnknown);
  std::vector<GgufEntry> entries = {GgufText(EntryName("model"), "plamo2"), GgufText(EntryName("pre"), "default")};
  AddPieces(pieces, entries);
  AddMarkers(spec, entries);
  // Ends the turn of a chat.
  if (const auto end = FindInSpec(spec, "<|plamo:op|>")) {
    entries.push_back(GgufNumber(EntryName("eot_token_id"), static_cast<uint32_t>(*end)));
  }
  entries.push_back(GgufTruth(EntryName("add_space_prefix"), false));
  return entries;
}

inline Result<std::vector<GgufEntry>> EntriesOfPlamo(std::string_view bytes, const TokenizerConfig& config,
                                                     size_t rows) {
  SKALD_ASSIGN(auto spec, ReadPlamoVocabulary(bytes));
  ApplyTokenizerConfig(config, spec);
  return PlamoEntries(spec, rows);
}

inline Result<std::vector<GgufEntry>> EntriesOfSpec(const TokenizerSpec& spec, size_t rows) {
  const auto* const bpe = std::get_if<token_model::Bpe>(&spec.model);
  if (std::holds_alternative<token_model::WordPiece>(spec.model)) return WordPieceEntries(spec, rows);
  if (std::holds_alternative<token_model::Unigram>(spec.model)) return LikelyPieceEntries(spec, rows);
  if (bpe == nullptr) {
    return Fail(ErrorCode::kUnsupported, "tokenizers of whole words cannot be written to a GGUF file");
  }
  return bpe->byte_fallback ? ScoredEntriesOfMerges(spec, rows) : BytePairEntries(spec, rows);
}

inline Result<std::vector<GgufEntry>> EntriesOfJson(std::string_view bytes, const TokenizerConfig& config,
                                                    size_t rows) {
  SKALD_ASSIGN(auto spec, ReadTokenizerJson(bytes));
  ApplyTokenizerConfig(config, spec);
  return EntriesOfSpec(spec, rows);
}

inline Result<std::vector<GgufEntry>> EntriesOfFile(std::string_view name, std::string_view bytes,
                                                    const TokenizerConfig& config, size_t rows) {
  if (IsEncoderFile(name)) {
    SKALD_ASSIGN(const auto spec, ReadEncoderFile(name, bytes, config));
    return EntriesOfSpec(spec, rows);
  }
  if (IsTokenizerJson(bytes)) return EntriesOfJson(bytes, config, rows);
  if (IsPlamoVocabulary(bytes)) return EntriesOfPlamo(bytes, config, rows);
  if (IsRwkvVocabulary(bytes)) {
    return Fail(ErrorCode::kUnsupported, "RWKV's list of pieces cannot be written to a GGUF file yet");
  }
  return ScoredEntries(bytes, config, rows);
}

}  // namespace internal

SKALD_INLINE Result<std::vector<GgufEntry>> GgufTokenizerEntries(const std::filesystem::path& folder, size_t rows) {
  return NoThrow(PathText(folder), [&]() -> Result<std::vector<GgufEntry>> {
    SKALD_ASSIGN(const auto file, TokenizerFileIn(folder));
    SKALD_ASSIGN(const auto bytes, ReadSmallFile(file, kMaxTokenizerFile));
    SKALD_ASSIGN(const auto config, internal::ConfigBeside(file));
    auto entries = internal::EntriesOfFile(PathText(file.filename()), bytes, config, rows);
    if (!entries) return Annotate(PathText(file), entries);
    return entries;
  });
}

}  // namespace skald

#endif  // SKALD_TOKENIZERS_DETAIL_GGUF_ENTRIES_H_
