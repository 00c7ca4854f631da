// SPDX-License-Identifier: Apache-2.0
//
// Pooling: from the rows of a text's tokens to its embedding, as sentence-transformers does it
// (https://github.com/UKPLab/sentence-transformers). Sums are in double, over the rows in ascending order.

#ifndef SKALD_OPEN_ENCODERS_POOLING_H_
#define SKALD_OPEN_ENCODERS_POOLING_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "skald/base/result.h"

namespace skald {

/// How the rows of a text's tokens become its embedding.
enum class Pooling : uint8_t {
  kMean,      ///< their mean
  kFirst,     ///< the first row ([CLS])
  kLast,      ///< the last row
  kWeighted,  ///< their mean, row i weighted by i + 1
  kMax,       ///< the largest of each element
  kMeanRoot,  ///< their sum, divided by the root of their number
  kNone,      ///< they stay as they are
};

/// Returns "mean", "cls", "last", "weighted", "max", "mean sqrt" or "none".
std::string_view NameOf(Pooling pooling);

/// Returns the pooling of such a name. Error: kInvalidArgument, naming all.
Result<Pooling> PoolingNamed(std::string_view name);

/// Writes the pooled row of `rows`, [.., pooled.size()], at least one; the first `left_out` of them take no part unless
/// they are all. A pooling of kNone is not for it.
void Pool(Pooling pooling, std::span<const float> rows, size_t left_out, std::span<float> pooled);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/encoders/detail/pooling.h"
#endif

#endif  // SKALD_OPEN_ENCODERS_POOLING_H_
