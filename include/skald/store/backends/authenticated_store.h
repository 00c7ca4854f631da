// SPDX-License-Identifier: Apache-2.0
//
// AuthenticatedStore: any ChunkStore, where others may write too, as one of which nothing is believed that was not
// written with the same key. Behind each value stands a code of 32 bytes, HMAC-SHA256 of the chunk's key and the value;
// a value without its code counts as missing and is dropped, so that whoever has its content writes it again.

#ifndef SKALD_STORE_BACKENDS_AUTHENTICATED_STORE_H_
#define SKALD_STORE_BACKENDS_AUTHENTICATED_STORE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"

namespace skald {

/// A ChunkStore. Not movable, since threads count in it. What one was written with another key, or without, is dropped
/// when it is met: who shares a store shares the key.
class AuthenticatedStore {
 public:
  static constexpr size_t kCodeBytes = sizeof(Sha256Digest);
  static constexpr size_t kLeastSecretBytes = 16;

  /// `store` must outlive it. Whoever has `secret` can write what is believed here. Error: kInvalidArgument for a
  /// secret of less than kLeastSecretBytes.
  static Result<std::unique_ptr<AuthenticatedStore>> Create(ChunkStoreRef store, std::string_view secret);
  AuthenticatedStore(const AuthenticatedStore&) = delete;
  AuthenticatedStore& operator=(const AuthenticatedStore&) = delete;

  /// How many values had no valid code.
  uint64_t refused() const { return refused_; }

  /// True also for a value whose code shows to be wrong when it is read.
  Result<bool> Has(const ChunkKey& key) const { return store_.Has(key); }

  Result<ChunkBytes> Get(const ChunkKey& key);

  /// The length and first bytes of a value, which nothing proves: enough to tell whether it must be written again.
  Result<ChunkFront> Front(const ChunkKey& key, uint64_t most);

  Result<void> Put(const ChunkKey& key, std::span<const std::byte> value) const;

  Result<void> Drop(const ChunkKey& key) const { return store_.Drop(key); }
  Result<std::vector<ChunkKey>> List() const { return store_.List(); }

 private:
  AuthenticatedStore(ChunkStoreRef store, const Sha256Digest& key) : store_(store), key_(key) {}

  static std::pair<std::span<const std::byte>, std::span<const std::byte>> Divide(std::span<const std::byte> stored);

  /// The code stands for the value and for its place: one that is moved under another key is not believed there.
  Result<Sha256Digest> CodeOf(const ChunkKey& key, std::span<const std::byte> value) const;

  Failure Refuse(const ChunkKey& key);

  Result<ChunkFront> FrontOfWhole(const ChunkKey& key, uint64_t most);

  const ChunkStoreRef store_;
  const Sha256Digest key_;
  std::atomic<uint64_t> refused_ = 0;
};

static_assert(ChunkStore<AuthenticatedStore> && HasChunkFront<AuthenticatedStore>);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/backends/detail/authenticated_store.h"
#endif

#endif  // SKALD_STORE_BACKENDS_AUTHENTICATED_STORE_H_
