// SPDX-License-Identifier: Apache-2.0
//
// Adapters for tasks and heads for tokens of an encoder, and the embeddings that several heads make of the same rows.

#ifndef SKALD_OPEN_DETAIL_ENCODER_HYBRID_H_
#define SKALD_OPEN_DETAIL_ENCODER_HYBRID_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/numbers/activation.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/text/message.h"
#include "skald/open/detail/encoder_head.h"
#include "skald/open/detail/encoder_rows.h"
#include "skald/open/detail/task_adapters.h"
#include "skald/open/detail/token_heads.h"
#include "skald/open/encoders/hybrid.h"
#include "skald/open/open_encoder.h"

namespace skald::internal {

// Loads the adapters of the tasks that the facts name.
inline Result<std::vector<Adapter>> LoadTasks(const ModelInfo& info, const EncoderFacts& facts,
                                              const RankShare& share) {
  if (facts.tasks.empty()) return std::vector<Adapter>();
  SKALD_ASSIGN(const auto checkpoint, info.model.checkpoint());
  return LoadTaskAdapters(*checkpoint, facts.tasks.size(), facts.task_scale, info.spec, share);
}

// Loads a head for tokens, of so many outputs; none for 0.
inline Result<std::optional<RowHead>> LoadTokenHead(const ModelInfo& info, std::string_view name, int outputs) {
  if (outputs == 0) return std::optional<RowHead>();
  SKALD_ASSIGN(const auto file, LinearFile::Find(info, name));
  if (!file) return Fail(ErrorCode::kNotFound, Concat({name, " is no longer there"}));
  RowHead head;
  head.layers.push_back({.name = "linear",
                         .inputs = static_cast<size_t>(info.spec.model_dim),
                         .outputs = static_cast<size_t>(outputs),
                         .has_bias = file->checkpoint().Find("linear.bias") != nullptr});
  if (name == kSparseHead) head.layers.back().activation = Activation::kRelu;
  SKALD_TRY(head.Load(file->checkpoint()));
  return std::optional<RowHead>(std::move(head));
}

// The end of the pieces from `begin` on that have `tokens` tokens at most, or of one that has more.
inline size_t EndOfPass(std::span<const Piece> pieces, size_t begin, size_t tokens) {
  size_t end = begin + 1, count = pieces[begin].tokens.size();
  for (; end < pieces.size() && count + pieces[end].tokens.size() <= tokens; ++end) count += pieces[end].tokens.size();
  return end;
}

// Collects the embeddings of texts, each of which is a piece, from the rows of its tokens.
class HybridRows {
 public:
  HybridRows(const EncoderFacts& facts, const EmbedOptions& options) : facts_(facts), options_(options) {
    result_.dense.dimension = static_cast<size_t>(facts.dimension);
    if (options.dimension) result_.dense.dimension = *options.dimension;
    result_.tokens.dimension = static_cast<size_t>(facts.token_dimension);
    result_.dense.begins = result_.tokens.begins = {0};
  }

  Result<void> AddDense(const Piece& piece, std::span<const float> rows, const RowHead& head, Workspace& workspace) {
    std::vector<float> pooled(rows.size() / piece.tokens.size());
    Pool(options_.pooling.value_or(facts_.pooling), rows, facts_.leaves_out_prompt ? piece.left_out : 0, pooled);
    SKALD_ASSIGN(auto row, head.Apply(std::move(pooled), 1, workspace));
    row.resize(result_.dense.dimension);
    if (options_.normalise.value_or(facts_.normalises)) Normalise(row);
    Append(row, piece, result_.dense);
    return {};
  }

  Result<void> AddSparse(const Piece& piece, std::span<const float> rows, const RowHead& head, Workspace& workspace) {
    SKALD_ASSIGN(const auto weights, head.Apply({rows.begin(), rows.end()}, piece.tokens.size(), workspace));
    result_.sparse.push_back(WeightsOfTokens(piece.tokens, weights, facts_.unweighed));
    return {};
  }

  Result<void> AddTokens(const Piece& piece, std::span<const float> rows, const RowHead& head, Workspace& workspace) {
    const auto others = rows.subspan(rows.size() / piece.tokens.size());
    SKALD_ASSIGN(auto vectors, head.Apply({others.begin(), others.end()}, piece.tokens.size() - 1, workspace));
    const size_t width = result_.tokens.dimension;
    for (size_t i = 0; options_.normalise.value_or(true) && i < vectors.size(); i += width) {
      Normalise(std::span(vectors).subspan(i, width));
    }
    Append(vectors, piece, result_.tokens);
    return {};
  }

  HybridEmbeddings Finish() && { return std::move(result_); }

 private:
  static void Append(std::span<const float> rows, const Piece& piece, Embeddings& to) {
    to.values.insert(to.values.end(), rows.begin(), rows.end());
    to.begins.push_back(to.values.size() / to.dimension);
    to.num_tokens.push_back(static_cast<uint32_t>(piece.tokens.size()));
  }

  const EncoderFacts& facts_;
  const EmbedOptions& options_;
  HybridEmbeddings result_;
};

}  // namespace skald::internal

#endif  // SKALD_OPEN_DETAIL_ENCODER_HYBRID_H_
