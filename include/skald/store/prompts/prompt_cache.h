// SPDX-License-Identifier: Apache-2.0
//
// PromptCache: no prompt is computed twice, nor is the beginning of one. Prompts are kept in pool memory, and behind
// that in any number of chunk stores, nearest first: a directory, say, then a Redis server. A hit is a cache of the
// caller's own that shares its blocks, ready to go on with what the prompt has left.
//
// A store that cannot be reached costs a look-up only what that store knows: it answers with what the others know, and
// says so (PromptPrefix::store_error).
//
// The bits are those of computing the whole prompt. Windows and recurrent layers can go on only from resume points
// (RuntimeConfig::resume_point_every); the statistics tell matched tokens from reused ones.
//
// Stores may be slow, or silent. With queues of other threads (PromptCacheOptions::writer, reader) nobody waits for
// them: prompts are written beside, from the memory that they are kept in, and LookupBeside asks stores in the same
// way.

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

struct PromptCacheOptions {
  /// Bytes that the prompts kept in memory may hold: blocks, tokens and logits. They lie in the pool, and count towards
  /// its limit too.
  uint64_t max_bytes = kUnlimited;
  /// How prompts are written to the stores; a lossless codec.
  ChunkCodec codec = ChunkCodec::kSplitZstd;
  /// Who writes prompts to the stores, so that Insert waits for none. A prompt that finds the queue full, or that has
  /// to give its memory away before it is written, is not written. Null: Insert writes. Must outlive the prompt cache.
  BackgroundQueue* writer = nullptr;
  /// Who reads the stores for LookupBeside. Null: that is Lookup. Must outlive the prompt cache.
  BackgroundQueue* reader = nullptr;
  /// Bytes that prompts on their way from stores may take, beside the pool's.
  uint64_t fetch_bytes = uint64_t{1} << 30;
};

struct PromptCacheStats {
  uint64_t lookups = 0;
  uint64_t tokens_asked = 0;    ///< over all look-ups
  uint64_t tokens_matched = 0;  ///< known from some prompt before
  uint64_t tokens_reused = 0;   ///< that need not be computed again
  uint64_t memory_hits = 0, store_hits = 0;
  uint64_t entries = 0, bytes = 0;  ///< in memory now
  uint64_t evictions = 0;
  uint64_t store_errors = 0;  ///< look-ups that a store could not answer
  uint64_t failed_writes = 0,
           unwritten = 0;  ///< behind Insert: that a store refused; for which there was no room or time
};

/// Safe for concurrent calls. Stores must outlive it.
class PromptCache {
 public:
  // `identity` is of the model, and of the adapter that the conversations are for; its salt is that of callers who name
  // none. Where the pool is full, prompts make room
  // for conversations; of several prompt caches on one pool, the one that was made first gives its prompts first.
  // Errors: kInvalidArgument for a null pool or a lossy codec; kResourceExhausted.
  static Result<std::unique_ptr<PromptCache>> Create(std::shared_ptr<BlockPool> pool, const Identity& identity,
                                                     const PromptCacheOptions& options = {},
                                                     const std::vector<ChunkStoreRef>& stores = {});
  PromptCache(const PromptCache&) = delete;
  PromptCache& operator=(const PromptCache&) = delete;
  /// What is not written yet is not written any more; waits for the store that is being asked.
  ~PromptCache();

  /// Returns a cache that holds the longest known beginning of `tokens`, possibly nothing. At least one token is left
  /// to compute, unless the last logits come along. Prompts of other salts are not seen. A store that fails is passed
  /// over, and store_error says why, so that a caller can tell an outage from a miss, or take it for one. Errors:
  /// kInvalidArgument for no tokens; kResourceExhausted.
  Result<PromptPrefix> Lookup(std::span<const int32_t> tokens, const std::optional<std::string>& salt = {});

  /// As Lookup, but waits for no store, if there is a reader. Where stores may know more than memory does, `fetch`
  /// begins to ask them: it is not done then, and the same call with it, once it is, returns what they knew too. That
  /// leaves `fetch` as it is, and asks nobody again. Of a fetch that was begun for other tokens nothing is used. While
  /// the reader hangs in a store nobody is sent there.
  Result<PromptPrefix> LookupBeside(std::span<const int32_t> tokens, const std::optional<std::string>& salt,
                                    std::optional<PromptFetch>& fetch);

  /// Keeps what `cache` holds, and the logits of its last token if given. Errors: kFailedPrecondition for a cache of
  /// another pool or adapter, or with tokens that edits left inexact; kResourceExhausted for a prompt larger than
  /// max_bytes; without PromptCacheOptions::writer that of the first store that fails, after the others got it.
  Result<void> Insert(const KVCache& cache, std::span<const float> logits = {},
                      const std::optional<std::string>& salt = {});

  /// Forgets what is known of `tokens` beyond the first `keep`, in memory and, as far as look-ups can find it, in the
  /// stores: for who may not be remembered. What others share up to there stays. The writer, if there is one, drops it
  /// from the stores, behind what it has to write before; where its queue is full, this call does. Errors, where no
  /// writer does it: that of the first store that fails, after the others were asked; kResourceExhausted.
  Result<void> Forget(std::span<const int32_t> tokens, uint32_t keep, const std::optional<std::string>& salt = {});

  /// Whose prompts these are: the digest of an adapter, or zeros for the model alone.
  const Sha256Digest& adapter() const { return identity_.adapter; }

  /// Forgets the least recently used prompts in memory until at most `max_bytes` are held.
  void Trim(uint64_t max_bytes) noexcept;

  PromptCacheStats stats() const;

 private:
  PromptCache(std::shared_ptr<BlockPool> pool, const Identity& identity, const PromptCacheOptions& options,
              const std::vector<ChunkStoreRef>& stores);

  uint64_t GiveBack(uint64_t missing_bytes) noexcept;

  Identity WithSalt(const std::optional<std::string>& salt) const;

  Result<TokenChain> ChainOf(const Identity& identity, std::span<const int32_t> tokens) const;

  Result<void> ForgetInMemory(const TokenChain& chain, uint32_t keep);

  Result<void> ForgetInStores(const TokenChain& chain, const Identity& identity, uint32_t keep) const;

  /// Has the writer do it. False where there is none, or its queue is full.
  bool ForgetLater(const Identity& identity, std::span<const int32_t> tokens, uint32_t keep);

  /// What memory knows of some tokens, and by what stores are asked for more.
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

  /// Has the writer do it. It reads the blocks of `kept`, the entry in memory, which may go before; where ranks have
  /// parts of the state it has to be gathered now.
  Result<void> WriteLater(const KVCache& cache, std::shared_ptr<RevocableCache> kept, const Identity& identity,
                          std::vector<float> logits);

  bool MayKnowMore(const PromptPrefix& prefix, std::span<const int32_t> tokens) const;

  /// Nothing where the queue is full, or where the reader hangs in a store for somebody who has given up.
  std::optional<PromptFetch> BeginFetch(const Identity& identity, std::span<const int32_t> tokens, uint32_t known);

  void SetWriting(std::shared_ptr<RevocableCache> state);

  void SetReading(std::shared_ptr<internal::FetchState> state);

  /// Looks through the stores, and leaves what is longer than `known` tokens in `fetch`.
  Result<void> Fetch(const Identity& identity, uint32_t known, internal::FetchState& fetch);

  /// Replaces `prefix` by what was fetched, if that is longer and there is room for it, and keeps that in memory.
  Result<bool> TakeFetched(PromptFetch& fetch, const Identity& identity, PromptPrefix& prefix);

  /// A prompt too large to be kept is still a hit.
  Result<void> KeepFound(const Identity& identity, const PromptPrefix& prefix);

  /// Replaces `prefix` by what a store knows better, if any does, and keeps that in memory. Stores that fail are passed
  /// over; the first one's error goes to prefix.store_error.
  Result<bool> SearchStores(const TokenChain& chain, const Identity& identity, PromptPrefix& prefix);

  /// Returns the state as it is kept.
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
  bool is_over_ = false;                           ///< guarded by mutex_; what is written is given up
  std::shared_ptr<RevocableCache> writing_;        ///< guarded by mutex_; what the writer is at, or null
  std::shared_ptr<internal::FetchState> reading_;  ///< guarded by mutex_; what the reader is at, or null
  Reclaimers::Registration registration_;          ///< last: ends before the others do
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/prompts/detail/prompt_cache.h"
#endif

#endif  // SKALD_STORE_PROMPTS_PROMPT_CACHE_H_
