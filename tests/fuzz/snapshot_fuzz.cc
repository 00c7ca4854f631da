// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the reader of snapshots in one piece. The first byte of the input chooses how it is used: unchanged; with all
// lengths, keys and checksums of frames corrected, so that mutations reach the content after them; or as a manifest
// whose chunks are made to fit; for one of two layouts. A loaded conversation must be able to continue and to be saved
// again, and must show no old content of its blocks.

#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "skald/store/snapshots/snapshot.h"
#include "tests/fuzz/repair_manifest.h"
#include "tests/support/tiny_cache.h"

namespace skald {
namespace {

using Pool = std::shared_ptr<BlockPool>;

Pool MakePool(bool recurrent) {
  return *CreateBlockPool(
      testing::TinyLayout(recurrent),
      {.max_tokens = 1000, .cache_bytes = 400'000, .block_tokens = 64, .resume_point_every = 20, .rewind_tokens = 2});
}

// The old content of other conversations' blocks: no input could contain it, as it depends on the whole input.
uint64_t strangers_word = 0;

// Leaves blocks of every group in the pool that are full of the stranger's word, and free.
void LeaveStrangersBlocks(const Pool& pool, std::span<const std::byte> input) {
  strangers_word = XXH3_64bits(input.data(), input.size()) | 1;  // not zero
  TableLease lease(pool);
  const size_t groups = pool->layout().groups().size();
  for (size_t g = 0; g < groups; ++g) {
    const uint64_t block_bytes = pool->geometry(g).block_bytes();
    for (uint64_t bytes = block_bytes; bytes <= pool->usage().limit_bytes / groups; bytes += block_bytes) {
      const auto id = lease.Take(g);
      if (!id) std::abort();
      std::byte* const block = pool->Resolve(g, {*id})[0];
      for (size_t at = 0; at + sizeof strangers_word <= block_bytes; at += sizeof strangers_word) {
        std::memcpy(block + at, &strangers_word, sizeof strangers_word);
      }
    }
  }
}

void CheckShowsNoStranger(const KVCache& cache) {
  BlockPool& pool = *cache.pool();
  cache.ForEachTable([&pool](const BlockTable& table) {
    for (size_t g = 0; g < table.groups.size(); ++g) {
      for (const std::byte* block : pool.Resolve(g, table.groups[g].blocks)) {
        for (size_t at = 0; at + sizeof strangers_word <= pool.geometry(g).block_bytes(); at += sizeof strangers_word) {
          if (std::memcmp(block + at, &strangers_word, sizeof strangers_word) == 0) std::abort();
        }
      }
    }
  });
}

void CheckLoaded(const Result<Snapshot>& snapshot) {
  if (!snapshot) return;
  CheckShowsNoStranger(snapshot->cache);
  if (!testing::IsUsable(snapshot->cache)) std::abort();
  if (!SnapshotBytes(snapshot->cache, {}, snapshot->notes, {ChunkCodec::kNone})) std::abort();
}

void RepairManifest(std::span<std::byte> manifest, const Pool& pool) {
  testing::RepairManifest(*internal::StateKindOf(*pool, {}, ChunkCodec::kNone), manifest);
}

// Puts right a frame's magic number, version, length and checksum.
void RepairFrame(std::span<std::byte> chunk) {
  internal::StoreAt(chunk, internal::kMagicAt, internal::kChunkMagic);
  internal::StoreAt(chunk, internal::kVersionAt, kChunkFormatVersion);
  internal::StoreAt(chunk, internal::kPayloadBytesAt, uint64_t{chunk.size() - kChunkHeaderBytes});
  internal::StoreAt(chunk, internal::kChecksumAt, internal::ChunkChecksum(chunk));
}

void LoadRepaired(std::vector<std::byte> bytes, const Pool& pool) {
  internal::StreamHeader header;
  if (bytes.size() < sizeof header) return;
  std::span<std::byte> rest = std::span(bytes).subspan(sizeof header);
  bool is_manifest = true;
  while (rest.size() >= sizeof(uint64_t) + kChunkHeaderBytes) {
    auto size = internal::LoadAt<uint64_t>(rest, 0);
    size = std::clamp<uint64_t>(size, kChunkHeaderBytes, rest.size() - sizeof size);
    internal::StoreAt(rest, 0, size);
    const std::span<std::byte> chunk = rest.subspan(sizeof size, static_cast<size_t>(size));
    if (std::exchange(is_manifest, false)) {
      header.manifest = internal::LoadAt<ChunkKey>(chunk, internal::kKeyAt);
      RepairManifest(chunk.subspan(kChunkHeaderBytes), pool);
    }
    RepairFrame(chunk);
    rest = rest.subspan(sizeof size + chunk.size());
  }
  internal::StoreAt(bytes, 0, header);
  CheckLoaded(LoadSnapshot(bytes, {}, pool));
}

void LoadWithMadeUpChunks(std::span<std::byte> bytes, const Pool& pool) {
  RepairManifest(bytes, pool);
  const auto stored = EncodeChunk({}, {ChunkKind::kManifest}, bytes);
  if (!stored) std::abort();
  auto manifest = internal::OpenManifest({}, *stored, {}, *pool);
  if (!manifest) return;
  const auto make = [](const ChunkKey& key, uint64_t content_bytes,
                       ChunkBytes& room) -> Result<std::span<const std::byte>> {
    if (key.bytes[0] == std::byte{0xFF}) return ChunkNotFound(key);
    const size_t excess = key.bytes[0] == std::byte{0xFE} ? 4 : 0;
    room = EncodeChunk(key, {.codec = ChunkCodec::kNone},
                       ChunkBytes(static_cast<size_t>(content_bytes) + excess, key.bytes[1]))
               .value();
    return room;
  };
  CheckLoaded(internal::BuildSnapshot(std::move(*manifest), pool, make));
}

}  // namespace
}  // namespace skald

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skald;  // NOLINT
  if (size == 0) return 0;
  const auto input = std::as_bytes(std::span(data, size)).subspan(1);
  std::vector<std::byte> bytes(input.begin(), input.end());
  static const Pool pools[] = {MakePool(true), MakePool(false)};
  const Pool& pool = pools[data[0] / 3 % 2];
  LeaveStrangersBlocks(pool, input);
  switch (data[0] % 3) {
    case 0:
      CheckLoaded(LoadSnapshot(bytes, {}, pool));
      break;
    case 1:
      LoadRepaired(std::move(bytes), pool);
      break;
    case 2:
      LoadWithMadeUpChunks(bytes, pool);
      break;
  }
  if (pool->usage().used_bytes != 0) std::abort();  // nothing leaks, whatever happened
  return 0;
}
