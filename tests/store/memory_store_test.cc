// SPDX-License-Identifier: Apache-2.0
//
// The store in memory: it keeps what it is given, within its limit, and what was used longest ago goes first.

#include "skald/store/backends/memory_store.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "doctest/doctest.h"

namespace skald::testing {
namespace memory_store_test {

ChunkKey KeyOf(int number) { return {{static_cast<std::byte>(number), static_cast<std::byte>(number >> 8)}}; }
ChunkBytes ValueOf(int number, size_t size) { return ChunkBytes(size, static_cast<std::byte>(number)); }
constexpr uint64_t RoomFor(uint64_t entries, uint64_t size) { return entries * (size + MemoryStore::kEntryBytes); }

TEST_CASE("what is put can be had, listed and dropped") {
  MemoryStore store(10000);
  const ChunkStoreRef ref(store);
  CHECK_FALSE(*ref.Has(KeyOf(1)));
  CHECK(ref.Get(KeyOf(1)).error().code == ErrorCode::kNotFound);
  CHECK(ref.Get(KeyOf(1)).error().message.find(KeyOf(1).ToHex()) != std::string::npos);
  for (int i = 0; i < 3; ++i) REQUIRE(ref.Put(KeyOf(i), ValueOf(i, 10 * static_cast<size_t>(i))));
  CHECK(*ref.Has(KeyOf(1)));
  CHECK(*ref.Get(KeyOf(0)) == ChunkBytes());
  CHECK(*ref.Get(KeyOf(2)) == ValueOf(2, 20));
  std::vector<ChunkKey> keys = *ref.List();
  std::sort(keys.begin(), keys.end());
  CHECK(keys == std::vector<ChunkKey>{KeyOf(0), KeyOf(1), KeyOf(2)});
  CHECK(store.used_bytes() == RoomFor(3, 10));

  CHECK(ref.Drop(KeyOf(1)));
  CHECK(ref.Drop(KeyOf(1)));
  CHECK_FALSE(*ref.Has(KeyOf(1)));
  CHECK(store.used_bytes() == RoomFor(2, 10));
}

TEST_CASE("a key keeps its first value until it is dropped") {
  MemoryStore store(10000);
  REQUIRE(store.Put(KeyOf(1), ValueOf(7, 5)));
  REQUIRE(store.Put(KeyOf(1), ValueOf(8, 9)));
  CHECK(*store.Get(KeyOf(1)) == ValueOf(7, 5));
  REQUIRE(store.Drop(KeyOf(1)));
  REQUIRE(store.Put(KeyOf(1), ValueOf(8, 9)));
  CHECK(*store.Get(KeyOf(1)) == ValueOf(8, 9));
}

TEST_CASE("what was used longest ago makes room; getting and putting again are uses") {
  MemoryStore store(RoomFor(3, 100));
  for (int i = 0; i < 3; ++i) REQUIRE(store.Put(KeyOf(i), ValueOf(i, 100)));
  REQUIRE(store.Get(KeyOf(0)));
  REQUIRE(store.Put(KeyOf(1), ValueOf(1, 100)));
  CHECK(store.used_bytes() == store.max_bytes());
  REQUIRE(store.Put(KeyOf(3), ValueOf(3, 100)));
  CHECK_FALSE(*store.Has(KeyOf(2)));
  REQUIRE(store.Put(KeyOf(4), ValueOf(4, 400 + MemoryStore::kEntryBytes - 100)));  // takes two entries' place
  CHECK(store.List()->size() == 1);
  CHECK(*store.Has(KeyOf(4)));
  CHECK(store.used_bytes() <= store.max_bytes());
}

TEST_CASE("a value larger than the limit is refused and drives nothing out") {
  MemoryStore store(RoomFor(1, 100));
  REQUIRE(store.Put(KeyOf(1), ValueOf(1, 100)));
  const auto refused = store.Put(KeyOf(2), ValueOf(2, 101));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kResourceExhausted);
  CHECK(refused.error().message.find("takes 301 bytes, the memory store's limit is 300") != std::string::npos);
  CHECK(*store.Has(KeyOf(1)));
  // Never touched, so it takes no memory.
  const std::byte first{};
  CHECK(store.Put(KeyOf(2), std::span(&first, kMaxChunkBytes + 1)).error().code == ErrorCode::kInvalidArgument);
}

TEST_CASE("several threads use one store, never beyond its limit") {
  MemoryStore store(RoomFor(20, 64));
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&store, &failures, thread] {
      std::mt19937 random(thread);
      for (int round = 0; round < 3000; ++round) {
        const int number = static_cast<int>(random() % 40);
        const auto value = store.Get(KeyOf(number));
        failures += value ? *value != ValueOf(number, 64) : value.error().code != ErrorCode::kNotFound;
        failures += !store.Put(KeyOf(number), ValueOf(number, 64));
        if (round % 7 == 0) failures += !store.Drop(KeyOf(static_cast<int>(random() % 40)));
        if (round % 50 == 0) failures += store.List()->size() > 20;
        failures += store.used_bytes() > store.max_bytes();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
  const std::vector<ChunkKey> keys = *store.List();
  for (const ChunkKey& key : keys) REQUIRE(store.Drop(key));
  CHECK(store.used_bytes() == 0);
}

}  // namespace memory_store_test
}  // namespace skald::testing
