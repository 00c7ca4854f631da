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

#include "skald/base/files/fd_io.h"
#include "skald/base/files/file_calls.h"
#include "skald/base/files/file_facts.h"
#include "skald/base/files/model_files.h"
#include "skald/base/files/path_text.h"
#include "skald/base/files/system_call.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/sha256.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/snapshots/identity.h"

namespace skald {

namespace internal {

SKALD_INLINE std::filesystem::path DigestCacheOf(const std::filesystem::path& path) {
  if (IsFolder(path)) return path / ".skald-digest";
  return std::filesystem::path(path) += ".skald-digest";
}

SKALD_INLINE Result<std::string> DescribeWeights(const std::filesystem::path& path) {
  SKALD_ASSIGN(const auto files, ModelFilesAt(path));
  std::string facts = "skald-digest 2\n";
  for (const auto& file : files.all()) {
    const auto now = FactsOf(file);
    if (!now) return SystemFailure(PathText(file));
    for (const int64_t fact : {static_cast<int64_t>(now->bytes), now->modified.seconds, now->modified.nanoseconds,
                               now->changed.seconds, now->changed.nanoseconds, static_cast<int64_t>(now->number)}) {
      facts += std::to_string(fact) + ' ';
    }
    facts += PathText(file.filename()) + '\n';
  }
  return facts;
}

// The digest that the cache gives for weights described as `facts`, if it has one that no other user can have written.
inline std::optional<Sha256Digest> ReadDigest(const std::filesystem::path& cache, std::string_view facts) {
  const Descriptor file = OpenToRead(cache);
  std::string text(facts.size() + ChunkKey::kHexDigits + 1, '\0');
  if (!IsTrustedFile(file.get())) return std::nullopt;
  const auto found = FactsOf(file.get());
  if (!found || found->bytes != text.size()) return std::nullopt;
  if (!ReadAll(file.get(), PathText(cache), std::as_writable_bytes(std::span(text)))) return std::nullopt;
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
  return NoThrow(PathText(path), [&]() -> Result<Sha256Digest> {
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
