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
#include "skald/open/detail/encoder_hybrid.h"
#include "skald/open/detail/encoder_rows.h"
#include "skald/open/detail/encoder_texts.h"
#include "skald/tokenizers/tokenizer.h"

namespace skald {

struct Encoder::Parts {
  ModelInfo info;
  EncoderFacts facts;
  std::optional<Tokenizer> tokenizer;
  AnyModel model;
  internal::RowHead head;                   // dense layers, or the head of a reranker
  std::vector<Adapter> tasks;               // as EncoderFacts::tasks
  std::optional<internal::RowHead> sparse;  // of weights of tokens
  std::optional<internal::RowHead> tokens;  // of embeddings of tokens

  // Where rows of texts come from.
  Result<internal::RowSource> SourceOf(const EmbedOptions& options) const {
    SKALD_ASSIGN(const auto task, internal::TaskOf(facts, options.task));
    return internal::RowSource{.model = model,
                               .pooling = options.pooling.value_or(facts.pooling),
                               .leaves_out_prompt = facts.leaves_out_prompt,
                               .pass_tokens = options.pass_tokens,
                               .adapter = task ? &tasks[*task] : nullptr,
                               .ranks = options.ranks};
  }
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
    SKALD_TRY(internal::TaskOf(facts(), options.task));
    SKALD_ASSIGN(const auto prompt, internal::PromptOf(facts(), options));
    SKALD_ASSIGN(const auto around, internal::SurroundingsOf(*tokenizer()));
    std::vector<TextIds> ids;
    for (size_t i = 0; i < texts.size(); ++i) {
      auto one = internal::IdsOf(*tokenizer(), around, prompt, texts[i]);
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
    SKALD_TRY(internal::CheckDimension(dimension, width));
    SKALD_ASSIGN(auto pieces, internal::PiecesOf(texts, facts.longest_text, options.long_text));
    SKALD_ASSIGN(const auto source, parts_->SourceOf(options));
    SKALD_ASSIGN(auto rows, internal::RowsOfPieces(source, pieces, workspace));
    for (std::vector<float>& row : rows) {
      const size_t count = row.size() / static_cast<size_t>(parts_->info.spec.model_dim);
      SKALD_ASSIGN(row, parts_->head.Apply(std::move(row), count, workspace));
    }
    const bool normalises = options.normalise.value_or(facts.normalises);
    return internal::JoinPieces(texts.size(), pieces, rows,
                                {width, dimension, source.pooling == Pooling::kNone, normalises});
  });
}

SKALD_INLINE Result<HybridEmbeddings> Encoder::EmbedHybrid(std::span<const std::string> texts, Workspace& workspace,
                                                           const EmbedOptions& options) const {
  SKALD_ASSIGN(const auto ids, Tokenize(texts, options));
  return EmbedHybridIds(ids, workspace, options);
}

SKALD_INLINE Result<HybridEmbeddings> Encoder::EmbedHybridIds(std::span<const TextIds> texts, Workspace& workspace,
                                                              const EmbedOptions& options) const {
  return NoThrow(parts_->info.name, [&]() -> Result<HybridEmbeddings> {
    const EncoderFacts& facts = parts_->facts;
    if (!parts_->sparse && !parts_->tokens) {
      return Fail(ErrorCode::kUnsupported, "the model has no head for weights or embeddings of tokens");
    }
    if (options.long_text == LongText::kWindows || options.pooling == Pooling::kNone) {
      return Fail(ErrorCode::kUnsupported, "with weights of tokens texts are no windows, and are pooled");
    }
    SKALD_TRY(internal::CheckDimension(options.dimension.value_or(1), static_cast<size_t>(facts.dimension)));
    EmbedOptions all = options;
    all.pooling = Pooling::kNone;
    SKALD_ASSIGN(const auto source, parts_->SourceOf(all));
    SKALD_ASSIGN(const auto pieces, internal::PiecesOf(texts, facts.longest_text, options.long_text));
    internal::HybridRows rows(facts, options);
    // Rows of all tokens are kept for some texts at a time.
    for (size_t begin = 0, end; begin < pieces.size(); begin = end) {
      end = internal::EndOfPass(pieces, begin, options.pass_tokens);
      const auto some = std::span(pieces).subspan(begin, end - begin);
      SKALD_ASSIGN(const auto hidden, internal::RowsOfPieces(source, some, workspace));
      for (size_t i = 0; i < some.size(); ++i) {
        SKALD_TRY(rows.AddDense(some[i], hidden[i], parts_->head, workspace));
        if (parts_->sparse) SKALD_TRY(rows.AddSparse(some[i], hidden[i], *parts_->sparse, workspace));
        if (parts_->tokens) SKALD_TRY(rows.AddTokens(some[i], hidden[i], *parts_->tokens, workspace));
      }
    }
    return std::move(rows).Finish();
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
    const internal::RowSource source = {.model = parts_->model,
                                        .pooling = pooling,
                                        .leaves_out_prompt = false,
                                        .pass_tokens = options.pass_tokens,
                                        .logits = by_tokens,
                                        .ranks = options.ranks};
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
      const std::string only = std::string(query);
      const EmbedOptions asks = internal::ForSide(facts, options, "query", "retrieval.query");
      SKALD_ASSIGN(const auto of_query, Embed({&only, 1}, workspace, asks));
      const EmbedOptions answers = internal::ForSide(facts, options, "document", "retrieval.passage");
      SKALD_ASSIGN(const auto of_documents, Embed(documents, workspace, answers));
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
    SKALD_ASSIGN(auto tasks, internal::LoadTasks(info, facts, load.share));
    SKALD_ASSIGN(auto sparse, internal::LoadTokenHead(info, internal::kSparseHead, facts.has_sparse ? 1 : 0));
    SKALD_ASSIGN(auto tokens, internal::LoadTokenHead(info, internal::kTokenHead, facts.token_dimension));
    AnyModel model(info.name, std::move(weights), StandardLayers::Functions());
    return Encoder(std::make_unique<const Encoder::Parts>(
        Encoder::Parts{info, std::move(facts), std::move(tokenizer), std::move(model), std::move(head),
                       std::move(tasks), std::move(sparse), std::move(tokens)}));
  });
}

}  // namespace skald

#endif  // SKALD_OPEN_DETAIL_OPEN_ENCODER_H_
