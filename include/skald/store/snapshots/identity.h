// SPDX-License-Identifier: Apache-2.0
//
// Identity: whose state it is. State is only good for the weights, adapter and tokenizer that made it, and only for
// callers of the same salt; chunk keys and manifests depend on all of them, so what belongs to one is never taken for
// another's.

#ifndef SKALD_STORE_SNAPSHOTS_IDENTITY_H_
#define SKALD_STORE_SNAPSHOTS_IDENTITY_H_

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/files/fd_io.h"
#include "skald/base/files/model_files.h"
#include "skald/base/files/small_file.h"
#include "skald/base/files/system_call.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/digest.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/sha256.h"
#include "skald/base/result.h"
#include "skald/store/chunks/chunk_frame.h"

namespace skald {

struct Identity {
  // Digests of contents; all zeros where there is none (no adapter, token ids without a tokenizer). That of the adapter
  // must be the cache's (KVCache::adapter).
  Sha256Digest weights{};
  // What the weights were loaded as (LoadOptions::dtype): it changes every number.
  DType weight_type = DType::kBF16;
  Sha256Digest adapter{};
  Sha256Digest tokenizer{};
  // Tenants with different salts share nothing. Only its digest is ever written.
  std::string salt = {};
};

// Returns the number by which formats know a type of weights: its ChunkElement, or for group-quantised types, which are
// never content of chunks, a number from 16 on.
constexpr uint32_t WeightTypeCode(DType type) {
  if (!IsGrouped(type)) return static_cast<uint32_t>(ChunkElementOf(type));
  return 16 + static_cast<uint32_t>(type) - static_cast<uint32_t>(DType::kQ8_0);
}

// An identity as it is written down.
struct IdentityDigests {
  Sha256Digest weights{}, adapter{}, tokenizer{}, salt{};
  uint32_t weight_type = 0;  // a WeightTypeCode

  friend bool operator==(const IdentityDigests&, const IdentityDigests&) = default;

  static Result<IdentityDigests> Of(const Identity& identity) {
    auto salt = Sha256().Update("skald salt").Update(identity.salt).Finish();
    if (!salt) return Failure(salt.error());
    return IdentityDigests{identity.weights, identity.adapter, identity.tokenizer, *salt,
                           WeightTypeCode(identity.weight_type)};
  }

  // Refuses state of another identity, and says what differs.
  Result<void> Check(const IdentityDigests& expected) const {
    if (*this == expected) return {};
    return NoThrow("the snapshot's identity", [&] { return Compare(expected); });
  }

 private:
  Result<void> Compare(const IdentityDigests& expected) const {
    const auto differs = [&](const char* what, const Sha256Digest& found, const Sha256Digest& wanted) {
      return Fail(ErrorCode::kFailedPrecondition, std::string("the snapshot was made with ") + what +
                                                      ": its digest is " + ShortHex(found) + ", expected " +
                                                      ShortHex(wanted));
    };
    if (weights != expected.weights) return differs("other weights", weights, expected.weights);
    if (weight_type != expected.weight_type) {
      return Fail(ErrorCode::kFailedPrecondition, "the snapshot was made with the weights loaded as another type");
    }
    if (adapter != expected.adapter) return differs("another adapter", adapter, expected.adapter);
    if (tokenizer != expected.tokenizer) return differs("another tokenizer", tokenizer, expected.tokenizer);
    if (salt != expected.salt) return Fail(ErrorCode::kFailedPrecondition, "the snapshot was made with another salt");
    return {};
  }
};

// Returns the digest of a file's content. Reads all of it. Errors: those of opening and reading it; kInvalidArgument
// for what is no regular file.
inline Result<Sha256Digest> DigestOfFile(const std::filesystem::path& path) {
  return NoThrow(path.native(), [&]() -> Result<Sha256Digest> {
    const internal::Descriptor file = internal::OpenFile(path.c_str(), internal::kOpenToRead);
    struct stat status;
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return internal::SystemFailure(path.native());
    if (auto regular = internal::CheckRegular(status, path.native()); !regular) return Failure(regular.error());
    Sha256 hash;
    std::vector<std::byte> buffer(size_t{1} << 20);
    for (auto rest = static_cast<uint64_t>(status.st_size); rest > 0;) {
      const std::span<std::byte> part = std::span(buffer).first(std::min<uint64_t>(rest, buffer.size()));
      if (auto read = internal::ReadAll(file.get(), path.native(), part); !read) return Failure(read.error());
      hash.Update(part);
      rest -= part.size();
    }
    return hash.Finish();
  });
}

// Returns the digest of the model at `path`, which is that of its parameters' file, and of several the digest of their
// digests in the order of their names. So a model has one identity, by whichever of its paths it is opened: the folder,
// the index, or the one file that is in it. The index itself is not hashed: it says which files are shards, and of
// those every parameter is taken, so nothing else in it can change a number. Reads all; cached_digest.h does so once.
// Errors: those of ModelFilesAt and DigestOfFile.
inline Result<Sha256Digest> DigestOfWeights(const std::filesystem::path& path) {
  return NoThrow(path.native(), [&]() -> Result<Sha256Digest> {
    const auto files = ModelFilesAt(path);
    if (!files) return Failure(files.error());
    if (files->weights.size() == 1) return DigestOfFile(files->weights.front());
    Sha256 hash;
    for (const auto& file : files->weights) {
      const auto digest = DigestOfFile(file);
      if (!digest) return digest;
      hash.Update(*digest);
    }
    return hash.Finish();
  });
}

}  // namespace skald

#endif  // SKALD_STORE_SNAPSHOTS_IDENTITY_H_
