// SPDX-License-Identifier: Apache-2.0
//
// SnapshotLoader: puts a cache together from a manifest and its chunks, in fresh blocks of a pool. Until it is done
// nothing refers to those blocks; if anything fails they go back to the pool.

#ifndef SKALD_STORE_SNAPSHOT_LOADER_H_
#define SKALD_STORE_SNAPSHOT_LOADER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/packed_layout.h"
#include "skald/base/result.h"
#include "skald/cache/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/table_lease.h"
#include "skald/cache/tile.h"
#include "skald/store/chunk_codec.h"
#include "skald/store/chunk_key.h"
#include "skald/store/chunk_store.h"
#include "skald/store/manifest.h"

namespace skald {

// Fetch is called as fetch(const ChunkKey&, uint64_t content bytes), once for each chunk of the manifest in the order
// of SnapshotPlan::chunks, and returns the chunk as stored: Result<ChunkBytes>, or a Result<std::span<const std::byte>>
// that is valid until the next call.
template <class Fetch>
class SnapshotLoader {
 public:
  SnapshotLoader(std::shared_ptr<BlockPool> pool, Fetch fetch) : pool_(std::move(pool)), fetch_(std::move(fetch)) {}

  // Errors: those of fetching and decoding; kResourceExhausted where the pool lacks room for the tokens. Checkpoints
  // for which there is no room are left out, the oldest first.
  Result<KVCache> Load(const Manifest& manifest) {
    CacheContents contents{TableLease(pool_), manifest.tokens, {}, ExactTokens(manifest)};
    auto lease = LoadTable(manifest.table);
    if (!lease) return Failure(lease.error());
    contents.lease = std::move(*lease);
    bool has_room = true;
    for (auto saved = manifest.checkpoints.rbegin(); saved != manifest.checkpoints.rend(); ++saved) {
      if (!has_room) {
        if (auto skipped = SkipTable(*saved); !skipped) return Failure(skipped.error());
        continue;
      }
      auto checkpoint = LoadCheckpoint(*saved, contents.lease, has_room);
      if (!checkpoint) return Failure(checkpoint.error());
      if (!has_room) continue;
      contents.checkpoints.insert(contents.checkpoints.begin(), std::move(*checkpoint));
    }
    return KVCache(std::move(contents));
  }

  // Only the first `tokens` tokens, which must be a resume point of the manifest (FindResumePoint). No checkpoints come
  // along.
  Result<KVCache> LoadPrefix(const Manifest& manifest, const SavedTable& source, uint32_t tokens) {
    TableLease lease(pool_);
    BlockTable table{tokens, {}, {}};
    for (size_t g = 0; g < source.groups.size(); ++g) {
      const bool listed = group(g).is_recurrent() || !source.groups[g].chunks.empty();
      const SavedTable& from = listed ? source : manifest.table;
      table.groups.push_back({std::min(tokens, from.groups[g].first_token), {}});
      if (group(g).is_recurrent()) {
        if (auto loaded = LoadState(from, g, tokens, lease, table.groups[g]); !loaded) return Failure(loaded.error());
      } else if (auto loaded = LoadTokens(from, g, tokens, lease, table.groups[g]); !loaded) {
        return Failure(loaded.error());
      }
    }
    const auto end = manifest.tokens.begin() + tokens;
    return KVCache({lease.Share(std::move(table)), {manifest.tokens.begin(), end}, {}, ExactTokens(manifest)});
  }

 private:
  const CacheGroup& group(size_t g) const { return pool_->layout().groups()[g]; }
  uint32_t block_tokens() const { return pool_->runtime().block_tokens; }

  // Lossy state is no longer what its tokens say.
  static uint32_t ExactTokens(const Manifest& manifest) {
    if (manifest.kind.lossy) return 0;
    return manifest.exact_tokens >= manifest.tokens.size() ? kMaxTokens : manifest.exact_tokens;
  }

  Result<TableLease> LoadTable(const SavedTable& saved) {
    TableLease lease(pool_);
    BlockTable table = Skeleton(saved);
    for (size_t g = 0; g < saved.groups.size(); ++g) {
      if (auto loaded = LoadGroup(saved, g, lease, table.groups[g]); !loaded) return Failure(loaded.error());
    }
    return lease.Share(std::move(table));
  }

  // A checkpoint refers to the blocks of `main` where those hold its tokens too. `has_room` becomes false where the
  // pool is full; the result means nothing then.
  Result<TableLease> LoadCheckpoint(const SavedTable& saved, const TableLease& main, bool& has_room) {
    TableLease lease(pool_), shared = main.Share();
    BlockTable table = Skeleton(saved);
    for (size_t g = 0; g < saved.groups.size(); ++g) {
      const bool listed = !saved.groups[g].chunks.empty();
      if (!listed && !group(g).is_recurrent()) {
        if (auto borrowed = BorrowBlocks(saved, main.table(), g, table.groups[g]); !borrowed) {
          return Failure(borrowed.error());
        }
        continue;
      }
      const auto loaded = has_room ? LoadGroup(saved, g, lease, table.groups[g]) : SkipGroup(saved, g);
      if (!loaded && loaded.error().code != ErrorCode::kResourceExhausted) return Failure(loaded.error());
      has_room = has_room && loaded.has_value();
    }
    if (!has_room) return TableLease(pool_);
    return lease.Share(std::move(table));
  }

  static BlockTable Skeleton(const SavedTable& saved) {
    BlockTable table{saved.tokens, {}, saved.edits};
    for (const SavedGroup& group : saved.groups) table.groups.push_back({group.first_token, {}});
    return table;
  }

  // Fills `table` with fresh blocks, of which `lease` keeps a reference.
  Result<void> LoadGroup(const SavedTable& saved, size_t g, TableLease& lease, GroupTable& table) {
    if (!group(g).is_recurrent()) return LoadTokens(saved, g, saved.StoredTokens(), lease, table);
    const std::vector<ChunkKey>& keys = saved.groups[g].chunks;
    if (auto allocated = AllocateBlocks(saved, g, keys.size(), lease, table); !allocated) return allocated;
    const std::vector<std::byte*> blocks = pool_->Resolve(g, table.blocks);
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto copy = [&](std::span<const std::byte> state) { std::memcpy(blocks[i], state.data(), state.size()); };
      if (auto loaded = WithContent(keys[i], ContentBytes(saved, g, i), copy); !loaded) return loaded;
    }
    return {};
  }

  // The same for an attention group, up to token `end`.
  Result<void> LoadTokens(const SavedTable& saved, size_t g, uint32_t end, TableLease& lease, GroupTable& table) {
    const std::vector<ChunkKey>& keys = saved.groups[g].chunks;
    if (table.first_token >= end) return {};
    const size_t count = (end + block_tokens() - 1) / block_tokens() - table.first_token / block_tokens();
    if (auto allocated = AllocateBlocks(saved, g, count, lease, table); !allocated) return allocated;
    const std::vector<std::byte*> blocks = pool_->Resolve(g, table.blocks);
    ClearUncovered(saved, g, end, blocks);
    for (size_t i = 0; i < keys.size() && TokensOf(saved, g, i).first < end; ++i) {
      const auto write = [&](std::span<const std::byte> tiles) { WriteTokens(saved, g, i, end, tiles, blocks); };
      if (auto loaded = WithContent(keys[i], ContentBytes(saved, g, i), write); !loaded) return loaded;
    }
    return {};
  }

  Result<void> AllocateBlocks(const SavedTable& saved, size_t g, size_t count, TableLease& lease, GroupTable& table) {
    for (size_t i = 0; i < count; ++i) {
      const auto id = lease.Take(g);
      if (!id) {
        // A stream must go on behind this group whatever becomes of it.
        if (auto skipped = SkipGroup(saved, g); !skipped) return skipped;
        return Failure(id.error());
      }
      table.blocks.push_back(*id);
    }
    return {};
  }

  // The one state of a recurrent group after `tokens` tokens.
  Result<void> LoadState(const SavedTable& saved, size_t g, uint32_t tokens, TableLease& lease, GroupTable& table) {
    table.first_token = tokens;
    if (tokens == 0) return {};
    const auto id = lease.Take(g);
    if (!id) return Failure(id.error());
    table.blocks.push_back(*id);
    std::byte* const block = pool_->Resolve(g, {*id})[0];
    const auto copy = [&](std::span<const std::byte> state) { std::memcpy(block, state.data(), state.size()); };
    const ChunkKey& key = saved.groups[g].chunks[tokens - saved.groups[g].first_token];
    return WithContent(key, pool_->geometry(g).block_bytes(), copy);
  }

  // Calls use(content) with a chunk's content, which is gone afterwards.
  template <class Use>
  Result<void> WithContent(const ChunkKey& key, uint64_t size, Use use) {
    const auto stored = fetch_(key, size);
    if (!stored) return Failure(stored.error());
    const auto content = ViewChunk(key, *stored, size, decoded_);
    if (!content) return Failure(content.error());
    use(*content);
    return {};
  }

  // Clears the blocks that tiles before token `end` will not fill to the last byte: the first and the last, if any.
  void ClearUncovered(const SavedTable& saved, size_t g, uint32_t end, const std::vector<std::byte*>& blocks) const {
    const size_t first_token = saved.groups[g].first_token, covered_end = RoundUp(end, kTile);
    for (size_t i = 0; i < blocks.size(); ++i) {
      const size_t begin = (first_token / block_tokens() + i) * block_tokens();
      const bool covered = begin >= first_token / kTile * kTile && begin + block_tokens() <= covered_end;
      if (!covered) std::memset(blocks[i], 0, pool_->geometry(g).block_bytes());
    }
  }

  // Tokens [begin, end) that chunk `i` of an attention group holds.
  std::pair<uint32_t, uint32_t> TokensOf(const SavedTable& saved, size_t g, size_t i) const {
    const uint32_t first_token = saved.groups[g].first_token;
    const uint32_t begin = (first_token / kChunkTokens + static_cast<uint32_t>(i)) * kChunkTokens;
    return {std::max(begin, first_token / uint32_t{kTile} * uint32_t{kTile}),
            std::min(begin + kChunkTokens, saved.StoredTokens())};
  }

  uint64_t ContentBytes(const SavedTable& saved, size_t g, size_t i) const {
    if (group(g).is_recurrent()) return pool_->geometry(g).block_bytes();
    const auto [begin, end] = TokensOf(saved, g, i);
    return RoundUp(end - begin, kTile) / kTile * TileGeometry(group(g), pool_->runtime().kv_type).block_bytes();
  }

  // Writes what chunk `i` holds of tokens before `limit`.
  void WriteTokens(const SavedTable& saved, size_t g, size_t i, uint32_t limit, std::span<const std::byte> content,
                   const std::vector<std::byte*>& blocks) const {
    const DType type = pool_->runtime().kv_type;
    const BlockGeometry tile = TileGeometry(group(g), type);
    const uint32_t first_block = saved.groups[g].first_token / block_tokens();
    const auto [begin, end] = TokensOf(saved, g, i);
    for (uint32_t token = begin; token < std::min(end, limit); token += kTile) {
      WriteTile(pool_->geometry(g), tile, type, token % block_tokens(),
                content.data() + (token - begin) / kTile * tile.block_bytes(),
                blocks[token / block_tokens() - first_block]);
    }
  }

  // The blocks of `main` that hold tokens [first_token, tokens) of the checkpoint `saved`.
  Result<void> BorrowBlocks(const SavedTable& saved, const BlockTable& main, size_t g, GroupTable& table) const {
    const uint32_t first = saved.groups[g].first_token, end = saved.tokens, step = block_tokens();
    const GroupTable& from = main.groups[g];
    if (first >= end) return {};
    const uint32_t offset = first / step - from.first_token / step, count = (end + step - 1) / step - first / step;
    if (first < from.first_token || offset + count > from.blocks.size()) {
      return internal::BadManifest("a checkpoint relies on tokens that the snapshot does not hold");
    }
    table.blocks.assign(from.blocks.begin() + offset, from.blocks.begin() + offset + count);
    return {};
  }

  // Reads past the chunks of a group.
  Result<void> SkipGroup(const SavedTable& saved, size_t g) {
    for (size_t i = 0; i < saved.groups[g].chunks.size(); ++i) {
      if (auto stored = fetch_(saved.groups[g].chunks[i], ContentBytes(saved, g, i)); !stored) {
        return Failure(stored.error());
      }
    }
    return {};
  }

  Result<void> SkipTable(const SavedTable& saved) {
    for (size_t g = 0; g < saved.groups.size(); ++g) {
      if (auto skipped = SkipGroup(saved, g); !skipped) return skipped;
    }
    return {};
  }

  std::shared_ptr<BlockPool> pool_;
  Fetch fetch_;
  ChunkBytes decoded_;  // used again for every chunk
};

}  // namespace skald

#endif  // SKALD_STORE_SNAPSHOT_LOADER_H_
