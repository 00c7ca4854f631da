// SPDX-License-Identifier: Apache-2.0
//
// Embeddings: what an encoder makes of texts, and what is done with them afterwards: shorter rows, codes in place of
// floats, similarities. All sums are in double and in one order, so a ranking is the same on every machine.

#ifndef SKALD_OPEN_ENCODERS_EMBEDDINGS_H_
#define SKALD_OPEN_ENCODERS_EMBEDDINGS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace skald {

/// Rows of floats: one for each text, or, unpooled, one for each of its tokens. A plain value.
struct Embeddings {
  size_t dimension = 0;              ///< floats of a row
  std::vector<size_t> begins;        ///< [texts + 1]: text i has the rows [begins[i], begins[i + 1])
  std::vector<float> values;         ///< [begins.back(), dimension]
  std::vector<uint32_t> num_tokens;  ///< [texts], that were computed for each, special ones included

  /// Number of texts.
  size_t size() const { return num_tokens.size(); }

  /// All rows of text `i`, one after the other; of pooled embeddings its only one.
  std::span<const float> operator[](size_t i) const {
    return {values.data() + begins[i] * dimension, (begins[i + 1] - begins[i]) * dimension};
  }
};

/// Divides a row by its length; one of zeros stays as it is. The length is at least 1e-12, as in PyTorch's normalize.
void Normalise(std::span<float> row);

/// Returns the cosine of the angle between two rows of equal length; 0 where one has no length.
float Cosine(std::span<const float> a, std::span<const float> b);

/// Returns the sum of products of two rows of equal length.
float DotProduct(std::span<const float> a, std::span<const float> b);

/// Returns the similarity of late interaction (ColBERT, arXiv:2004.12832): for each row of `query` its largest dot
/// product with a row of `document`, added up. Both are rows of `dimension` floats, one after the other.
float MaxSim(std::span<const float> query, std::span<const float> document, size_t dimension);

/// A row as int8: value = code * scale.
struct Int8Row {
  std::vector<int8_t> codes;  ///< [dimension], in [-127, 127]
  float scale = 0.0f;         ///< the largest magnitude / 127
};

/// Returns `row` in codes, rounded to nearest, ties to even.
Int8Row ToInt8(std::span<const float> row);

/// Returns a bit for each element, 1 where it is positive, the first in the highest bit of the first byte (as numpy's
/// packbits). The last byte is filled up with zeros.
std::vector<uint8_t> ToBinary(std::span<const float> row);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/encoders/detail/embeddings.h"
#endif

#endif  // SKALD_OPEN_ENCODERS_EMBEDDINGS_H_
