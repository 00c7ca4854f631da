// SPDX-License-Identifier: Apache-2.0
//
// Forged manifests with valid keys and checksums: none gives its reader data that is not in its chunks, or takes memory
// that it has no chunks for.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/store/backends/memory_store.h"
#include "skald/store/prompts/prompt_cache.h"
#include "skald/store/snapshots/snapshot.h"
#include "tests/support/check_error.h"
#include "tests/support/child_process.h"
#include "tests/support/tiny_cache.h"

namespace skald::testing {
namespace forged_manifest_test {

constexpr RuntimeConfig kRuntime = {.max_tokens = 1000, .block_tokens = 64};

struct Forgery {
  StateKind kind;
  Manifest manifest;
};

// Puts the chunks of a conversation of 50 tokens into `store`, and returns its manifest, which is in order.
Forgery Begin(const std::shared_ptr<BlockPool>& pool, MemoryStore& store) {
  KVCache cache = *CreateKVCache(pool);
  REQUIRE(GrowTiny(cache, 1, 50));
  REQUIRE(SaveSnapshot(cache, {}, {}, store, {ChunkCodec::kNone}));
  const StateKind kind = internal::StateKindOf(*pool, {}, ChunkCodec::kNone).value();
  return {kind, SnapshotPlan::Make(cache, kind, {}, ChunkCodec::kNone).value().manifest()};
}

ChunkKey Put(const Manifest& manifest, MemoryStore& store) {
  const std::vector<std::byte> bytes = EncodeManifest(manifest);
  const ChunkKey key = internal::ManifestKey(bytes).value();
  REQUIRE(store.Put(key, internal::EncodeManifestChunk(key, bytes).value()));
  return key;
}

std::vector<int32_t> Tokens(size_t count) {
  std::vector<int32_t> tokens(count);
  for (size_t i = 0; i < count; ++i) tokens[i] = static_cast<int32_t>(i + 1);
  return tokens;
}

SavedTable Borrower(const CacheLayout& layout, uint32_t tokens) {
  SavedTable table{tokens, {}, {}};
  table.groups.resize(layout.groups().size());
  return table;
}

TEST_CASE("a resume point that borrows tokens which nobody stored is refused") {
  const auto pool = *CreateBlockPool(TinyLayout(false), kRuntime);
  MemoryStore store(kUnlimited);
  const Forgery own = Begin(pool, store);
  {
    KVCache others = *CreateKVCache(pool);  // another conversation, which has ended
    REQUIRE(GrowTiny(others, 1000, 400));
  }
  Manifest forged = own.manifest;
  forged.tokens = Tokens(100);
  forged.exact_tokens = forged.table.tokens = 100;
  const auto refused = [&](const std::string& text) {
    const ChunkKey key = Put(forged, store);
    CheckError(LoadSnapshot(store, key, {}, pool), ErrorCode::kDataLoss, text);
    // As the prompt cache comes to it: through a pointer at the beginning of the tokens.
    const auto chain = TokenChain::Of(own.kind, forged.tokens);
    const size_t border = forged.tokens.size() / kChunkTokens * kChunkTokens;
    const ChunkKey pointer{Sha256().Update(chain->At(border).value()).Update("prompt").Finish().value()};
    REQUIRE(store.Put(pointer, EncodeChunk(pointer, {ChunkKind::kPointer, {}, ChunkCodec::kNone}, key.bytes).value()));
    const auto found = (*PromptCache::Create(pool, {}, {.codec = ChunkCodec::kNone}, {store}))->Lookup(forged.tokens);
    REQUIRE(found);
    CHECK(found->cache.size() == 0);
    CHECK_FALSE(*store.Has(pointer));
    CHECK(pool->usage().used_bytes == 0);
  };
  forged.resume_points = {Borrower(pool->layout(), 100)};
  forged.table.edits = {{0, 50}, {0, 50}};
  refused("take a token twice");
  forged.table.edits = {{0, 50}, {49, 1}, {20, 49}};
  refused("take a token twice");
  forged.table.edits = {{0, 50}};
  refused("edits of 50 tokens, expected 100");
  forged.tokens = Tokens(50);
  forged.table.tokens = 50;
  refused("a table of 100 tokens, expected 0 to 50");
  forged.resume_points = {Borrower(pool->layout(), 40)};
  forged.table.edits = {{30, 20}, {0, 30}};  // the first 40 tokens are not where a resume point would look for them
  refused("relies on tokens that the snapshot does not hold");
  forged.table.edits = {};
  forged.table.groups[1].first_token = 11;  // the window of 40 tokens needs token 11; a resume point of 40 needs 1
  forged.resume_points[0].groups[1].first_token = 1;
  refused("relies on tokens that the snapshot does not hold");
  forged.resume_points = {};
  CHECK(LoadSnapshot(store, Put(forged, store), {}, pool));  // without it all is well
}

TEST_CASE("what chunks do not fill is zero, whatever the blocks held before") {
  const auto pool =
      *CreateBlockPool(TinyLayout(true), {.max_tokens = 1000, .block_tokens = 96, .resume_point_every = 30});
  MemoryStore store(kUnlimited);
  KVCache cache = *CreateKVCache(pool);
  REQUIRE(GrowTiny(cache, 1, 150));
  const ChunkKey key = *SaveSnapshot(cache, {}, {}, store);
  const auto bytes_of = [&](const KVCache& of) {
    std::vector<std::byte> all;
    of.ForEachTable([&](const BlockTable& table) {
      for (size_t g = 0; g < table.groups.size(); ++g) {
        for (const std::byte* block : pool->Resolve(g, table.groups[g].blocks)) {
          all.insert(all.end(), block, block + pool->geometry(g).block_bytes());
        }
      }
    });
    return all;
  };
  const std::vector<std::byte> in_fresh_blocks = bytes_of(LoadSnapshot(store, key, {}, pool)->cache);
  {
    KVCache others = *CreateKVCache(pool);
    REQUIRE(GrowTiny(others, 500, 700));
    others.ForEachTable([&](const BlockTable& table) {
      for (size_t g = 0; g < table.groups.size(); ++g) {
        for (std::byte* block : pool->Resolve(g, table.groups[g].blocks)) {
          std::fill_n(block, pool->geometry(g).block_bytes(), std::byte{0xA5});
        }
      }
    });
  }
  CHECK(bytes_of(LoadSnapshot(store, key, {}, pool)->cache) == in_fresh_blocks);
}

// Runs `function` with little memory beyond what this process has now.
template <class Function>
void CheckInLittleMemory(uint64_t bytes, Function function) {
  CHECK(ChildProcess([&] {
          uint64_t pages = 0;
          std::ifstream("/proc/self/statm") >> pages;
          const rlim_t limit = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) + bytes;
          const rlimit address_space = {.rlim_cur = limit, .rlim_max = limit};
          return ::setrlimit(RLIMIT_AS, &address_space) == 0 && function();
        }).Wait());
}

// A snapshot in one piece with only a manifest, compressed.
std::vector<std::byte> Compressed(std::span<const std::byte> manifest) {
  internal::StreamHeader header{.manifest = internal::ManifestKey(manifest).value()};
  const ChunkBytes chunk = EncodeChunk(header.manifest, {ChunkKind::kManifest}, manifest).value();
  const uint64_t size = chunk.size();
  std::vector<std::byte> bytes;
  for (const auto part : {std::as_bytes(std::span(&header, 1)), std::as_bytes(std::span(&size, 1)), std::span(chunk)}) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return bytes;
}

TEST_CASE("a small file takes little memory, whatever it claims") {
  const auto pool = *CreateBlockPool(TinyLayout(true), kRuntime);
  Manifest front;
  front.kind = internal::StateKindOf(*pool, {}, ChunkCodec::kNone).value();
  const std::vector<std::byte> empty = EncodeManifest(front);
  // Everything up to the number of tokens; what follows are numbers that claim much, and zeros.
  const size_t tokens_at = 3 * sizeof(uint32_t) + sizeof(IdentityDigests) + sizeof(uint64_t) + sizeof(uint32_t);
  const size_t groups_at = tokens_at + sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint64_t);
  const auto claim = [&](size_t at, size_t element_bytes, size_t size) {
    std::vector<std::byte> manifest(size);
    std::copy_n(empty.begin(), at, manifest.begin());
    const uint64_t count = (size - at - sizeof count) / element_bytes;
    std::memcpy(manifest.data() + at, &count, sizeof count);
    return Compressed(manifest);
  };
  const size_t kHuge = size_t{200} << 20, kLarge = size_t{300} << 10;  // beyond, and within, what may be so compressed
  for (const auto& bytes : {claim(tokens_at, 4, kHuge), claim(groups_at, 12, kHuge), claim(tokens_at, 4, kLarge),
                            claim(groups_at, 12, kLarge), claim(groups_at - 8, 8, kLarge)}) {
    CHECK(bytes.size() < 12'000);
    CheckInLittleMemory(uint64_t{6} << 20, [&] {
      BufferSource source(bytes);
      const auto whole = LoadSnapshot(bytes, {}, pool), streamed = LoadSnapshot(ByteSourceRef(source), {}, pool);
      const auto is_refused = [](const Result<Snapshot>& loaded) {
        return !loaded &&
               (loaded.error().code == ErrorCode::kDataLoss || loaded.error().code == ErrorCode::kOutOfRange);
      };
      return is_refused(whole) && is_refused(streamed);
    });
  }
}

TEST_CASE("a manifest that compresses very well is stored as it is, and loads") {
  const auto pool = *CreateBlockPool(TinyLayout(true), kRuntime);
  KVCache cache = *CreateKVCache(pool);
  REQUIRE(GrowTiny(cache, 1, 30));
  SnapshotNotes notes;
  notes.user.resize(size_t{5} << 20);
  std::vector<std::byte> bytes(*SnapshotBytes(cache, {}, notes));
  CHECK(bytes.size() > notes.user.size());
  REQUIRE(SaveSnapshot(cache, {}, notes, std::span(bytes)));
  const auto snapshot = LoadSnapshot(bytes, {}, pool);
  REQUIRE(snapshot);
  CHECK(snapshot->notes.user == notes.user);
}

TEST_CASE("blocks are taken as chunks come, not as a manifest claims them") {
  const auto pool = *CreateBlockPool(TinyLayout(false), kRuntime);
  MemoryStore store(kUnlimited);
  Manifest forged = Begin(pool, store).manifest;
  forged.tokens = Tokens(1000);
  forged.table.tokens = 1000;
  for (SavedGroup& group : forged.table.groups) group.chunks.resize(1000 / kChunkTokens + 1);
  uint64_t most = 0;
  const auto fetch = [&](const ChunkKey& key, uint64_t, ChunkBytes&) -> Result<std::span<const std::byte>> {
    most = std::max(most, pool->usage().used_bytes);
    return ChunkNotFound(key);
  };
  CHECK_FALSE(internal::BuildSnapshot(forged, pool, fetch));
  CHECK(most == 0);
}

TEST_CASE("a null pool and a cache that was moved from are errors") {
  const auto pool = *CreateBlockPool(TinyLayout(true), kRuntime);
  KVCache cache = *CreateKVCache(pool);
  REQUIRE(GrowTiny(cache, 1, 30));
  MemoryStore store(kUnlimited);
  const ChunkKey key = *SaveSnapshot(cache, {}, {}, store);
  std::vector<std::byte> bytes(*SnapshotBytes(cache, {}, {}));
  REQUIRE(SaveSnapshot(cache, {}, {}, std::span(bytes)));
  BufferSource source(bytes);
  CheckError(LoadSnapshot(store, key, {}, nullptr), ErrorCode::kInvalidArgument, "the pool is null");
  CheckError(LoadSnapshot(bytes, {}, nullptr), ErrorCode::kInvalidArgument, "the pool is null");
  CheckError(LoadSnapshot(ByteSourceRef(source), {}, nullptr), ErrorCode::kInvalidArgument, "the pool is null");
  const KVCache moved = std::move(cache);
  CheckError(SaveSnapshot(cache, {}, {}, store), ErrorCode::kFailedPrecondition, "moved");
  CheckError(SaveSnapshot(cache, {}, {}, std::span(bytes)), ErrorCode::kFailedPrecondition, "moved");
  CheckError(SnapshotBytes(cache, {}, {}), ErrorCode::kFailedPrecondition, "moved");
}

}  // namespace forged_manifest_test
}  // namespace skald::testing
