// SPDX-License-Identifier: Apache-2.0
//
// HMAC-SHA256 (RFC 2104, FIPS 198-1), by OpenSSL's libcrypto: proves that the writer of a message has the key.

#ifndef SKALD_BASE_NUMBERS_HMAC_SHA256_H_
#define SKALD_BASE_NUMBERS_HMAC_SHA256_H_

#include <cstddef>
#include <span>

#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"

namespace skald {

/// Error: kResourceExhausted if libcrypto has no memory, or its configuration forbids SHA-256.
Result<Sha256Digest> HmacSha256(std::span<const std::byte> key, std::span<const std::byte> message);

/// Whether two codes are the same, in constant time.
bool IsSameCode(std::span<const std::byte> a, std::span<const std::byte> b);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/numbers/detail/hmac_sha256.h"
#endif

#endif  // SKALD_BASE_NUMBERS_HMAC_SHA256_H_
