// SPDX-License-Identifier: Apache-2.0
//
// Chunks that were damaged, in any way and any number, heal: saving again, or at the latest saving after a load that
// failed, gives a snapshot that loads.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/store/backends/directory_store.h"
#include "skald/store/backends/memory_store.h"
#include "skald/store/prompts/prompt_cache.h"
#include "skald/store/snapshots/snapshot.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_cache.h"

namespace skald::testing {
namespace damaged_store_test {

constexpr RuntimeConfig kRuntime = {.block_tokens = 64, .resume_point_every = 40};

KVCache Talk(const std::shared_ptr<BlockPool>& pool, uint32_t tokens = 300) {
  KVCache cache = *CreateKVCache(pool);
  for (uint32_t count = 0; count < tokens; count += 100) REQUIRE(GrowTiny(cache, static_cast<int32_t>(count), 100));
  return cache;
}

using Damage = std::function<void(ChunkBytes&)>;

// Damage that the check of length and header finds.
const std::vector<std::pair<const char*, Damage>> kVisible = {
    {"emptied", [](ChunkBytes& bytes) { bytes.clear(); }},
    {"cut short in the header", [](ChunkBytes& bytes) { bytes.resize(kChunkHeaderBytes - 1); }},
    {"cut short by a byte", [](ChunkBytes& bytes) { bytes.pop_back(); }},
    {"longer by a byte", [](ChunkBytes& bytes) { bytes.push_back({}); }},
    {"no chunk", [](ChunkBytes& bytes) { bytes[0] = {}; }},
    {"of a version that is not there yet", [](ChunkBytes& bytes) { bytes[8] ^= std::byte{4}; }},
    {"another chunk", [](ChunkBytes& bytes) { bytes[40] ^= std::byte{1}; }},
    {"of another length", [](ChunkBytes& bytes) { bytes[16] ^= std::byte{8}; }},
    {"full of zeros", [](ChunkBytes& bytes) { std::fill(bytes.begin(), bytes.end(), std::byte{}); }},
};

template <class Store>
void Replace(Store& store, const ChunkKey& key, const Damage& damage) {
  ChunkBytes bytes = store.Get(key).value();
  damage(bytes);
  REQUIRE(store.Drop(key));
  REQUIRE(store.Put(key, bytes));
}

// Checks for each kind of visible damage to each chunk of a snapshot that saving again makes it whole.
template <class Store>
void CheckSavingHeals(Store& store) {
  const auto pool = *CreateBlockPool(TinyLayout(true), kRuntime);
  const KVCache cache = Talk(pool, 100);
  const ChunkKey key = *SaveSnapshot(cache, {}, {}, store);
  const std::vector<ChunkKey> keys = *store.List();
  for (const auto& [name, damage] : kVisible) {
    CAPTURE(std::string(name));
    for (const ChunkKey& damaged : keys) {
      Replace(store, damaged, damage);
      REQUIRE(SaveSnapshot(cache, {}, {}, store) == key);
      REQUIRE(LoadSnapshot(store, key, {}, pool));
      REQUIRE(store.List()->size() == keys.size());
    }
  }
}

TEST_CASE("saving finds what length and header show, in every store, and writes it again") {
  const TemporaryFolder folder;
  MemoryStore memory(kUnlimited);
  CheckSavingHeals(memory);
  CheckSavingHeals(**DirectoryStore::Open(folder.path(), {.sync = SyncPolicy::kNone}));
}

TEST_CASE("loading finds the rest, and drops what is damaged, all at once, and nothing else") {
  const auto pool = *CreateBlockPool(TinyLayout(true), kRuntime);
  const KVCache cache = Talk(pool);
  MemoryStore store(kUnlimited);
  const ChunkKey key = *SaveSnapshot(cache, {}, {}, store);
  std::vector<ChunkKey> keys = *store.List();
  std::erase(keys, key);
  const auto flip_last = [](ChunkBytes& bytes) { bytes.back() ^= std::byte{1}; };
  for (size_t every : {1u, 2u, 5u, 1000u}) {
    size_t damaged = 0;
    for (size_t i = 0; i < keys.size(); i += every, ++damaged) Replace(store, keys[i], flip_last);
    REQUIRE(SaveSnapshot(cache, {}, {}, store));  // it does not show yet
    const auto loaded = LoadSnapshot(store, key, {}, pool);
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().code == ErrorCode::kDataLoss);
    CHECK(loaded.error().message.find("is damaged") != std::string::npos);
    CHECK(store.List()->size() == keys.size() + 1 - damaged);
    REQUIRE(SaveSnapshot(cache, {}, {}, store) == key);
    CHECK(LoadSnapshot(store, key, {}, pool));
  }
  Replace(store, key, flip_last);  // the manifest itself
  CHECK_FALSE(LoadSnapshot(store, key, {}, pool));
  CHECK_FALSE(*store.Has(key));
  CHECK(store.List()->size() == keys.size());
}

TEST_CASE("random damage to any files of a store: a load finds what saving does not, and then saving heals") {
  const TemporaryFolder folder;
  const auto pool = *CreateBlockPool(TinyLayout(true), kRuntime);
  const KVCache cache = Talk(pool);
  auto store = *DirectoryStore::Open(folder.path(), {.sync = SyncPolicy::kNone});
  const ChunkKey key = *SaveSnapshot(cache, {}, {}, *store);
  std::mt19937 random(11);
  size_t healed_by_saving = 0, healed_by_loading = 0;
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder.path())) {
      if (!file.is_regular_file() || random() % 4 != 0) continue;
      std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
      const auto at = static_cast<std::streamoff>(random() % file.file_size());
      switch (random() % 3) {
        case 0:
          std::filesystem::resize_file(file.path(), static_cast<uintmax_t>(at));
          break;
        case 1:
          bytes.seekp(at).put(static_cast<char>(random()));
          break;
        case 2:
          bytes.seekp(at).write("this was not here", 17);
          break;
      }
    }
    REQUIRE(SaveSnapshot(cache, {}, {}, *store) == key);
    int loads = 1;
    for (; !LoadSnapshot(*store, key, {}, pool); ++loads) {
      REQUIRE(loads < 3);  // one to find a damaged manifest, which hides what it names, and one for all the rest
      REQUIRE(SaveSnapshot(cache, {}, {}, *store) == key);
    }
    ++(loads == 1 ? healed_by_saving : healed_by_loading);
  }
  CHECK(healed_by_saving > 0);
  CHECK(healed_by_loading > 0);
}

TEST_CASE("a prompt whose chunks are damaged misses once, and hits when it was computed again") {
  const auto pool = *CreateBlockPool(TinyLayout(true), kRuntime);
  const KVCache cache = Talk(pool);
  MemoryStore store(kUnlimited);
  // New ones each time: nothing is in their memory.
  const auto prompts = [&] { return std::move(*PromptCache::Create(pool, {}, {}, {store})); };
  const auto known = [&] { return prompts()->Lookup(cache.tokens()).value().cache.size(); };
  REQUIRE(prompts()->Insert(cache));
  const uint32_t all = known();
  REQUIRE(all > 64);
  const auto flip_last = [](ChunkBytes& bytes) { bytes.back() ^= std::byte{1}; };
  const std::vector<ChunkKey> keys = *store.List();
  for (const ChunkKey& key : keys) {
    for (const Damage& damage : {kVisible[0].second, Damage(flip_last)}) {
      Replace(store, key, damage);
      CHECK(known() <= all);
      REQUIRE(prompts()->Insert(cache));
      CHECK(known() == all);
    }
  }
}

TEST_CASE("a prompt that is too long for a pool is no hit there, and stays for others") {
  const auto pool = *CreateBlockPool(TinyLayout(false), kRuntime);
  const KVCache cache = Talk(pool);
  MemoryStore store(kUnlimited);
  REQUIRE((*PromptCache::Create(pool, {}, {}, {store}))->Insert(cache));
  const size_t chunks = store.List()->size();
  RuntimeConfig small = kRuntime;
  small.max_tokens = 250;
  const auto small_pool = *CreateBlockPool(TinyLayout(false), small);
  const auto found = (*PromptCache::Create(small_pool, {}, {}, {store}))->Lookup(cache.tokens().first(200));
  REQUIRE(found);
  CHECK(found->cache.size() == 0);
  CHECK(store.List()->size() == chunks);
}

}  // namespace damaged_store_test
}  // namespace skald::testing
