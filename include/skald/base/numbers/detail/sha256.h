// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/numbers/sha256.h.

#ifndef SKALD_BASE_NUMBERS_DETAIL_SHA256_H_
#define SKALD_BASE_NUMBERS_DETAIL_SHA256_H_

#include "skald/base/numbers/sha256.h"

#include <openssl/evp.h>

#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE Sha256::Sha256() : context_(EVP_MD_CTX_new()) {}

SKALD_INLINE void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

SKALD_INLINE Sha256& Sha256::Update(std::span<const std::byte> bytes) {
  Begin();
  good_ = good_ && EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1;
  return *this;
}

SKALD_INLINE Result<Sha256Digest> Sha256::Finish() {
  Begin();
  Sha256Digest digest;
  unsigned size = 0;
  good_ = good_ && EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()), &size) == 1;
  begun_ = false;
  if (!good_ || size != digest.size()) {
    return internal::FailAbout(ErrorCode::kResourceExhausted, "libcrypto", "it could not compute a SHA-256 digest");
  }
  return digest;
}

SKALD_INLINE void Sha256::Begin() {
  if (std::exchange(begun_, true)) return;
  const EVP_MD* const algorithm = std::exchange(named_, true) ? nullptr : EVP_sha256();
  good_ = context_ != nullptr && EVP_DigestInit_ex(context_.get(), algorithm, nullptr) == 1;
}

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_DETAIL_SHA256_H_
