// SPDX-License-Identifier: Apache-2.0
//
// PromptCache: no prompt, and no beginning of one, is computed twice. Prompts are kept in pool memory, then in any
// number of chunk stores, nearest first: a directory, say, then a Redis server. A hit is a separate cache that shares
// the prompt's blocks, ready to continue with the rest of the prompt.
//
// If a store cannot be reached, a look-up lacks only that store's prompts: it returns the others' and reports the error
// (PromptPrefix::store_error).
//
// Results are bit-identical to computing the whole prompt. Windows and recurrent layers can continue only from resume
// points (RuntimeConfig::resume_point_every); the statistics count matched and reused tokens separately.
//
// Stores may be slow or silent. With queues for other threads (PromptCacheOptions::writer, reader) no caller waits for
// them: the writer stores prompts from the memory that keeps them, and LookupBeside reads stores in the reader.

#ifndef SKALD_STORE_PROMPTS_PROMPT_CACHE_H_
#define SKALD_STORE_PROMPTS_PROMPT_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"
#include "skald/base/threads/background_queue.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/blocks/reclaimers.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/store/chunks/chunk_frame.h"
#include "skald/store/chunks/chunk_store.h"
#include "skald/store/prompts/prompt_entries.h"
#include "skald/store/prompts/prompt_fetch.h"
#include "skald/store/prompts/stored_prompts.h"
#include "skald/store/snapshots/identity.h"
#include "skald/store/snapshots/staged_cache.h"
#include "skald/store/snapshots/state_source.h"
#include "skald/store/snapshots/token_chain.h"

namespace skald {

/// Settings of a PromptCache.
struct PromptCacheOptions {
  /// Bytes that the prompts kept in memory may hold: blocks, tokens and logits. They are in the pool, and count towards
  /// its limit too.
  uint64_t max_bytes = kUnlimited;
  /// The codec for prompts in stores; a lossless one.
  ChunkCodec codec = ChunkCodec::kSplitZstd;
  /// Writes prompts to the stores, so that Insert does not wait. A prompt is not written if the queue is full, or if
  /// its memory is given up before. Null: Insert writes. Must outlive the prompt cache.
  BackgroundQueue* writer = nullptr;
  /// Reads the stores for LookupBeside. Null: LookupBeside is Lookup. Must outlive the prompt cache.
  BackgroundQueue* reader = nullptr;
  /// Bytes that prompts on their way from stores may take, in addition to the pool's.
  uint64_t fetch_bytes = uint64_t{1} << 30;
};

/// Counts of a PromptCache since it was made.
struct PromptCacheStats {
  uint64_t lookups = 0;         ///< how often a prompt's beginning was asked for
  uint64_t tokens_asked = 0;    ///< over all look-ups
  uint64_t tokens_matched = 0;  ///< known from an earlier prompt
  uint64_t tokens_reused = 0;   ///< that need not be computed again
  /// Look-ups whose beginning was in memory; those whose beginning came from a store.
  uint64_t memory_hits = 0, store_hits = 0;
  uint64_t entries = 0, bytes = 0;  ///< in memory now
  uint64_t evictions = 0;           ///< prompts that were forgotten to make room in memory
  uint64_t store_errors = 0;        ///< look-ups that a store could not answer
  uint64_t failed_writes = 0;       ///< after Insert: refused by a store
  uint64_t unwritten = 0;           ///< after Insert: dropped for lack of room or time
};

/// Safe for concurrent calls. Stores must outlive it.
class PromptCache {
 public:
  /// `identity` is that of the model, and of the adapter that the conversations are for; its salt is used for callers
  /// that give none. If the pool is full, prompts make room for conversations; of several prompt caches on one pool,
  /// the one that was made first gives up its prompts first. Errors: kInvalidArgument for a null pool or a lossy codec;
  /// kResourceExhausted.
  static Result<std::unique_ptr<PromptCache>> Create(std::shared_ptr<BlockPool> pool, const Identity& identity,
                                                     const PromptCacheOptions& options = {},
                                                     const std::vector<ChunkStoreRef>& stores = {});
  PromptCache(const PromptCache&) = delete;
  PromptCache& operator=(const PromptCache&) = delete;
  /// Abandons prompts that are not written yet; waits for a store call that is running.
  ~PromptCache();

  /// Returns a cache with the longest known beginning of `tokens`, possibly empty. At least one token is left to
  /// compute, unless the last logits are known too. Prompts of other salts are not found. A store that fails is
  /// skipped, and store_error says why, so that a caller can tell an outage from a miss. Errors: kInvalidArgument for
  /// no tokens; kResourceExhausted.
  Result<PromptPrefix> Lookup(std::span<const int32_t> tokens, const std::optional<std::string>& salt = {});

  /// As Lookup, but if there is a reader, does not wait for stores. If stores may know more than memory does, `fetch`
  /// starts a read from them and is not done yet. The same call with `fetch`, once it is done, also returns what they
  /// found; it leaves `fetch` unchanged and starts no other read. The result of a fetch for other tokens is not used.
  /// While the reader is blocked in a store, no further fetch starts.
  Result<PromptPrefix> LookupBeside(std::span<const int32_t> tokens, const std::optional<std::string>& salt,
                                    std::optional<PromptFetch>& fetch);

  /// Keeps the content of `cache`, and the logits of its last token if given. Errors: kFailedPrecondition for a cache
  /// of another pool or adapter, or with tokens that edits left inexact; kResourceExhausted for a prompt larger than
  /// max_bytes; without PromptCacheOptions::writer the error of the first store that fails, after the others got it.
  Result<void> Insert(const KVCache& cache, std::span<const float> logits = {},
                      const std::optional<std::string>& salt = {});

  /// Forgets `tokens` beyond the first `keep`, in memory and, as far as look-ups can find them, in the stores: for
  /// users that ask for deletion. State that others share up to there stays. The writer, if there is one, drops it from
  /// the stores after the writes queued before; if its queue is full, this call does. Errors, if no writer does it:
  /// that of the first store that fails, after the others were asked; kResourceExhausted.
  Result<void> Forget(std::span<const int32_t> tokens, uint32_t keep, const std::optional<std::string>& salt = {});

  /// The adapter that these prompts are for: its digest, or zeros for the model alone.
  const Sha256Digest& adapter() const { return identity_.adapter; }

  /// Forgets the least recently used prompts in memory until at most `max_bytes` are held. Does not fail.
  void Trim(uint64_t max_bytes) noexcept;

  /// The counts, now. Safe for concurrent calls.
  PromptCacheStats stats() const;

 private:
  PromptCache(std::shared_ptr<BlockPool> pool, const Identity& identity, const PromptCacheOptions& options,
              const std::vector<ChunkStoreRef>& stores);

  uint64_t GiveBack(uint64_t missing_bytes) noexcept;

  Identity WithSalt(const std::optional<std::string>& salt) const;

  Result<TokenChain> ChainOf(const Identity& identity, std::span<const int32_t> tokens) const;

  Result<void> ForgetInMemory(const TokenChain& chain, uint32_t keep);

  Result<void> ForgetInStores(const TokenChain& chain, const Identity& identity, uint32_t keep) const;

  /// Queues it for the writer. Returns false if there is none, or its queue is full.
  bool ForgetLater(const Identity& identity, std::span<const int32_t> tokens, uint32_t keep);

  /// The state in memory for some tokens, and the names to ask stores for more.
  struct Known {
    Identity identity;
    TokenChain chain;
    PromptPrefix prefix;
  };

  Result<Known> LookInMemory(const char* caller, std::span<const int32_t> tokens,
                             const std::optional<std::string>& salt);

  Result<PromptPrefix> FindInMemory(const TokenChain& chain);

  Result<void> WriteToStores(const StateSource& state, const Identity& identity, const TokenChain& chain,
                             const std::vector<float>& logits) const;

  /// Queues the write. It reads the blocks of `kept`, the entry in memory, which may be revoked before. If ranks have
  /// parts of the state it must be gathered now.
  Result<void> WriteLater(const KVCache& cache, std::shared_ptr<RevocableCache> kept, const Identity& identity,
                          std::vector<float> logits);

  bool MayKnowMore(const PromptPrefix& prefix, std::span<const int32_t> tokens) const;

  /// Returns nothing if the queue is full, or if the reader is blocked in a store for an abandoned fetch.
  std::optional<PromptFetch> BeginFetch(const Identity& identity, std::span<const int32_t> tokens, uint32_t known);

  void SetWriting(std::shared_ptr<RevocableCache> state);

  void SetReading(std::shared_ptr<internal::FetchState> state);

  /// Searches the stores, and puts a result longer than `known` tokens into `fetch`.
  Result<void> Fetch(const Identity& identity, uint32_t known, internal::FetchState& fetch);

  /// Replaces `prefix` by the fetched state, if that is longer and there is room for it, and keeps that in memory.
  Result<bool> TakeFetched(PromptFetch& fetch, const Identity& identity, PromptPrefix& prefix);

  /// A prompt too large to be kept is still a hit.
  Result<void> KeepFound(const Identity& identity, const PromptPrefix& prefix);

  /// Replaces `prefix` by a longer one from a store, if there is one, and keeps that in memory. Stores that fail are
  /// skipped; the first error goes to prefix.store_error.
  Result<bool> SearchStores(const TokenChain& chain, const Identity& identity, PromptPrefix& prefix);

  /// Returns the entry's state.
  Result<std::shared_ptr<RevocableCache>> KeepInMemory(const KVCache& cache, const TokenChain& chain,
                                                       std::span<const float> logits);

  void EvictUntil(uint64_t max_bytes) noexcept;

  void Count(size_t asked, const PromptPrefix& prefix, bool is_from_store);

  std::shared_ptr<BlockPool> pool_;
  const Identity identity_;
  const PromptCacheOptions options_;
  const std::vector<ChunkStoreRef> store_refs_;
  std::vector<StoredPrompts> stores_;  ///< of these
  const std::shared_ptr<StagingRoom> fetch_room_;
  mutable std::mutex mutex_;
  PromptEntries entries_;                          ///< guarded by mutex_
  PromptCacheStats stats_;                         ///< guarded by mutex_
  bool is_over_ = false;                           ///< guarded by mutex_; pending writes are abandoned
  std::shared_ptr<RevocableCache> writing_;        ///< guarded by mutex_; the writer's present task, or null
  std::shared_ptr<internal::FetchState> reading_;  ///< guarded by mutex_; the reader's present task, or null
  Reclaimers::Registration registration_;          ///< last: ends before the others do
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/prompts/detail/prompt_cache.h"
#endif

#endif  // SKALD_STORE_PROMPTS_PROMPT_CACHE_H_
