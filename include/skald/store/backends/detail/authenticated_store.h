// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/backends/authenticated_store.h.

#ifndef SKALD_STORE_BACKENDS_DETAIL_AUTHENTICATED_STORE_H_
#define SKALD_STORE_BACKENDS_DETAIL_AUTHENTICATED_STORE_H_

#include "skald/store/backends/authenticated_store.h"

#include <algorithm>
#include <array>
#include <string>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/hmac_sha256.h"
#include "skald/base/numbers/sha256.h"

namespace skald {

SKALD_INLINE Result<std::unique_ptr<AuthenticatedStore>> AuthenticatedStore::Create(ChunkStoreRef store,
                                                                                    std::string_view secret) {
  return NoThrow("the authenticated store", [&]() -> Result<std::unique_ptr<AuthenticatedStore>> {
    if (secret.size() < kLeastSecretBytes) {
      return Fail(ErrorCode::kInvalidArgument, "the secret of a store has " + std::to_string(secret.size()) +
                                                   " bytes, expected at least " + std::to_string(kLeastSecretBytes));
    }
    SKALD_ASSIGN(const auto key, Sha256().Update("skald store key 1").Update(secret).Finish());
    return std::unique_ptr<AuthenticatedStore>(new AuthenticatedStore(store, key));
  });
}

SKALD_INLINE Result<ChunkBytes> AuthenticatedStore::Get(const ChunkKey& key) {
  SKALD_ASSIGN(auto stored, store_.Get(key));
  if (stored.size() < kCodeBytes) return Refuse(key);
  const auto [value, code] = Divide(stored);
  SKALD_ASSIGN(const auto expected, CodeOf(key, value));
  if (!IsSameCode(code, expected)) return Refuse(key);
  stored.resize(value.size());
  return stored;
}

SKALD_INLINE Result<ChunkFront> AuthenticatedStore::Front(const ChunkKey& key, uint64_t most) {
  if (!store_.has_front()) return FrontOfWhole(key, most);
  SKALD_ASSIGN(auto front, store_.Front(key, most));
  if (front.bytes < kCodeBytes) return Fail(ErrorCode::kDataLoss, "a chunk without a code");
  front.bytes -= kCodeBytes;
  if (front.front.size() > front.bytes) front.front.resize(static_cast<size_t>(front.bytes));
  return front;
}

SKALD_INLINE Result<void> AuthenticatedStore::Put(const ChunkKey& key, std::span<const std::byte> value) const {
  SKALD_TRY(CheckChunkSize(key, value.size() + kCodeBytes));
  return NoThrow("the authenticated store", [&]() -> Result<void> {
    SKALD_ASSIGN(const auto code, CodeOf(key, value));
    ChunkBytes stored;
    stored.reserve(value.size() + kCodeBytes);
    stored.insert(stored.end(), value.begin(), value.end());
    stored.insert(stored.end(), code.begin(), code.end());
    return store_.Put(key, stored);
  });
}

SKALD_INLINE std::pair<std::span<const std::byte>, std::span<const std::byte>> AuthenticatedStore::Divide(
    std::span<const std::byte> stored) {
  return {stored.first(stored.size() - kCodeBytes), stored.last(kCodeBytes)};
}

SKALD_INLINE Result<Sha256Digest> AuthenticatedStore::CodeOf(const ChunkKey& key,
                                                             std::span<const std::byte> value) const {
  SKALD_ASSIGN(const auto content, Sha256().Update(value).Finish());
  std::array<std::byte, ChunkKey::kBytes + kCodeBytes> message;
  std::ranges::copy(content, std::ranges::copy(key.bytes, message.begin()).out);
  return HmacSha256(key_, message);
}

SKALD_INLINE Failure AuthenticatedStore::Refuse(const ChunkKey& key) {
  ++refused_;
  (void)store_.Drop(key);  // if dropping fails, the value is rejected again next time
  return ChunkNotFound(key);
}

SKALD_INLINE Result<ChunkFront> AuthenticatedStore::FrontOfWhole(const ChunkKey& key, uint64_t most) {
  SKALD_ASSIGN(auto value, Get(key));
  ChunkFront front{value.size(), std::move(value)};
  if (front.bytes > most) front.front.resize(static_cast<size_t>(most));
  return front;
}

}  // namespace skald

#endif  // SKALD_STORE_BACKENDS_DETAIL_AUTHENTICATED_STORE_H_
