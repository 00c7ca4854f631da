// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/prompts/stored_prompts.h.

#ifndef SKALD_STORE_PROMPTS_DETAIL_STORED_PROMPTS_H_
#define SKALD_STORE_PROMPTS_DETAIL_STORED_PROMPTS_H_

#include "skald/store/prompts/stored_prompts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/sha256.h"
#include "skald/store/chunks/chunk_codec.h"
#include "skald/store/chunks/chunk_repair.h"
#include "skald/store/snapshots/snapshot.h"
#include "skald/store/snapshots/snapshot_loader.h"
#include "skald/store/snapshots/whole_state.h"

namespace skald {

namespace internal {

SKALD_INLINE uint32_t CommonPrefix(std::span<const int32_t> a, std::span<const int32_t> b) {
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<uint32_t>(in_a - a.begin());
}

SKALD_INLINE uint32_t MostReusable(std::span<const int32_t> prompt, uint32_t matched, bool knows_next) {
  return knows_next ? matched : std::min<uint32_t>(matched, static_cast<uint32_t>(prompt.size()) - 1);
}

}  // namespace internal

SKALD_INLINE Result<void> StoredPrompts::Insert(const StateSource& state, const Identity& identity,
                                                const TokenChain& chain, std::vector<float> logits) const {
  return NoThrow("StoredPrompts::Insert", [&]() -> Result<void> {
    const auto points = state.With([](const KVCache& cache) { return cache.ResumePoints(); });
    SKALD_ASSIGN(const auto manifest, SaveSnapshot(state, identity, {.logits = std::move(logits)}, store_, {codec_}));
    if (!points) return Failure(points.error());
    for (const ResumeRange& range : *points) {
      for (uint32_t border = range.first / kChunkTokens; border <= range.last / kChunkTokens; ++border) {
        SKALD_TRY(state.Check());
        SKALD_TRY(PutPointer(chain, border, manifest));
      }
    }
    return {};
  });
}

SKALD_INLINE Result<void> StoredPrompts::Forget(const TokenChain& chain, const Identity& identity, uint32_t keep,
                                                const std::shared_ptr<BlockPool>& pool) const {
  return NoThrow("StoredPrompts::Forget", [&]() -> Result<void> {
    for (size_t border = 0; border <= chain.tokens().size() / kChunkTokens; ++border) {
      SKALD_ASSIGN(const auto pointer, PointerKey(chain, static_cast<uint32_t>(border)));
      SKALD_TRY(ForgetAt(pointer, chain, identity, keep, *pool));
    }
    return {};
  });
}

SKALD_INLINE Result<std::optional<PromptPrefix>> StoredPrompts::Find(const TokenChain& chain, const Identity& identity,
                                                                     uint32_t better_than,
                                                                     const std::shared_ptr<BlockPool>& pool) const {
  return NoThrow("StoredPrompts::Find", [&]() -> Result<std::optional<PromptPrefix>> {
    const auto size = static_cast<uint32_t>(chain.tokens().size());
    for (uint32_t border = size / kChunkTokens;; --border) {
      if ((border + 1) * kChunkTokens <= better_than) return std::nullopt;
      auto found = FindAt(chain, border, identity, better_than, pool);
      if (!found || *found) return found;
      if (border == 0) return std::nullopt;
    }
  });
}

SKALD_INLINE Result<ChunkKey> StoredPrompts::PointerKey(const TokenChain& chain, uint32_t border) {
  SKALD_ASSIGN(const auto link, chain.At(size_t{border} * kChunkTokens));
  SKALD_ASSIGN(const auto digest, Sha256().Update(link).Update("prompt").Finish());
  return ChunkKey{digest};
}

SKALD_INLINE Result<void> StoredPrompts::PutPointer(const TokenChain& chain, uint32_t border,
                                                    const ChunkKey& manifest) const {
  SKALD_ASSIGN(const auto key, PointerKey(chain, border));
  SKALD_ASSIGN(const auto has, internal::HasWholeChunk(store_, key, manifest.bytes.size()));
  if (has) return {};
  SKALD_ASSIGN(const auto chunk,
               EncodeChunk(key, {ChunkKind::kPointer, ChunkElement::kBytes, ChunkCodec::kNone}, manifest.bytes));
  return store_.Put(key, chunk);
}

SKALD_INLINE Result<void> StoredPrompts::ForgetAt(const ChunkKey& pointer, const TokenChain& chain,
                                                  const Identity& identity, uint32_t keep,
                                                  const BlockPool& pool) const {
  const auto stored = store_.Get(pointer);
  if (!stored) return stored.error().code == ErrorCode::kNotFound ? Result<void>() : Failure(stored.error());
  ChunkKey key;
  if (!DecodeChunkInto(pointer, *stored, key.bytes)) return store_.Drop(pointer);
  const auto chunk = store_.Get(key);
  const auto manifest =
      chunk ? internal::OpenManifest(key, *chunk, identity, pool) : Result<Manifest>(Failure(chunk.error()));
  if (!manifest) return {};  // the manifest is missing, or only a larger pool can read it
  if (internal::CommonPrefix(chain.tokens(), manifest->tokens) <= keep) return {};
  SKALD_ASSIGN(const auto kept, ChunksWithin(chain, keep, *manifest));
  std::vector<ChunkKey> gone = internal::ChunksOf(*manifest);
  std::erase_if(gone, [&](const ChunkKey& one) { return std::ranges::binary_search(kept, one); });
  gone.insert(gone.end(), {key, pointer});
  for (const ChunkKey& one : gone) {
    SKALD_TRY(store_.Drop(one));
  }
  return {};
}

SKALD_INLINE Result<std::vector<ChunkKey>> StoredPrompts::ChunksWithin(const TokenChain& chain, uint32_t keep,
                                                                       const Manifest& manifest) {
  std::vector<ChunkKey> keys;
  const auto add = [&keys](const Result<ChunkKey>& key) -> Result<void> {
    if (!key) return Failure(key.error());
    keys.push_back(*key);
    return {};
  };
  std::vector<const SavedTable*> tables = {&manifest.table};
  for (const SavedTable& one : manifest.resume_points) tables.push_back(&one);
  for (size_t group = 0; group < manifest.table.groups.size(); ++group) {
    for (size_t end = kChunkTokens; end <= keep; end += kChunkTokens) {
      SKALD_TRY(add(chain.TokensKey(group, end - kChunkTokens, end)));
    }
    for (const SavedTable* const table : tables) {
      if (table->tokens > keep) continue;
      SKALD_TRY(add(chain.StateKey(group, table->tokens)));
    }
  }
  std::ranges::sort(keys);
  return keys;
}

SKALD_INLINE Result<std::optional<PromptPrefix>> StoredPrompts::FindAt(const TokenChain& chain, uint32_t border,
                                                                       const Identity& identity, uint32_t better_than,
                                                                       const std::shared_ptr<BlockPool>& pool) const {
  SKALD_ASSIGN(const auto pointer, PointerKey(chain, border));
  const auto stored = store_.Get(pointer);
  if (!stored && stored.error().code == ErrorCode::kNotFound) return std::nullopt;
  if (!stored && stored.error().code != ErrorCode::kDataLoss) return Failure(stored.error());
  ChunkKey key;
  auto found = stored && DecodeChunkInto(pointer, *stored, key.bytes)
                   ? FindIn(chain, key, identity, better_than, pool)
                   : Result<std::optional<PromptPrefix>>(Fail(ErrorCode::kDataLoss, "a damaged pointer"));
  if (found) return found;
  switch (found.error().code) {
    case ErrorCode::kOutOfRange:
      return std::nullopt;  // the prompt is too long for this pool, but not for others
    case ErrorCode::kNotFound:
    case ErrorCode::kDataLoss:
    case ErrorCode::kUnsupported:
    case ErrorCode::kInvalidArgument:
      break;  // the pointer is dangling, and is dropped
    default:
      return found;
  }
  SKALD_TRY(store_.Drop(pointer));
  return std::nullopt;
}

SKALD_INLINE Result<std::optional<PromptPrefix>> StoredPrompts::FindIn(const TokenChain& chain, const ChunkKey& key,
                                                                       const Identity& identity, uint32_t better_than,
                                                                       const std::shared_ptr<BlockPool>& pool) const {
  const auto load = [&](const Manifest& manifest) -> Result<std::optional<PromptPrefix>> {
    const std::span<const int32_t> tokens = chain.tokens();
    const uint32_t matched = internal::CommonPrefix(tokens, manifest.tokens);
    const bool knows_next = matched == manifest.tokens.size() && !manifest.notes.logits.empty();
    const uint32_t limit = internal::MostReusable(tokens, matched, knows_next);
    const SavedTable* source;
    const uint32_t reused = FindResumePoint(manifest, pool->layout(), limit, source);
    if (reused <= better_than) return std::nullopt;
    SKALD_ASSIGN(auto cache, internal::LoadWhole(pool, [&](const std::shared_ptr<BlockPool>& whole) {
                   return SnapshotLoader(whole, internal::FetchFrom(store_)).LoadPrefix(manifest, *source, reused);
                 }));
    PromptPrefix prefix{std::move(cache), matched, {}};
    if (reused == tokens.size()) prefix.logits = manifest.notes.logits;
    return std::optional(std::move(prefix));
  };
  return internal::LoadFromStore(store_, key, identity, *pool, load);
}

}  // namespace skald

#endif  // SKALD_STORE_PROMPTS_DETAIL_STORED_PROMPTS_H_
