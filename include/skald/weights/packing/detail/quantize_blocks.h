// SPDX-License-Identifier: Apache-2.0
//
// Quantisation to types with scales of scales: finds the scale, minimum and small numbers of groups with the least
// error.

#ifndef SKALD_WEIGHTS_PACKING_DETAIL_QUANTIZE_BLOCKS_H_
#define SKALD_WEIGHTS_PACKING_DETAIL_QUANTIZE_BLOCKS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "skald/base/numbers/group_types.h"
#include "skald/base/numbers/numeric.h"
#include "skald/weights/packing/detail/fit_group.h"
#include "skald/weights/types/code_group.h"

namespace skald::internal {

/// The range of the numbers that multiply a scale. Those for a minimum begin at 0 and have the same end.
template <NestedScales T>
inline constexpr int kLargestNumber = HasOffsets<T> ? 63 : 31;
template <>
inline constexpr int kLargestNumber<Q2_K> = 15;
template <>
inline constexpr int kLargestNumber<Q6_K> = 127;
template <NestedScales T>
inline constexpr int kLeastNumber = HasOffsets<T> ? 0 : -kLargestNumber<T> - 1;

/// Returns the integer nearest to `value` within [least, largest]. NaN becomes the least.
inline int RoundedWithin(int least, int largest, float value) {
  if (!(value > static_cast<float>(least))) return least;
  return static_cast<int>(std::floor(std::min(value, static_cast<float>(largest)) + 0.5f));
}

/// The numbers of a group: its scale and minimum are those of the block times these.
struct GroupNumbers {
  int scale, minimum;
};

/// Returns the numbers with the least error for a group with these sums; the scale's number may differ by one from the
/// one nearest to its best fit.
template <NestedScales T>
GroupNumbers NumbersFor(const GroupFit& fit, const GroupSums& sums, const GroupFit& block) {
  constexpr int kLeast = kLeastNumber<T>, kLargest = kLargestNumber<T>;
  const float inverse = InverseOf(block.minimum) / sums.weights;
  const int nearest = RoundedWithin(kLeast, kLargest, fit.scale * InverseOf(block.scale));
  GroupNumbers best = {nearest, 0};
  float least = std::numeric_limits<float>::infinity();
  for (int number = std::max(kLeast, nearest - 1); number <= std::min(kLargest, nearest + 1); ++number) {
    GroupFit tried = {block.scale * static_cast<float>(number)};
    int minimum = 0;
    if constexpr (HasOffsets<T>) {
      minimum = RoundedWithin(0, kLargest, (tried.scale * sums.codes - sums.values) * inverse);
      tried.minimum = block.minimum * static_cast<float>(minimum);
    }
    const float error = ErrorOf(tried, sums);
    if (error < least) least = error, best = {number, minimum};
  }
  return best;
}

/// Returns the scale and minimum of the block with the least error for groups with these numbers and sums; `block` if
/// they determine none.
template <NestedScales T, size_t kGroups>
GroupFit FitBlock(const GroupNumbers (&numbers)[kGroups], const GroupSums (&sums)[kGroups], const GroupFit& block) {
  // The sums of one group whose codes and minima are multiplied by the numbers.
  float squares = 0.0f, codes = 0.0f, ones = 0.0f, products = 0.0f, values = 0.0f;
  for (size_t g = 0; g < kGroups; ++g) {
    const auto scale = static_cast<float>(numbers[g].scale), minimum = static_cast<float>(numbers[g].minimum);
    squares += scale * scale * sums[g].squares;
    codes += scale * minimum * sums[g].codes;
    ones += minimum * minimum * sums[g].weights;
    products += scale * sums[g].products;
    values += minimum * sums[g].values;
  }
  const float determinant = squares * ones - codes * codes, minimum = codes * products - squares * values;
  if (determinant > 0.0f && minimum > 0.0f) {
    return {(ones * products - codes * values) / determinant, minimum / determinant};
  }
  return squares > 0.0f ? GroupFit{products / squares, ones > 0.0f ? block.minimum : 0.0f} : block;
}

/// Returns 256 finite values as numbers of T; weights of their errors are positive. Each group is fitted by itself.
/// Then its numbers, its codes, and the block's scale and minimum are chosen in turns, each so that the squared error
/// is least with the others fixed.
template <NestedScales T, class Weights = EqualWeights>
CodeBlock QuantizeBlock(const float* values, Weights weights = {}) {
  constexpr size_t kGroups = CodeBlock::kWeights / T::kGroup, kCodeGroups = T::kGroup / kCodeGroup;
  constexpr int kRounds = 3;
  GroupFit fits[kGroups];
  GroupSums sums[kGroups];
  GroupNumbers numbers[kGroups];
  GroupCodes<T> codes[kGroups];
  GroupFit fit;
  for (size_t g = 0; g < kGroups; ++g) {
    fits[g] = FitGroup<T>(values + g * T::kGroup, sums[g], weights + g * T::kGroup);
    if (std::abs(fits[g].scale) > std::abs(fit.scale)) fit.scale = fits[g].scale;
    fit.minimum = std::max(fit.minimum, fits[g].minimum);
  }
  // The largest scale gets the number that is furthest from zero.
  fit.scale /= static_cast<float>(HasOffsets<T> ? kLargestNumber<T> : kLeastNumber<T>);
  fit.minimum /= static_cast<float>(kLargestNumber<T>);
  for (int turn = 0; turn < kRounds; ++turn) {
    if (turn > 0) fit = FitBlock<T>(numbers, sums, fit);
    fit = {FromHalf(ToHalf(fit.scale)), FromHalf(ToHalf(fit.minimum))};
    for (size_t g = 0; g < kGroups; ++g) {
      const float* const group = values + g * T::kGroup;
      numbers[g] = NumbersFor<T>(fits[g], sums[g], fit);
      const float scale = fit.scale * static_cast<float>(numbers[g].scale);
      EncodeGroup<T>(group, InverseOf(scale), fit.minimum * static_cast<float>(numbers[g].minimum), codes[g]);
      sums[g] = SumsOf<T>(group, codes[g], weights + g * T::kGroup);
      fits[g] = LeastSquares<T>(sums[g]);
    }
  }
  CodeBlock block = {fit.scale, fit.minimum, {}, {}, {}, ListsValues<T> ? 128 : T::kZero};
  for (size_t g = 0; g < kGroups; ++g) {
    for (size_t part = g * kCodeGroups; part < (g + 1) * kCodeGroups; ++part) {
      block.scales[part] = static_cast<int8_t>(numbers[g].scale);
      block.minima[part] = static_cast<uint8_t>(numbers[g].minimum);
    }
    for (size_t i = 0; i < T::kGroup; ++i) {
      block.codes[g * T::kGroup + i] = static_cast<uint8_t>(static_cast<int>(codes[g][i]) + block.zero);
    }
  }
  return block;
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_PACKING_DETAIL_QUANTIZE_BLOCKS_H_
