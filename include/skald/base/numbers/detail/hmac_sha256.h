// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/numbers/hmac_sha256.h.

#ifndef SKALD_BASE_NUMBERS_DETAIL_HMAC_SHA256_H_
#define SKALD_BASE_NUMBERS_DETAIL_HMAC_SHA256_H_

#include "skald/base/numbers/hmac_sha256.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE Result<Sha256Digest> HmacSha256(std::span<const std::byte> key, std::span<const std::byte> message) {
  Sha256Digest code;
  unsigned size = 0;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(message.data());
  const bool is_done = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes, message.size(),
                            reinterpret_cast<unsigned char*>(code.data()), &size) != nullptr;
  if (is_done && size == code.size()) return code;
  return internal::FailAbout(ErrorCode::kResourceExhausted, "libcrypto", "it could not compute an authentication code");
}

SKALD_INLINE bool IsSameCode(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_DETAIL_HMAC_SHA256_H_
