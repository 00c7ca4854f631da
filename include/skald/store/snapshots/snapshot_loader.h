// SPDX-License-Identifier: Apache-2.0
//
// SnapshotLoader: puts a cache together from a manifest and its chunks, in fresh blocks of a pool. Until it is done
// nothing refers to those blocks; if anything fails they go back to the pool.

#ifndef SKALD_STORE_SNAPSHOTS_SNAPSHOT_LOADER_H_
#define SKALD_STORE_SNAPSHOTS_SNAPSHOT_LOADER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "skald/base/numbers/packed_layout.h"
#include "skald/base/result.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/run_on.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/blocks/table_lease.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/layout/tile.h"
#include "skald/store/chunks/chunk_codec.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"
#include "skald/store/snapshots/manifest.h"

namespace skald {

/// Fetch is called as fetch(const ChunkKey&, uint64_t content bytes, ChunkBytes& room), once for each chunk of the
/// manifest in the order of SnapshotPlan::chunks. It returns the chunk as stored, a Result of a span of constant bytes:
/// in `room`, or in memory that outlives the loader. Throws std::bad_alloc if memory runs out; LoadSnapshot and
/// PromptCache turn that into an error. The calling thread fetches chunks; the workers of `executor` check and place
/// them.
template <class Fetch>
class SnapshotLoader {
 public:
  /// Caches are made in `pool`. An executor must outlive this; without one, the calling thread does all work.
  SnapshotLoader(std::shared_ptr<BlockPool> pool, Fetch fetch, std::optional<ExecutorRef> executor = {})
      : pool_(std::move(pool)), fetch_(std::move(fetch)), executor_(executor), chunks_(internal::WorkersOf(executor)) {}

  /// Errors: those of fetching and decoding; kResourceExhausted if the pool lacks room for the tokens. Resume points
  /// for which there is no room are left out, the oldest first.
  Result<KVCache> Load(const Manifest& manifest) {
    CacheContents contents{
        TableLease(pool_), manifest.tokens, {}, ExactTokens(manifest), manifest.kind.identity.adapter};
    SKALD_ASSIGN(auto lease, LoadTable(manifest.table));
    contents.lease = std::move(lease);
    for (auto saved = manifest.resume_points.rbegin(); saved != manifest.resume_points.rend(); ++saved) {
      SKALD_ASSIGN(auto resume_point, LoadCheckpoint(*saved, contents.lease));
      if (is_full_) continue;
      contents.resume_points.insert(contents.resume_points.begin(), std::move(resume_point));
    }
    return KVCache(std::move(contents));
  }

  /// Only the first `tokens` tokens, which must be a resume point of the manifest (FindResumePoint). The result has no
  /// resume points of its own.
  Result<KVCache> LoadPrefix(const Manifest& manifest, const SavedTable& source, uint32_t tokens) {
    TableLease lease(pool_);
    BlockTable table = Skeleton({tokens, {}, {}});
    for (size_t g = 0; g < source.groups.size(); ++g) {
      const bool listed = !group(g).is_attention() || !source.groups[g].chunks.empty();
      if (auto loaded = LoadBefore(listed ? source : manifest.table, g, tokens, lease, table.groups[g]); !loaded) {
        return Failure(loaded.error());
      }
    }
    const auto end = manifest.tokens.begin() + tokens;
    return KVCache({lease.Share(std::move(table)),
                    {manifest.tokens.begin(), end},
                    {},
                    ExactTokens(manifest),
                    manifest.kind.identity.adapter});
  }

 private:
  // A chunk that is read. Its memory is reused for later ones.
  class IncomingChunk {
   public:
    // Chunk `i` of a group.
    Result<void> Get(SnapshotLoader& loader, const SavedTable& saved, size_t g, size_t i) {
      key_ = saved.groups[g].chunks[i];
      content_bytes_ = loader.ContentBytes(saved, g, i);
      stored_ = loader.fetch_(key_, content_bytes_, room_);
      loader.chunks_read_ = i + 1;
      if (stored_) return {};
      content_ = Failure(stored_.error());
      return Failure(stored_.error());
    }

    /// Checks and decodes it, if it was fetched.
    void View() {
      if (stored_) content_ = ViewChunk(key_, *stored_, content_bytes_, decoded_);
    }

    /// The result of View, or the error of the fetch. Valid until the next Get.
    const Result<std::span<const std::byte>>& content() const { return content_; }

   private:
    ChunkKey key_;
    uint64_t content_bytes_ = 0;
    ChunkBytes room_, decoded_;
    Result<std::span<const std::byte>> stored_, content_;
  };

  const CacheGroup& group(size_t g) const { return pool_->layout().groups()[g]; }
  uint32_t block_tokens() const { return pool_->runtime().block_tokens; }

  /// Lossy state is no longer exactly that of its tokens.
  static uint32_t ExactTokens(const Manifest& manifest) {
    if (manifest.kind.lossy) return 0;
    return manifest.exact_tokens >= manifest.tokens.size() ? kMaxTokens : manifest.exact_tokens;
  }

  Result<TableLease> LoadTable(const SavedTable& saved) {
    TableLease lease(pool_);
    BlockTable table = Skeleton(saved);
    for (size_t g = 0; g < saved.groups.size(); ++g) {
      SKALD_TRY(LoadGroup(saved, g, lease, table.groups[g]));
    }
    return lease.Share(std::move(table));
  }

  /// A resume point refers to the blocks of `main` if those hold its tokens too. If the pool is or becomes full, its
  /// chunks are skipped, since a stream must continue after them; the result is then meaningless.
  Result<TableLease> LoadCheckpoint(const SavedTable& saved, const TableLease& main) {
    TableLease lease(pool_), shared = main.Share();
    BlockTable table = Skeleton(saved);
    for (size_t g = 0; g < saved.groups.size(); ++g) {
      if (saved.groups[g].chunks.empty() && group(g).is_attention()) {
        if (auto borrowed = BorrowBlocks(saved, main.table(), g, table.groups[g]); !borrowed) {
          return Failure(borrowed.error());
        }
        continue;
      }
      chunks_read_ = 0;
      if (!is_full_) {
        if (auto loaded = LoadGroup(saved, g, lease, table.groups[g]); !loaded && !is_full_) {
          return Failure(loaded.error());
        }
      }
      if (is_full_) {
        SKALD_TRY(SkipRest(saved, g));
      }
    }
    if (is_full_) return TableLease(pool_);
    return lease.Share(std::move(table));
  }

  bool ListsInputs(const SavedTable& saved) const {
    return saved.groups.size() > pool_->layout().layer_groups().size();
  }

  /// Groups that `saved` does not list have nothing to list.
  BlockTable Skeleton(const SavedTable& saved) const {
    BlockTable table{saved.tokens, {}, saved.edits};
    table.groups.resize(pool_->layout().groups().size(), {saved.tokens, {}});
    for (size_t g = 0; g < saved.groups.size(); ++g) table.groups[g].first_token = saved.groups[g].first_token;
    return table;
  }

  /// Fills `table` with fresh blocks, of which `lease` keeps a reference. A block is taken when its first chunk has
  /// arrived: a manifest's claims alone take no memory.
  Result<void> LoadGroup(const SavedTable& saved, size_t g, TableLease& lease, GroupTable& table) {
    if (group(g).is_attention()) return LoadTokens(saved, g, saved.StoredTokens(), lease, table);
    const size_t chunks = saved.groups[g].chunks.size();
    for (size_t i = 0; i < chunks; ++i) {
      // An earlier release stored states in place of inputs: the present state is needed.
      if (group(g).is_replayed() && !ListsInputs(saved) && i + 1 < chunks) {
        SKALD_TRY(chunks_[0].Get(*this, saved, g, i));
        ++table.first_token;
      } else if (auto loaded = LoadState(saved, g, i, lease, table); !loaded) {
        return loaded;
      }
    }
    return {};
  }

  /// Loads the part of any group that a cache of the first `tokens` tokens needs.
  Result<void> LoadBefore(const SavedTable& saved, size_t g, uint32_t tokens, TableLease& lease, GroupTable& table) {
    if (group(g).is_attention()) return LoadTokensBefore(saved, g, tokens, lease, table);
    if (group(g).is_recurrent() && !(group(g).is_replayed() && ListsInputs(saved))) {
      return LoadStateAfter(saved, g, tokens, lease, table);
    }
    const SavedGroup& listed = saved.groups[g];
    table.first_token = listed.first_token;
    // Of inputs those up to there, of states the base; everything if nothing is left out.
    const size_t part = group(g).is_inputs() ? tokens - listed.first_token : listed.first_token > 0 ? 1 : 0;
    const size_t needed = tokens == saved.tokens ? listed.chunks.size() : part;
    for (size_t i = 0; i < std::min(needed, listed.chunks.size()); ++i) {
      SKALD_TRY(LoadState(saved, g, i, lease, table));
    }
    return {};
  }

  /// Of a recurrent group only the state after `tokens` tokens.
  Result<void> LoadStateAfter(const SavedTable& saved, size_t g, uint32_t tokens, TableLease& lease,
                              GroupTable& table) {
    const SavedGroup& states = saved.groups[g];
    table.first_token = tokens;
    if (tokens == 0) return {};
    if (tokens < states.first_token || tokens - states.first_token >= states.chunks.size()) {
      return internal::BadManifest("it relies on a state that the snapshot does not hold");
    }
    return LoadState(saved, g, tokens - states.first_token, lease, table);
  }

  /// Of an attention group only the state of the first `tokens` tokens.
  Result<void> LoadTokensBefore(const SavedTable& saved, size_t g, uint32_t tokens, TableLease& lease,
                                GroupTable& table) {
    table.first_token = std::min(tokens, saved.groups[g].first_token);
    return LoadTokens(saved, g, tokens, lease, table);
  }

  /// Appends state `i` of a recurrent group, or the inputs of one token.
  Result<void> LoadState(const SavedTable& saved, size_t g, size_t i, TableLease& lease, GroupTable& table) {
    SKALD_TRY(chunks_[0].Get(*this, saved, g, i));
    chunks_[0].View();
    const auto& state = chunks_[0].content();
    if (!state) return Failure(state.error());
    SKALD_TRY(TakeBlock(g, BlockContent::kUnspecified, lease, table));
    std::memcpy(pool_->Resolve(g, {table.blocks.back()})[0], state->data(), state->size());
    return {};
  }

  /// Loads an attention group up to token `end`.
  Result<void> LoadTokens(const SavedTable& saved, size_t g, uint32_t end, TableLease& lease, GroupTable& table) {
    const size_t chunks = saved.groups[g].chunks.size();
    if (table.first_token >= end) return {};
    if (end > saved.StoredTokens() || chunks < ChunksBefore(end) - saved.groups[g].first_token / kChunkTokens) {
      return internal::BadManifest("it relies on tokens that the snapshot does not hold");
    }
    for (size_t i = 0; i < chunks && TokensOf(saved, g, i).first < end;) {
      const size_t count = FetchSome(saved, g, i, end);
      internal::RunOn(executor_, count, [this](size_t k) { chunks_[k].View(); });
      for (size_t k = 0; k < count; ++k) {
        if (!chunks_[k].content()) return Failure(chunks_[k].content().error());
        const uint32_t chunk_end = std::min(end, TokensOf(saved, g, i + k).second);
        SKALD_TRY(TakeBlocksBefore(chunk_end, g, end, lease, table));
      }
      internal::RunOn(executor_, count, [&](size_t k) { WriteTokens(saved, g, i + k, end, chunks_[k], table); });
      i += count;
    }
    return {};
  }

  /// Fetches chunk `i` and those after it that hold tokens before `end`, as many as there are workers. Returns how many
  /// it asked for; if one fails, it is the last.
  size_t FetchSome(const SavedTable& saved, size_t g, size_t i, uint32_t end) {
    size_t count = 0;
    while (count < chunks_.size() && i + count < saved.groups[g].chunks.size() &&
           TokensOf(saved, g, i + count).first < end) {
      if (!chunks_[count].Get(*this, saved, g, i + count)) return count + 1;
      ++count;
    }
    return count;
  }

  static size_t ChunksBefore(uint32_t token) { return (token + kChunkTokens - 1) / kChunkTokens; }

  /// Takes a block for the next chunks.
  Result<void> TakeBlock(size_t g, BlockContent content, TableLease& lease, GroupTable& table) {
    const auto id = lease.Take(g, content);
    if (!id) {
      is_full_ = true;
      return Failure(id.error());
    }
    table.blocks.push_back(*id);
    return {};
  }

  /// Takes the missing blocks for the tokens before `end`. A block that the tokens before `limit` do not fill holds
  /// zeros elsewhere.
  Result<void> TakeBlocksBefore(uint32_t end, size_t g, uint32_t limit, TableLease& lease, GroupTable& table) {
    const uint32_t step = block_tokens(), first_block = table.first_token / step;
    const auto next = [&] { return (first_block + static_cast<uint32_t>(table.blocks.size())) * step; };
    while (next() < end) {
      const bool is_filled = next() >= table.first_token && next() + step <= limit;
      const auto content = is_filled ? BlockContent::kUnspecified : BlockContent::kCleared;
      SKALD_TRY(TakeBlock(g, content, lease, table));
    }
    return {};
  }

  /// Tokens [begin, end) that chunk `i` of an attention group holds.
  std::pair<uint32_t, uint32_t> TokensOf(const SavedTable& saved, size_t g, size_t i) const {
    const uint32_t first_token = saved.groups[g].first_token;
    const uint32_t begin = (first_token / kChunkTokens + static_cast<uint32_t>(i)) * kChunkTokens;
    return {std::max(begin, first_token / uint32_t{kTile} * uint32_t{kTile}),
            std::min(begin + kChunkTokens, saved.StoredTokens())};
  }

  uint64_t ContentBytes(const SavedTable& saved, size_t g, size_t i) const {
    if (!group(g).is_attention()) return pool_->geometry(g).block_bytes();
    const auto [begin, end] = TokensOf(saved, g, i);
    return RoundUp(end - begin, kTile) / kTile * TileGeometry(group(g), pool_->runtime().kv_type).block_bytes();
  }

  /// Writes the part of chunk `i` with tokens before `limit` to the blocks of `table`.
  void WriteTokens(const SavedTable& saved, size_t g, size_t i, uint32_t limit, const IncomingChunk& chunk,
                   const GroupTable& table) const {
    const std::span<const std::byte> content = *chunk.content();
    const uint32_t first_block = table.first_token / block_tokens();
    const DType type = pool_->runtime().kv_type;
    const BlockGeometry tile = TileGeometry(group(g), type);
    const auto [begin, chunk_end] = TokensOf(saved, g, i);
    const uint32_t end = std::min(chunk_end, limit);
    for (uint32_t token = begin; token < end; token += kTile) {
      const BlockId block = table.blocks[token / block_tokens() - first_block];
      WriteTile(pool_->geometry(g), tile, type, token % block_tokens(),
                content.data() + (token - begin) / kTile * tile.block_bytes(), pool_->ResolveOne(g, block));
    }
  }

  /// The blocks of `main` that hold tokens [first_token, tokens) of the resume point `saved`.
  Result<void> BorrowBlocks(const SavedTable& saved, const BlockTable& main, size_t g, GroupTable& table) const {
    const uint32_t first = saved.groups[g].first_token, end = saved.tokens, step = block_tokens();
    const GroupTable& from = main.groups[g];
    if (first >= end) return {};
    const uint32_t offset = first / step - from.first_token / step, count = (end + step - 1) / step - first / step;
    if (first < from.first_token || offset + count > from.blocks.size()) {
      return internal::BadManifest("a resume point relies on tokens that the snapshot does not hold");
    }
    table.blocks.assign(from.blocks.begin() + offset, from.blocks.begin() + offset + count);
    return {};
  }

  /// Skips the chunks of a group that were not read yet.
  Result<void> SkipRest(const SavedTable& saved, size_t g) {
    for (size_t i = chunks_read_, end = saved.groups[g].chunks.size(); i < end; ++i) {
      SKALD_TRY(chunks_[0].Get(*this, saved, g, i));
    }
    return {};
  }

  std::shared_ptr<BlockPool> pool_;
  Fetch fetch_;
  bool is_full_ = false;    ///< whether the pool has no room for resume points
  size_t chunks_read_ = 0;  ///< of the group that is being loaded
  std::optional<ExecutorRef> executor_;
  std::vector<IncomingChunk> chunks_;  ///< that are being loaded at once
};

}  // namespace skald

#endif  // SKALD_STORE_SNAPSHOTS_SNAPSHOT_LOADER_H_
