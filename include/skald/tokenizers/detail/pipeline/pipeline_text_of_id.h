// SPDX-License-Identifier: Apache-2.0
//
// The most text that one id of a pipeline can represent: the longest piece, times the factor by which the normalizers
// can shorten a text. Known if no step drops text but white space, and unknown letters do not run together. Pure; safe
// for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_PIPELINE_PIPELINE_TEXT_OF_ID_H_
#define SKALD_TOKENIZERS_DETAIL_PIPELINE_PIPELINE_TEXT_OF_ID_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "skald/base/result.h"
#include "skald/tokenizers/detail/pipeline/models/piece_model.h"
#include "skald/tokenizers/detail/pipeline/models/token_table.h"
#include "skald/tokenizers/detail/pipeline/steps/byte_alphabet.h"
#include "skald/tokenizers/detail/pipeline/steps/normalizers.h"
#include "skald/tokenizers/detail/text_of_id.h"
#include "skald/tokenizers/detail/unicode.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

// By how much a step can shorten a text, white space that it drops not counted.
struct Shrinking {
  size_t factor = 1;
  bool drops_spaces = false, makes_spaces = false;
};

// Nothing where a step may drop any text.
inline std::optional<Shrinking> ShrinkingOf(const Normalizer& step) {
  // Characters of four bytes may become one of a single byte, and three of them may compose to one of two bytes.
  constexpr size_t kLongestCharacter = 4, kMostOfForms = 6;
  if (std::holds_alternative<normalizer::Unicode>(step)) return Shrinking{.factor = kMostOfForms};
  if (std::holds_alternative<normalizer::Lowercase>(step)) return Shrinking{.factor = kLongestCharacter};
  if (std::holds_alternative<normalizer::Strip>(step)) return Shrinking{.drops_spaces = true};
  if (const auto* const replace = std::get_if<normalizer::Replace>(&step)) {
    const size_t from = replace->pattern.text.size(), to = replace->content.size();
    if (replace->pattern.is_regex || to == 0) return std::nullopt;
    const size_t letters = TextOfId{.most_bytes = 1, .drops_spaces = true}.LeastIds(replace->content);
    return Shrinking{.factor = std::max<size_t>((from + to - 1) / to, 1), .makes_spaces = letters != to};
  }
  if (const auto* const precompiled = std::get_if<normalizer::Precompiled>(&step)) {
    return precompiled->charsmap.empty() ? std::optional(Shrinking()) : std::nullopt;
  }
  const bool only_adds =
      std::holds_alternative<normalizer::Prepend>(step) || std::holds_alternative<normalizer::ByteLevel>(step);
  return only_adds ? std::optional(Shrinking()) : std::nullopt;
}

inline std::optional<Shrinking> ShrinkingOf(const PreTokenizer& step) {
  using namespace pre_tokenizer;
  const bool drops_spaces = std::holds_alternative<WhitespaceSplit>(step) || std::holds_alternative<Bert>(step);
  if (drops_spaces) return Shrinking{.drops_spaces = true};
  bool keeps_all = std::holds_alternative<ByteLevel>(step) || std::holds_alternative<Digits>(step) ||
                   std::holds_alternative<FixedLength>(step);
  if (const auto* const split = std::get_if<Split>(&step)) keeps_all = split->behavior != Behavior::kRemoved;
  if (const auto* const marks = std::get_if<Punctuation>(&step)) keeps_all = marks->behavior != Behavior::kRemoved;
  if (const auto* const space = std::get_if<Metaspace>(&step)) keeps_all = !space->replacement.empty();
  return keeps_all ? std::optional(Shrinking()) : std::nullopt;
}

// The most bytes of unknown text that have one id; 0 if all text is known, nothing if there is no limit.
inline std::optional<size_t> UnknownTextOfId(const TokenizerSpec& spec, const ModelVocabulary& vocabulary,
                                             bool takes_bytes) {
  constexpr size_t kLongestCharacter = 4;
  const auto knows_all_bytes = [&](auto spell) {
    for (int byte = 0; byte < 256; ++byte) {
      if (vocabulary.Find(spell(static_cast<char>(byte))) == kNoToken) return false;
    }
    return true;
  };
  if (const auto* const bpe = std::get_if<token_model::Bpe>(&spec.model)) {
    if (takes_bytes && knows_all_bytes([](char byte) { return std::string(1, byte); })) return 0;
    if (bpe->byte_fallback && BytePieces(vocabulary).has_all()) return 0;
    const bool has_unk = bpe->unk_token && vocabulary.Find(*bpe->unk_token) != kNoToken;
    return has_unk && !bpe->fuse_unk ? std::optional(kLongestCharacter) : std::nullopt;
  }
  if (const auto* const unigram = std::get_if<token_model::Unigram>(&spec.model)) {
    return unigram->byte_fallback && BytePieces(vocabulary).has_all() ? std::optional<size_t>(0) : std::nullopt;
  }
  // Longest pieces over bytes, which never fail.
  const auto* const words = std::get_if<token_model::WordPiece>(&spec.model);
  const bool is_greedy = words != nullptr && words->continuing_subword_prefix.empty() &&
                         vocabulary.Find(words->unk_token) == kNoToken && !spec.pre_tokenizers.empty() &&
                         std::holds_alternative<pre_tokenizer::ByteLevel>(spec.pre_tokenizers.back());
  const auto letter_of = [](char byte) {
    std::string letter;
    AppendByteLetters({&byte, 1}, letter);
    return letter;
  };
  return is_greedy && knows_all_bytes(letter_of) ? std::optional<size_t>(0) : std::nullopt;
}

// `spec` without its vocabulary, which `vocabulary` is as the model meets it. Error: a normalizer's.
inline Result<TextOfId> PipelineTextOfId(const TokenizerSpec& spec, const ModelVocabulary& vocabulary,
                                         const NormalizerChain& normalizers, bool takes_bytes) {
  const std::optional<size_t> unknown = UnknownTextOfId(spec, vocabulary, takes_bytes);
  if (!unknown) return TextOfId();
  Shrinking all;
  bool is_known = true;
  const auto take = [&](const auto& step) {
    const std::optional<Shrinking> one = ShrinkingOf(step);
    is_known = is_known && one && one->factor <= kMostGrowth;
    if (!is_known) return;
    all.factor = std::min(all.factor * one->factor, size_t{1} << 30);
    all.drops_spaces |= one->drops_spaces;
    all.makes_spaces |= one->makes_spaces;
  };
  for (const Normalizer& step : spec.normalizers) take(step);
  for (const PreTokenizer& step : spec.pre_tokenizers) take(step);
  size_t longest = std::max<size_t>(*unknown, 1);
  for (size_t id = 0; id < vocabulary.texts.size(); ++id) {
    longest = std::max(longest, vocabulary.texts[static_cast<int32_t>(id)].size());
  }
  for (const AddedToken& token : spec.added_tokens) {
    longest = std::max(longest, token.content.size());
    all.drops_spaces |= token.lstrip || token.rstrip;
    if (!token.normalized) continue;
    SKALD_ASSIGN(const auto normal, normalizers.Apply(token.content));
    longest = std::max(longest, normal.size());
  }
  if (!is_known || (all.drops_spaces && all.makes_spaces)) return TextOfId();
  return TextOfId{longest * all.factor, all.drops_spaces};
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PIPELINE_PIPELINE_TEXT_OF_ID_H_
