// SPDX-License-Identifier: Apache-2.0
//
// Packed parts: runs of bytes, each compressed by itself with zstd if that makes it smaller. The reader knows the
// lengths of the parts, so only the packed lengths are written. The one header that needs zstd.

#ifndef SKALD_STORE_CHUNKS_DETAIL_PACKED_PARTS_H_
#define SKALD_STORE_CHUNKS_DETAIL_PACKED_PARTS_H_

#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "skald/base/result.h"
#include "skald/store/chunks/chunk_store.h"

namespace skald::internal {

// A part is packed only if this much of its front shrinks: random data is not worth the attempt.
inline constexpr size_t kProbeBytes = 16 << 10;

struct FreeZstd {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
using Packer = std::unique_ptr<ZSTD_CCtx, FreeZstd>;

// The bytes of numbers repeat in frequency and hardly in sequence. For them a minimal search for repeats is four times
// as fast as zstd's fastest ordinary level, and its result smaller; it still finds runs of zeros. Returns null if
// memory runs out.
inline Packer MakePacker() {
  Packer packer(ZSTD_createCCtx());
  if (packer == nullptr) return packer;
  ZSTD_CCtx_setParameter(packer.get(), ZSTD_c_compressionLevel, 1);
  ZSTD_CCtx_setParameter(packer.get(), ZSTD_c_hashLog, 6);
  ZSTD_CCtx_setParameter(packer.get(), ZSTD_c_minMatch, 7);
  return packer;
}

// Compresses `part` to `to`, which has room for as much. Returns the packed length, or part.size() if that would not be
// smaller (the content of `to` is then unspecified).
inline size_t TryPack(ZSTD_CCtx* packer, std::span<const std::byte> part, std::byte* to) {
  if (part.size() > 2 * kProbeBytes) {
    if (TryPack(packer, part.first(kProbeBytes), to) > kProbeBytes - kProbeBytes / 32) return part.size();
  }
  const size_t packed = ZSTD_compress2(packer, to, part.size(), part.data(), part.size());
  return ZSTD_isError(packed) ? part.size() : std::min(packed, part.size());
}

// Appends to `out`: the packed length of each part as 64 bits, then the packed parts. A part whose packed length equals
// its length is stored unchanged.
inline void AppendPacked(std::span<const std::span<const std::byte>> parts, ChunkBytes& out) {
  const Packer packer = MakePacker();
  const size_t lengths_at = out.size();
  out.resize(lengths_at + parts.size() * sizeof(uint64_t));
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t begin = out.size();
    out.resize(begin + parts[i].size());
    const uint64_t packed = packer == nullptr ? parts[i].size() : TryPack(packer.get(), parts[i], out.data() + begin);
    if (packed == parts[i].size())
      std::copy(parts[i].begin(), parts[i].end(), out.begin() + static_cast<ptrdiff_t>(begin));
    out.resize(begin + packed);
    std::memcpy(out.data() + lengths_at + i * sizeof packed, &packed, sizeof packed);
  }
}

// Undoes AppendPacked: fills `parts`, whose lengths must be the original ones. Returns "" or a sentence fragment about
// `packed`.
inline std::string Unpack(std::span<const std::byte> packed, std::span<const std::span<std::byte>> parts) {
  const size_t lengths = parts.size() * sizeof(uint64_t);
  if (packed.size() < lengths) {
    return "expected " + std::to_string(lengths) + " bytes of lengths, found " + std::to_string(packed.size());
  }
  std::span<const std::byte> rest = packed.subspan(lengths);
  for (size_t i = 0; i < parts.size(); ++i) {
    uint64_t length;
    std::memcpy(&length, packed.data() + i * sizeof length, sizeof length);
    const std::string name = "part " + std::to_string(i);
    if (length > parts[i].size() || length > rest.size()) {
      return name + " claims " + std::to_string(length) + " bytes, expected at most " +
             std::to_string(std::min(parts[i].size(), rest.size()));
    }
    const auto stored = rest.first(static_cast<size_t>(length));
    rest = rest.subspan(static_cast<size_t>(length));
    if (length == parts[i].size()) {
      std::copy(stored.begin(), stored.end(), parts[i].begin());
      continue;
    }
    const size_t size = ZSTD_decompress(parts[i].data(), parts[i].size(), stored.data(), stored.size());
    if (ZSTD_isError(size)) return name + " cannot be decompressed: " + ZSTD_getErrorName(size);
    if (size != parts[i].size()) {
      return name + " has " + std::to_string(size) + " bytes, expected " + std::to_string(parts[i].size());
    }
  }
  return rest.empty() ? "" : std::to_string(rest.size()) + " bytes follow the last part, expected none";
}

}  // namespace skald::internal

#endif  // SKALD_STORE_CHUNKS_DETAIL_PACKED_PARTS_H_
