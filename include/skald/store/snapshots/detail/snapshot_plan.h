// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/snapshots/snapshot_plan.h.

#ifndef SKALD_STORE_SNAPSHOTS_DETAIL_SNAPSHOT_PLAN_H_
#define SKALD_STORE_SNAPSHOTS_DETAIL_SNAPSHOT_PLAN_H_

#include "skald/store/snapshots/snapshot_plan.h"

#include <algorithm>
#include <cstring>

#include "skald/base/inline.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/numbers/sha256.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/cache/layout/tile.h"
#include "skald/store/chunks/chunk_store.h"

namespace skald {

SKALD_INLINE Result<SnapshotPlan> SnapshotPlan::Make(const KVCache& cache, const StateKind& kind,
                                                     const SnapshotNotes& notes, ChunkCodec codec) {
  SKALD_ASSIGN(auto chain, TokenChain::Of(kind, cache.tokens()));
  const uint32_t exact_tokens = cache.exact_tokens() < cache.size() ? cache.exact_tokens() : kMaxTokens;
  SnapshotPlan plan(cache.pool(), exact_tokens, std::move(chain), codec);
  plan.manifest_.kind = kind;
  plan.manifest_.exact_tokens = exact_tokens;
  plan.manifest_.tokens.assign(cache.tokens().begin(), cache.tokens().end());
  plan.manifest_.notes = notes;
  std::vector<const BlockTable*> tables;  // its own, then those of its resume points
  cache.ForEachTable([&](const BlockTable& table) { tables.push_back(&table); });
  auto table = plan.AddTable(*tables.front(), nullptr);
  if (!table) return Failure(table.error());
  plan.manifest_.table = std::move(*table);
  // Newest first: a reader that lacks memory drops the oldest.
  for (auto point = tables.rbegin(); point + 1 != tables.rend(); ++point) {
    table = plan.AddTable(**point, &plan.manifest_.table);
    if (!table) return Failure(table.error());
    plan.manifest_.resume_points.insert(plan.manifest_.resume_points.begin(), std::move(*table));
  }
  return plan;
}

SKALD_INLINE uint64_t SnapshotPlan::ContentBytes(const PlannedChunk& chunk) const {
  const CacheGroup& group = pool_->layout().groups()[chunk.group];
  if (!group.is_attention()) return pool_->geometry(chunk.group).block_bytes();
  return RoundUp(chunk.end - chunk.begin, kTile) / kTile * TileGeometry(group, pool_->runtime().kv_type).block_bytes();
}

SKALD_INLINE void SnapshotPlan::ReadContent(const PlannedChunk& chunk, std::byte* bytes) const {
  const CacheGroup& group = pool_->layout().groups()[chunk.group];
  const BlockGeometry& geometry = pool_->geometry(chunk.group);
  if (!group.is_attention()) {
    std::memcpy(bytes, pool_->Resolve(chunk.group, {chunk.block})[0], geometry.block_bytes());
    return;
  }
  const DType type = pool_->runtime().kv_type;
  const BlockGeometry tile = TileGeometry(group, type);
  const GroupTable& table = chunk.table->groups[chunk.group];
  const size_t step = geometry.block_tokens, first_block = chunk.begin / step;
  const auto begin = table.blocks.begin() + static_cast<ptrdiff_t>(first_block - table.first_token / step);
  const std::vector<std::byte*> blocks =
      pool_->Resolve(chunk.group, {begin, begin + static_cast<ptrdiff_t>((chunk.end + step - 1) / step - first_block)});
  for (size_t token = chunk.begin; token < chunk.end; token += kTile, bytes += tile.block_bytes()) {
    ReadTile(geometry, tile, type, token % step, blocks[token / step - first_block], bytes);
    if (token < table.first_token) ClearTileTokens(tile, type, 0, table.first_token - token, bytes);
    if (token + kTile > chunk.end) ClearTileTokens(tile, type, chunk.end - token, kTile, bytes);
  }
}

SKALD_INLINE Result<SavedTable> SnapshotPlan::AddTable(const BlockTable& table, const SavedTable* main) {
  SavedTable saved{table.tokens, table.edits, {}};
  const size_t of_layers = pool_->layout().layer_groups().size();
  bool lists_inputs = false;
  for (uint32_t g = 0; g < of_layers; ++g) {
    SavedGroup group{table.groups[g].first_token, {}};
    const CacheGroup& kind = pool_->layout().groups()[g];
    if (kind.is_recurrent()) {
      lists_inputs = lists_inputs || (kind.is_replayed() && group.first_token < table.tokens);
      SKALD_TRY(AddStates(table, g, group));
    } else if (main == nullptr || group.first_token < main->groups[g].first_token) {
      SKALD_TRY(AddTokens(table, g, saved.StoredTokens(), group));
    }
    saved.groups.push_back(std::move(group));
  }
  for (uint32_t g = 0; lists_inputs && g < of_layers; ++g) {
    if (!pool_->layout().groups()[g].is_replayed()) continue;
    SKALD_TRY(AddInputs(table, g, saved.groups.emplace_back()));
  }
  return saved;
}

SKALD_INLINE Result<void> SnapshotPlan::AddStates(const BlockTable& table, uint32_t g, SavedGroup& group) {
  const std::vector<BlockId>& states = table.groups[g].blocks;
  const bool is_replayed = pool_->layout().groups()[g].is_replayed();
  for (uint32_t i = 0; i < states.size(); ++i) {
    const bool is_base = i == 0 && group.first_token > 0;
    const uint32_t position = is_base ? group.first_token : is_replayed ? table.tokens : group.first_token + i;
    SKALD_TRY(AddBlock(table, g, states[i], chain_.StateKey(g, position), position, group));
  }
  return {};
}

SKALD_INLINE Result<void> SnapshotPlan::AddInputs(const BlockTable& table, uint32_t g, SavedGroup& group) {
  const uint32_t number = pool_->layout().InputsOf(g);
  const GroupTable& inputs = table.groups[number];
  group.first_token = inputs.first_token;
  for (uint32_t i = 0; i < inputs.blocks.size(); ++i) {
    const uint32_t position = inputs.first_token + i + 1;
    SKALD_TRY(AddBlock(table, number, inputs.blocks[i], chain_.InputsKey(g, position), position, group));
  }
  return {};
}

SKALD_INLINE Result<void> SnapshotPlan::AddBlock(const BlockTable& table, uint32_t g, BlockId block,
                                                 const Result<ChunkKey>& name, uint32_t position, SavedGroup& group) {
  // Lossy codecs are for keys and values: an error in a recurrent state would persist for ever.
  const ChunkCodec codec = codec_ == ChunkCodec::kInt8Zstd ? ChunkCodec::kSplitZstd : codec_;
  return Add({{}, {ChunkKind::kResumePoint, ChunkElement::kF32, codec}, &table, g, 0, 0, block}, name, position, group);
}

SKALD_INLINE Result<void> SnapshotPlan::AddTokens(const BlockTable& table, uint32_t g, uint32_t stored,
                                                  SavedGroup& group) {
  const uint32_t first_tile = static_cast<uint32_t>(group.first_token / kTile * kTile);
  for (uint32_t begin = group.first_token / kChunkTokens * kChunkTokens; begin < stored; begin += kChunkTokens) {
    const uint32_t first = std::max(begin, first_tile), end = std::min(begin + kChunkTokens, stored);
    const ChunkFormat format{ChunkKind::kTokens, ChunkElementOf(pool_->runtime().kv_type), codec_};
    // Positions after the last token have no key in the chain; their state is named by its content.
    const bool has_name = end <= chain_.tokens().size();
    const auto key = has_name ? chain_.TokensKey(g, first, end) : Result<ChunkKey>(ChunkKey{});
    SKALD_TRY(Add({{}, format, &table, g, first, end, 0}, key, end, group));
  }
  return {};
}

SKALD_INLINE Result<void> SnapshotPlan::Add(PlannedChunk chunk, const Result<ChunkKey>& name, uint32_t position,
                                            SavedGroup& group) {
  SKALD_ASSIGN(const auto key, position <= exact_tokens_ ? name : ContentKey(chunk));
  chunk.key = key;
  group.chunks.push_back(key);
  chunks_.push_back(chunk);
  return {};
}

SKALD_INLINE Result<ChunkKey> SnapshotPlan::ContentKey(const PlannedChunk& chunk) const {
  SKALD_ASSIGN(const auto root, chain_.At(0));
  ChunkBytes content(ContentBytes(chunk));
  ReadContent(chunk, content.data());
  SKALD_ASSIGN(const auto digest, Sha256().Update("skald content").Update(root).Update(content).Finish());
  return ChunkKey{digest};
}

}  // namespace skald

#endif  // SKALD_STORE_SNAPSHOTS_DETAIL_SNAPSHOT_PLAN_H_
