// SPDX-License-Identifier: Apache-2.0
//
// ChunkKey: the name of a chunk, a SHA-256 digest. The code that makes keys decides what is hashed; a store sees 32
// bytes. As text it is 64 lower-case hexadecimal digits, the only spelling.

#ifndef SKALD_STORE_CHUNKS_CHUNK_KEY_H_
#define SKALD_STORE_CHUNKS_CHUNK_KEY_H_

#include <array>
#include <compare>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include "skald/base/result.h"

namespace skald {

struct ChunkKey {
  static constexpr size_t kBytes = 32;              ///< of a key
  static constexpr size_t kHexDigits = 2 * kBytes;  ///< of ToHex

  std::array<std::byte, kBytes> bytes{};  ///< SHA-256; what is hashed is up to the code that makes the key

  /// Error: kInvalidArgument, unless `hex` is 64 digits of 0-9 and a-f.
  static Result<ChunkKey> FromHex(std::string_view hex);

  /// Returns kHexDigits digits of 0-9 and a-f.
  std::string ToHex() const;

  /// Writes the kHexDigits digits without allocating.
  void WriteHex(char* hex) const noexcept;

  /// The order of the bytes, which is also the order of the texts.
  friend auto operator<=>(const ChunkKey&, const ChunkKey&) = default;

 private:
  static constexpr std::string_view kDigits = "0123456789abcdef";
};

}  // namespace skald

/// Any bytes of a digest serve as a hash.
template <>
struct std::hash<skald::ChunkKey> {
  size_t operator()(const skald::ChunkKey& key) const noexcept {
    size_t value;
    std::memcpy(&value, key.bytes.data(), sizeof value);
    return value;
  }
};

#ifndef SKALD_COMPILED
#include "skald/store/chunks/detail/chunk_key.h"
#endif

#endif  // SKALD_STORE_CHUNKS_CHUNK_KEY_H_
