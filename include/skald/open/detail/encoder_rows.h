// SPDX-License-Identifier: Apache-2.0
//
// The rows of texts: which texts are computed together, what they give, and how the windows of a long one are joined.
// Texts are sorted by length, so that those of a pass are alike; a text's rows do not depend on it.

#ifndef SKALD_OPEN_DETAIL_ENCODER_ROWS_H_
#define SKALD_OPEN_DETAIL_ENCODER_ROWS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/numbers/digest.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/ranks/communicator.h"
#include "skald/base/text/message.h"
#include "skald/cache/create.h"
#include "skald/cache/steps/batch.h"
#include "skald/layers/model_spec.h"
#include "skald/model/any_model.h"
#include "skald/open/encoders/ranking.h"
#include "skald/open/open_encoder.h"
#include "skald/weights/adapters/adapter.h"

namespace skald::internal {

/// A text, or a window of one, that is computed whole.
struct Piece {
  size_t text;                  // its number
  std::vector<int32_t> tokens;  // at least one
  std::vector<int32_t> types;   // [tokens] or empty
  size_t left_out;              // the first so many take no part in pooling
};

template <class T>
Failure OfText(size_t text, const Result<T>& failed) {
  Error error = failed.error();
  error.message = Concat({"text ", std::to_string(text), ": ", error.message});
  return Failure(std::move(error));
}

// The tokens [begin, end) of a text between its prefix and its suffix.
inline Piece WindowOf(size_t number, const TextIds& text, size_t begin, size_t end) {
  Piece piece = {number, {}, {}, 0};
  const auto take = [&](size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) {
      piece.tokens.push_back(text.tokens[i]);
      if (!text.types.empty()) piece.types.push_back(text.types[i]);
      if (i < text.prompt_tokens) ++piece.left_out;
    }
  };
  take(0, text.prefix);
  take(begin, end);
  take(text.tokens.size() - text.suffix, text.tokens.size());
  return piece;
}

// Returns the pieces of all texts, none of more than `longest` tokens.
inline Result<std::vector<Piece>> PiecesOf(std::span<const TextIds> texts, size_t longest, LongText long_text) {
  std::vector<Piece> pieces;
  for (size_t i = 0; i < texts.size(); ++i) {
    const TextIds& text = texts[i];
    const size_t size = text.tokens.size(), around = size_t{text.prefix} + text.suffix;
    if (size == 0 || around > size || (!text.types.empty() && text.types.size() != size)) {
      const char* const why = size == 0 ? "it has no tokens" : "its types or its first and last tokens do not fit it";
      return OfText(i, Result<void>(Fail(ErrorCode::kInvalidArgument, why)));
    }
    if (size > longest && (long_text == LongText::kRefuse || around >= longest)) {
      return OfText(i, Result<void>(Fail(ErrorCode::kOutOfRange,
                                         Concat({"it has ", std::to_string(size), " tokens, the model computes ",
                                                 std::to_string(longest), " at most"}),
                                         {.needed_tokens = size, .available_tokens = longest})));
    }
    const size_t step = longest - around, last = size - text.suffix;
    size_t begin = text.prefix;
    do {
      const size_t end = std::min(last, size > longest ? begin + step : last);
      pieces.push_back(WindowOf(i, text, begin, end));
      begin = end;
    } while (begin < last && long_text == LongText::kWindows);
  }
  return pieces;
}

/// Where rows come from, and which.
struct RowSource {
  const AnyModel& model;
  Pooling pooling;
  bool leaves_out_prompt;
  uint32_t pass_tokens;
  bool logits = false;                     // of the last token, in place of its row
  const Adapter* adapter = nullptr;        // by which texts are computed
  const CommunicatorRef* ranks = nullptr;  // that compute with this one
};

// The wanted outputs of the rows of a text.
inline std::vector<Want> WantsOf(const RowSource& source, size_t tokens) {
  if (source.logits || source.pooling == Pooling::kLast || source.pooling == Pooling::kFirst) {
    std::vector<Want> wants(tokens, Want::kNothing);
    wants[source.pooling == Pooling::kFirst ? 0 : tokens - 1] = source.logits ? Want::kLogits : Want::kHidden;
    return wants;
  }
  return std::vector<Want>(tokens, Want::kHidden);
}

// Computes pieces together: each by a cache of its own if the model looks back.
inline Result<Outputs> ComputeTogether(const RowSource& source, std::span<const Piece* const> pieces,
                                       const std::vector<std::vector<Want>>& wants, Workspace& workspace) {
  if (SeesBothWays(source.model.spec())) {
    std::vector<WholeText> texts;
    const Sha256Digest adapter = source.adapter == nullptr ? Sha256Digest{} : source.adapter->digest;
    for (size_t i = 0; i < pieces.size(); ++i) {
      texts.push_back({.tokens = pieces[i]->tokens, .wants = wants[i], .types = pieces[i]->types, .adapter = adapter});
    }
    return source.model.Encode(texts, workspace, {.adapters = {source.adapter}, .ranks = source.ranks});
  }
  size_t longest = 0;
  for (const Piece* const piece : pieces) longest = std::max(longest, piece->tokens.size());
  const bool exact = source.model.weights().dtype == DType::kF32;
  RuntimeConfig runtime = {.max_tokens = static_cast<uint32_t>(longest), .max_resume_points = 0};
  runtime.kv_type = exact ? DType::kF32 : DType::kBF16;
  SKALD_ASSIGN(auto pool, CreateBlockPool(source.model.layout(), runtime));
  std::vector<KVCache> caches;
  for (size_t i = 0; i < pieces.size(); ++i) {
    SKALD_ASSIGN(auto cache, CreateKVCache(pool));
    caches.push_back(std::move(cache));
  }
  Batch batch;
  for (size_t i = 0; i < pieces.size(); ++i) batch.Add(caches[i], pieces[i]->tokens, wants[i]);
  return source.model.Forward(batch, workspace,
                              {.pass_tokens = std::max(source.pass_tokens, 1u), .ranks = source.ranks});
}

// Takes the rows of one piece from the outputs, which begin at `next`.
inline std::vector<float> TakeRows(const RowSource& source, const Piece& piece, std::span<const Want> wants,
                                   const Outputs& outputs, size_t& next) {
  std::vector<float> rows;
  for (const Want want : wants) {
    if (want == Want::kNothing) continue;
    const std::span<const float> row = outputs[next++];
    rows.insert(rows.end(), row.begin(), row.end());
  }
  const auto width = static_cast<size_t>(source.model.spec().model_dim);
  if (source.logits || source.pooling == Pooling::kNone || rows.size() == width) return rows;
  std::vector<float> pooled(width);
  Pool(source.pooling, rows, source.leaves_out_prompt ? piece.left_out : 0, pooled);
  return pooled;
}

// Returns the pooled row, all rows, or the logits of each piece.
inline Result<std::vector<std::vector<float>>> RowsOfPieces(const RowSource& source, std::span<const Piece> pieces,
                                                            Workspace& workspace) {
  std::vector<size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order,
                           [&](size_t a, size_t b) { return pieces[a].tokens.size() > pieces[b].tokens.size(); });
  std::vector<std::vector<float>> rows(pieces.size());
  for (size_t begin = 0, end; begin < order.size(); begin = end) {
    size_t tokens = 0;
    std::vector<const Piece*> together;
    std::vector<std::vector<Want>> wants;
    for (end = begin; end < order.size(); ++end) {
      const Piece& piece = pieces[order[end]];
      if (end > begin && tokens + piece.tokens.size() > source.pass_tokens) break;
      tokens += piece.tokens.size();
      together.push_back(&piece);
      wants.push_back(WantsOf(source, piece.tokens.size()));
    }
    const auto outputs = ComputeTogether(source, together, wants, workspace);
    if (!outputs) {
      const bool is_alone = together.size() == 1;
      return is_alone ? OfText(together[0]->text, outputs) : Failure(outputs.error());
    }
    size_t next = 0;
    for (size_t i = begin; i < end; ++i) {
      rows[order[i]] = TakeRows(source, pieces[order[i]], wants[i - begin], *outputs, next);
    }
  }
  return rows;
}

// Checks how many elements of embeddings are asked for, of those that there are.
inline Result<void> CheckDimension(size_t dimension, size_t width) {
  if (dimension > 0 && dimension <= width) return {};
  return Fail(ErrorCode::kInvalidArgument, Concat({"embeddings of ", std::to_string(dimension),
                                                   " elements were asked for, the model has ", std::to_string(width)}));
}

/// The form of embeddings.
struct EmbeddingForm {
  size_t width;      // of a row as it was computed
  size_t dimension;  // of which so many elements are taken
  bool keeps_rows;   // of all tokens
  bool normalises;
};

// Joins the rows of the pieces of each text: of windows the mean, weighted by their tokens.
inline Embeddings JoinPieces(size_t texts, std::span<const Piece> pieces, const std::vector<std::vector<float>>& rows,
                             const EmbeddingForm& form) {
  Embeddings result = {.dimension = form.dimension, .begins = {0}, .values = {}, .num_tokens = {}};
  size_t piece = 0;
  for (size_t text = 0; text < texts; ++text) {
    std::vector<double> sums(form.keeps_rows ? 0 : form.dimension);
    size_t tokens = 0, count = form.keeps_rows ? 0 : 1;
    const size_t first = piece;
    for (; piece < pieces.size() && pieces[piece].text == text; ++piece) tokens += pieces[piece].tokens.size();
    for (size_t i = first; i < piece; ++i) {
      const double weight = static_cast<double>(pieces[i].tokens.size()) / static_cast<double>(tokens);
      for (size_t d = 0; d < sums.size(); ++d) sums[d] += weight * double{rows[i][d]};
      for (size_t row = 0; form.keeps_rows && row < rows[i].size(); row += form.width, ++count) {
        const auto begin = rows[i].begin() + static_cast<ptrdiff_t>(row);
        result.values.insert(result.values.end(), begin, begin + static_cast<ptrdiff_t>(form.dimension));
      }
    }
    for (const double sum : sums) result.values.push_back(static_cast<float>(sum));
    result.begins.push_back(result.begins.back() + count);
    result.num_tokens.push_back(static_cast<uint32_t>(tokens));
  }
  if (!form.normalises) return result;
  for (size_t row = 0; row < result.begins.back(); ++row) {
    Normalise(std::span(result.values).subspan(row * form.dimension, form.dimension));
  }
  return result;
}

// Returns the similarity of each document to the one text of the query.
inline Result<std::vector<float>> SimilaritiesOf(const Embeddings& query, const Embeddings& documents,
                                                 bool keeps_rows) {
  if (documents.size() == 0) return std::vector<float>();
  if (!keeps_rows) return Similarities(query[0], documents.values);
  std::vector<float> scores;
  for (size_t i = 0; i < documents.size(); ++i) {
    scores.push_back(MaxSim(query[0], documents[i], query.dimension));
  }
  return scores;
}

}  // namespace skald::internal

#endif  // SKALD_OPEN_DETAIL_ENCODER_ROWS_H_
