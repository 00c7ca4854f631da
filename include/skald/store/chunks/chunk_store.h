// SPDX-License-Identifier: Apache-2.0
//
// ChunkStore: where chunks are kept. Skald ships three: memory_store.h, directory_store.h, redis_store.h; any type that
// meets the concept works too. A store treats values as opaque bytes; chunk_codec.h writes and checks them.

#ifndef SKALD_STORE_CHUNKS_CHUNK_STORE_H_
#define SKALD_STORE_CHUNKS_CHUNK_STORE_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "skald/base/result.h"
#include "skald/store/chunks/chunk_key.h"

namespace skald {

/// Largest value that a store takes, in bytes: Redis' limit.
inline constexpr uint64_t kMaxChunkBytes = uint64_t{512} << 20;

using ChunkBytes = std::vector<std::byte>;

/// The length of a value, and its first bytes.
struct ChunkFront {
  uint64_t bytes = 0;  ///< length of the whole value
  ChunkBytes front;    ///< at most as many as were asked for
};

/// Every call may come from any thread at any time, and either succeeds completely or fails and leaves the store
/// intact.
///   Has(key)         whether Get would find it
///   Get(key)         the value; kNotFound if there is none
///   Put(key, value)  keeps a copy. If the key exists this is cheap, and the stored value stays: a key names
///                    one content for good. (To replace a damaged value, Drop it first.)
///   Drop(key)        removes it; succeeds also if there is nothing to remove
///   List()           all keys, in no particular order. Keys put or dropped meanwhile may or may not be in it
/// Errors of all: kResourceExhausted if room is lacking, kFailedPrecondition if the medium refuses or cannot be
/// reached, kInvalidArgument for a value beyond kMaxChunkBytes, kDataLoss if the medium's answer is invalid.
template <class S>
concept ChunkStore = requires(S& store, const ChunkKey& key, std::span<const std::byte> value) {
  { store.Has(key) } -> std::same_as<Result<bool>>;
  { store.Get(key) } -> std::same_as<Result<ChunkBytes>>;
  { store.Put(key, value) } -> std::same_as<Result<void>>;
  { store.Drop(key) } -> std::same_as<Result<void>>;
  { store.List() } -> std::same_as<Result<std::vector<ChunkKey>>>;
};

/// A store may offer one more call; then damaged values are found before they are relied upon:
///   Front(key, most)  the value's length and its first `most` bytes; kNotFound if there is none. A use, as Has is
template <class S>
concept HasChunkFront = requires(S& store, const ChunkKey& key, uint64_t most) {
  { store.Front(key, most) } -> std::same_as<Result<ChunkFront>>;
};

/// A ChunkStore without its type: code that uses it is compiled once. A pair of pointers, to be passed by value; the
/// store must outlive it.
class ChunkStoreRef {
 public:
  /// Refers to `store`, which must outlive all copies of this.
  template <ChunkStore S>
  requires(!std::same_as<S, ChunkStoreRef>) ChunkStoreRef(S& store)  // NOLINT: a reference like any other
      : store_(std::addressof(store)), calls_(&kCalls<S>) {}

  Result<bool> Has(const ChunkKey& key) const { return calls_->has(store_, key); }
  Result<ChunkBytes> Get(const ChunkKey& key) const { return calls_->get(store_, key); }
  Result<void> Put(const ChunkKey& key, std::span<const std::byte> value) const;
  Result<void> Drop(const ChunkKey& key) const { return calls_->drop(store_, key); }
  Result<std::vector<ChunkKey>> List() const { return calls_->list(store_); }

  /// Whether Front may be called.
  bool has_front() const { return calls_->front != nullptr; }
  Result<ChunkFront> Front(const ChunkKey& key, uint64_t most) const { return calls_->front(store_, key, most); }

 private:
  struct Calls {
    Result<bool> (*has)(void*, const ChunkKey&);
    Result<ChunkBytes> (*get)(void*, const ChunkKey&);
    Result<void> (*put)(void*, const ChunkKey&, std::span<const std::byte>);
    Result<void> (*drop)(void*, const ChunkKey&);
    Result<std::vector<ChunkKey>> (*list)(void*);
    Result<ChunkFront> (*front)(void*, const ChunkKey&, uint64_t) = nullptr;
  };
  using FrontCall = decltype(Calls::front);

  template <class S>
  static constexpr FrontCall FrontOf() {
    if constexpr (HasChunkFront<S>) {
      return [](void* store, const ChunkKey& key, uint64_t most) { return static_cast<S*>(store)->Front(key, most); };
    } else {
      return nullptr;
    }
  }

  template <class S>
  static constexpr Calls kCalls = {
      [](void* store, const ChunkKey& key) { return static_cast<S*>(store)->Has(key); },
      [](void* store, const ChunkKey& key) { return static_cast<S*>(store)->Get(key); },
      [](void* store, const ChunkKey& key, std::span<const std::byte> value) {
        return static_cast<S*>(store)->Put(key, value);
      },
      [](void* store, const ChunkKey& key) { return static_cast<S*>(store)->Drop(key); },
      [](void* store) { return static_cast<S*>(store)->List(); },
      FrontOf<S>(),
  };

  void* store_;
  const Calls* calls_;
};

/// The errors that are common to all stores.
Failure ChunkNotFound(const ChunkKey& key);

Result<void> CheckChunkSize(const ChunkKey& key, uint64_t bytes);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/chunks/detail/chunk_store.h"
#endif

#endif  // SKALD_STORE_CHUNKS_CHUNK_STORE_H_
