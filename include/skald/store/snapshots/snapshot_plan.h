// SPDX-License-Identifier: Apache-2.0
//
// SnapshotPlan: the plan to save a cache: the manifest, and for each chunk its key and where its content is. Reads
// nothing from the blocks until it is asked to, except to name state that no tokens determine. Throws std::bad_alloc if
// memory runs out; SaveSnapshot turns that into an error.

#ifndef SKALD_STORE_SNAPSHOTS_SNAPSHOT_PLAN_H_
#define SKALD_STORE_SNAPSHOTS_SNAPSHOT_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/blocks/block_table.h"
#include "skald/cache/kv_cache.h"
#include "skald/store/chunks/chunk_frame.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/snapshots/manifest.h"
#include "skald/store/snapshots/token_chain.h"

namespace skald {

/// One chunk to be written: tokens [begin, end) of an attention group, begin a multiple of kTile; or a block: a
/// recurrent group's state, or inputs.
struct PlannedChunk {
  ChunkKey key;             ///< names the content
  ChunkFormat format;       ///< how it is written
  const BlockTable* table;  ///< of the cache; not owned
  uint32_t group;           ///< of CacheLayout::groups
  uint32_t begin, end;
  BlockId block;  ///< of a group that has no tokens
};

/// Refers to `cache`, which must stay unchanged while its content is read.
class SnapshotPlan {
 public:
  /// `cache` must be valid.
  static Result<SnapshotPlan> Make(const KVCache& cache, const StateKind& kind, const SnapshotNotes& notes,
                                   ChunkCodec codec);

  /// The manifest that names all chunks.
  const Manifest& manifest() const { return manifest_; }
  /// In the order in which a reader wants them; a key may occur twice.
  const std::vector<PlannedChunk>& chunks() const { return chunks_; }

  /// Bytes of a chunk's content before the codec.
  uint64_t ContentBytes(const PlannedChunk& chunk) const;

  /// Writes a chunk's content, ContentBytes of it, to `bytes`.
  void ReadContent(const PlannedChunk& chunk, std::byte* bytes) const;

 private:
  SnapshotPlan(std::shared_ptr<BlockPool> pool, uint32_t exact_tokens, TokenChain chain, ChunkCodec codec)
      : pool_(std::move(pool)), exact_tokens_(exact_tokens), chain_(std::move(chain)), codec_(codec) {}

  /// Lists the chunks of a table; of a resume point only the ones that `main` lacks.
  Result<SavedTable> AddTable(const BlockTable& table, const SavedTable* main);

  Result<void> AddStates(const BlockTable& table, uint32_t g, SavedGroup& group);

  /// Adds the inputs from the base of a replayed group to its present state.
  Result<void> AddInputs(const BlockTable& table, uint32_t g, SavedGroup& group);

  Result<void> AddBlock(const BlockTable& table, uint32_t g, BlockId block, const Result<ChunkKey>& name,
                        uint32_t position, SavedGroup& group);

  Result<void> AddTokens(const BlockTable& table, uint32_t g, uint32_t stored, SavedGroup& group);

  /// State after `position` tokens is named by the tokens if they determine it, else by its content.
  Result<void> Add(PlannedChunk chunk, const Result<ChunkKey>& name, uint32_t position, SavedGroup& group);

  Result<ChunkKey> ContentKey(const PlannedChunk& chunk) const;

  std::shared_ptr<BlockPool> pool_;
  uint32_t exact_tokens_;
  TokenChain chain_;
  ChunkCodec codec_;
  Manifest manifest_;
  std::vector<PlannedChunk> chunks_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/snapshots/detail/snapshot_plan.h"
#endif

#endif  // SKALD_STORE_SNAPSHOTS_SNAPSHOT_PLAN_H_
