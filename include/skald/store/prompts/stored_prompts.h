// SPDX-License-Identifier: Apache-2.0
//
// StoredPrompts: prompts kept in a ChunkStore, found by their beginnings. A prompt is a snapshot. For each chunk border
// that has a resume point, a pointer to the snapshot, a chunk of 32 bytes, has a key made of the tokens up to that
// border. So a look-up asks for a few keys, longest beginning first, and reads one manifest and the chunks that it
// reuses.

#ifndef SKALD_STORE_PROMPTS_STORED_PROMPTS_H_
#define SKALD_STORE_PROMPTS_STORED_PROMPTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/store/chunks/chunk_frame.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"
#include "skald/store/snapshots/identity.h"
#include "skald/store/snapshots/manifest.h"
#include "skald/store/snapshots/state_source.h"
#include "skald/store/snapshots/token_chain.h"

namespace skald {

/// The beginning of a prompt, ready to continue from.
struct PromptPrefix {
  KVCache cache;  ///< at the resume point that is continued from
  /// Tokens that the prompt has in common with a known one; the cache holds those up to the last resume point among
  /// them.
  uint32_t matched = 0;
  /// Of the last token, if the whole prompt is known and nothing is left to compute; else empty.
  std::vector<float> logits;
  /// The error of a store that failed; its prompts are missing here.
  std::optional<Error> store_error = {};
};

namespace internal {

/// Number of leading tokens that two sequences share.
uint32_t CommonPrefix(std::span<const int32_t> a, std::span<const int32_t> b);

/// Returns how many of the `matched` leading tokens of a prompt may be reused. If the logits after the prompt's last
/// token are not known, that token must be computed.
uint32_t MostReusable(std::span<const int32_t> prompt, uint32_t matched, bool knows_next);

}  // namespace internal

/// Thread-safe as its store is; holds no state of its own.
class StoredPrompts {
 public:
  /// `store` must outlive this; chunks are written with `codec`.
  StoredPrompts(ChunkStoreRef store, ChunkCodec codec) : store_(store), codec_(codec) {}

  /// Keeps a conversation and its last logits, and the pointers to it that do not exist yet. Errors: those of
  /// SaveSnapshot.
  Result<void> Insert(const StateSource& state, const Identity& identity, const TokenChain& chain,
                      std::vector<float> logits) const;

  /// Drops the prompts that have more than the first `keep` tokens of the chain, and their own chunks; chunks that they
  /// share with others up to there stay. Finds only prompts that pointers lead to. Errors: the store's.
  Result<void> Forget(const TokenChain& chain, const Identity& identity, uint32_t keep,
                      const std::shared_ptr<BlockPool>& pool) const;

  /// Returns the longest stored beginning of chain.tokens() that is longer than `better_than`, in blocks of `pool`;
  /// nothing if there is none. Chunks that cannot be read count as absent. The pointer and damaged chunks are then
  /// dropped, so that the next caller that computes the prompt writes them again. Errors: the store's, the pool's.
  Result<std::optional<PromptPrefix>> Find(const TokenChain& chain, const Identity& identity, uint32_t better_than,
                                           const std::shared_ptr<BlockPool>& pool) const;

 private:
  static Result<ChunkKey> PointerKey(const TokenChain& chain, uint32_t border);

  Result<void> PutPointer(const TokenChain& chain, uint32_t border, const ChunkKey& manifest) const;

  /// If a pointer leads to a prompt with more than `keep` tokens of the chain, drops both.
  Result<void> ForgetAt(const ChunkKey& pointer, const TokenChain& chain, const Identity& identity, uint32_t keep,
                        const BlockPool& pool) const;

  /// The keys, in order, of a manifest's chunks that hold only the first `keep` tokens of the chain.
  static Result<std::vector<ChunkKey>> ChunksWithin(const TokenChain& chain, uint32_t keep, const Manifest& manifest);

  /// The prompt that the pointer at `border` leads to, if it is longer than `better_than`.
  Result<std::optional<PromptPrefix>> FindAt(const TokenChain& chain, uint32_t border, const Identity& identity,
                                             uint32_t better_than, const std::shared_ptr<BlockPool>& pool) const;

  Result<std::optional<PromptPrefix>> FindIn(const TokenChain& chain, const ChunkKey& key, const Identity& identity,
                                             uint32_t better_than, const std::shared_ptr<BlockPool>& pool) const;

  ChunkStoreRef store_;
  ChunkCodec codec_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/prompts/detail/stored_prompts.h"
#endif

#endif  // SKALD_STORE_PROMPTS_STORED_PROMPTS_H_
