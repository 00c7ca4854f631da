// SPDX-License-Identifier: Apache-2.0
//
// Int8 groups: a lossy form of numbers. 32 neighbours share a scale, the largest magnitude among them / 127. Each is
// rounded to a whole multiple of it: the error is at most 1/254 of that magnitude, plus the element type's own
// rounding.

#ifndef SKALD_STORE_CHUNKS_DETAIL_INT8_GROUPS_H_
#define SKALD_STORE_CHUNKS_DETAIL_INT8_GROUPS_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <type_traits>

#include "skald/base/highway.h"
#include "skald/base/numbers/bf16.h"
#include "skald/base/threads/float_environment.h"
#include "skald/store/chunks/chunk_frame.h"
#include "skald/store/chunks/chunk_store.h"
#include "skald/store/chunks/detail/byte_planes.h"
#include "skald/store/chunks/detail/packed_parts.h"

namespace skald::internal {

inline constexpr size_t kGroupValues = 32;
inline constexpr float kMaxInt8 = 127.0f;

inline float FloatOf(hwy::float16_t value) { return hwy::F32FromF16(value); }
template <class T>
float FloatOf(T value) {
  return ToFloat(value);
}

template <class T>
T RoundTo(float value) {
  if constexpr (std::is_same_v<T, hwy::float16_t>)
    return hwy::F16FromF32(value);
  else
    return FromFloat<T>(value);
}

// The smallest float that rounds to infinity as a T.
template <class T>
float OverflowOf() {
  if constexpr (std::is_same_v<T, hwy::float16_t>)
    return 65520.0f;
  else if constexpr (std::is_same_v<T, bf16>)
    return std::bit_cast<float>(0x7F7F8000u);
  else
    return std::numeric_limits<float>::infinity();
}

// The scale of values up to `largest`, such that none of them overflows when decoded.
template <class T>
float ScaleOf(float largest) {
  const float scale = largest / kMaxInt8;
  return scale * kMaxInt8 < OverflowOf<T>() ? scale : std::nextafter(scale, 0.0f);
}

// Returns value / scale as a whole number from -127 to 127, ties to even.
inline int8_t ToInt8(float value, float scale) {
  // A float this large has no fraction bits: adding it rounds to a whole number, in a form that compilers vectorise.
  constexpr float kNoFraction = 12582912.0f;  // 1.5 * 2^23
  const float ratio = std::clamp(value / scale, -kMaxInt8, kMaxInt8);
  return static_cast<int8_t>(ratio + kNoFraction - kNoFraction);
}

// Rounds one group of at most kGroupValues elements. Returns its scale, or an infinity if an element is not finite.
template <class T>
float EncodeGroup(const std::byte* elements, size_t count, std::byte* to) {
  std::array<float, kGroupValues> values{};
  uint32_t largest = 0;  // magnitudes are ordered like their bits, infinity and NaN above all others
  for (size_t i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, elements + i * sizeof(T), sizeof(T));
    values[i] = FloatOf(element);
    largest = std::max(largest, std::bit_cast<uint32_t>(values[i]) & 0x7FFFFFFFu);
  }
  if (largest >= 0x7F800000u) return std::numeric_limits<float>::infinity();
  const float scale = ScaleOf<T>(std::bit_cast<float>(largest));
  for (size_t i = 0; i < count; ++i) {
    to[i] = std::bit_cast<std::byte>(scale > 0 ? ToInt8(values[i], scale) : int8_t{0});
  }
  return scale;
}

// Undoes EncodeGroup. Returns false if no EncodeGroup can have produced these.
template <class T>
bool DecodeGroup(const std::byte* from, size_t count, float scale, std::byte* elements) {
  if (!(scale >= 0 && scale * kMaxInt8 < OverflowOf<T>())) return false;
  bool is_known = true;
  for (size_t i = 0; i < count; ++i) {
    const auto value = std::bit_cast<int8_t>(from[i]);
    is_known = is_known && value >= -kMaxInt8;
    const T element = RoundTo<T>(std::max(static_cast<float>(value), -kMaxInt8) * scale);
    std::memcpy(elements + i * sizeof(T), &element, sizeof(T));
  }
  return is_known;
}

// The layout before packing: four planes of the scales' bytes, then an int8 for each element.
template <class Byte>
struct Int8Parts {
  Int8Parts(std::span<Byte> bytes, size_t groups) : values(bytes.subspan(groups * sizeof(float))) {
    for (size_t i = 0; i < sizeof(float); ++i) parts[i] = bytes.subspan(i * groups, groups);
    parts.back() = values;
  }
  std::array<std::span<Byte>, sizeof(float) + 1> parts;
  std::span<Byte> values;
};

// Calls function(T{}) with the type of `element`, a number.
template <class Function>
auto WithElementType(ChunkElement element, Function function) {
  if (element == ChunkElement::kF16) return function(hwy::float16_t{});
  if (element == ChunkElement::kBF16) return function(bf16{});
  return function(float{});
}

inline std::string GroupName(size_t group) {
  return "the group of " + std::to_string(kGroupValues) + " values from " + std::to_string(group * kGroupValues) +
         " on";
}

// Appends `content`, a whole number of elements, to `out`. Returns "" or the reason why that is impossible.
inline std::string AppendInt8(std::span<const std::byte> content, ChunkElement element, ChunkBytes& out) {
  const FloatEnvironment plain(Denormals::kKept);
  if (SizeOf(element) == 1) return "bytes have no lossy form";
  const size_t size = SizeOf(element), count = content.size() / size;
  const size_t groups = (count + kGroupValues - 1) / kGroupValues;
  ChunkBytes scales(groups * sizeof(float)), bytes(scales.size() + count);
  const Int8Parts<std::byte> to(bytes, groups);
  for (size_t group = 0; group < groups; ++group) {
    const size_t begin = group * kGroupValues, length = std::min(kGroupValues, count - begin);
    const float scale = WithElementType(element, [&](auto type) {
      return EncodeGroup<decltype(type)>(content.data() + begin * size, length, to.values.data() + begin);
    });
    if (!std::isfinite(scale)) return GroupName(group) + " has an infinite one or a NaN, for which int8 has no form";
    std::memcpy(scales.data() + group * sizeof scale, &scale, sizeof scale);
  }
  SplitPlanes(scales, sizeof(float), std::span(bytes).first(scales.size()));
  AppendPacked(Int8Parts<const std::byte>(bytes, groups).parts, out);
  return "";
}

// Fills `content`, a whole number of elements, from the payload. Returns "" or a complaint about it.
inline std::string ReadInt8(std::span<const std::byte> payload, ChunkElement element, std::span<std::byte> content) {
  const FloatEnvironment plain(Denormals::kKept);
  if (SizeOf(element) == 1) return "its codec is for numbers, its elements are bytes";
  const size_t size = SizeOf(element), count = content.size() / size;
  const size_t groups = (count + kGroupValues - 1) / kGroupValues;
  ChunkBytes scales(groups * sizeof(float)), bytes(scales.size() + count);
  const Int8Parts<std::byte> from(bytes, groups);
  if (std::string complaint = Unpack(payload, from.parts); !complaint.empty()) return complaint;
  JoinPlanes(std::span(bytes).first(scales.size()), sizeof(float), scales);
  for (size_t group = 0; group < groups; ++group) {
    const size_t begin = group * kGroupValues, length = std::min(kGroupValues, count - begin);
    const auto scale = LoadAt<float>(scales, group * sizeof(float));
    const bool is_known = WithElementType(element, [&](auto type) {
      return DecodeGroup<decltype(type)>(from.values.data() + begin, length, scale, content.data() + begin * size);
    });
    if (!is_known) return GroupName(group) + " has an impossible scale or value";
  }
  return "";
}

}  // namespace skald::internal

#endif  // SKALD_STORE_CHUNKS_DETAIL_INT8_GROUPS_H_
