// SPDX-License-Identifier: Apache-2.0
//
// HMAC-SHA256 (RFC 2104, FIPS 198-1), by OpenSSL's libcrypto: proves that the writer of a message has the key.

#ifndef SKALD_BASE_NUMBERS_HMAC_SHA256_H_
#define SKALD_BASE_NUMBERS_HMAC_SHA256_H_

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstddef>
#include <span>

#include "skald/base/no_throw.h"
#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"

namespace skald {

/// Error: kResourceExhausted if libcrypto has no memory, or its configuration forbids SHA-256.
inline Result<Sha256Digest> HmacSha256(std::span<const std::byte> key, std::span<const std::byte> message) {
  Sha256Digest code;
  unsigned size = 0;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(message.data());
  const bool is_done = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes, message.size(),
                            reinterpret_cast<unsigned char*>(code.data()), &size) != nullptr;
  if (is_done && size == code.size()) return code;
  return internal::FailAbout(ErrorCode::kResourceExhausted, "libcrypto", "it could not compute an authentication code");
}

/// Whether two codes are the same, in constant time.
inline bool IsSameCode(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_HMAC_SHA256_H_
