// SPDX-License-Identifier: Apache-2.0
//
// Finds the scale, and the minimum, for which the codes of a group of values have the least sum of squared errors, all
// alike or each weighted. (Errors weighted by magnitude gave a higher perplexity for every type.) Loops have a fixed
// count, no branches and sums in four lanes, so that compilers vectorise them for any CPU; the order of sums is the
// same everywhere, and so is every weight.

#ifndef SKALD_WEIGHTS_PACKING_DETAIL_FIT_GROUP_H_
#define SKALD_WEIGHTS_PACKING_DETAIL_FIT_GROUP_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include "skald/base/numbers/group_types.h"

namespace skald::internal {

/// Returns 1 / scale, or 0 if that would overflow: such a group is zero.
inline float InverseOf(float scale) { return std::abs(scale) < 0x1p-100f ? 0.0f : 1.0f / scale; }

/// Returns the value of largest magnitude, the first one of several.
inline float ExtremeOf(const float* values, size_t count) {
  float extreme = 0.0f;
  for (size_t i = 0; i < count; ++i) {
    if (std::abs(values[i]) > std::abs(extreme)) extreme = values[i];
  }
  return extreme;
}

/// The values of T's list on both sides of those from an integer to the next, in the order of the list.
template <ListsValues T>
struct Neighbours {
  struct Pair {
    int8_t first, second;
  };
  constexpr Neighbours() {
    constexpr auto kEnds = std::ranges::minmax(T::kValues);
    for (int floor = -128; floor < 128; ++floor) {
      int below = kEnds.min, above = kEnds.max;
      for (const int listed : T::kValues) {
        if (listed <= floor) below = std::max(below, listed);
        if (listed > floor) above = std::min(above, listed);
      }
      const auto place = [](int value) { return std::ranges::find(T::kValues, value); };
      if (place(above) < place(below)) std::swap(above, below);
      of_floors[floor + 128] = {static_cast<int8_t>(below), static_cast<int8_t>(above)};
    }
  }
  Pair of_floors[256] = {};
};
template <ListsValues T>
inline constexpr Neighbours<T> kNeighbours;

/// Returns the value of T's list that is nearest, the first one of two.
template <ListsValues T>
int8_t NearestValue(float value) {
  const float limited = std::max(-128.0f, std::min(127.0f, value));  // there are no values beyond
  const auto [first, second] = kNeighbours<T>.of_floors[static_cast<size_t>(limited + 128.0f)];
  return std::abs(value - second) < std::abs(value - first) ? second : first;
}

/// The codes of a group, minus the code for zero, or values of T's list.
template <class T>
using GroupCodes = float[T::kGroup];

/// Writes the codes nearest to (values + minimum) * inverse, for any values.
template <class T>
void EncodeGroup(const float* __restrict values, float inverse, float minimum, float* __restrict codes) {
  constexpr int32_t kLeast = -T::kZero, kLargest = kLargestCode<T>;
  for (size_t i = 0; i < T::kGroup; ++i) {
    const float value = (values[i] + minimum) * inverse;
    if constexpr (ListsValues<T>) {
      codes[i] = NearestValue<T>(value);
    } else {
      constexpr float kRounder = 0x1.8p23f;  // the sum's low bits are an integer, to which the value is rounded
      const uint32_t bits = std::bit_cast<uint32_t>(value + kRounder) - std::bit_cast<uint32_t>(kRounder);
      int32_t code = static_cast<int32_t>(bits);
      code = code > kLeast ? code : kLeast;
      code = code < kLargest ? code : kLargest;
      codes[i] = static_cast<float>(code);
    }
  }
}

template <size_t kCount>
float SumOf(const float (&terms)[kCount]) {
  float lanes[4] = {};
  for (size_t i = 0; i < kCount; i += 4) {
    for (size_t lane = 0; lane < 4; ++lane) lanes[lane] += terms[i + lane];
  }
  return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

/// value = scale * code - minimum, which is not negative and 0 for types without minima.
struct GroupFit {
  float scale = 0.0f, minimum = 0.0f;
};

/// The weights of errors that count alike; else a pointer to as many weights as there are values.
struct EqualWeights {
  constexpr float operator[](size_t) const { return 1.0f; }
  constexpr EqualWeights operator+(size_t) const { return {}; }
};

/// The sums that squared errors depend on: over a group, of its weights and, weighted, of its values, its codes, their
/// squares, and their products.
struct GroupSums {
  float weights = 0.0f, values = 0.0f, codes = 0.0f, squares = 0.0f, products = 0.0f;
};

template <class T, class Weights>
GroupSums SumsOf(const float* values, const GroupCodes<T>& codes, Weights weights) {
  GroupCodes<T> copies, weighted_values, weighted_codes, squares, products;
  for (size_t i = 0; i < T::kGroup; ++i) {
    copies[i] = weights[i], weighted_values[i] = weights[i] * values[i], weighted_codes[i] = weights[i] * codes[i];
    squares[i] = weighted_codes[i] * codes[i], products[i] = weighted_values[i] * codes[i];
  }
  return {SumOf(copies), SumOf(weighted_values), SumOf(weighted_codes), SumOf(squares), SumOf(products)};
}

/// Returns the sum of squared errors, minus that of the values' squares.
inline float ErrorOf(const GroupFit& fit, const GroupSums& sums) {
  const float scale = fit.scale, minimum = fit.minimum;
  return scale * (scale * sums.squares - 2.0f * sums.products) +
         minimum * (sums.weights * minimum + 2.0f * (sums.values - scale * sums.codes));
}

/// Returns the fit for which ErrorOf is least.
template <class T>
GroupFit LeastSquares(const GroupSums& sums) {
  if constexpr (HasOffsets<T>) {
    const float determinant = sums.weights * sums.squares - sums.codes * sums.codes;
    const float minimum = sums.codes * sums.products - sums.squares * sums.values;
    if (determinant > 0.0f && minimum > 0.0f) {
      return {(sums.weights * sums.products - sums.codes * sums.values) / determinant, minimum / determinant};
    }
    if (!(sums.squares > 0.0f)) return {0.0f, std::max(0.0f, -sums.values / sums.weights)};
  }
  return {sums.squares > 0.0f ? sums.products / sums.squares : 0.0f, 0.0f};
}

/// How far codes reach beyond the range of the values, in steps.
inline constexpr float kReaches[] = {0.0f, -1.0f, 1.0f};

/// Returns the best fit, and its sums, among those whose codes have one of these reaches.
template <class T, class Weights = EqualWeights, size_t kCount = std::size(kReaches)>
GroupFit FitGroup(const float* values, GroupSums& sums, Weights weights = {},
                  const float (&reaches)[kCount] = kReaches) {
  float minimum = 0.0f, end, step, range;  // codes end at the limits of the range
  if constexpr (HasOffsets<T>) {
    const auto [lowest, highest] = std::minmax_element(values, values + T::kGroup);
    minimum = std::max(0.0f, -*lowest), range = *highest + minimum;
    end = kLargestCode<T>, step = 1.0f;
  } else if constexpr (ListsValues<T>) {
    constexpr int kSixteenth = (T::kValues[0] - 1) / 16;
    range = ExtremeOf(values, T::kGroup), end = T::kValues[0], step = kSixteenth;
  } else {
    range = ExtremeOf(values, T::kGroup), end = -T::kZero, step = -1.0f;
  }
  GroupFit best;
  float least = std::numeric_limits<float>::infinity();
  for (const float reach : reaches) {
    GroupCodes<T> codes;
    EncodeGroup<T>(values, (end + reach * step) * InverseOf(range), minimum, codes);
    const GroupSums tried = SumsOf<T>(values, codes, weights);
    const GroupFit fit = LeastSquares<T>(tried);
    const float error = ErrorOf(fit, tried);
    if (error < least) least = error, best = fit, sums = tried;
  }
  return best;
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_PACKING_DETAIL_FIT_GROUP_H_
