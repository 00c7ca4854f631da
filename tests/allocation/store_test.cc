// SPDX-License-Identifier: Apache-2.0
//
// Snapshots, chunk stores and prompt caches when memory runs out.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/store/backends/directory_store.h"
#include "skald/store/backends/memory_store.h"
#include "skald/store/prompts/edited_prompt.h"
#include "skald/store/prompts/prompt_cache.h"
#include "skald/store/snapshots/snapshot.h"
#include "tests/allocation/fail_each.h"
#include "tests/allocation/the_model.h"
#include "tests/support/long_tests.h"
#include "tests/support/small_models.h"
#include "tests/support/temporary_folder.h"

namespace skald::testing {
namespace store_test {

const Identity kIdentity = {.salt = "a tenant with a name that is longer than a short string"};
const SnapshotNotes kNotes = {.user = std::vector<std::byte>(100, std::byte{7})};

// A conversation, and places to write it to.
struct Scene {
  explicit Scene(const SmallModel& of) : small(of) {
    REQUIRE(model.Forward(cache, RandomTokens(small, 1, 70), workspace, {.pass_tokens = 32}));
  }

  std::string State() const { return std::to_string(pool->usage().used_bytes); }

  // The tokens of a conversation, and the logits of going on. (Its resume points may have given way.)
  std::string GoOn(const KVCache& past) {
    KVCache next = *past.Fork();
    const std::string text = BytesIn(next.tokens());
    const auto logits = model.Forward(next, RandomTokens(small, 4, 3), workspace);
    REQUIRE(logits);
    return text + BytesIn(*logits);
  }

  const SmallModel& small;
  const RandomModel& model = TheModel(small);
  std::shared_ptr<BlockPool> pool = NewPool(small, kRuntime);
  KVCache cache = *CreateKVCache(pool);
  Workspace workspace = *CreateWorkspace({.threads = 1});
};

// A scene with a store that holds its conversation.
template <class Store>
struct Stored : Scene {
  template <class... Arguments>
  Stored(const SmallModel& small, bool is_saved, Arguments&&... arguments)
      : Scene(small), store(std::forward<Arguments>(arguments)...) {
    if (is_saved) key = *SaveSnapshot(cache, kIdentity, kNotes, store);
  }
  Store store;
  ChunkKey key{};
};

// A scene with a file to write to.
struct InFile : Scene {
  using Scene::Scene;
  TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "chat.snapshot";
};

// A store in a folder of its own.
struct FolderStore {
  Result<bool> Has(const ChunkKey& key) { return store->Has(key); }
  Result<ChunkBytes> Get(const ChunkKey& key) { return store->Get(key); }
  Result<void> Put(const ChunkKey& key, std::span<const std::byte> value) { return store->Put(key, value); }
  Result<void> Drop(const ChunkKey& key) { return store->Drop(key); }
  Result<std::vector<ChunkKey>> List() { return store->List(); }

  TemporaryFolder folder;
  std::unique_ptr<DirectoryStore> store = *DirectoryStore::Open(folder.path() / "store", {.sync = SyncPolicy::kNone});
};

// A prompt cache over `store`, with some prompts.
struct Prompts : Scene {
  explicit Prompts(const SmallModel& of) : Scene(of) {
    for (size_t i = 0; i < 3; ++i) {
      KVCache prompt = *CreateKVCache(pool);
      const auto logits = model.Forward(prompt, RandomTokens(small, 10 + i, 40 + i), workspace);
      REQUIRE(logits);
      REQUIRE(prompts->Insert(prompt, *logits));
    }
  }
  // The prompt cache's accounting: it holds no more than it reports, and gives all of it back.
  std::string Empty() {
    const PromptCacheStats stats = prompts->stats();
    std::string text = std::to_string(stats.entries) + " of " + std::to_string(stats.bytes) + State();
    for (size_t i = 0; i < 3; ++i) {
      const auto found = prompts->Lookup(RandomTokens(small, 10 + i, 40 + i));
      REQUIRE(found);
      text += " " + std::to_string(found->matched) + GoOn(found->cache);
    }
    prompts->Trim(0);
    CHECK(prompts->stats().entries == 0);
    CHECK(prompts->stats().bytes == 0);
    return text + " and " + State();
  }
  MemoryStore store{kUnlimited};
  std::unique_ptr<PromptCache> prompts =
      *PromptCache::Create(pool, kIdentity, {.max_bytes = uint64_t{4} << 20}, {store});
};

// Calls and looks of the snapshots below.
constexpr auto kSave = [](auto& scene) { return SaveSnapshot(scene.cache, kIdentity, kNotes, scene.store); };
constexpr auto kLoad = [](auto& scene) { return LoadSnapshot(scene.store, scene.key, kIdentity, scene.pool); };
// The snapshot is whole: it can be loaded, and goes on as the conversation does.
constexpr auto kLoads = [](auto& scene, const Result<ChunkKey>& key) {
  const auto snapshot = LoadSnapshot(scene.store, *key, kIdentity, scene.pool);
  REQUIRE(snapshot);
  return key->ToHex() + scene.GoOn(snapshot->cache);
};
constexpr auto kGoesOn = [](auto& scene, const Result<Snapshot>& snapshot) {
  return scene.GoOn(snapshot->cache) + BytesIn(snapshot->notes.user);
};

SKALD_CACHE_LAW("a snapshot is saved and loaded, or there is an error, whichever allocation fails", small) {
  using InMemory = Stored<MemoryStore>;
  const std::string& name = small.name;
  FailEachAllocation(
      name + ": SaveSnapshot to memory", [&] { return std::make_unique<InMemory>(small, false, kUnlimited); }, kSave,
      kLoads);
  FailEachAllocation(
      name + ": LoadSnapshot from memory", [&] { return std::make_unique<InMemory>(small, true, kUnlimited); }, kLoad,
      kGoesOn);

  for (const ChunkCodec codec : {ChunkCodec::kNone, ChunkCodec::kSplitZstd, ChunkCodec::kInt8Zstd}) {
    const Scene sample(small);
    const uint64_t size = *SnapshotBytes(sample.cache, kIdentity, kNotes, {.codec = codec});
    std::vector<std::byte> bytes(size);
    FailEachAllocation(
        name + ": SaveSnapshot to a buffer", [&] { return std::make_unique<Scene>(small); },
        [&](Scene& scene) { return SaveSnapshot(scene.cache, kIdentity, kNotes, std::span(bytes), {.codec = codec}); },
        [&](Scene&, const Result<void>&) { return BytesIn(bytes); });
    FailEachAllocation(
        name + ": LoadSnapshot from a buffer", [&] { return std::make_unique<Scene>(small); },
        [&](Scene& scene) { return LoadSnapshot(std::span<const std::byte>(bytes), kIdentity, scene.pool); }, kGoesOn);
    FailEachAllocation(
        name + ": SnapshotBytes", [&] { return std::make_unique<Scene>(small); },
        [&](Scene& scene) { return SnapshotBytes(scene.cache, kIdentity, kNotes, {.codec = codec}); },
        [](Scene&, const Result<uint64_t>& counted) { return std::to_string(*counted); });
  }
}

// Folders and files do not know what is saved, so two models are enough: with states, and without.
void ForEachKindOfState(void (*law)(const SmallModel& small)) {
  if (LongTests()) return ForEachSmallModel(law);
  for (const std::string_view name : {"all-features", "hybrid"}) law(SmallModelNamed(name));
}

void FailEachInFolder(const SmallModel& small) {
  using InFolder = Stored<FolderStore>;
  const std::string& name = small.name;
  FailEachAllocation(
      name + ": SaveSnapshot to a folder", [&] { return std::make_unique<InFolder>(small, false); }, kSave, kLoads);
  FailEachAllocation(
      name + ": SaveSnapshot to a folder that has it", [&] { return std::make_unique<InFolder>(small, true); }, kSave,
      kLoads);
  FailEachAllocation(
      name + ": LoadSnapshot from a folder", [&] { return std::make_unique<InFolder>(small, true); }, kLoad, kGoesOn);
}

TEST_CASE("a snapshot in a folder is saved and loaded, or there is an error, whichever allocation fails") {
  ForEachKindOfState(&FailEachInFolder);
}

void FailEachInFile(const SmallModel& small) {
  const std::string& name = small.name;
  FailEachAllocation(
      name + ": SaveSnapshot to a file", [&] { return std::make_unique<InFile>(small); },
      [](InFile& scene) -> Result<void> {
        auto sink = FileSink::Create(scene.path);
        if (!sink) return Failure(sink.error());
        if (auto saved = SaveSnapshot(scene.cache, kIdentity, kNotes, ByteSinkRef(*sink)); !saved) return saved;
        return sink->Commit(SyncPolicy::kNone);
      },
      [](InFile& scene, const Result<void>&) {
        auto source = FileSource::Open(scene.path);
        REQUIRE(source);
        const auto snapshot = LoadSnapshot(ByteSourceRef(*source), kIdentity, scene.pool);
        REQUIRE(snapshot);
        return scene.GoOn(snapshot->cache);
      });
  FailEachAllocation(
      name + ": LoadSnapshot from a file",
      [&] {
        auto scene = std::make_unique<InFile>(small);
        auto sink = FileSink::Create(scene->path);
        REQUIRE(sink);
        REQUIRE(SaveSnapshot(scene->cache, kIdentity, kNotes, ByteSinkRef(*sink)));
        REQUIRE(sink->Commit(SyncPolicy::kNone));
        return scene;
      },
      [](InFile& scene) -> Result<Snapshot> {
        auto source = FileSource::Open(scene.path);
        if (!source) return Failure(source.error());
        return LoadSnapshot(ByteSourceRef(*source), kIdentity, scene.pool);
      },
      kGoesOn);
}

TEST_CASE("a snapshot in a file is saved and loaded, or there is an error, whichever allocation fails") {
  ForEachKindOfState(&FailEachInFile);
}

// Some chunks of one size in a store.
template <class Store>
struct Chunks {
  template <class... Arguments>
  explicit Chunks(Arguments&&... arguments) : store(std::forward<Arguments>(arguments)...) {
    for (uint8_t i = 0; i < 4; ++i) REQUIRE(store.Put(KeyOf(i), std::vector<std::byte>(200, std::byte{i})));
  }
  static ChunkKey KeyOf(uint8_t number) {
    ChunkKey key{};
    key.bytes[0] = std::byte{number};
    return key;
  }
  // Keys and values of all that the store holds.
  std::string State() {
    std::string text;
    for (uint8_t i = 0; i < 6; ++i) {
      const auto value = store.Get(KeyOf(i));
      text += value ? BytesIn(*value) : "none";
    }
    return text;
  }
  Store store;
};

template <class Scene, class Make>
void FailEachStoreCall(const std::string& name, Make make) {
  const auto state = [](Scene& scene, const auto&) { return scene.State(); };
  const auto value = std::vector<std::byte>(200, std::byte{9});
  FailEachAllocation(
      name + "::Has", make, [](Scene& scene) { return scene.store.Has(Scene::KeyOf(1)); }, state);
  FailEachAllocation(
      name + "::Get", make, [](Scene& scene) { return scene.store.Get(Scene::KeyOf(1)); }, state);
  FailEachAllocation(
      name + "::Put", make, [&](Scene& scene) { return scene.store.Put(Scene::KeyOf(5), value); }, state);
  FailEachAllocation(
      name + "::Drop", make, [](Scene& scene) { return scene.store.Drop(Scene::KeyOf(1)); }, state);
  FailEachAllocation(
      name + "::List", make, [](Scene& scene) { return scene.store.List(); },
      [](Scene& scene, const Result<std::vector<ChunkKey>>& keys) {
        return std::to_string(keys->size()) + scene.State();
      });
}

TEST_CASE("a chunk store does what it is asked, or there is an error, whichever allocation fails") {
  using Memory = Chunks<MemoryStore>;
  using Directory = Chunks<FolderStore>;
  FailEachStoreCall<Memory>("MemoryStore", [] { return std::make_unique<Memory>(kUnlimited); });
  FailEachStoreCall<Memory>("a full MemoryStore", [] { return std::make_unique<Memory>(uint64_t{1700}); });
  FailEachStoreCall<Directory>("DirectoryStore", [] { return std::make_unique<Directory>(); });

  const auto directory = [] { return std::make_unique<Directory>(); };
  const auto state = [](Directory& scene, const auto&) { return scene.State(); };
  FailEachAllocation(
      "DirectoryStore::Prune", directory, [](Directory& scene) { return scene.store.store->Prune(500); }, kSuccess);
  FailEachAllocation(
      "DirectoryStore::Peek", directory, [](Directory& scene) { return scene.store.store->Peek(Directory::KeyOf(1)); },
      state);
  FailEachAllocation(
      "DirectoryStore::ListByUse", directory, [](Directory& scene) { return scene.store.store->ListByUse(); }, state);
  FailEachAllocation(
      "DirectoryStore::Pin and Unpin", directory,
      [](Directory& scene) -> Result<void> {
        if (auto pinned = scene.store.store->Pin(Directory::KeyOf(1)); !pinned) return pinned;
        scene.store.store->Unpin(Directory::KeyOf(1));
        return {};
      },
      state);
  struct NewFolder {
    TemporaryFolder folder;
    std::filesystem::path path = folder.path() / "a" / "b";
  };
  FailEachAllocation(
      "DirectoryStore::Open", [] { return std::make_unique<NewFolder>(); },
      [](NewFolder& folder) { return DirectoryStore::Open(folder.path); }, kSuccess);
}

SKALD_CACHE_LAW("a prompt cache keeps its books, whichever allocation fails", small) {
  const std::string& name = small.name;
  const auto make = [&] { return std::make_unique<Prompts>(small); };
  const auto empty = [](Prompts& scene, const auto&) { return scene.Empty(); };
  FailEachAllocation(
      name + ": PromptCache::Insert", make, [](Prompts& scene) { return scene.prompts->Insert(scene.cache); }, empty);
  FailEachAllocation(
      name + ": PromptCache::Insert of a salt", make,
      [salt = std::optional<std::string>("another tenant, by name")](Prompts& scene) {
        return scene.prompts->Insert(scene.cache, {}, salt);
      },
      empty);
  FailEachAllocation(
      name + ": PromptCache::Lookup", make,
      [tokens = RandomTokens(small, 11, 41)](Prompts& scene) { return scene.prompts->Lookup(tokens); }, empty);
  FailEachAllocation(
      name + ": PromptCache::Lookup in the store",
      [&make] {
        auto scene = make();
        scene->prompts->Trim(0);
        return scene;
      },
      [tokens = RandomTokens(small, 11, 41)](Prompts& scene) { return scene.prompts->Lookup(tokens); }, empty);
  FailEachAllocation(
      name + ": PromptCache::Trim", make,
      [](Prompts& scene) -> Result<void> {
        scene.prompts->Trim(100);
        return {};
      },
      empty);
  FailEachAllocation(
      name + ": PromptCache::Create", [&] { return std::make_unique<Scene>(small); },
      [](Scene& scene) { return PromptCache::Create(scene.pool, kIdentity); }, kSuccess);
}

TEST_CASE("an edited prompt is put together, or there is an error, whichever allocation fails") {
  const std::vector<int32_t> old_tokens = RandomTokens(SmallModelNamed("one-layer"), 1, 70);
  std::vector<int32_t> tokens(old_tokens.begin() + 6, old_tokens.end());
  tokens.insert(tokens.begin(), {1, 2, 3});
  const auto found = FindSharedSpan(old_tokens, tokens, 20);
  REQUIRE(found);
  REQUIRE(*found);
  const SharedSpan span = **found;
  struct Nothing {};
  FailEachAllocation(
      "FindSharedSpan", [] { return std::make_unique<Nothing>(); },
      [&](Nothing&) { return FindSharedSpan(old_tokens, tokens, 20); },
      [](Nothing&, const auto& again) { return std::to_string((*again)->length); });
  FailEachAllocation(
      "KeepSpan", [] { return std::make_unique<Scene>(SmallModelNamed("one-layer")); },
      [&](Scene& scene) { return KeepSpan(scene.cache, span); },
      [](Scene& scene, const auto&) { return scene.GoOn(scene.cache); });
}

}  // namespace store_test
}  // namespace skald::testing
