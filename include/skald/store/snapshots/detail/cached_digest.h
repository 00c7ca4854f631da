// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/snapshots/cached_digest.h.

#ifndef SKALD_STORE_SNAPSHOTS_DETAIL_CACHED_DIGEST_H_
#define SKALD_STORE_SNAPSHOTS_DETAIL_CACHED_DIGEST_H_

#include "skald/store/snapshots/cached_digest.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

#include "skald/base/files/fd_io.h"
#include "skald/base/files/model_files.h"
#include "skald/base/files/small_file.h"
#include "skald/base/files/system_call.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/sha256.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/snapshots/identity.h"

namespace skald {

namespace internal {

SKALD_INLINE std::filesystem::path DigestCacheOf(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return path / ".skald-digest";
  return std::filesystem::path(path.string() + ".skald-digest");
}

SKALD_INLINE Result<std::string> DescribeWeights(const std::filesystem::path& path) {
  SKALD_ASSIGN(const auto files, ModelFilesAt(path));
  std::string facts = "skald-digest 2\n";
  for (const auto& file : files.all()) {
    struct stat status;
    if (::stat(file.c_str(), &status) != 0) return SystemFailure(file.native());
    for (const int64_t fact :
         {int64_t{status.st_size}, int64_t{status.st_mtim.tv_sec}, int64_t{status.st_mtim.tv_nsec},
          int64_t{status.st_ctim.tv_sec}, int64_t{status.st_ctim.tv_nsec}, static_cast<int64_t>(status.st_ino)}) {
      facts += std::to_string(fact) + ' ';
    }
    facts += file.filename().string() + '\n';
  }
  return facts;
}

// The digest that the cache gives for weights described as `facts`, if it has one that no other user can have written.
inline std::optional<Sha256Digest> ReadDigest(const std::filesystem::path& cache, std::string_view facts) {
  const Descriptor file = OpenFile(cache.c_str(), kOpenToRead);
  struct stat status;
  std::string text(facts.size() + ChunkKey::kHexDigits + 1, '\0');
  if (!IsTrustedFile(file.get()) || ::fstat(file.get(), &status) != 0) return std::nullopt;
  if (static_cast<uint64_t>(status.st_size) != text.size()) return std::nullopt;
  if (!ReadAll(file.get(), cache.native(), std::as_writable_bytes(std::span(text)))) return std::nullopt;
  if (!text.starts_with(facts) || text.back() != '\n') return std::nullopt;
  const auto digest = ChunkKey::FromHex(std::string_view(text).substr(facts.size(), ChunkKey::kHexDigits));
  if (!digest) return std::nullopt;
  return digest->bytes;
}

inline Result<void> WriteDigest(const std::filesystem::path& cache, const std::string& facts,
                                const Sha256Digest& digest) {
  SKALD_ASSIGN(auto sink, FileSink::CreateAnew(cache, 0644));
  const std::string text = facts + ChunkKey{digest}.ToHex() + '\n';
  SKALD_TRY(sink.Write(std::as_bytes(std::span(text))));
  return sink.Commit();
}

}  // namespace internal

SKALD_INLINE Result<Sha256Digest> CachedDigestOfWeights(const std::filesystem::path& path) {
  return NoThrow(path.native(), [&]() -> Result<Sha256Digest> {
    SKALD_ASSIGN(const auto facts, internal::DescribeWeights(path));
    const std::filesystem::path cache = internal::DigestCacheOf(path);
    if (const auto cached = internal::ReadDigest(cache, facts)) return *cached;
    SKALD_ASSIGN(const auto digest, DigestOfWeights(path));
    // Not if the files changed meanwhile: it is unknown which bytes were read.
    if (const auto now = internal::DescribeWeights(path); now && *now == facts) {
      (void)internal::WriteDigest(cache, facts, digest);  // without it the next call computes again
    }
    return digest;
  });
}

}  // namespace skald

#endif  // SKALD_STORE_SNAPSHOTS_DETAIL_CACHED_DIGEST_H_
