// SPDX-License-Identifier: Apache-2.0
//
// Fingerprints of plain values, at compile time too: 64 bits that are the same on every machine. They do not resist
// forgery; data from outside is identified by SHA-256 (base/numbers/sha256.h).

#ifndef SKALD_BASE_NUMBERS_FINGERPRINT_H_
#define SKALD_BASE_NUMBERS_FINGERPRINT_H_

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace skald {

/// FNV-1a (Fowler, Noll and Vo) over the bytes of every number that is added, as 64 bits, lowest byte first.
class Fingerprint64 {
 public:
  /// A number counts as 64 bits.
  template <class T>
  requires std::integral<T> || std::is_enum_v<T>
  constexpr Fingerprint64& Add(T value) {
    const auto bits = static_cast<uint64_t>(value);
    for (int shift = 0; shift < 64; shift += 8) hash_ = (hash_ ^ ((bits >> shift) & 0xFFu)) * 0x100000001B3u;
    return *this;
  }
  /// A float counts as the double of the same value.
  constexpr Fingerprint64& Add(double value) { return Add(std::bit_cast<uint64_t>(value)); }

  /// Of all numbers so far.
  constexpr uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xCBF29CE484222325u;
};

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_FINGERPRINT_H_
