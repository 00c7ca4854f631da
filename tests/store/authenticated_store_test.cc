// SPDX-License-Identifier: Apache-2.0
//
// The store that accepts only values written with its key. With the key it is a ChunkStore like any other; without the
// key its values cannot be forged, moved, exchanged or cut short.

#include "skald/store/backends/authenticated_store.h"

#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/store/backends/memory_store.h"
#include "skald/store/snapshots/snapshot.h"
#include "tests/store/numbered_chunks.h"
#include "tests/support/check_error.h"
#include "tests/support/tiny_cache.h"

namespace skald::testing {
namespace authenticated_store_test {

constexpr const char* kSecret = "what only these servers know";

std::unique_ptr<AuthenticatedStore> Over(ChunkStoreRef store, const std::string& secret = kSecret) {
  return *AuthenticatedStore::Create(store, secret);
}

// A store without the call that shows a value's front.
struct PlainStore {
  MemoryStore& inner;

  Result<bool> Has(const ChunkKey& key) const { return inner.Has(key); }
  Result<ChunkBytes> Get(const ChunkKey& key) const { return inner.Get(key); }
  Result<void> Put(const ChunkKey& key, std::span<const std::byte> value) const { return inner.Put(key, value); }
  Result<void> Drop(const ChunkKey& key) const { return inner.Drop(key); }
  Result<std::vector<ChunkKey>> List() const { return inner.List(); }
};

TEST_CASE("what is put into an authenticated store can be had, listed and dropped") {
  MemoryStore memory(uint64_t{1} << 20);
  PlainStore plain{memory};
  for (const ChunkStoreRef inner : {ChunkStoreRef(memory), ChunkStoreRef(plain)}) {
    const auto made = Over(inner);
    const ChunkStoreRef store(*made);
    CheckError(store.Get(KeyOf(1)), ErrorCode::kNotFound, KeyOf(1).ToHex());
    CheckError(store.Front(KeyOf(1), 3), ErrorCode::kNotFound, KeyOf(1).ToHex());
    for (const size_t size : {0u, 1u, 31u, 32u, 5000u}) {
      REQUIRE(store.Put(KeyOf(size), ValueOf(size, size)));
      CHECK(*store.Has(KeyOf(size)));
      CHECK(*store.Get(KeyOf(size)) == ValueOf(size, size));
      for (const uint64_t most : {1u, 10u, 100'000u}) {
        const auto front = store.Front(KeyOf(size), most);
        REQUIRE(front);
        CHECK(front->bytes == size);
        CHECK(front->front == ValueOf(size, std::min<size_t>(size, most)));
      }
    }
    const std::vector<ChunkKey> keys = *store.List();
    CHECK(keys.size() == 5);
    for (const ChunkKey& key : keys) REQUIRE(store.Drop(key));
    CHECK(store.List()->empty());
    CHECK(made->refused() == 0);
  }
}

TEST_CASE("a value that was not written with the key is missing, counted and dropped") {
  MemoryStore memory(uint64_t{1} << 20);
  const auto store = Over(memory), stranger = Over(memory, "what other servers know");
  const ChunkBytes value = ValueOf(1, 100);
  const auto stored = [&] {
    REQUIRE(store->Put(KeyOf(1), value));
    ChunkBytes bytes = *memory.Get(KeyOf(1));
    REQUIRE(memory.Drop(KeyOf(1)));
    return bytes;
  }();
  REQUIRE(stored.size() == value.size() + AuthenticatedStore::kCodeBytes);
  std::vector<ChunkBytes> forged = {value, ChunkBytes(), ChunkBytes(31), ChunkBytes(32), ChunkBytes(stored)};
  forged.back().push_back(std::byte{0});
  for (size_t i = 0; i < stored.size(); ++i) {
    forged.push_back(stored);
    forged.back()[i] ^= std::byte{1};
  }
  REQUIRE(stranger->Put(KeyOf(1), value));
  forged.push_back(*memory.Get(KeyOf(1)));
  REQUIRE(memory.Drop(KeyOf(1)));
  uint64_t refused = 0;
  for (const ChunkBytes& bytes : forged) {
    REQUIRE(memory.Put(KeyOf(1), bytes));
    CheckError(store->Get(KeyOf(1)), ErrorCode::kNotFound, KeyOf(1).ToHex());
    CHECK(store->refused() == ++refused);
    CHECK_FALSE(*memory.Has(KeyOf(1)));
  }
  // Nor is a true one believed in another's place.
  REQUIRE(memory.Put(KeyOf(2), stored));
  CheckError(store->Get(KeyOf(2)), ErrorCode::kNotFound, KeyOf(2).ToHex());
  REQUIRE(memory.Put(KeyOf(1), stored));
  CHECK(*store->Get(KeyOf(1)) == value);
}

TEST_CASE("snapshots work on an authenticated store, and heal where somebody wrote into it") {
  MemoryStore memory(uint64_t{1} << 24);
  const auto store = Over(memory);
  const auto pool = *CreateBlockPool(TinyLayout(true));
  KVCache cache = *CreateKVCache(pool);
  REQUIRE(GrowTiny(cache, 1, 100));
  const ChunkKey snapshot = *SaveSnapshot(cache, {}, {}, *store);
  CHECK(LoadSnapshot(*store, snapshot, {}, pool));
  CHECK_FALSE(LoadSnapshot(memory, snapshot, {}, pool));  // it is not what the store holds
  const std::vector<ChunkKey> keys = *store->List();
  for (const ChunkKey& key : keys) {
    // A forger has written the same chunk without a code.
    ChunkBytes bytes = *store->Get(key);
    REQUIRE(memory.Drop(key));
    REQUIRE(memory.Put(key, bytes));
    CHECK_FALSE(LoadSnapshot(*store, snapshot, {}, pool));
    REQUIRE(SaveSnapshot(cache, {}, {}, *store));
    CHECK(LoadSnapshot(*store, snapshot, {}, pool));
  }
  CHECK(store->refused() > 0);
}

TEST_CASE("an authenticated store passes on what its store says, and refuses a secret that is none") {
  MemoryStore small(300);
  const auto store = Over(small);
  CHECK(store->Put(KeyOf(1), ValueOf(1, 1000)).error().code == ErrorCode::kResourceExhausted);
  const std::byte first{};
  CHECK(store->Put(KeyOf(0), std::span(&first, kMaxChunkBytes)).error().code == ErrorCode::kInvalidArgument);
  CheckError(AuthenticatedStore::Create(small, "short"), ErrorCode::kInvalidArgument, "at least 16");
}

TEST_CASE("many threads use an authenticated store") {
  MemoryStore memory(uint64_t{1} << 22);
  const auto store = Over(memory);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 200; ++i) {
        const uint64_t number = (i * 7 + t) % 50;
        if (!store->Put(KeyOf(number), ValueOf(number, 100 + number))) continue;
        const auto got = store->Get(KeyOf(number));
        if (got && *got != ValueOf(number, 100 + number)) FAIL_CHECK("another value");
        if (i % 5 == 0) (void)store->Drop(KeyOf(number));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(store->refused() == 0);
}

}  // namespace authenticated_store_test
}  // namespace skald::testing
