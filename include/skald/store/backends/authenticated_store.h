// SPDX-License-Identifier: Apache-2.0
//
// AuthenticatedStore: wraps a ChunkStore that others may also write to, and accepts only values written with its own
// key. After each value come 32 bytes of code: HMAC-SHA256 of the chunk's key and the value. A value without a valid
// code counts as missing and is dropped, so that the next caller with its content writes it again.

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

/// A ChunkStore. Not movable, since threads count in it. A value with another key's code, or with none, is dropped when
/// it is read: all users of a shared store must share the key.
class AuthenticatedStore {
 public:
  /// Bytes of the code (HMAC-SHA-256) at the end of a value.
  static constexpr size_t kCodeBytes = sizeof(Sha256Digest);
  static constexpr size_t kLeastSecretBytes = 16;  ///< a shorter secret is refused

  /// `store` must outlive it. Everyone that has `secret` can write accepted values. Error: kInvalidArgument for a
  /// secret of less than kLeastSecretBytes.
  static Result<std::unique_ptr<AuthenticatedStore>> Create(ChunkStoreRef store, std::string_view secret);
  AuthenticatedStore(const AuthenticatedStore&) = delete;
  AuthenticatedStore& operator=(const AuthenticatedStore&) = delete;

  /// How many values had no valid code.
  uint64_t refused() const { return refused_; }

  /// Does not check the code: true also for a value whose code Get will reject.
  Result<bool> Has(const ChunkKey& key) const { return store_.Has(key); }

  Result<ChunkBytes> Get(const ChunkKey& key);

  /// The length and first bytes of a value, unauthenticated: enough to tell whether it must be written again.
  Result<ChunkFront> Front(const ChunkKey& key, uint64_t most);

  Result<void> Put(const ChunkKey& key, std::span<const std::byte> value) const;

  Result<void> Drop(const ChunkKey& key) const { return store_.Drop(key); }
  Result<std::vector<ChunkKey>> List() const { return store_.List(); }

 private:
  AuthenticatedStore(ChunkStoreRef store, const Sha256Digest& key) : store_(store), key_(key) {}

  static std::pair<std::span<const std::byte>, std::span<const std::byte>> Divide(std::span<const std::byte> stored);

  /// The code covers the value and its key: a value that is moved to another key is rejected.
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
