// SPDX-License-Identifier: Apache-2.0
//
// Rankings: similarities of a query to many vectors, and the order of results, by their scores and by their places
// where scores are equal. They are the same on every machine. Pure; safe for concurrent calls.

#ifndef SKALD_OPEN_ENCODERS_RANKING_H_
#define SKALD_OPEN_ENCODERS_RANKING_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/base/result.h"
#include "skald/open/encoders/embeddings.h"

namespace skald {

/// Returns the cosine of a query and each of the `rows`, [.., query.size()]. Error: kInvalidArgument for rows that are
/// not of the query's length, or an empty query.
Result<std::vector<float>> Similarities(std::span<const float> query, std::span<const float> rows);

/// The same of int8 codes (ToInt8), whose scales change no cosine.
Result<std::vector<float>> Similarities(std::span<const int8_t> query, std::span<const int8_t> rows);

/// The same of bits (ToBinary), each taken for 1 or -1: 1 - 2 * bits that differ / bits. Bits that fill up a last byte
/// count as alike, which changes no order.
Result<std::vector<float>> Similarities(std::span<const uint8_t> query, std::span<const uint8_t> rows);

/// Returns the indices of the `most` highest scores, the highest first; 0 for all. Of equal scores the first index
/// comes first; what is no number comes last. Throws std::bad_alloc.
std::vector<size_t> OrderOfScores(std::span<const float> scores, size_t most = 0);

/// A text that was found.
struct FoundText {
  size_t index = 0;    ///< among the embeddings
  float score = 0.0f;  ///< the cosine, or MaxSim of embeddings that are not pooled

  bool operator==(const FoundText&) const = default;
};

/// Returns the `most` texts of `texts` that are nearest to a query, the nearest first, in the order of OrderOfScores; 0
/// for all. `query` has rows of texts.dimension floats: one, or one for each of its tokens where `texts` are not
/// pooled. Error: kInvalidArgument for a query of another number of floats.
Result<std::vector<FoundText>> FindNearest(std::span<const float> query, const Embeddings& texts, size_t most = 0);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/encoders/detail/ranking.h"
#endif

#endif  // SKALD_OPEN_ENCODERS_RANKING_H_
