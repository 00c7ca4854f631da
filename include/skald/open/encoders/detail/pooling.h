// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/encoders/pooling.h.

#ifndef SKALD_OPEN_ENCODERS_DETAIL_POOLING_H_
#define SKALD_OPEN_ENCODERS_DETAIL_POOLING_H_

#include "skald/open/encoders/pooling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "skald/base/inline.h"
#include "skald/base/text/message.h"

namespace skald {

namespace internal {

// In the order of Pooling.
inline constexpr std::array<std::string_view, 7> kPoolingNames = {"mean", "cls",       "last", "weighted",
                                                                  "max",  "mean sqrt", "none"};

}  // namespace internal

SKALD_INLINE std::string_view NameOf(Pooling pooling) { return internal::kPoolingNames[static_cast<size_t>(pooling)]; }

SKALD_INLINE Result<Pooling> PoolingNamed(std::string_view name) {
  std::string all;
  for (size_t i = 0; i < internal::kPoolingNames.size(); ++i) {
    if (internal::kPoolingNames[i] == name) return static_cast<Pooling>(i);
    all += Concat({i == 0 ? "" : ", ", internal::kPoolingNames[i]});
  }
  return Fail(ErrorCode::kInvalidArgument, Concat({"no pooling is called \"", name, "\", expected one of ", all}));
}

namespace internal {

// Writes the sum of rows [first, count), row i times weight(i), divided by `divisor`.
template <class Weight>
void WriteSum(std::span<const float> rows, size_t first, double divisor, Weight weight, std::span<float> pooled) {
  std::vector<double> sums(pooled.size());
  for (size_t row = first; row * pooled.size() < rows.size(); ++row) {
    const std::span<const float> values = rows.subspan(row * pooled.size(), pooled.size());
    const double factor = weight(row);
    for (size_t i = 0; i < values.size(); ++i) sums[i] += factor * double{values[i]};
  }
  for (size_t i = 0; i < pooled.size(); ++i) pooled[i] = static_cast<float>(sums[i] / divisor);
}

}  // namespace internal

SKALD_INLINE void Pool(Pooling pooling, std::span<const float> rows, size_t left_out, std::span<float> pooled) {
  const size_t count = rows.size() / pooled.size(), first = left_out < count ? left_out : 0;
  const auto number = static_cast<double>(count - first);
  const auto one = [](size_t) { return 1.0; };
  const auto rank = [](size_t row) { return static_cast<double>(row + 1); };
  switch (pooling) {
    case Pooling::kMean:
      return internal::WriteSum(rows, first, number, one, pooled);
    case Pooling::kMeanRoot:
      return internal::WriteSum(rows, first, std::sqrt(number), one, pooled);
    case Pooling::kWeighted: {
      double all = 0.0;
      for (size_t row = first; row < count; ++row) all += rank(row);
      return internal::WriteSum(rows, first, all, rank, pooled);
    }
    case Pooling::kMax: {
      std::ranges::copy(rows.subspan(first * pooled.size(), pooled.size()), pooled.begin());
      for (size_t i = first * pooled.size(); i < rows.size(); ++i) {
        float& largest = pooled[i % pooled.size()];
        largest = std::max(largest, rows[i]);
      }
      return;
    }
    case Pooling::kLast:
      return void(std::ranges::copy(rows.last(pooled.size()), pooled.begin()));
    case Pooling::kFirst:
    case Pooling::kNone:
      return void(std::ranges::copy(rows.subspan(first * pooled.size(), pooled.size()), pooled.begin()));
  }
}

}  // namespace skald

#endif  // SKALD_OPEN_ENCODERS_DETAIL_POOLING_H_
