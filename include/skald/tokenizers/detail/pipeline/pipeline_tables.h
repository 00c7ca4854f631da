// SPDX-License-Identifier: Apache-2.0
//
// The tables of a tokenizer in the form that the pipeline engine uses them: pieces by id, merges as ids. Made from a
// TokenizerSpec, which is checked here, or read from a file (pipeline_file.h). Plain values.

#ifndef SKALD_TOKENIZERS_DETAIL_PIPELINE_PIPELINE_TABLES_H_
#define SKALD_TOKENIZERS_DETAIL_PIPELINE_PIPELINE_TABLES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/tokenizers/detail/json/component_reader.h"
#include "skald/tokenizers/detail/pipeline/models/merge_table.h"
#include "skald/tokenizers/detail/pipeline/models/piece_model.h"
#include "skald/tokenizers/detail/pipeline/models/token_table.h"
#include "skald/tokenizers/detail/pipeline/steps/byte_alphabet.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

struct PipelineTables {
  TokenTexts pieces;                   // spelled as in the file; ids without a piece have an empty text
  std::vector<uint8_t> in_vocabulary;  // by id: not 0 for a piece of the model's, which is not only an added token
  MergeTable merges;                   // of BPE
  // By id, of BPE: not 0 if a word of that very text is that piece. Empty: to be found out.
  std::vector<uint8_t> is_whole;
  std::vector<double> scores;  // of Unigram, by id
};

// No place in a list.
inline constexpr size_t kNoPlace = ~size_t{0};

inline Failure FailOnId(std::string_view piece, int32_t id, std::string_view what) {
  return Fail(ErrorCode::kDataLoss,
              Concat({"the piece ", QuotedName(piece), " has the id ", std::to_string(id), ", ", what}));
}

// Returns for each id the place of its text in the vocabulary, or kNoPlace.
inline Result<std::vector<size_t>> PlacesById(const Vocabulary& vocabulary) {
  if (vocabulary.texts.size() != vocabulary.ids.size()) {
    return Fail(ErrorCode::kDataLoss, "the vocabulary has " + std::to_string(vocabulary.texts.size()) + " pieces and " +
                                          std::to_string(vocabulary.ids.size()) + " ids");
  }
  std::vector<size_t> places;
  for (size_t i = 0; i < vocabulary.ids.size(); ++i) {
    const int32_t id = vocabulary.ids[i];
    if (id < 0 || id > kMaxTokenId) {
      return FailOnId(vocabulary.texts[i], id, "expected 0 to " + std::to_string(kMaxTokenId));
    }
    const auto index = static_cast<size_t>(id);
    if (index >= places.size()) places.resize(index + 1, kNoPlace);
    if (places[index] != kNoPlace) {
      return FailOnId(vocabulary.texts[i], id, "which " + QuotedName(vocabulary.texts[places[index]]) + " has too");
    }
    places[index] = i;
  }
  return places;
}

// Looks up the pieces of all merges. `vocabulary` holds them as the file spells them.
inline Result<std::vector<Merge>> ResolveMerges(const token_model::Bpe& bpe, const ModelVocabulary& vocabulary) {
  std::vector<Merge> merges;
  const size_t count = bpe.merges.size() / 2;
  merges.reserve(count);
  std::string both;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view left = bpe.merges[2 * i], right = bpe.merges[2 * i + 1];
    both = left;
    both += right.substr(std::min(bpe.continuing_subword_prefix.size(), right.size()));
    const Merge merge = {vocabulary.Find(left), vocabulary.Find(right), vocabulary.Find(both)};
    const std::string_view missing = merge.left == kNoToken    ? left
                                     : merge.right == kNoToken ? right
                                                               : std::string_view(both);
    if (merge.left == kNoToken || merge.right == kNoToken || merge.result == kNoToken) {
      return Fail(ErrorCode::kDataLoss,
                  Concat({"merge ", std::to_string(i), ", of ", QuotedName(left), " and ", QuotedName(right),
                          ", needs ", QuotedName(missing), ", which is not in the vocabulary"}));
    }
    merges.push_back(merge);
  }
  return merges;
}

// The ids of added tokens are those of the vocabulary's pieces of their texts, where it has them.
inline Result<void> PlaceAddedTokens(const ModelVocabulary& vocabulary, std::vector<size_t>& places,
                                     std::vector<AddedToken>& tokens) {
  std::vector<size_t> owners(places.size(), kNoPlace);  // by id: which added token has it
  for (size_t i = 0; i < tokens.size(); ++i) {
    AddedToken& token = tokens[i];
    const int32_t known = vocabulary.Find(token.content);
    if (known != kNoToken) token.id = known;
    if (token.id < 0 || token.id > kMaxTokenId) {
      return FailOnId(token.content, token.id, "expected 0 to " + std::to_string(kMaxTokenId));
    }
    const auto id = static_cast<size_t>(token.id);
    if (known == kNoToken && id < places.size() && places[id] != kNoPlace) {
      return FailOnId(token.content, token.id, "which a piece of the vocabulary has");
    }
    if (id >= owners.size()) owners.resize(id + 1, kNoPlace);
    if (owners[id] != kNoPlace && tokens[owners[id]].content != token.content) {
      return FailOnId(token.content, token.id, "which " + QuotedName(tokens[owners[id]].content) + " has too");
    }
    owners[id] = i;
  }
  places.resize(std::max(places.size(), owners.size()), kNoPlace);
  return {};
}

// Checks `spec` and returns its tables; sets the ids of its added tokens right.
inline Result<PipelineTables> MakeTables(TokenizerSpec& spec) {
  Result<std::vector<size_t>> places = PlacesById(spec.vocabulary);
  if (!places) return Failure(places.error());
  const auto* const bpe = std::get_if<token_model::Bpe>(&spec.model);
  const auto* const unigram = std::get_if<token_model::Unigram>(&spec.model);
  // The pieces by themselves, to look up merges and added tokens.
  ModelVocabulary known;
  known.texts.Reserve(places->size(), places->size() * 8);
  for (const size_t place : *places) known.texts.Add(place == kNoPlace ? "" : spec.vocabulary.texts[place]);
  const auto has = [&places](int32_t id) { return (*places)[static_cast<size_t>(id)] != kNoPlace; };
  known.index = TextIndex(known.texts, has);
  for (int32_t id = 0; static_cast<size_t>(id) < places->size() && unigram == nullptr; ++id) {
    const int32_t first = has(id) ? known.Find(known.texts[id]) : id;
    if (first != id) return FailOnId(known.texts[first], id, "and also the id " + std::to_string(first));
  }
  PipelineTables tables;
  if (bpe != nullptr) {
    SKALD_ASSIGN(auto merges, ResolveMerges(*bpe, known));
    tables.merges = MergeTable(merges);
  }
  if (unigram != nullptr) {
    if (unigram->scores.size() != places->size()) {
      return Fail(ErrorCode::kDataLoss, "the vocabulary has " + std::to_string(places->size()) + " pieces and " +
                                            std::to_string(unigram->scores.size()) + " scores");
    }
    tables.scores = unigram->scores;
  }
  if (Result<void> placed = PlaceAddedTokens(known, *places, spec.added_tokens); !placed) {
    return Failure(placed.error());
  }
  tables.in_vocabulary.resize(places->size());
  for (size_t id = 0; id < places->size(); ++id) tables.in_vocabulary[id] = (*places)[id] != kNoPlace;
  std::vector<const AddedToken*> added(places->size());
  for (const AddedToken& token : spec.added_tokens) added[static_cast<size_t>(token.id)] = &token;
  if (spec.added_tokens.empty()) {
    tables.pieces = std::move(known.texts);
    return tables;
  }
  tables.pieces.Reserve(places->size(), places->size() * 8);
  for (size_t id = 0; id < places->size(); ++id) {
    const size_t place = (*places)[id];
    tables.pieces.Add(place != kNoPlace      ? spec.vocabulary.texts[place]
                      : added[id] != nullptr ? std::string_view(added[id]->content)
                                             : "");
  }
  return tables;
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PIPELINE_PIPELINE_TABLES_H_
