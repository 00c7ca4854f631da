// SPDX-License-Identifier: Apache-2.0
//
// A SHA-256 digest as a plain value, for whoever compares digests and computes none (base/numbers/sha256.h).

#ifndef SKALD_BASE_NUMBERS_DIGEST_H_
#define SKALD_BASE_NUMBERS_DIGEST_H_

#include <array>
#include <cstddef>
#include <string>

namespace skald {

// All zeros stand for nothing, where there may be nothing.
using Sha256Digest = std::array<std::byte, 32>;

// Returns the first of its hexadecimal digits, which tell digests apart for people.
inline std::string ShortHex(const Sha256Digest& digest) {
  constexpr size_t kShownBytes = 8;
  std::string hex;
  for (size_t i = 0; i < kShownBytes; ++i) {
    for (const unsigned shift : {4u, 0u})
      hex += "0123456789abcdef"[std::to_integer<unsigned>(digest[i]) >> shift & 15u];
  }
  return hex + "...";
}

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_DIGEST_H_
