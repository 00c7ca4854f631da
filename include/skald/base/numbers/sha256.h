// SPDX-License-Identifier: Apache-2.0
//
// Sha256: hashes bytes that come in pieces, with OpenSSL's libcrypto (FIPS 180-4).

#ifndef SKALD_BASE_NUMBERS_SHA256_H_
#define SKALD_BASE_NUMBERS_SHA256_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"

struct evp_md_ctx_st;  // of libcrypto

namespace skald {

/// A hash under construction. Move-only; used by one thread at a time. The borders of pieces do not affect the digest:
/// to hash several things of variable length, hash their lengths too.
class Sha256 {
 public:
  Sha256();

  /// Adds bytes. Errors come with Finish.
  Sha256& Update(std::span<const std::byte> bytes);
  /// Adds the bytes of a text.
  Sha256& Update(std::string_view text) { return Update(std::as_bytes(std::span(text))); }

  /// Returns the digest of all bytes so far and starts again. Error: kResourceExhausted if libcrypto failed at this or
  /// an earlier call, because it had no memory or its configuration forbids SHA-256.
  Result<Sha256Digest> Finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };

  /// Only the first call names the algorithm: looking it up takes longer than hashing a few bytes.
  void Begin();

  std::unique_ptr<evp_md_ctx_st, Free> context_;
  bool named_ = false, begun_ = false, good_ = false;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/numbers/detail/sha256.h"
#endif

#endif  // SKALD_BASE_NUMBERS_SHA256_H_
