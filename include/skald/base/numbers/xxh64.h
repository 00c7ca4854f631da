// SPDX-License-Identifier: Apache-2.0
//
// XXH64, a checksum that finds damage at the speed of memory, after its specification at
// https://github.com/Cyan4973/xxHash (doc/xxhash_spec.md). Implemented here so that packed weights need no library;
// stores, which link xxHash for other reasons, use the library's XXH3.

#ifndef SKALD_BASE_NUMBERS_XXH64_H_
#define SKALD_BASE_NUMBERS_XXH64_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace skald {
namespace internal {

inline constexpr uint64_t kXxhPrime[] = {0x9E3779B185EBCA87u, 0xC2B2AE3D27D4EB4Fu, 0x165667B19E3779F9u,
                                         0x85EBCA77C2B2AE63u, 0x27D4EB2F165667C5u};

template <class T>
uint64_t LoadLittleEndian(const std::byte* data) {
  static_assert(std::endian::native == std::endian::little);
  T value;
  std::memcpy(&value, data, sizeof(T));
  return value;
}

inline uint64_t XxhRound(uint64_t sum, uint64_t lane) {
  return std::rotl(sum + lane * kXxhPrime[1], 31) * kXxhPrime[0];
}

/// Four sums over whole stripes of 32 bytes; removes those from `data`.
inline uint64_t XxhStripes(std::span<const std::byte>& data, uint64_t seed) {
  uint64_t sums[] = {seed + kXxhPrime[0] + kXxhPrime[1], seed + kXxhPrime[1], seed, seed - kXxhPrime[0]};
  for (; data.size() >= 32; data = data.subspan(32)) {
    for (size_t i = 0; i < 4; ++i) sums[i] = XxhRound(sums[i], LoadLittleEndian<uint64_t>(data.data() + 8 * i));
  }
  uint64_t hash = std::rotl(sums[0], 1) + std::rotl(sums[1], 7) + std::rotl(sums[2], 12) + std::rotl(sums[3], 18);
  for (const uint64_t sum : sums) hash = (hash ^ XxhRound(0, sum)) * kXxhPrime[0] + kXxhPrime[3];
  return hash;
}

}  // namespace internal

inline uint64_t Xxh64(std::span<const std::byte> data, uint64_t seed = 0) {
  using namespace internal;
  const size_t size = data.size();
  uint64_t hash = size >= 32 ? XxhStripes(data, seed) : seed + kXxhPrime[4];
  hash += size;
  for (; data.size() >= 8; data = data.subspan(8)) {
    hash ^= XxhRound(0, LoadLittleEndian<uint64_t>(data.data()));
    hash = std::rotl(hash, 27) * kXxhPrime[0] + kXxhPrime[3];
  }
  if (data.size() >= 4) {
    hash ^= LoadLittleEndian<uint32_t>(data.data()) * kXxhPrime[0];
    hash = std::rotl(hash, 23) * kXxhPrime[1] + kXxhPrime[2];
    data = data.subspan(4);
  }
  for (const std::byte byte : data) {
    hash = std::rotl(hash ^ static_cast<uint64_t>(byte) * kXxhPrime[4], 11) * kXxhPrime[0];
  }
  hash = (hash ^ hash >> 33) * kXxhPrime[1];
  hash = (hash ^ hash >> 29) * kXxhPrime[2];
  return hash ^ hash >> 32;
}

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_XXH64_H_
