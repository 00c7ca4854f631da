// SPDX-License-Identifier: Apache-2.0
//
// The checksums that the hub gives files: SHA-256 of what is in LFS, and for all else the id that git gives a blob,
// which is a SHA-1. libcrypto computes them.

#ifndef SKALD_EXAMPLES_SKALD_HUB_STORAGE_CHECKSUM_H_
#define SKALD_EXAMPLES_SKALD_HUB_STORAGE_CHECKSUM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "skald/base/result.h"

struct evp_md_ctx_st;  // of libcrypto

namespace skald::program {

// A checksum under construction.
class Checksum {
 public:
  // Of a file of `size` bytes, of the kind that `etag` is: of 64 digits or 40. Error: kUnsupported if this build has no
  // libcrypto, or libcrypto's configuration forbids it.
  static Result<Checksum> Begin(std::string_view etag, uint64_t size);

  // Adds bytes of the file. Errors come with Digits.
  void Update(std::span<const std::byte> bytes);

  // Returns the checksum as digits. Call once. Error: kResourceExhausted if libcrypto failed.
  Result<std::string> Digits();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };

  std::unique_ptr<evp_md_ctx_st, Free> context_;
  bool good_ = true;
};

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_HUB_STORAGE_CHECKSUM_H_
