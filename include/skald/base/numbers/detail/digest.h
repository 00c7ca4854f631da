// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/numbers/digest.h.

#ifndef SKALD_BASE_NUMBERS_DETAIL_DIGEST_H_
#define SKALD_BASE_NUMBERS_DETAIL_DIGEST_H_

#include "skald/base/numbers/digest.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE std::string ShortHex(const Sha256Digest& digest) {
  constexpr size_t kShownBytes = 8;
  std::string hex;
  for (size_t i = 0; i < kShownBytes; ++i) {
    for (const unsigned shift : {4u, 0u})
      hex += "0123456789abcdef"[std::to_integer<unsigned>(digest[i]) >> shift & 15u];
  }
  return hex + "...";
}

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_DETAIL_DIGEST_H_
