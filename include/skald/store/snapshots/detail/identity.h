// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/snapshots/identity.h.

#ifndef SKALD_STORE_SNAPSHOTS_DETAIL_IDENTITY_H_
#define SKALD_STORE_SNAPSHOTS_DETAIL_IDENTITY_H_

#include "skald/store/snapshots/identity.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "skald/base/files/fd_io.h"
#include "skald/base/files/file_calls.h"
#include "skald/base/files/model_files.h"
#include "skald/base/files/path_text.h"
#include "skald/base/files/system_call.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/sha256.h"
#include "skald/store/chunks/chunk_repair.h"

namespace skald {

namespace internal {

// Whether two WeightTypeCodes are of one type that all versions of the arithmetic multiply alike: those of floats, of
// files of floats.
inline bool SumsAlike(uint32_t found, uint32_t expected) {
  constexpr uint32_t kType = 0xFFFF;
  const auto is = [=](DType type) { return (found & kType) == (WeightTypeCode(type) & kType); };
  return (found & kType) == (expected & kType) && (is(DType::kF32) || is(DType::kBF16));
}

}  // namespace internal

SKALD_INLINE Result<IdentityDigests> IdentityDigests::Of(const Identity& identity) {
  SKALD_ASSIGN(auto salt, Sha256().Update("skald salt").Update(identity.salt).Finish());
  return IdentityDigests{identity.weights, identity.adapter, identity.tokenizer, salt,
                         WeightTypeCode(identity.weight_type, identity.quantised_files)};
}

SKALD_INLINE Result<void> IdentityDigests::Check(const IdentityDigests& expected) const {
  IdentityDigests found = *this;
  if (internal::SumsAlike(weight_type, expected.weight_type)) found.weight_type = expected.weight_type;
  if (found == expected) return {};
  return NoThrow("the snapshot's identity", [&] { return Compare(expected); });
}

SKALD_INLINE Result<void> IdentityDigests::Compare(const IdentityDigests& expected) const {
  const auto differs = [&](const char* what, const Sha256Digest& found, const Sha256Digest& wanted) {
    return Fail(ErrorCode::kFailedPrecondition, std::string("the snapshot was made with ") + what + ": its digest is " +
                                                    ShortHex(found) + ", expected " + ShortHex(wanted));
  };
  if (weights != expected.weights) return differs("other weights", weights, expected.weights);
  if (weight_type >> 16 != expected.weight_type >> 16) {
    return Fail(
        ErrorCode::kFailedPrecondition,
        "the snapshot was made by another version of the arithmetic, and would go on with other bits: make it anew");
  }
  if (weight_type != expected.weight_type) {
    return Fail(ErrorCode::kFailedPrecondition, "the snapshot was made with the weights loaded as another type");
  }
  if (adapter != expected.adapter) return differs("another adapter", adapter, expected.adapter);
  if (tokenizer != expected.tokenizer) return differs("another tokenizer", tokenizer, expected.tokenizer);
  if (salt != expected.salt) return Fail(ErrorCode::kFailedPrecondition, "the snapshot was made with another salt");
  return {};
}

SKALD_INLINE Result<Sha256Digest> DigestOfFile(const std::filesystem::path& path) {
  return NoThrow(PathText(path), [&]() -> Result<Sha256Digest> {
    const internal::Descriptor file = internal::OpenToRead(path);
    const auto facts = file.get() < 0 ? std::nullopt : internal::FactsOf(file.get());
    if (!facts) return internal::SystemFailure(PathText(path));
    SKALD_TRY(internal::CheckRegular(facts->kind, PathText(path)));
    Sha256 hash;
    std::vector<std::byte> buffer(size_t{1} << 20);
    for (auto rest = facts->bytes; rest > 0;) {
      const std::span<std::byte> part = std::span(buffer).first(std::min<uint64_t>(rest, buffer.size()));
      SKALD_TRY(internal::ReadAll(file.get(), PathText(path), part));
      hash.Update(part);
      rest -= part.size();
    }
    return hash.Finish();
  });
}

SKALD_INLINE Result<Sha256Digest> DigestOfWeights(const std::filesystem::path& path) {
  return NoThrow(PathText(path), [&]() -> Result<Sha256Digest> {
    SKALD_ASSIGN(const auto files, ModelFilesAt(path));
    if (files.weights.size() == 1) return DigestOfFile(files.weights.front());
    Sha256 hash;
    for (const auto& file : files.weights) {
      SKALD_ASSIGN(const auto digest, DigestOfFile(file));
      hash.Update(digest);
    }
    return hash.Finish();
  });
}

}  // namespace skald

#endif  // SKALD_STORE_SNAPSHOTS_DETAIL_IDENTITY_H_
