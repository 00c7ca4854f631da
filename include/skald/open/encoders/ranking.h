// SPDX-License-Identifier: Apache-2.0
//
// The order of results: by their scores, and by their places where scores are equal, so that a ranking is the same on
// every machine. Pure; safe for concurrent calls.

#ifndef SKALD_OPEN_ENCODERS_RANKING_H_
#define SKALD_OPEN_ENCODERS_RANKING_H_

#include <cstddef>
#include <span>
#include <vector>

#include "skald/base/result.h"
#include "skald/open/encoders/embeddings.h"

namespace skald {

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
