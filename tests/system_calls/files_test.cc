// SPDX-License-Identifier: Apache-2.0
//
// Stores, snapshots, packed weights and digests on a file system that fails.

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/files/fd_io.h"
#include "skald/base/files/folders.h"
#include "skald/base/files/small_file.h"
#include "skald/cache/create.h"
#include "skald/model/load.h"
#include "skald/store/backends/directory_store.h"
#include "skald/store/prompts/prompt_cache.h"
#include "skald/store/snapshots/cached_digest.h"
#include "skald/store/snapshots/snapshot.h"
#include "tests/support/small_models.h"
#include "tests/system_calls/fail_each_call.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace files_test {

// Conversations of one small model.
class Conversations {
 public:
  // Of so many tokens, always the same.
  const KVCache& Of(size_t tokens) {
    const auto known = caches.find(tokens);
    if (known != caches.end()) return known->second;
    KVCache cache = *CreateKVCache(pool);
    REQUIRE(model.Forward(cache, RandomTokens(model.small(), tokens, tokens), workspace));
    return caches.emplace(tokens, std::move(cache)).first->second;
  }

  // Whether a snapshot is that conversation, to the bit.
  bool Is(const Result<Snapshot>& snapshot, size_t tokens) {
    return snapshot && Logits(snapshot->cache) == Logits(Of(tokens));
  }

  std::shared_ptr<BlockPool> pool = NewPool(SmallModelNamed("one-layer"), kRuntime);

 private:
  static constexpr RuntimeConfig kRuntime = {.max_tokens = 500, .block_tokens = 32};

  std::vector<float> Logits(const KVCache& past) {
    KVCache cache = *past.Fork();
    const auto logits = model.Forward(cache, RandomTokens(model.small(), 1, 2), workspace);
    REQUIRE(logits);
    return {logits->begin(), logits->end()};
  }

  RandomModel model{SmallModelNamed("one-layer"), 3};
  Workspace workspace = *CreateWorkspace({.threads = 1});
  std::map<size_t, KVCache> caches;
};

Conversations& All() {
  static Conversations conversations;
  return conversations;
}

// Makes all files in a folder look days old.
void Age(const std::filesystem::path& folder) {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  const timespec then[2] = {{now.tv_sec - 500'000, 0}, {now.tv_sec - 500'000, 0}};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) ::utimensat(AT_FDCWD, entry.path().c_str(), then, AT_SYMLINK_NOFOLLOW);
  }
}

// A directory store that already holds a conversation of 40 tokens.
struct StoreWorld {
  virtual ~StoreWorld() = default;
  std::filesystem::path path() const { return folder.path() / "a" / "store"; }

  virtual void Prepare() {
    store = *DirectoryStore::Open(path());
    Save(40);
  }
  void Save(size_t tokens) {
    const auto key = SaveSnapshot(All().Of(tokens), {}, {}, *store);
    REQUIRE(key);
    saved[tokens] = *key;
  }
  std::string Lost(bool) {
    auto reopened = DirectoryStore::Open(path());
    REQUIRE(reopened);
    for (const auto& [tokens, key] : saved) {
      if (!All().Is(LoadSnapshot(**reopened, key, {}, All().pool), tokens)) {
        return "a saved conversation of " + std::to_string(tokens) + " tokens is lost";
      }
    }
    return "";
  }
  void Clean() {
    Age(folder.path());
    REQUIRE(DirectoryStore::Open(path()));
  }

  TemporaryFolder folder;
  std::unique_ptr<DirectoryStore> store;
  std::map<size_t, ChunkKey> saved;
};

struct EmptyWorld : StoreWorld {
  void Prepare() override {}
};

TEST_CASE("a directory store on a file system that fails") {
  FailEachCall<EmptyWorld>("Open", [](EmptyWorld& world) -> Result<void> {
    auto store = DirectoryStore::Open(world.path());
    if (!store) return Failure(store.error());
    return {};
  });
  FailEachCall<EmptyWorld>("Open and SaveSnapshot", [](EmptyWorld& world) -> Result<void> {
    auto store = DirectoryStore::Open(world.path());
    if (!store) return Failure(store.error());
    const auto key = SaveSnapshot(All().Of(40), {}, {}, **store);
    if (!key) return Failure(key.error());
    world.saved[40] = *key;
    return {};
  });
  FailEachCall<StoreWorld>("SaveSnapshot", [](StoreWorld& world) -> Result<void> {
    const auto key = SaveSnapshot(All().Of(70), {}, {}, *world.store);
    if (!key) return Failure(key.error());
    world.saved[70] = *key;
    return {};
  });
  FailEachCall<StoreWorld>("SaveSnapshot of what is there",
                           [](StoreWorld& world) { return SaveSnapshot(All().Of(40), {}, {}, *world.store); });
  FailEachCall<StoreWorld>("LoadSnapshot", [](StoreWorld& world) -> Result<void> {
    const auto snapshot = LoadSnapshot(*world.store, world.saved[40], {}, All().pool);
    if (!snapshot) return Failure(snapshot.error());
    CHECK(All().Is(snapshot, 40));
    return {};
  });
  FailEachCall<StoreWorld>("List", [](StoreWorld& world) -> Result<void> {
    static const size_t expected = world.store->List()->size();
    const auto keys = world.store->List();
    if (!keys) return Failure(keys.error());
    CHECK(keys->size() == expected);
    return {};
  });
  FailEachCall<StoreWorld>("Prune that has nothing to do",
                           [](StoreWorld& world) { return world.store->Prune(uint64_t{1} << 30); });
  FailEachCall<StoreWorld>("Prune of everything", [](StoreWorld& world) -> Result<void> {
    world.saved.clear();
    const auto dropped = world.store->Prune(0);
    if (!dropped) return Failure(dropped.error());
    const auto left = world.store->List();
    if (!left) return Failure(left.error());
    CHECK(left->empty());
    return {};
  });
}

TEST_CASE("a prompt cache over a store on a file system that fails") {
  FailEachCall<StoreWorld>("PromptCache::Insert, then Lookup", [](StoreWorld& world) -> Result<void> {
    const KVCache& prompt = All().Of(70);
    auto writer = PromptCache::Create(All().pool, {}, {}, {*world.store});
    REQUIRE(writer);
    if (auto kept = (*writer)->Insert(prompt); !kept) return kept;
    auto reader = PromptCache::Create(All().pool, {}, {}, {*world.store});
    REQUIRE(reader);
    const auto found = (*reader)->Lookup(prompt.tokens());
    if (!found) return Failure(found.error());
    if (found->store_error) return Failure(*found->store_error);
    CHECK(found->matched == 70);
    return {};
  });
}

// A snapshot in a file of its own, and a new one to replace it.
struct FileWorld {
  std::filesystem::path path() const { return folder.path() / "chat.skald"; }

  Result<void> Save(size_t tokens) {
    auto sink = FileSink::Create(path());
    if (!sink) return Failure(sink.error());
    if (auto saved = SaveSnapshot(All().Of(tokens), {}, {}, ByteSinkRef(*sink)); !saved) return saved;
    return sink->Commit();
  }
  Result<Snapshot> Load() const {
    auto source = FileSource::Open(path());
    if (!source) return Failure(source.error());
    return LoadSnapshot(ByteSourceRef(*source), {}, All().pool);
  }
  void Prepare() { REQUIRE(Save(40)); }
  // An error may have come when the new file had its name already.
  std::string Lost(bool done) {
    const auto now = Load();
    if (All().Is(now, 70) || (!done && All().Is(now, 40))) return "";
    return "the file holds neither the old conversation nor the new one";
  }
  void Clean() {
    Age(folder.path());
    REQUIRE(RemoveUnfinishedFiles(folder.path(), [](std::string_view name) { return name == "chat.skald"; }));
  }

  TemporaryFolder folder;
};

struct SavedFile : FileWorld {
  std::string Lost(bool) { return All().Is(Load(), 40) ? "" : "the file is lost"; }
};

TEST_CASE("a snapshot in a file on a file system that fails") {
  FailEachCall<FileWorld>("SaveSnapshot", [](FileWorld& world) { return world.Save(70); });
  FailEachCall<SavedFile>("LoadSnapshot", [](SavedFile& world) -> Result<void> {
    const auto snapshot = world.Load();
    if (!snapshot) return Failure(snapshot.error());
    CHECK(All().Is(snapshot, 40));
    return {};
  });
  FailEachCall<SavedFile>("ReadSmallFile", [](SavedFile& world) { return ReadSmallFile(world.path(), 10'000'000); });
}

// A checkpoint, and a folder for its packed form.
struct WeightsWorld {
  std::filesystem::path path() const { return folder.path() / "model.safetensors"; }
  Result<ModelWeights> Load() { return LoadWeights<TinyFull>(path(), {.cache_folder = folder.path() / "packed"}); }
  void Prepare() { WriteFile(path(), SafetensorsImage(TinyTensors<TinyFull>())); }
  std::string Lost(bool) {
    static const ModelWeights expected = *LoadWeights<TinyFull>(path());
    const auto loaded = Load();
    return loaded && SameWeights(*loaded, expected) ? "" : "other weights";
  }
  // The next writer removes what others left: it is as large as the weights.
  void Clean() {
    Age(folder.path());
    REQUIRE(
        RemoveUnfinishedFiles(folder.path(), [](std::string_view name) { return name.ends_with(".skald-digest"); }));
    std::error_code none_packed;
    for (const auto& file : std::filesystem::directory_iterator(folder.path() / "packed", none_packed)) {
      if (file.path().extension() == ".packed") WriteFile(file.path(), "");
    }
    REQUIRE(Load());
  }

  TemporaryFolder folder;
};

struct PackedWorld : WeightsWorld {
  void Prepare() {
    WeightsWorld::Prepare();
    REQUIRE(Load());
  }
};

TEST_CASE("weights on a file system that fails") {
  FailEachCall<WeightsWorld>("LoadWeights", [](WeightsWorld& world) { return LoadWeights<TinyFull>(world.path()); });
  FailEachCall<WeightsWorld>("LoadWeights that packs", [](WeightsWorld& world) { return world.Load(); });
  FailEachCall<PackedWorld>("LoadWeights of what was packed", [](PackedWorld& world) { return world.Load(); });
  FailEachCall<WeightsWorld>("CachedDigestOfWeights", [](WeightsWorld& world) -> Result<void> {
    static const Sha256Digest expected = *DigestOfWeights(world.path());
    const auto digest = CachedDigestOfWeights(world.path());
    if (!digest) return Failure(digest.error());
    CHECK(*digest == expected);
    return {};
  });
}

// The operations of a user in an hour, while calls fail now and then.
TEST_CASE("a long session on a file system that fails now and then loses nothing that it saved") {
  std::mt19937 random(7);
  const TemporaryFolder folder;
  const auto path = folder.path() / "store";
  std::map<size_t, ChunkKey> saved;
  const size_t descriptors = OpenDescriptors();
  for (uint32_t session = 0; session < 60; ++session) {
    CAPTURE(session);
    {
      const FailingCalls failing({Fault::kError, 0, kForGood, 20 + session * 5, session});
      auto store = DirectoryStore::Open(path);
      if (!store) continue;
      for (int step = 0; step < 12; ++step) {
        const size_t tokens = 1 + random() % 100;
        if (const auto known = saved.find(tokens); known != saved.end() && random() % 2 == 0) {
          (void)LoadSnapshot(**store, known->second, {}, All().pool);
        } else if (random() % 4 == 0) {
          (void)(*store)->ListByUse();
        } else if (const auto key = SaveSnapshot(All().Of(tokens), {}, {}, **store)) {
          saved[tokens] = *key;
        }
      }
    }
    REQUIRE(OpenDescriptors() == descriptors);
    const auto store = DirectoryStore::Open(path);
    REQUIRE(store);
    for (const auto& [tokens, key] : saved) REQUIRE(All().Is(LoadSnapshot(**store, key, {}, All().pool), tokens));
  }
  CHECK(saved.size() > 20);
}

}  // namespace files_test
}  // namespace skald::testing
