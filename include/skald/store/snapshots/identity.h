// SPDX-License-Identifier: Apache-2.0
//
// Identity: which weights, adapter, tokenizer and tenant state belongs to. State is only valid for the weights, adapter
// and tokenizer that made it, and only for callers with the same salt. Chunk keys and manifests depend on all of them,
// so state of one identity is never taken for another's.

#ifndef SKALD_STORE_SNAPSHOTS_IDENTITY_H_
#define SKALD_STORE_SNAPSHOTS_IDENTITY_H_

#include <cstdint>
#include <filesystem>
#include <string>

#include "skald/base/numbers/digest.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/base/version.h"
#include "skald/store/chunks/chunk_frame.h"

namespace skald {

struct Identity {
  /// Digests of contents; all zeros if there is none (no adapter, token ids without a tokenizer). The adapter's must be
  /// the cache's (KVCache::adapter).
  Sha256Digest weights{};
  /// The type that the weights were loaded as (LoadOptions::dtype): it changes every result.
  DType weight_type = DType::kBF16;
  /// Whether the model's files may hold quantised weights, which versions of the arithmetic multiply differently.
  bool quantised_files = false;
  Sha256Digest adapter{};    ///< see weights
  Sha256Digest tokenizer{};  ///< see weights
  /// Tenants with different salts share nothing. Only its digest is ever written.
  std::string salt = {};
};

/// Returns the number of a type of weights in file formats: its ChunkElement, or for types that are never content of
/// chunks, a number from 16 on; 32,768 where files hold quantised weights; and 65,536 times SKALD_ARITHMETIC_VERSION.
constexpr uint32_t WeightTypeCode(DType type, bool quantised_files = false) {
  const uint32_t number = type < DType::kQ8_0 ? static_cast<uint32_t>(ChunkElementOf(type))
                                              : 16 + static_cast<uint32_t>(type) - static_cast<uint32_t>(DType::kQ8_0);
  return number | (quantised_files ? 1u << 15 : 0) | uint32_t{SKALD_ARITHMETIC_VERSION} << 16;
}

/// An identity in its stored form.
struct IdentityDigests {
  /// SHA-256 digests, as in Identity; that of the salt.
  Sha256Digest weights{}, adapter{}, tokenizer{}, salt{};
  uint32_t weight_type = 0;  ///< a WeightTypeCode

  friend bool operator==(const IdentityDigests&, const IdentityDigests&) = default;

  /// Hashes the salt. Errors: those of Sha256.
  static Result<IdentityDigests> Of(const Identity& identity);

  /// Refuses state of another identity, and says what differs.
  Result<void> Check(const IdentityDigests& expected) const;

 private:
  Result<void> Compare(const IdentityDigests& expected) const;
};

/// Returns the digest of a file's content. Reads all of it. Errors: those of opening and reading it; kInvalidArgument
/// for anything but a regular file.
Result<Sha256Digest> DigestOfFile(const std::filesystem::path& path);

/// Returns the digest of the model at `path`: that of its parameters' file or, for several files, the digest of their
/// digests in the order of their names. So a model has one identity, by whichever of its paths it is opened: the
/// folder, the index, or a single file in it. The index itself is not hashed: it lists the shards, every parameter in
/// them is used, so nothing else in it can change a result. Reads all files; cached_digest.h does so once. Errors:
/// those of ModelFilesAt and DigestOfFile.
Result<Sha256Digest> DigestOfWeights(const std::filesystem::path& path);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/snapshots/detail/identity.h"
#endif

#endif  // SKALD_STORE_SNAPSHOTS_IDENTITY_H_
