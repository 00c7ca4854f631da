// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/chunks/chunk_key.h.

#ifndef SKALD_STORE_CHUNKS_DETAIL_CHUNK_KEY_H_
#define SKALD_STORE_CHUNKS_DETAIL_CHUNK_KEY_H_

#include "skald/store/chunks/chunk_key.h"

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE Result<ChunkKey> ChunkKey::FromHex(std::string_view hex) {
  if (hex.size() != kHexDigits) {
    return NoThrow("a chunk key", [&]() -> Result<ChunkKey> {
      return Fail(ErrorCode::kInvalidArgument,
                  "a chunk key has " + std::to_string(kHexDigits) + " digits, found " + std::to_string(hex.size()));
    });
  }
  ChunkKey key;
  for (size_t i = 0; i < kBytes; ++i) {
    const size_t high = kDigits.find(hex[2 * i]), low = kDigits.find(hex[2 * i + 1]);
    if (high == kDigits.npos || low == kDigits.npos) {
      return NoThrow("a chunk key", [&]() -> Result<ChunkKey> {
        return Fail(ErrorCode::kInvalidArgument, "a chunk key is written with the digits 0-9 and a-f; digits " +
                                                     std::to_string(2 * i) + " and " + std::to_string(2 * i + 1) +
                                                     " are not");
      });
    }
    key.bytes[i] = static_cast<std::byte>(high * 16 + low);
  }
  return key;
}

SKALD_INLINE std::string ChunkKey::ToHex() const {
  std::string hex(kHexDigits, '0');
  WriteHex(hex.data());
  return hex;
}

SKALD_INLINE void ChunkKey::WriteHex(char* hex) const noexcept {
  for (const std::byte byte : bytes) {
    *hex++ = kDigits[std::to_integer<size_t>(byte) / 16];
    *hex++ = kDigits[std::to_integer<size_t>(byte) % 16];
  }
}

}  // namespace skald

#endif  // SKALD_STORE_CHUNKS_DETAIL_CHUNK_KEY_H_
