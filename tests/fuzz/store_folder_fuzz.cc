// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the folder of a store. A snapshot is saved there, and the input chooses changes of it: files damaged, cut,
// forged, replaced by other things, and foreign ones beside them. After any error of the store, loaded conversations
// can continue, saving again and loading gives the same bits, and nothing leaks.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "skald/store/backends/directory_store.h"
#include "skald/store/backends/memory_store.h"
#include "skald/store/chunks/chunk_codec.h"
#include "skald/store/snapshots/snapshot.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_cache.h"

namespace skald {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

// A conversation, and the chunks of its snapshot.
struct Saved {
  explicit Saved(bool recurrent)
      : pool(*CreateBlockPool(testing::TinyLayout(recurrent),
                              {.max_tokens = 1000, .block_tokens = 64, .resume_point_every = 20, .rewind_tokens = 2})),
        cache(*CreateKVCache(pool)) {
    Require(testing::GrowTiny(cache, 1, 150));
    MemoryStore store(kUnlimited);
    manifest = *SaveSnapshot(cache, {}, {}, store);
    const auto keys = store.List();
    for (const ChunkKey& key : *keys) chunks.emplace_back(key, *store.Get(key));
    std::ranges::sort(chunks);
    bytes = BytesOf(cache);
  }
  static ChunkBytes BytesOf(const KVCache& cache) {
    ChunkBytes written(*SnapshotBytes(cache, {}, {}, {ChunkCodec::kNone}));
    Require(SaveSnapshot(cache, {}, {}, std::span<std::byte>(written), {ChunkCodec::kNone}).has_value());
    return written;
  }

  std::shared_ptr<BlockPool> pool;
  KVCache cache;
  ChunkKey manifest;
  std::vector<std::pair<ChunkKey, ChunkBytes>> chunks;
  ChunkBytes bytes;
};

// The input, taken from the front; zeros where it ends.
class Input {
 public:
  explicit Input(std::span<const uint8_t> bytes) : rest_(bytes) {}
  bool empty() const { return rest_.empty(); }
  uint8_t Byte() { return Bytes(1)[0]; }
  std::vector<uint8_t> Bytes(size_t count) {
    std::vector<uint8_t> bytes(count);
    const size_t there = std::min(count, rest_.size());
    std::copy_n(rest_.begin(), there, bytes.begin());
    rest_ = rest_.subspan(there);
    return bytes;
  }

 private:
  std::span<const uint8_t> rest_;
};

void Write(const std::filesystem::path& path, const ChunkBytes& bytes) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
  testing::WriteFile(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Puts right what a frame says of itself.
void Repair(ChunkBytes& chunk) {
  if (chunk.size() < kChunkHeaderBytes) return;
  internal::StoreAt(std::span(chunk), internal::kPayloadBytesAt, uint64_t{chunk.size() - kChunkHeaderBytes});
  internal::StoreAt(std::span(chunk), internal::kChecksumAt, internal::ChunkChecksum(chunk));
}

// Does one thing to the folder. Returns false where an honest chunk can no longer be told from what is there now, or
// cannot be put back.
bool Spoil(const std::filesystem::path& folder, const Saved& saved, Input& input) {
  const uint8_t what = input.Byte() % 9;
  auto [key, chunk] = saved.chunks[input.Byte() % saved.chunks.size()];
  const std::filesystem::path path = folder / key.ToHex().substr(0, 2) / key.ToHex();
  std::error_code ignored;
  switch (what) {
    case 0: {  // damaged
      const size_t at = (input.Byte() * 256u + input.Byte()) % chunk.size();
      chunk[at] ^= static_cast<std::byte>(input.Byte() | 1);
      Write(path, chunk);
      return true;
    }
    case 1:  // cut, or empty
      chunk.resize((input.Byte() * 256u + input.Byte()) % chunk.size());
      Write(path, chunk);
      return true;
    case 2: {  // forged
      for (const uint8_t byte : input.Bytes(input.Byte() % 8)) {
        chunk[(byte * 37u + input.Byte()) % chunk.size()] = static_cast<std::byte>(byte);
      }
      Repair(chunk);
      Write(path, chunk);
      return false;
    }
    case 3: {  // anything
      const std::vector<uint8_t> bytes = input.Bytes(input.Byte());
      const auto all = std::as_bytes(std::span(bytes));
      Write(path, ChunkBytes(all.begin(), all.end()));
      return true;
    }
    case 4:  // gone, or all that has the same two digits
      std::filesystem::remove_all(input.Byte() % 2 == 0 ? path : path.parent_path(), ignored);
      return true;
    case 5:  // a folder, empty or not
      std::filesystem::remove_all(path, ignored);
      std::filesystem::create_directories(input.Byte() % 2 == 0 ? path : path / "folder", ignored);
      return false;
    case 6: {  // a link to another chunk, nothing, a device, a folder or itself
      const auto& other = saved.chunks[input.Byte() % saved.chunks.size()].first.ToHex();
      const std::filesystem::path targets[] = {folder / other.substr(0, 2) / other, "nowhere", "/dev/zero", folder,
                                               path};
      std::filesystem::remove_all(path, ignored);
      std::filesystem::create_directories(path.parent_path(), ignored);
      std::filesystem::create_symlink(targets[input.Byte() % 5], path, ignored);
      return false;
    }
    case 7:  // a pipe without a writer
      std::filesystem::remove_all(path, ignored);
      ::mkfifo(path.c_str(), 0600);
      return false;
    default: {  // a foreign name
      std::string name;
      for (const uint8_t byte : input.Bytes(input.Byte() % 80)) {
        name += byte == '/' || byte == 0 ? '_' : static_cast<char>(byte);
      }
      const auto parent = input.Byte() % 2 == 0 ? folder : path.parent_path();
      if (name.empty() || name == "." || name == "..") return true;
      testing::WriteFile(parent / name, "foreign");
      return true;
    }
  }
}

// A loaded conversation can continue; if it `must` load, it is the saved one.
void Load(DirectoryStore& store, const Saved& saved, bool must) {
  const auto snapshot = LoadSnapshot(store, saved.manifest, {}, saved.pool);
  if (snapshot) Require(testing::IsUsable(snapshot->cache));
  if (must) Require(snapshot && Saved::BytesOf(snapshot->cache) == saved.bytes);
}

void Ask(DirectoryStore& store, const Saved& saved) {
  Require(store.List().has_value());
  (void)store.ListByUse();
  for (const auto& [key, chunk] : saved.chunks) {
    (void)store.Has(key);
    (void)store.Get(key);
    (void)store.Peek(key, 10);
  }
}

}  // namespace
}  // namespace skald

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skald;  // NOLINT
  static const Saved conversations[] = {Saved(false), Saved(true)};
  Input input(std::span(data, size));
  const Saved& saved = conversations[input.Byte() % 2];
  const uint64_t used = saved.pool->usage().used_bytes;
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "store";
  const auto store = *DirectoryStore::Open(path, {.sync = SyncPolicy::kNone});
  Require(SaveSnapshot(saved.cache, {}, {}, *store).has_value());

  bool can_heal = true;
  for (int i = 0; i < 20 && !input.empty(); ++i) can_heal = Spoil(path, saved, input) && can_heal;

  // By a process that was there before, and by one that comes to it.
  const auto newcomer = DirectoryStore::Open(path, {.sync = SyncPolicy::kNone});
  Require(newcomer.has_value());
  Ask(*store, saved);
  Load(**newcomer, saved, false);
  // Each look into a chunk finds what is wrong with that one, so as many loads and saves as there are chunks heal all.
  for (size_t i = 0; i < saved.chunks.size(); ++i) {
    const auto again = SaveSnapshot(saved.cache, {}, {}, *store);
    if (can_heal) Require(again.has_value());
    Load(**newcomer, saved, can_heal && i + 1 == saved.chunks.size());
  }
  (void)store->Prune(1000);
  if (can_heal) {
    Require(SaveSnapshot(saved.cache, {}, {}, **newcomer).has_value());
    Load(*store, saved, true);
  }
  Require(saved.pool->usage().used_bytes == used);
  return 0;
}
