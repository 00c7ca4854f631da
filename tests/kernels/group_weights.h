// SPDX-License-Identifier: Apache-2.0
//
// Random weights of each quantised type, and where a pack of the type holds them.

#ifndef SKALD_TESTS_KERNELS_GROUP_WEIGHTS_H_
#define SKALD_TESTS_KERNELS_GROUP_WEIGHTS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "skald/kernels/kernels.h"
#include "tests/reference/group_matmul.h"

namespace skald::testing::group_matmul_test {

using reference::Scales;
using reference::WeightGroup;

template <class T>
inline constexpr Scales kScales = NestedScales<T> ? Scales::kNested
                                  : HasOffsets<T> ? Scales::kFloatsAndOffsets
                                                  : Scales::kFloats;

// The lowest and the highest value of a code.
template <class T>
inline constexpr std::pair<int, int> kCodes = T::kCodeBits == 8
                                                  ? std::pair(-128, 127)
                                                  : std::pair(-T::kZero, (1 << T::kCodeBits) - 1 - T::kZero);
template <ListsValues T>
inline constexpr std::pair<int, int> kCodes<T> = {std::ranges::min(T::kValues), std::ranges::max(T::kValues)};

// A scale or offset in memory.
inline float Stored(float value, float) { return value; }
inline float Stored(float value, uint16_t) { return FromHalf(ToHalf(value)); }
inline float Stored(float value, uint8_t) { return std::exp2(std::floor(std::log2(std::abs(value) + 0x1p-60f))); }

// The lowest and the highest number that multiplies a scale or minimum.
template <class T>
inline constexpr std::pair<int, int> kNumbers = {-128, 127};
template <>
inline constexpr std::pair<int, int> kNumbers<Q2_K> = {0, 15};
template <>
inline constexpr std::pair<int, int> kNumbers<Q3_K> = {-32, 31};
template <>
inline constexpr std::pair<int, int> kNumbers<Q4_K> = {0, 63};
template <>
inline constexpr std::pair<int, int> kNumbers<Q5_K> = {0, 63};
template <>
inline constexpr std::pair<int, int> kNumbers<IQ4_XS> = {-32, 31};

// The code of T for the nearest representable value to `value`.
template <class T>
unsigned CodeNear(int value) {
  if constexpr (ListsValues<T>) {
    const auto distance = [&](int listed) { return std::abs(listed - value); };
    return static_cast<unsigned>(std::ranges::min_element(T::kValues, {}, distance) - std::begin(T::kValues));
  } else {
    return static_cast<unsigned>(value + T::kZero);
  }
}
template <class T>
int Available(int value) {
  if constexpr (ListsValues<T>)
    return T::kValues[CodeNear<T>(value)];
  else
    return value;
}

// Groups of one output with all codes that T can hold, the extreme ones often.
template <class T>
std::vector<WeightGroup> RandomGroups(std::mt19937& random, size_t k) {
  const auto [low, high] = kCodes<T>;
  const auto uniform = [&] { return static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f; };
  std::vector<WeightGroup> groups(RoundUp(k, T::kGroup) / T::kGroup);
  for (WeightGroup& group : groups) {
    group.scale = Stored(uniform() * 0.01f, T{}.scales[0][0]);
    if constexpr (HasOffsets<T>) group.offset = Stored(uniform(), T{}.offsets[0][0]);
    for (size_t i = 0; i < T::kGroup; ++i) {
      const uint32_t choice = random() % 8;
      const int any = low + static_cast<int>(random() % static_cast<uint32_t>(high - low + 1));
      group.codes.push_back(Available<T>(choice == 0 ? low : choice == 1 ? high : any));
    }
  }
  return groups;
}

// The same with scales of scales.
template <NestedScales T>
std::vector<WeightGroup> RandomGroups(std::mt19937& random, size_t k) {
  const auto [low, high] = kCodes<T>;
  const auto uniform = [&] { return static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f; };
  const auto any = [&](int from, int to) {
    const uint32_t choice = random() % 8;
    return choice == 0 ? from : choice == 1 ? to : from + static_cast<int>(random() % static_cast<uint32_t>(to - from));
  };
  std::vector<WeightGroup> groups(RoundUp(k, T::kTerms) / T::kGroup);
  for (size_t g = 0; g < groups.size(); ++g) {
    WeightGroup& group = groups[g];
    const bool is_first = g % T::kGroups == 0;
    group.scale = is_first ? FromHalf(ToHalf(uniform() * 0.001f)) : groups[g - 1].scale;
    if (HasOffsets<T>) group.offset = is_first ? FromHalf(ToHalf(uniform() * 0.02f)) : groups[g - 1].offset;
    group.number = any(kNumbers<T>.first, kNumbers<T>.second);
    group.offset_number = HasOffsets<T> ? any(kNumbers<T>.first, kNumbers<T>.second) : 0;
    for (size_t i = 0; i < T::kGroup; ++i) group.codes.push_back(Available<T>(any(low, high)));
  }
  return groups;
}

// Writes the code of term i of one output, whose bits are zeros before.
template <size_t kTerms, size_t kBits>
void SetPlaneCode(unsigned code, size_t lane, size_t i, CodePlanes<kTerms, kBits>& planes) {
  using Planes = CodePlanes<kTerms, kBits>;
  const size_t row = i / 4, shift = row / Planes::kLowRows * Planes::kLowBits;
  uint8_t& low = planes.low[row % Planes::kLowRows][lane][i % 4];
  low = static_cast<uint8_t>(low | (code & ((1u << Planes::kLowBits) - 1)) << shift);
  if constexpr (Planes::kHighBits > 0) {
    uint8_t& high = planes.high[0][lane][i % 4];
    high = static_cast<uint8_t>(high | code >> Planes::kLowBits << row * Planes::kHighBits);
  }
}

template <class T>
void SetCode(T& pack, size_t g, size_t lane, size_t i, int value) {
  if constexpr (T::kCodeBits == 8) {
    pack.codes[g][i / 4][lane][i % 4] = static_cast<int8_t>(value);
  } else {
    const size_t k = g * T::kGroup + i;
    SetPlaneCode(CodeNear<T>(value), lane, k % kPlaneTerms<T>, pack.codes[k / kPlaneTerms<T>]);
  }
}

inline void Store(float value, float& to) { to = value; }
inline void Store(float value, uint16_t& to) { to = ToHalf(value); }
inline void Store(float value, uint8_t& to) { to = static_cast<uint8_t>(std::ilogb(value) + 128); }

template <class T>
void SetScale(T& pack, size_t g, size_t lane, const WeightGroup& group) {
  Store(group.scale, pack.scales[g][lane]);
  if constexpr (HasOffsets<T>) Store(group.offset, pack.offsets[g][lane]);
}

template <NestedScales T>
void SetScale(T& pack, size_t g, size_t lane, const WeightGroup& group) {
  Store(group.scale, pack.scale[lane]);
  if constexpr (HasOffsets<T>) Store(-group.offset, pack.minimum[lane]);
  if constexpr (std::is_same_v<T, Q2_K>) {
    pack.both[g][lane] = static_cast<uint8_t>(group.number | group.offset_number << 4);
  } else {
    pack.scales[g][lane] = static_cast<std::remove_reference_t<decltype(pack.scales[g][lane])>>(group.number);
    if constexpr (HasOffsets<T>) {
      pack.minima[g][lane] = static_cast<std::remove_reference_t<decltype(pack.minima[g][lane])>>(group.offset_number);
    }
  }
}

}  // namespace skald::testing::group_matmul_test

#endif  // SKALD_TESTS_KERNELS_GROUP_WEIGHTS_H_
