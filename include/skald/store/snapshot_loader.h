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

  // Errors: those of fetching and decoding; kResourceExhausted where the pool lacks room for the tokens. Checkpoints for
  // which there is no room are left out, the oldest first.
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
      contents.checkpoints.insert(contents.checkpoints.begin(),
                                  std::make_shared<const TableLease>(std::move(*checkpoint)));
    }
    return KVCache(std::move(contents));
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

  // A checkpoint refers to the blocks of `main` where those hold its tokens too. `has_room` becomes false where the pool
  // is full; the result means nothing then.
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
      const auto loaded = has_room ? LoadGroup(saved, g, lease, table.groups[g]) : SkipGroup(saved, g, 0);
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
    const std::vector<ChunkKey>& keys = saved.groups[g].chunks;
    const uint32_t end = saved.StoredTokens();
    const size_t blocks = group(g).is_recurrent() ? keys.size()
                          : keys.empty() ? 0 : (end + block_tokens() - 1) / block_tokens() - table.first_token / block_tokens();
    for (size_t i = 0; i < blocks; ++i) {
      const auto id = pool_->Allocate(g);
      if (!id) {
        // The stream must go on behind this group whatever becomes of it.
        if (auto skipped = SkipGroup(saved, g, 0); !skipped) return skipped;
        return Failure(id.error());
      }
      lease.Adopt(g, *id);
      table.blocks.push_back(*id);
    }
    const std::vector<std::byte*> bytes = pool_->Resolve(g, table.blocks);
    ClearUncovered(saved, g, bytes);
    for (size_t i = 0; i < keys.size(); ++i) {
      const uint64_t size = ContentBytes(saved, g, i);
      const auto stored = fetch_(keys[i], size);
      if (!stored) return Failure(stored.error());
      const auto content = ViewChunk(keys[i], *stored, size, decoded_);
      if (!content) return Failure(content.error());
      if (group(g).is_recurrent()) {
        std::memcpy(bytes[i], content->data(), content->size());
      } else {
        WriteTokens(saved, g, i, *content, bytes);
      }
    }
    return {};
  }

  // Clears the blocks that tiles will not fill to the last byte: the first and the last, if any.
  void ClearUncovered(const SavedTable& saved, size_t g, const std::vector<std::byte*>& blocks) const {
    if (group(g).is_recurrent()) return;
    const size_t first_token = saved.groups[g].first_token, end = RoundUp(saved.StoredTokens(), kTile);
    for (size_t i = 0; i < blocks.size(); ++i) {
      const size_t begin = (first_token / block_tokens() + i) * block_tokens();
      const bool covered = begin >= first_token / kTile * kTile && begin + block_tokens() <= end;
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

  void WriteTokens(const SavedTable& saved, size_t g, size_t i, std::span<const std::byte> content,
                   const std::vector<std::byte*>& blocks) const {
    const DType type = pool_->runtime().kv_type;
    const BlockGeometry tile = TileGeometry(group(g), type);
    const uint32_t first_block = saved.groups[g].first_token / block_tokens();
    const auto [begin, end] = TokensOf(saved, g, i);
    for (uint32_t token = begin; token < end; token += kTile) {
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

  // Reads past the chunks of a group, from number `i` on.
  Result<void> SkipGroup(const SavedTable& saved, size_t g, size_t i) {
    for (; i < saved.groups[g].chunks.size(); ++i) {
      if (auto stored = fetch_(saved.groups[g].chunks[i], ContentBytes(saved, g, i)); !stored) {
        return Failure(stored.error());
      }
    }
    return {};
  }

  Result<void> SkipTable(const SavedTable& saved) {
    for (size_t g = 0; g < saved.groups.size(); ++g) {
      if (auto skipped = SkipGroup(saved, g, 0); !skipped) return skipped;
    }
    return {};
  }

  std::shared_ptr<BlockPool> pool_;
  Fetch fetch_;
  ChunkBytes decoded_;  // used again for every chunk
};

}  // namespace skald

#endif  // SKALD_STORE_SNAPSHOT_LOADER_H_
