// SPDX-License-Identifier: Apache-2.0
//
// HybridEmbeddings: what a model with several heads makes of texts (BGE-M3, arXiv:2402.03216): an embedding of the
// whole, weights of its tokens, and an embedding of each token. Sums are in double and in one order.

#ifndef SKALD_OPEN_ENCODERS_HYBRID_H_
#define SKALD_OPEN_ENCODERS_HYBRID_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/open/encoders/embeddings.h"

namespace skald {

/// Weights of a text's tokens: the larger, the more a token tells of the text.
struct TokenWeights {
  std::vector<int32_t> ids;    ///< ascending, each once
  std::vector<float> weights;  ///< [ids], positive
};

/// Embeddings of texts by each head. A plain value.
struct HybridEmbeddings {
  Embeddings dense;                  ///< pooled, one row for each text
  std::vector<TokenWeights> sparse;  ///< [texts], or empty where the model has no head for it
  Embeddings tokens;                 ///< of all tokens but the first; of no texts where the model has no head for it
};

/// Returns the weight of each token of a text, the largest of those at its places. `weights` has one for each of `ids`;
/// what is not positive, and the tokens in `unweighed`, are left out. Throws std::bad_alloc.
TokenWeights WeightsOfTokens(std::span<const int32_t> ids, std::span<const float> weights,
                             std::span<const int32_t> unweighed);

/// Returns the sum of products of the weights of tokens that two texts share.
float LexicalScore(const TokenWeights& a, const TokenWeights& b);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/encoders/detail/hybrid.h"
#endif

#endif  // SKALD_OPEN_ENCODERS_HYBRID_H_
