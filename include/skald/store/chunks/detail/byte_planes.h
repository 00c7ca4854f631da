// SPDX-License-Identifier: Apache-2.0
//
// Byte planes: numbers split by the significance of their bytes. The plane of the highest bytes (sign and exponent)
// repeats itself and compresses well; the lowest ones (mantissa) hardly compress and would disturb the others.

#ifndef SKALD_STORE_CHUNKS_DETAIL_BYTE_PLANES_H_
#define SKALD_STORE_CHUNKS_DETAIL_BYTE_PLANES_H_

#include <cstddef>
#include <cstring>
#include <span>

namespace skald::internal {

// Elements handled at a time. A constant trip count lets compilers vectorise the inner loops, which also need pointers
// that are known not to overlap. The compilers' own analysis depends on inlining.
inline constexpr size_t kSplitRun = 64;

template <size_t kSize>
void SplitBytes(const std::byte* __restrict from, size_t elements, std::byte* __restrict to) {
  size_t i = 0;
  for (; i + kSplitRun <= elements; i += kSplitRun) {
    for (size_t plane = 0; plane < kSize; ++plane) {
      for (size_t j = 0; j < kSplitRun; ++j) to[plane * elements + i + j] = from[(i + j) * kSize + plane];
    }
  }
  for (; i < elements; ++i) {
    for (size_t plane = 0; plane < kSize; ++plane) to[plane * elements + i] = from[i * kSize + plane];
  }
}

template <size_t kSize>
void JoinBytes(const std::byte* __restrict from, size_t elements, std::byte* __restrict to) {
  size_t i = 0;
  for (; i + kSplitRun <= elements; i += kSplitRun) {
    for (size_t j = 0; j < kSplitRun; ++j) {
      for (size_t plane = 0; plane < kSize; ++plane) to[(i + j) * kSize + plane] = from[plane * elements + i + j];
    }
  }
  for (; i < elements; ++i) {
    for (size_t plane = 0; plane < kSize; ++plane) to[i * kSize + plane] = from[plane * elements + i];
  }
}

// Writes `from`, elements of `size` bytes (1, 2 or 4), to `to` as `size` planes one after the other, the lowest bytes
// first. Both have the same length, a whole number of elements, and do not overlap. JoinPlanes undoes it.
inline void SplitPlanes(std::span<const std::byte> from, size_t size, std::span<std::byte> to) {
  if (from.empty()) return;
  if (size == 2)
    SplitBytes<2>(from.data(), from.size() / 2, to.data());
  else if (size == 4)
    SplitBytes<4>(from.data(), from.size() / 4, to.data());
  else
    std::memcpy(to.data(), from.data(), from.size());
}

inline void JoinPlanes(std::span<const std::byte> from, size_t size, std::span<std::byte> to) {
  if (from.empty()) return;
  if (size == 2)
    JoinBytes<2>(from.data(), from.size() / 2, to.data());
  else if (size == 4)
    JoinBytes<4>(from.data(), from.size() / 4, to.data());
  else
    std::memcpy(to.data(), from.data(), from.size());
}

}  // namespace skald::internal

#endif  // SKALD_STORE_CHUNKS_DETAIL_BYTE_PLANES_H_
