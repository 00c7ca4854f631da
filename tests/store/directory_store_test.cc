// SPDX-License-Identifier: Apache-2.0
//
// A folder of chunks in daily use: what is put comes back, the limit holds, the oldest go first, foreign files stay.

#include "skald/store/backends/directory_store.h"

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "skald/store/snapshots/snapshot.h"
#include "tests/store/numbered_chunks.h"
#include "tests/support/awkward_folders.h"
#include "tests/support/small_models.h"
#include "tests/support/temporary_folder.h"

namespace skald::testing {
namespace directory_store_test {

std::set<ChunkKey> Listed(const DirectoryStore& store) {
  const auto keys = store.List();
  REQUIRE(keys);
  return {keys->begin(), keys->end()};
}

uint64_t TotalBytes(const DirectoryStore& store) {
  const auto chunks = store.ListByUse();
  uint64_t bytes = 0;
  for (const StoredChunk& chunk : *chunks) bytes += chunk.bytes;
  return bytes;
}

void WriteForeign(const std::filesystem::path& path) {
  std::filesystem::create_directories(path.parent_path());
  WriteFile(path, "mine");
}

void MakeOld(const std::filesystem::path& path) {
  std::filesystem::last_write_time(
      path, std::filesystem::file_time_type::clock::now() - std::chrono::seconds(DirectoryStore::kStaleSeconds + 60));
}

TEST_CASE("what is put comes back, in this object and in the next") {
  const TemporaryFolder folder;
  for (const SyncPolicy sync : {SyncPolicy::kNone, SyncPolicy::kData, SyncPolicy::kDataAndFolder}) {
    const auto path = folder.path() / "made" / std::to_string(static_cast<int>(sync));
    {
      auto store = *DirectoryStore::Open(path, {.sync = sync});
      for (const size_t size : {0u, 1u, 5000u, 300000u}) REQUIRE(store->Put(KeyOf(size), ValueOf(size, size)));
      CHECK(*store->Has(KeyOf(1)));
      CHECK_FALSE(*store->Has(KeyOf(2)));
    }
    auto store = *DirectoryStore::Open(path);
    for (const size_t size : {0u, 1u, 5000u, 300000u}) CHECK(*store->Get(KeyOf(size)) == ValueOf(size, size));
    CHECK(*store->Peek(KeyOf(5000), 10) == ChunkBytes(10, ValueOf(5000, 1)[0]));
    CHECK(store->Get(KeyOf(2)).error().code == ErrorCode::kNotFound);
    REQUIRE(store->Drop(KeyOf(1)));
    REQUIRE(store->Drop(KeyOf(1)));
    CHECK(Listed(*store) == std::set{KeyOf(0), KeyOf(5000), KeyOf(300000)});
  }
}

TEST_CASE("stores work below paths with spaces, wide characters and great length") {
  const TemporaryFolder temporary;
  for (const auto& folder : AwkwardFolders(temporary.path())) {
    auto store = *DirectoryStore::Open(folder, {.max_bytes = 3000});
    for (size_t i = 0; i < 5; ++i) REQUIRE(store->Put(KeyOf(i), ValueOf(i, 1000)));
    CHECK(TotalBytes(*store) <= 3000);
    CHECK(*store->Get(KeyOf(4)) == ValueOf(4, 1000));
    CHECK_FALSE(*store->Has(KeyOf(0)));
    REQUIRE(store->Drop(KeyOf(4)));
    CHECK_FALSE(Listed(*store).contains(KeyOf(4)));
  }
}

TEST_CASE("a key that is there keeps its value") {
  const TemporaryFolder folder;
  auto store = *DirectoryStore::Open(folder.path());
  REQUIRE(store->Put(KeyOf(1), ValueOf(1, 10)));
  REQUIRE(store->Put(KeyOf(1), ValueOf(2, 20)));
  CHECK(*store->Get(KeyOf(1)) == ValueOf(1, 10));
  CHECK(Listed(*store).size() == 1);
}

TEST_CASE("foreign files are neither listed nor removed") {
  const TemporaryFolder folder;
  auto store = *DirectoryStore::Open(folder.path(), {.max_bytes = 100});
  REQUIRE(store->Put(KeyOf(1), ValueOf(1, 10)));
  const std::string hex = KeyOf(2).ToHex();
  const std::vector<std::filesystem::path> foreign = {folder.path() / "notes.txt",
                                                      folder.path() / "ab" / "notes.txt",
                                                      folder.path() / "notes" / hex,
                                                      folder.path() / hex.substr(0, 2) / (hex + "0"),
                                                      folder.path() / hex.substr(0, 2) / hex.substr(1),
                                                      folder.path() / "00" / "notes.txt.tmp"};
  for (const auto& path : foreign) {
    WriteForeign(path);
    MakeOld(path);
  }
  std::filesystem::create_directories(folder.path() / "cd" / ("cd" + std::string(62, '0')));
  store = *DirectoryStore::Open(folder.path(), {.max_bytes = 100});
  CHECK(Listed(*store) == std::set{KeyOf(1)});
  CHECK(*store->Has(KeyOf(2)) == false);
  REQUIRE(store->Put(KeyOf(3), ValueOf(3, 95)));  // key 1 must go
  CHECK(store->Prune(0)->chunks == 1);
  for (const auto& path : foreign) CHECK(std::filesystem::exists(path));
}

TEST_CASE("unfinished files of processes that died are removed when they are old") {
  const TemporaryFolder folder;
  const std::string hex = KeyOf(1).ToHex();
  const auto old = folder.path() / hex.substr(0, 2) / (hex + ".1-2-3.tmp");
  const auto young = folder.path() / hex.substr(0, 2) / (hex + ".1-2-4.tmp");
  WriteForeign(old);
  WriteForeign(young);
  MakeOld(old);
  const auto store = *DirectoryStore::Open(folder.path());
  CHECK_FALSE(std::filesystem::exists(old));
  CHECK(std::filesystem::exists(young));
  CHECK(Listed(*store).empty());
}

TEST_CASE("the limit is never passed, and what was used longest ago goes first") {
  const TemporaryFolder folder;
  auto store = *DirectoryStore::Open(folder.path(), {.max_bytes = 1000});
  for (int i = 0; i < 10; ++i) REQUIRE(store->Put(KeyOf(i), ValueOf(i, 100)));
  CHECK(TotalBytes(*store) == 1000);
  REQUIRE(store->Get(KeyOf(0)));
  REQUIRE(store->Has(KeyOf(1)));
  REQUIRE(store->Put(KeyOf(2), ValueOf(2, 100)));
  REQUIRE(store->Peek(KeyOf(3)));  // no use
  const auto by_use = *store->ListByUse();
  for (size_t i = 0; i < 10; ++i) CHECK(by_use[i].key == KeyOf((i + 3) % 10));
  REQUIRE(store->Put(KeyOf(10), ValueOf(10, 150)));
  CHECK(Listed(*store) ==
        std::set{KeyOf(0), KeyOf(1), KeyOf(2), KeyOf(6), KeyOf(7), KeyOf(8), KeyOf(9), KeyOf(10)});  // 150 + 62 freed
  REQUIRE(store->Put(KeyOf(11), ValueOf(11, 1000)));
  CHECK(Listed(*store) == std::set{KeyOf(11)});
  const auto refused = store->Put(KeyOf(12), ValueOf(12, 1001));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kResourceExhausted);
  CHECK(refused.error().message.find("has 1001 bytes, the limit of the store " + folder.path().string() + " is 1000") !=
        std::string::npos);
  CHECK(Listed(*store) == std::set{KeyOf(11)});
}

TEST_CASE("a store that was fuller than its limit is trimmed by the next Put") {
  const TemporaryFolder folder;
  auto other = *DirectoryStore::Open(folder.path());
  auto store = *DirectoryStore::Open(folder.path(), {.max_bytes = 1000});
  REQUIRE(store->Put(KeyOf(99), ValueOf(99, 10)));
  for (int i = 0; i < 20; ++i) REQUIRE(other->Put(KeyOf(i), ValueOf(i, 100)));
  for (int i = 20; i < 30; ++i) REQUIRE(store->Put(KeyOf(i), ValueOf(i, 10)));
  CHECK(TotalBytes(*store) <= 1000);
  CHECK(*store->Has(KeyOf(19)));
  CHECK_FALSE(*store->Has(KeyOf(0)));
}

TEST_CASE("pinned chunks stay") {
  const TemporaryFolder folder;
  auto store = *DirectoryStore::Open(folder.path(), {.max_bytes = 300});
  for (int i = 0; i < 3; ++i) REQUIRE(store->Put(KeyOf(i), ValueOf(i, 100)));
  for (int i : {0, 1, 1}) REQUIRE(store->Pin(KeyOf(i)));
  REQUIRE(store->Put(KeyOf(3), ValueOf(3, 100)));
  CHECK(Listed(*store) == std::set{KeyOf(0), KeyOf(1), KeyOf(3)});
  const auto refused = store->Put(KeyOf(4), ValueOf(4, 200));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kResourceExhausted);
  CHECK(refused.error().message.find("pinned chunks take 200 bytes") != std::string::npos);
  CHECK(store->Prune(0).error().code == ErrorCode::kResourceExhausted);
  store->Unpin(KeyOf(0));
  store->Unpin(KeyOf(1));  // pinned once more
  const auto pruned = store->Prune(150);
  REQUIRE(pruned);
  CHECK(pruned->bytes == 100);
  CHECK(Listed(*store) == std::set{KeyOf(1)});
  store->Unpin(KeyOf(1));
  CHECK(store->Prune(0)->chunks == 1);
}

TEST_CASE("several threads put, get, list and drop at once, and the limit holds") {
  const TemporaryFolder folder;
  auto store = *DirectoryStore::Open(folder.path(), {.max_bytes = 20000, .sync = SyncPolicy::kNone});
  std::vector<int> failures(4, 0);
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < failures.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (size_t round = 0; round < 200; ++round) {
        const size_t i = (round * (thread + 1)) % 60;  // 60 values of 500 to 559 bytes: more than there is room for
        failures[thread] += !store->Put(KeyOf(i), ValueOf(i, 500 + i));
        const auto value = store->Get(KeyOf((i + thread) % 60));
        failures[thread] += value ? *value != ValueOf((i + thread) % 60, 500 + (i + thread) % 60)
                                  : value.error().code != ErrorCode::kNotFound;
        if (round % 20 == 0) failures[thread] += !store->List() || !store->Drop(KeyOf(i));
        if (round % 20 == 1) failures[thread] += TotalBytes(*store) > 20000;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == std::vector<int>(4, 0));
  CHECK(TotalBytes(*store) <= 20000);
}

TEST_CASE("a conversation is saved to a folder and resumed from it with the same bits") {
  const TemporaryFolder folder;
  const RandomModel model(SmallModelNamed("hybrid"), 4);
  const RuntimeConfig runtime = {.resume_point_every = 48};
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = NewCache(SmallModelNamed("hybrid"), runtime);
  const std::vector<int32_t> tokens = RandomTokens(SmallModelNamed("hybrid"), 8, 190);
  REQUIRE(model.Forward(cache, std::span(tokens).first(170), workspace));
  ChunkKey key;
  {
    auto store = *DirectoryStore::Open(folder.path());
    key = *SaveSnapshot(cache, {}, {}, *store);
    const size_t chunks = store->List()->size();
    CHECK(*SaveSnapshot(cache, {}, {}, *store) == key);
    CHECK(store->List()->size() == chunks);
  }
  auto store = *DirectoryStore::Open(folder.path());
  auto snapshot = LoadSnapshot(*store, key, {}, NewPool(SmallModelNamed("hybrid"), runtime));
  REQUIRE(snapshot);
  const auto rest = std::span(tokens).subspan(170);
  CHECK(AllLogits(model, snapshot->cache, rest, 20, workspace) == AllLogits(model, cache, rest, 20, workspace));
}

}  // namespace directory_store_test
}  // namespace skald::testing
