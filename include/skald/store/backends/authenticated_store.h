// SPDX-License-Identifier: Apache-2.0
//
// AuthenticatedStore: any ChunkStore, where others may write too, as one of which nothing is believed that was not
// written with the same key. Behind each value stands a code of 32 bytes, HMAC-SHA256 of the chunk's key and the value;
// a value without its code counts as missing and is dropped, so that whoever has its content writes it again.

#ifndef SKALD_STORE_BACKENDS_AUTHENTICATED_STORE_H_
#define SKALD_STORE_BACKENDS_AUTHENTICATED_STORE_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/numbers/digest.h"
#include "skald/base/numbers/hmac_sha256.h"
#include "skald/base/numbers/sha256.h"
#include "skald/base/result.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"

namespace skald {

// A ChunkStore. Not movable, since threads count in it. What one was written with another key, or without, is dropped
// when it is met: who shares a store shares the key.
class AuthenticatedStore {
 public:
  static constexpr size_t kCodeBytes = sizeof(Sha256Digest);
  static constexpr size_t kLeastSecretBytes = 16;

  // `store` must outlive it. Whoever has `secret` can write what is believed here. Error: kInvalidArgument for a secret
  // of less than kLeastSecretBytes.
  static Result<std::unique_ptr<AuthenticatedStore>> Create(ChunkStoreRef store, std::string_view secret) {
    return NoThrow("the authenticated store", [&]() -> Result<std::unique_ptr<AuthenticatedStore>> {
      if (secret.size() < kLeastSecretBytes) {
        return Fail(ErrorCode::kInvalidArgument, "the secret of a store has " + std::to_string(secret.size()) +
                                                     " bytes, expected at least " + std::to_string(kLeastSecretBytes));
      }
      const auto key = Sha256().Update("skald store key 1").Update(secret).Finish();
      if (!key) return Failure(key.error());
      return std::unique_ptr<AuthenticatedStore>(new AuthenticatedStore(store, *key));
    });
  }
  AuthenticatedStore(const AuthenticatedStore&) = delete;
  AuthenticatedStore& operator=(const AuthenticatedStore&) = delete;

  // How many values had no valid code.
  uint64_t refused() const { return refused_; }

  // True also for a value whose code shows to be wrong when it is read.
  Result<bool> Has(const ChunkKey& key) const { return store_.Has(key); }

  Result<ChunkBytes> Get(const ChunkKey& key) {
    auto stored = store_.Get(key);
    if (!stored) return stored;
    if (stored->size() < kCodeBytes) return Refuse(key);
    const auto [value, code] = Divide(*stored);
    const auto expected = CodeOf(key, value);
    if (!expected) return Failure(expected.error());
    if (!IsSameCode(code, *expected)) return Refuse(key);
    stored->resize(value.size());
    return stored;
  }

  // The length and first bytes of a value, which nothing proves: enough to tell whether it must be written again.
  Result<ChunkFront> Front(const ChunkKey& key, uint64_t most) {
    if (!store_.has_front()) return FrontOfWhole(key, most);
    auto front = store_.Front(key, most);
    if (!front) return front;
    if (front->bytes < kCodeBytes) return Fail(ErrorCode::kDataLoss, "a chunk without a code");
    front->bytes -= kCodeBytes;
    if (front->front.size() > front->bytes) front->front.resize(static_cast<size_t>(front->bytes));
    return front;
  }

  Result<void> Put(const ChunkKey& key, std::span<const std::byte> value) const {
    if (auto size = CheckChunkSize(key, value.size() + kCodeBytes); !size) return size;
    return NoThrow("the authenticated store", [&]() -> Result<void> {
      const auto code = CodeOf(key, value);
      if (!code) return Failure(code.error());
      ChunkBytes stored;
      stored.reserve(value.size() + kCodeBytes);
      stored.insert(stored.end(), value.begin(), value.end());
      stored.insert(stored.end(), code->begin(), code->end());
      return store_.Put(key, stored);
    });
  }

  Result<void> Drop(const ChunkKey& key) const { return store_.Drop(key); }
  Result<std::vector<ChunkKey>> List() const { return store_.List(); }

 private:
  AuthenticatedStore(ChunkStoreRef store, const Sha256Digest& key) : store_(store), key_(key) {}

  static std::pair<std::span<const std::byte>, std::span<const std::byte>> Divide(std::span<const std::byte> stored) {
    return {stored.first(stored.size() - kCodeBytes), stored.last(kCodeBytes)};
  }

  // The code stands for the value and for its place: one that is moved under another key is not believed there.
  Result<Sha256Digest> CodeOf(const ChunkKey& key, std::span<const std::byte> value) const {
    const auto content = Sha256().Update(value).Finish();
    if (!content) return Failure(content.error());
    std::array<std::byte, ChunkKey::kBytes + kCodeBytes> message;
    std::ranges::copy(*content, std::ranges::copy(key.bytes, message.begin()).out);
    return HmacSha256(key_, message);
  }

  Failure Refuse(const ChunkKey& key) {
    ++refused_;
    (void)store_.Drop(key);  // where that cannot be, it is refused again
    return ChunkNotFound(key);
  }

  Result<ChunkFront> FrontOfWhole(const ChunkKey& key, uint64_t most) {
    auto value = Get(key);
    if (!value) return Failure(value.error());
    ChunkFront front{value->size(), std::move(*value)};
    if (front.bytes > most) front.front.resize(static_cast<size_t>(most));
    return front;
  }

  const ChunkStoreRef store_;
  const Sha256Digest key_;
  std::atomic<uint64_t> refused_ = 0;
};

static_assert(ChunkStore<AuthenticatedStore> && HasChunkFront<AuthenticatedStore>);

}  // namespace skald

#endif  // SKALD_STORE_BACKENDS_AUTHENTICATED_STORE_H_
