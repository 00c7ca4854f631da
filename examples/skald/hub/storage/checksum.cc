// SPDX-License-Identifier: Apache-2.0

#include "hub/storage/checksum.h"

#if defined(SKALD_HAS_CURL)
#include <openssl/evp.h>

#include <array>
#endif

namespace skald::program {

#if defined(SKALD_HAS_CURL)

void Checksum::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Result<Checksum> Checksum::Begin(std::string_view etag, uint64_t size) {
  const bool is_git = etag.size() == 40;
  Checksum sum;
  sum.context_.reset(EVP_MD_CTX_new());
  if (sum.context_ == nullptr ||
      EVP_DigestInit_ex(sum.context_.get(), is_git ? EVP_sha1() : EVP_sha256(), nullptr) != 1) {
    return Fail(ErrorCode::kUnsupported, std::string("libcrypto cannot compute ") + (is_git ? "SHA-1" : "SHA-256"));
  }
  if (is_git) {
    const std::string header = "blob " + std::to_string(size);
    sum.Update(std::as_bytes(std::span(header.c_str(), header.size() + 1)));  // with its zero
  }
  return sum;
}

void Checksum::Update(std::span<const std::byte> bytes) {
  good_ = good_ && EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1;
}

Result<std::string> Checksum::Digits() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  if (!good_ || EVP_DigestFinal_ex(context_.get(), digest.data(), &size) != 1) {
    return Fail(ErrorCode::kResourceExhausted, "libcrypto could not compute a checksum");
  }
  std::string digits;
  for (const unsigned char byte : std::span(digest).first(size)) {
    digits += "0123456789abcdef"[byte / 16];
    digits += "0123456789abcdef"[byte % 16];
  }
  return digits;
}

#else  // without libcurl, and perhaps libcrypto

void Checksum::Free::operator()(evp_md_ctx_st*) const {}
Result<Checksum> Checksum::Begin(std::string_view, uint64_t) {
  return Fail(ErrorCode::kUnsupported, "this build cannot download");
}
void Checksum::Update(std::span<const std::byte>) {}
Result<std::string> Checksum::Digits() { return std::string(); }

#endif

}  // namespace skald::program
