// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/open_encoder.h.

#ifndef SKALD_OPEN_DETAIL_OPEN_ENCODER_H_
#define SKALD_OPEN_DETAIL_OPEN_ENCODER_H_

#include "skald/open/open_encoder.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/mathematics/portable_exp.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/layers/standard_layers.h"
#include "skald/model/load.h"
#include "skald/open/detail/encoder_files.h"
#include "skald/open/detail/encoder_head.h"
#include "skald/open/detail/encoder_rows.h"
#include "skald/open/detail/encoder_texts.h"
#include "skald/tokenizers/tokenizer.h"

namespace skald {

struct Encoder::Parts {
  ModelInfo info;
  EncoderFacts facts;
  std::optional<Tokenizer> tokenizer;
  AnyModel model;
  internal::RowHead head;  // dense layers, or the head of a reranker
};

SKALD_INLINE Encoder::Encoder(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
SKALD_INLINE Encoder::Encoder(Encoder&&) noexcept = default;
SKALD_INLINE Encoder& Encoder::operator=(Encoder&&) noexcept = default;
SKALD_INLINE Encoder::~Encoder() = default;

SKALD_INLINE const ModelInfo& Encoder::info() const { return parts_->info; }
SKALD_INLINE const EncoderFacts& Encoder::facts() const { return parts_->facts; }
SKALD_INLINE const AnyModel& Encoder::model() const { return parts_->model; }
SKALD_INLINE const Tokenizer* Encoder::tokenizer() const { return parts_->tokenizer ? &*parts_->tokenizer : nullptr; }

SKALD_INLINE Result<std::vector<TextIds>> Encoder::Tokenize(std::span<const std::string> texts,
                                                            const EmbedOptions& options) const {
  return NoThrow(parts_->info.name, [&]() -> Result<std::vector<TextIds>> {
    if (tokenizer() == nullptr) return internal::FailNoTokenizer();
    SKALD_ASSIGN(const auto prompt, internal::PromptOf(facts(), options.prompt, options.prompt_name));
    std::vector<TextIds> ids;
    for (size_t i = 0; i < texts.size(); ++i) {
      auto one = internal::IdsOf(*tokenizer(), prompt, texts[i]);
      if (!one) return internal::OfText(i, one);
      ids.push_back(std::move(*one));
    }
    return ids;
  });
}

SKALD_INLINE Result<Embeddings> Encoder::Embed(std::span<const std::string> texts, Workspace& workspace,
                                               const EmbedOptions& options) const {
  SKALD_ASSIGN(const auto ids, Tokenize(texts, options));
  return EmbedIds(ids, workspace, options);
}

SKALD_INLINE Result<Embeddings> Encoder::EmbedIds(std::span<const TextIds> texts, Workspace& workspace,
                                                  const EmbedOptions& options) const {
  return NoThrow(parts_->info.name, [&]() -> Result<Embeddings> {
    const EncoderFacts& facts = parts_->facts;
    const size_t width = static_cast<size_t>(facts.dimension), dimension = options.dimension.value_or(width);
    if (facts.kind == EncoderKind::kReranker || facts.kind == EncoderKind::kDecoderReranker) {
      return Fail(ErrorCode::kUnsupported, "the model ranks pairs of texts and embeds none");
    }
    if (dimension == 0 || dimension > width) {
      return Fail(ErrorCode::kInvalidArgument,
                  Concat({"embeddings of ", std::to_string(dimension), " elements were asked for, the model has ",
                          std::to_string(width)}));
    }
    const Pooling pooling = options.pooling.value_or(facts.pooling);
    SKALD_ASSIGN(auto pieces, internal::PiecesOf(texts, facts.longest_text, options.long_text));
    const internal::RowSource source = {parts_->model, pooling, facts.leaves_out_prompt, options.pass_tokens};
    SKALD_ASSIGN(auto rows, internal::RowsOfPieces(source, pieces, workspace));
    for (std::vector<float>& row : rows) {
      const size_t count = row.size() / static_cast<size_t>(parts_->info.spec.model_dim);
      SKALD_ASSIGN(row, parts_->head.Apply(std::move(row), count, workspace));
    }
    const bool normalises = options.normalise.value_or(facts.normalises);
    return internal::JoinPieces(texts.size(), pieces, rows, {width, dimension, pooling == Pooling::kNone, normalises});
  });
}

SKALD_INLINE Result<std::vector<float>> Encoder::RankIds(std::span<const TextIds> pairs, Workspace& workspace,
                                                         const RankOptions& options) const {
  return NoThrow(parts_->info.name, [&]() -> Result<std::vector<float>> {
    const EncoderFacts& facts = parts_->facts;
    const bool by_tokens = facts.kind == EncoderKind::kDecoderReranker;
    if (!by_tokens && facts.kind != EncoderKind::kReranker) {
      return Fail(ErrorCode::kUnsupported, "the model embeds texts and has no head that scores pairs");
    }
    SKALD_ASSIGN(auto pieces, internal::PiecesOf(pairs, facts.longest_text, LongText::kRefuse));
    const Pooling pooling = by_tokens ? Pooling::kLast : facts.pooling;
    const internal::RowSource source = {parts_->model, pooling, false, options.pass_tokens, by_tokens};
    SKALD_ASSIGN(auto rows, internal::RowsOfPieces(source, pieces, workspace));
    std::vector<float> scores;
    for (std::vector<float>& row : rows) {
      if (by_tokens) {
        scores.push_back(row[static_cast<size_t>(facts.yes_id)] - row[static_cast<size_t>(facts.no_id)]);
        continue;
      }
      SKALD_ASSIGN(const auto labels, parts_->head.Apply(std::move(row), 1, workspace));
      scores.insert(scores.end(), labels.begin(), labels.end());
    }
    if (!options.raw && facts.bounded_scores) {
      for (float& score : scores) score = static_cast<float>(1.0 / (1.0 + PortableExp(-double{score})));
    }
    return scores;
  });
}

SKALD_INLINE Result<std::vector<float>> Encoder::Rank(std::string_view query, std::span<const std::string> documents,
                                                      Workspace& workspace, const RankOptions& options) const {
  return NoThrow(parts_->info.name, [&]() -> Result<std::vector<float>> {
    if (tokenizer() == nullptr) return internal::FailNoTokenizer();
    const EncoderFacts& facts = parts_->facts;
    if (facts.kind == EncoderKind::kEncoder || facts.kind == EncoderKind::kDecoder) {
      EmbedOptions embed = {.long_text = options.long_text, .pass_tokens = options.pass_tokens};
      embed.prompt_name = internal::NameIfThere(facts, "query");
      const std::string only = std::string(query);
      SKALD_ASSIGN(const auto of_query, Embed({&only, 1}, workspace, embed));
      embed.prompt_name = internal::NameIfThere(facts, "document");
      SKALD_ASSIGN(const auto of_documents, Embed(documents, workspace, embed));
      return internal::SimilaritiesOf(of_query, of_documents, facts.pooling == Pooling::kNone);
    }
    if (facts.dimension != 1) {
      return Fail(ErrorCode::kUnsupported, Concat({"the model gives ", std::to_string(facts.dimension),
                                                   " scores for a pair; RankIds returns all of them"}));
    }
    std::vector<TextIds> pairs;
    std::vector<size_t> document_of;
    for (size_t i = 0; i < documents.size(); ++i) {
      auto ids = internal::PairsOf(*parts_->tokenizer, parts_->info.spec, facts, query, documents[i], options);
      if (!ids) return internal::OfText(i, ids);
      for (TextIds& one : *ids) pairs.push_back(std::move(one)), document_of.push_back(i);
    }
    SKALD_ASSIGN(const auto scores, RankIds(pairs, workspace, options));
    std::vector<float> best(documents.size(), -std::numeric_limits<float>::infinity());
    for (size_t i = 0; i < scores.size(); ++i) best[document_of[i]] = std::max(best[document_of[i]], scores[i]);
    return best;
  });
}

SKALD_INLINE Result<Encoder> OpenEncoder(const std::filesystem::path& path, const EncoderOptions& options) {
  SKALD_ASSIGN(const auto info, IdentifyModel(path));
  return OpenEncoder(info, options);
}

SKALD_INLINE Result<Encoder> OpenEncoder(const ModelInfo& info, const EncoderOptions& options) {
  return NoThrow(PathText(info.model.path()), [&]() -> Result<Encoder> {
    SKALD_ASSIGN(auto facts, ReadEncoderFacts(info));
    if (options.kind) facts.kind = *options.kind;
    SKALD_TRY(internal::CheckUse(info, facts, options.pooling));
    if (options.pooling) facts.pooling = *options.pooling;
    std::optional<Tokenizer> tokenizer;
    if (options.has_text) {
      SKALD_ASSIGN(auto opened, OpenTokenizer(info));
      tokenizer.emplace(std::move(opened));
    }
    SKALD_TRY(internal::FindYesAndNo(tokenizer, facts));
    SKALD_ASSIGN(auto head, internal::LoadRowHead(info, facts));
    LoadOptions load = options.load;
    load.dtype = options.weight_type.value_or(info.weight_type);
    SKALD_ASSIGN(auto weights, internal::LoadEncoderWeights(info, facts, load));
    AnyModel model(info.name, std::move(weights), StandardLayers::Functions());
    return Encoder(std::make_unique<const Encoder::Parts>(
        Encoder::Parts{info, std::move(facts), std::move(tokenizer), std::move(model), std::move(head)}));
  });
}

}  // namespace skald

#endif  // SKALD_OPEN_DETAIL_OPEN_ENCODER_H_
