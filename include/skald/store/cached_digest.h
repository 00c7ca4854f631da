// SPDX-License-Identifier: Apache-2.0
//
// The digest of a checkpoint, computed once: it is kept in a small text file beside the weights, together with what
// shows that they are still the same files.

#ifndef SKALD_STORE_CACHED_DIGEST_H_
#define SKALD_STORE_CACHED_DIGEST_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "skald/base/fd_io.h"
#include "skald/base/result.h"
#include "skald/store/chunk_key.h"
#include "skald/store/identity.h"
#include "skald/store/sha256.h"

namespace skald {

namespace internal {

// Where the digest of the checkpoint at `path` is kept: in its folder, or beside a single file.
inline std::filesystem::path DigestCacheOf(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return path / ".skald-digest";
  return std::filesystem::path(path.string() + ".skald-digest");
}

// What the cache says before the digest: a version, and of each file its size in bytes, its time of modification in the
// file system library's units, and its name.
inline Result<std::string> DescribeWeights(const std::filesystem::path& path) {
  const auto files = WeightFiles(path);
  if (!files) return Failure(files.error());
  std::string facts = "skald-digest 1\n";
  for (const auto& file : *files) {
    std::error_code error;
    const uint64_t size = std::filesystem::file_size(file, error);
    if (error) return Fail(ErrorCode::kNotFound, file.string() + ": " + error.message());
    const auto time = std::filesystem::last_write_time(file, error).time_since_epoch().count();
    if (error) return Fail(ErrorCode::kNotFound, file.string() + ": " + error.message());
    facts += std::to_string(size) + ' ' + std::to_string(time) + ' ' + file.filename().string() + '\n';
  }
  return facts;
}

// The digest that the cache gives for weights described as `facts`, if it has one.
inline std::optional<Sha256Digest> ReadDigest(const std::filesystem::path& cache, std::string_view facts) {
  std::string text(facts.size() + ChunkKey::kHexDigits + 1, '\0');
  std::error_code error;
  if (std::filesystem::file_size(cache, error) != text.size() || error) return std::nullopt;
  auto source = FileSource::Open(cache);
  if (!source || !source->Read(std::as_writable_bytes(std::span(text)))) return std::nullopt;
  if (!text.starts_with(facts) || text.back() != '\n') return std::nullopt;
  const auto digest = ChunkKey::FromHex(std::string_view(text).substr(facts.size(), ChunkKey::kHexDigits));
  if (!digest) return std::nullopt;
  return digest->bytes;
}

inline Result<void> WriteDigest(const std::filesystem::path& cache, const std::string& facts,
                                const Sha256Digest& digest) {
  auto sink = FileSink::CreateAnew(cache, 0644);
  if (!sink) return Failure(sink.error());
  const std::string text = facts + ChunkKey{digest}.ToHex() + '\n';
  if (auto written = sink->Write(std::as_bytes(std::span(text))); !written) return written;
  return sink->Commit();
}

}  // namespace internal

// Returns DigestOfWeights(path), from `.skald-digest` in the folder or `<file>.skald-digest` beside the file if that
// was written for files of these names, sizes and times of modification; otherwise computes and writes it. A folder
// that cannot be written to is no error. Whoever can write there can make weights pass for others. Safe for concurrent
// calls, also of several processes. Errors: kNotFound, kFailedPrecondition for weights that cannot be read.
inline Result<Sha256Digest> CachedDigestOfWeights(const std::filesystem::path& path) {
  const auto facts = internal::DescribeWeights(path);
  if (!facts) return Failure(facts.error());
  const std::filesystem::path cache = internal::DigestCacheOf(path);
  if (const auto cached = internal::ReadDigest(cache, *facts)) return *cached;
  const auto digest = DigestOfWeights(path);
  if (!digest) return digest;
  // Not if the files changed meanwhile: nobody knows what was read.
  if (const auto now = internal::DescribeWeights(path); now && *now == *facts) {
    (void)internal::WriteDigest(cache, *facts, *digest);  // without it the next call computes again, no more
  }
  return digest;
}

}  // namespace skald

#endif  // SKALD_STORE_CACHED_DIGEST_H_
