// SPDX-License-Identifier: Apache-2.0
//
// Identity: whose state it is. State is only good for the weights, adapter and tokenizer that made it, and only for
// callers of the same salt; chunk keys and manifests depend on all of them, so what belongs to one is never taken for
// another's.

#ifndef SKALD_STORE_IDENTITY_H_
#define SKALD_STORE_IDENTITY_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "skald/base/fd_io.h"
#include "skald/base/numeric.h"
#include "skald/base/result.h"
#include "skald/store/chunk_frame.h"
#include "skald/store/chunk_key.h"
#include "skald/store/sha256.h"

namespace skald {

struct Identity {
  // Digests of contents; all zeros where there is none (no adapter, token ids without a tokenizer).
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
  switch (type) {
    case DType::kQ8_0: return 16;
    case DType::kQ4_0: return 17;
    case DType::kQ8A: return 18;
    default: return static_cast<uint32_t>(ChunkElementOf(type));
  }
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
    const auto hex = [](const Sha256Digest& digest) { return ChunkKey{digest}.ToHex().substr(0, 16); };
    const auto differs = [&](const char* what, const Sha256Digest& found, const Sha256Digest& wanted) {
      return Fail(ErrorCode::kFailedPrecondition, std::string("the snapshot was made with ") + what +
                                                      ": its digest is " + hex(found) + "..., expected " + hex(wanted) +
                                                      "...");
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

// Returns the digest of a file's content. Reads all of it.
inline Result<Sha256Digest> DigestOfFile(const std::filesystem::path& path) {
  std::error_code error;
  uint64_t rest = std::filesystem::file_size(path, error);
  if (error) return Fail(ErrorCode::kNotFound, path.string() + ": " + error.message());
  auto file = FileSource::Open(path);
  if (!file) return Failure(file.error());
  Sha256 hash;
  std::vector<std::byte> buffer(size_t{1} << 20);
  while (rest > 0) {
    const std::span<std::byte> part = std::span(buffer).first(std::min<uint64_t>(rest, buffer.size()));
    if (auto read = file->Read(part); !read) return Failure(read.error());
    hash.Update(part);
    rest -= part.size();
  }
  return hash.Finish();
}

// Returns the files of a checkpoint, `path` itself or the .safetensors files of the folder that it names, in the order
// of their names; at least one.
inline Result<std::vector<std::filesystem::path>> WeightFiles(const std::filesystem::path& path) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(path, error)) return std::vector{path};
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".safetensors") files.push_back(entry->path());
  }
  if (error) return Fail(ErrorCode::kFailedPrecondition, path.string() + ": " + error.message());
  if (files.empty()) return Fail(ErrorCode::kNotFound, path.string() + ": there is no .safetensors file");
  std::sort(files.begin(), files.end());
  return files;
}

// Returns the digest of a checkpoint: of its files' contents in the order of their names. Reads all of them;
// cached_digest.h does so once.
inline Result<Sha256Digest> DigestOfWeights(const std::filesystem::path& path) {
  const auto files = WeightFiles(path);
  if (!files) return Failure(files.error());
  if (files->size() == 1) return DigestOfFile(files->front());
  Sha256 hash;
  for (const auto& file : *files) {
    const auto digest = DigestOfFile(file);
    if (!digest) return digest;
    hash.Update(*digest);
  }
  return hash.Finish();
}

}  // namespace skald

#endif  // SKALD_STORE_IDENTITY_H_
