// SPDX-License-Identifier: Apache-2.0
//
// Identity: whose state it is. State is only good for the weights, adapter and tokenizer that made it, and only for
// callers of the same salt; chunk keys and manifests depend on all of them, so what belongs to one is never taken for
// another's.

#ifndef SKALD_STORE_SNAPSHOTS_IDENTITY_H_
#define SKALD_STORE_SNAPSHOTS_IDENTITY_H_

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "skald/base/numbers/digest.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/store/chunks/chunk_frame.h"

namespace skald {

struct Identity {
  /// Digests of contents; all zeros where there is none (no adapter, token ids without a tokenizer). That of the
  /// adapter must be the cache's (KVCache::adapter).
  Sha256Digest weights{};
  /// What the weights were loaded as (LoadOptions::dtype): it changes every number.
  DType weight_type = DType::kBF16;
  Sha256Digest adapter{};
  Sha256Digest tokenizer{};
  /// Tenants with different salts share nothing. Only its digest is ever written.
  std::string salt = {};
};

/// Returns the number by which formats know a type of weights: its ChunkElement, or for group-quantised types, which
/// are never content of chunks, a number from 16 on.
constexpr uint32_t WeightTypeCode(DType type) {
  if (!IsGrouped(type)) return static_cast<uint32_t>(ChunkElementOf(type));
  return 16 + static_cast<uint32_t>(type) - static_cast<uint32_t>(DType::kQ8_0);
}

/// An identity as it is written down.
struct IdentityDigests {
  Sha256Digest weights{}, adapter{}, tokenizer{}, salt{};
  uint32_t weight_type = 0;  ///< a WeightTypeCode

  friend bool operator==(const IdentityDigests&, const IdentityDigests&) = default;

  static Result<IdentityDigests> Of(const Identity& identity);

  /// Refuses state of another identity, and says what differs.
  Result<void> Check(const IdentityDigests& expected) const;

 private:
  Result<void> Compare(const IdentityDigests& expected) const;
};

/// Returns the digest of a file's content. Reads all of it. Errors: those of opening and reading it; kInvalidArgument
/// for what is no regular file.
Result<Sha256Digest> DigestOfFile(const std::filesystem::path& path);

/// Returns the digest of the model at `path`, which is that of its parameters' file, and of several the digest of their
/// digests in the order of their names. So a model has one identity, by whichever of its paths it is opened: the
/// folder, the index, or the one file that is in it. The index itself is not hashed: it says which files are shards,
/// and of those every parameter is taken, so nothing else in it can change a number. Reads all; cached_digest.h does so
/// once. Errors: those of ModelFilesAt and DigestOfFile.
Result<Sha256Digest> DigestOfWeights(const std::filesystem::path& path);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/snapshots/detail/identity.h"
#endif

#endif  // SKALD_STORE_SNAPSHOTS_IDENTITY_H_
