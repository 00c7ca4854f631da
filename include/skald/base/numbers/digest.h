// SPDX-License-Identifier: Apache-2.0
//
// A SHA-256 digest as a plain value, for code that compares digests but computes none (base/numbers/sha256.h).

#ifndef SKALD_BASE_NUMBERS_DIGEST_H_
#define SKALD_BASE_NUMBERS_DIGEST_H_

#include <array>
#include <cstddef>
#include <string>

namespace skald {

/// All zeros mean no digest, for members that may have none.
using Sha256Digest = std::array<std::byte, 32>;

/// Returns the first hexadecimal digits, which tell digests apart for people.
std::string ShortHex(const Sha256Digest& digest);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/numbers/detail/digest.h"
#endif

#endif  // SKALD_BASE_NUMBERS_DIGEST_H_
