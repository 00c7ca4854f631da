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
// (RuntimeConfig::checkpoint_every); the statistics tell matched tokens from reused ones.
//
// Stores may be slow, or silent. With queues of other threads (PromptCacheOptions::writer, reader) nobody waits for
// them: prompts are written beside, from the memory that they are kept in, and LookupBeside asks stores in the same
// way.

#ifndef SKALD_STORE_PROMPTS_PROMPT_CACHE_H_
#define SKALD_STORE_PROMPTS_PROMPT_CACHE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"
#include "skald/base/threads/background_queue.h"
#include "skald/cache/block_peers.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/create.h"
#include "skald/cache/kv_cache.h"
#include "skald/store/chunks/chunk_store.h"
#include "skald/store/prompts/prompt_entries.h"
#include "skald/store/prompts/prompt_fetch.h"
#include "skald/store/prompts/stored_prompts.h"
#include "skald/store/snapshots/identity.h"
#include "skald/store/snapshots/snapshot.h"
#include "skald/store/snapshots/staged_cache.h"
#include "skald/store/snapshots/state_source.h"
#include "skald/store/snapshots/token_chain.h"

namespace skald {

struct PromptCacheOptions {
  // Bytes that the prompts kept in memory may hold: blocks, tokens and logits. They lie in the pool, and count towards
  // its limit too.
  uint64_t max_bytes = kUnlimited;
  // How prompts are written to the stores; a lossless codec.
  ChunkCodec codec = ChunkCodec::kSplitZstd;
  // Who writes prompts to the stores, so that Insert waits for none. A prompt that finds the queue full, or that has to
  // give its memory away before it is written, is not written. Null: Insert writes. Must outlive the prompt cache.
  BackgroundQueue* writer = nullptr;
  // Who reads the stores for LookupBeside. Null: that is Lookup. Must outlive the prompt cache.
  BackgroundQueue* reader = nullptr;
  // Bytes that prompts on their way from stores may take, beside the pool's.
  uint64_t fetch_bytes = uint64_t{1} << 30;
};

struct PromptCacheStats {
  uint64_t lookups = 0;
  uint64_t tokens_asked = 0;    // over all look-ups
  uint64_t tokens_matched = 0;  // known from some prompt before
  uint64_t tokens_reused = 0;   // that need not be computed again
  uint64_t memory_hits = 0, store_hits = 0;
  uint64_t entries = 0, bytes = 0;  // in memory now
  uint64_t evictions = 0;
  uint64_t store_errors = 0;  // look-ups that a store could not answer
  uint64_t failed_writes = 0,
           unwritten = 0;  // behind Insert: that a store refused; for which there was no room or time
};

// Safe for concurrent calls. Stores must outlive it.
class PromptCache {
 public:
  // `identity` is of the model, and of the adapter that the conversations are for; its salt is that of callers who name
  // none. Where the pool is full, prompts make room
  // for conversations; of several prompt caches on one pool, the one that was made first gives its prompts first.
  // Errors: kInvalidArgument for a null pool or a lossy codec; kResourceExhausted.
  static Result<std::unique_ptr<PromptCache>> Create(std::shared_ptr<BlockPool> pool, const Identity& identity,
                                                     const PromptCacheOptions& options = {},
                                                     const std::vector<ChunkStoreRef>& stores = {}) {
    return NoThrow("PromptCache::Create", [&]() -> Result<std::unique_ptr<PromptCache>> {
      if (pool == nullptr) return Fail(ErrorCode::kInvalidArgument, "PromptCache: the pool is null");
      if (options.codec == ChunkCodec::kInt8Zstd) {
        return Fail(ErrorCode::kInvalidArgument,
                    "PromptCacheOptions::codec is lossy; prompts are reused exactly or not");
      }
      std::unique_ptr<PromptCache> prompts(new PromptCache(std::move(pool), identity, options, stores));
      auto registration = prompts->pool_->AddReclaimer(
          [prompts = prompts.get()](uint64_t missing_bytes) { return prompts->GiveBack(missing_bytes); });
      if (!registration) return Failure(registration.error());
      prompts->registration_ = std::move(*registration);
      return prompts;
    });
  }
  PromptCache(const PromptCache&) = delete;
  PromptCache& operator=(const PromptCache&) = delete;
  // What is not written yet is not written any more; waits for the store that is being asked.
  ~PromptCache() {
    registration_ = {};  // nobody asks for the memory of entries any more
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
      if (writing_ != nullptr) writing_->Revoke();
    }
    if (options_.writer != nullptr) options_.writer->Withdraw(this);
    if (options_.reader != nullptr) options_.reader->Withdraw(this);
  }

  // Returns a cache that holds the longest known beginning of `tokens`, possibly nothing. At least one token is left to
  // compute, unless the last logits come along. Prompts of other salts are not seen. A store that fails is passed over,
  // and store_error says why, so that a caller can tell an outage from a miss, or take it for one. Errors:
  // kInvalidArgument for no tokens; kResourceExhausted.
  Result<PromptPrefix> Lookup(std::span<const int32_t> tokens, const std::optional<std::string>& salt = {}) {
    return NoThrow("PromptCache::Lookup", [&]() -> Result<PromptPrefix> {
      auto known = LookInMemory("PromptCache::Lookup", tokens, salt);
      if (!known) return Failure(known.error());
      bool is_from_store = false;
      if (MayKnowMore(known->prefix, tokens)) {
        const auto found = SearchStores(known->chain, known->identity, known->prefix);
        if (!found) return Failure(found.error());
        is_from_store = *found;
      }
      Count(tokens.size(), known->prefix, is_from_store);
      return std::move(known->prefix);
    });
  }

  // As Lookup, but waits for no store, if there is a reader. Where stores may know more than memory does, `fetch`
  // begins to ask them: it is not done then, and the same call with it, once it is, returns what they knew too. That
  // leaves `fetch` as it is, and asks nobody again. While the reader hangs in a store nobody is sent there.
  Result<PromptPrefix> LookupBeside(std::span<const int32_t> tokens, const std::optional<std::string>& salt,
                                    std::optional<PromptFetch>& fetch) {
    if (options_.reader == nullptr) return Lookup(tokens, salt);
    return NoThrow("PromptCache::LookupBeside", [&]() -> Result<PromptPrefix> {
      auto known = LookInMemory("PromptCache::LookupBeside", tokens, salt);
      if (!known) return Failure(known.error());
      PromptPrefix& prefix = known->prefix;
      bool is_from_store = false;
      if (fetch) {
        const auto taken = TakeFetched(*fetch, known->identity, prefix);
        if (!taken) return Failure(taken.error());
        is_from_store = *taken;
      } else if (MayKnowMore(prefix, tokens)) {
        fetch = BeginFetch(known->identity, tokens, prefix.cache.size());
        if (fetch) return std::move(prefix);  // counted when the caller comes back
      }
      Count(tokens.size(), prefix, is_from_store);
      return std::move(prefix);
    });
  }

  // Keeps what `cache` holds, and the logits of its last token if given. Errors: kFailedPrecondition for a cache of
  // another pool or adapter, or with tokens that edits left inexact; kResourceExhausted for a prompt larger than
  // max_bytes; without PromptCacheOptions::writer that of the first store that fails, after the others got it.
  Result<void> Insert(const KVCache& cache, std::span<const float> logits = {},
                      const std::optional<std::string>& salt = {}) {
    return NoThrow("PromptCache::Insert", [&]() -> Result<void> {
      if (cache.pool() != pool_) {
        return Fail(ErrorCode::kFailedPrecondition, "PromptCache::Insert: the cache is of another pool");
      }
      if (auto same = internal::CheckAdapter(cache, identity_); !same) return same;
      if (cache.exact_tokens() < cache.size()) {
        return Fail(ErrorCode::kFailedPrecondition, "PromptCache::Insert: after an edit only the first " +
                                                        std::to_string(cache.exact_tokens()) +
                                                        " tokens are what computing them would give");
      }
      const Identity identity = WithSalt(salt);
      const auto chain = ChainOf(identity, cache.tokens());
      if (!chain) return Failure(chain.error());
      auto kept = KeepInMemory(cache, *chain, logits);
      if (!kept) return Failure(kept.error());
      if (stores_.empty()) return {};
      if (options_.writer == nullptr) return WriteToStores(cache, identity, *chain, {logits.begin(), logits.end()});
      return WriteLater(cache, std::move(*kept), identity, {logits.begin(), logits.end()});
    });
  }

  // Forgets what is known of `tokens` beyond the first `keep`, in memory and, as far as look-ups can find it, in the
  // stores: for who may not be remembered. What others share up to there stays. The writer, if there is one, drops it
  // from the stores, behind what it has to write before; where its queue is full, this call does. Errors, where no
  // writer does it: that of the first store that fails, after the others were asked; kResourceExhausted.
  Result<void> Forget(std::span<const int32_t> tokens, uint32_t keep, const std::optional<std::string>& salt = {}) {
    return NoThrow("PromptCache::Forget", [&]() -> Result<void> {
      const Identity identity = WithSalt(salt);
      const auto chain = ChainOf(identity, tokens);
      if (!chain) return Failure(chain.error());
      auto result = ForgetInMemory(*chain, keep);
      if (stores_.empty() || ForgetLater(identity, tokens, keep)) return result;
      auto done = ForgetInStores(*chain, identity, keep);
      return result ? std::move(done) : std::move(result);
    });
  }

  // Whose prompts these are: the digest of an adapter, or zeros for the model alone.
  const Sha256Digest& adapter() const { return identity_.adapter; }

  // Forgets the least recently used prompts in memory until at most `max_bytes` are held.
  void Trim(uint64_t max_bytes) noexcept {
    const std::lock_guard lock(mutex_);
    EvictUntil(max_bytes);
  }

  PromptCacheStats stats() const {
    const std::lock_guard lock(mutex_);
    PromptCacheStats stats = stats_;
    stats.entries = entries_.size();
    stats.bytes = entries_.bytes();
    return stats;
  }

 private:
  PromptCache(std::shared_ptr<BlockPool> pool, const Identity& identity, const PromptCacheOptions& options,
              const std::vector<ChunkStoreRef>& stores)
      : pool_(std::move(pool)),
        identity_(identity),
        options_(options),
        store_refs_(stores),
        fetch_room_(std::make_shared<StagingRoom>(options.fetch_bytes)) {
    for (const ChunkStoreRef& store : stores) stores_.emplace_back(store, options.codec);
  }

  uint64_t GiveBack(uint64_t missing_bytes) noexcept {
    const std::lock_guard lock(mutex_);
    return entries_.GiveBack(missing_bytes, stats_.evictions);
  }

  Identity WithSalt(const std::optional<std::string>& salt) const {
    Identity identity = identity_;
    if (salt) identity.salt = *salt;
    return identity;
  }

  Result<TokenChain> ChainOf(const Identity& identity, std::span<const int32_t> tokens) const {
    const auto kind = internal::StateKindOf(*pool_, identity, options_.codec);
    if (!kind) return Failure(kind.error());
    return TokenChain::Of(*kind, tokens);
  }

  Result<void> ForgetInMemory(const TokenChain& chain, uint32_t keep) {
    const std::lock_guard lock(mutex_);
    return entries_.Forget(chain, keep, stats_.evictions);
  }

  Result<void> ForgetInStores(const TokenChain& chain, const Identity& identity, uint32_t keep) const {
    Result<void> result;
    for (const StoredPrompts& store : stores_) {
      auto done = store.Forget(chain, identity, keep, pool_);
      if (!done && result) result = std::move(done);
    }
    return result;
  }

  // Has the writer do it. False where there is none, or its queue is full.
  bool ForgetLater(const Identity& identity, std::span<const int32_t> tokens, uint32_t keep) {
    if (options_.writer == nullptr) return false;
    const auto forget = [this, identity, keep, tokens = std::vector<int32_t>(tokens.begin(), tokens.end())] {
      if (const auto chain = ChainOf(identity, tokens)) (void)ForgetInStores(*chain, identity, keep);
    };
    return options_.writer->Post(this, forget, tokens.size_bytes());
  }

  // What memory knows of some tokens, and by what stores are asked for more.
  struct Known {
    Identity identity;
    TokenChain chain;
    PromptPrefix prefix;
  };

  Result<Known> LookInMemory(const char* caller, std::span<const int32_t> tokens,
                             const std::optional<std::string>& salt) {
    if (tokens.empty()) return Fail(ErrorCode::kInvalidArgument, std::string(caller) + ": there are no tokens");
    Identity identity = WithSalt(salt);
    auto chain = ChainOf(identity, tokens);
    if (!chain) return Failure(chain.error());
    auto prefix = FindInMemory(*chain);
    if (!prefix) return Failure(prefix.error());
    return Known{std::move(identity), *std::move(chain), *std::move(prefix)};
  }

  Result<PromptPrefix> FindInMemory(const TokenChain& chain) {
    const std::lock_guard lock(mutex_);
    return entries_.Find(chain, pool_, identity_.adapter);
  }

  Result<void> WriteToStores(const StateSource& state, const Identity& identity, const TokenChain& chain,
                             const std::vector<float>& logits) const {
    Result<void> result;
    for (const StoredPrompts& store : stores_) {
      auto stored = store.Insert(state, identity, chain, logits);
      if (!stored && result) result = std::move(stored);
    }
    return result;
  }

  // Has the writer do it. It reads the blocks of `kept`, the entry in memory, which may go before; where ranks have
  // parts of the state it has to be gathered now.
  Result<void> WriteLater(const KVCache& cache, std::shared_ptr<RevocableCache> kept, const Identity& identity,
                          std::vector<float> logits) {
    uint64_t bytes = cache.size() * sizeof(int32_t) + logits.size() * sizeof(float);
    if (BlockPeers* const peers = pool_->peers().get()) {
      auto whole = peers->Gather(cache);
      if (!whole) return Failure(whole.error());
      bytes += whole->pool()->usage().used_bytes;
      kept = std::make_shared<RevocableCache>(std::move(*whole));
    }
    const bool is_posted = options_.writer->Post(
        this,
        [this, kept = std::move(kept), tokens = std::vector<int32_t>(cache.tokens().begin(), cache.tokens().end()),
         identity, logits = std::move(logits)] {
          SetWriting(kept);
          const auto chain = ChainOf(identity, tokens);
          const auto written = chain ? WriteToStores(*kept, identity, *chain, logits) : Failure(chain.error());
          const std::lock_guard lock(mutex_);
          writing_ = nullptr;
          if (!written) ++(kept->is_revoked() ? stats_.unwritten : stats_.failed_writes);
        },
        bytes);
    const std::lock_guard lock(mutex_);
    stats_.unwritten += !is_posted;
    return {};
  }

  bool MayKnowMore(const PromptPrefix& prefix, std::span<const int32_t> tokens) const {
    return !stores_.empty() && prefix.logits.empty() && prefix.cache.size() + 1 < tokens.size();
  }

  // Nothing where the queue is full, or where the reader hangs in a store for somebody who has given up.
  std::optional<PromptFetch> BeginFetch(const Identity& identity, std::span<const int32_t> tokens, uint32_t known) {
    const auto state = std::make_shared<internal::FetchState>();
    {
      const std::lock_guard lock(mutex_);
      if (reading_ != nullptr && !reading_->is_wanted) return std::nullopt;
    }
    const bool is_posted = options_.reader->Post(
        this,
        [this, state, identity, known, tokens = std::vector<int32_t>(tokens.begin(), tokens.end())] {
          SetReading(state);
          auto fetched = NoThrow("fetching a prompt", [&] { return Fetch(identity, tokens, known, *state); });
          if (!fetched) state->store_error = std::move(fetched.error());
          state->is_done = true;
          SetReading(nullptr);
        },
        tokens.size_bytes());
    if (!is_posted) return std::nullopt;
    return PromptFetch(state);
  }

  void SetWriting(std::shared_ptr<RevocableCache> state) {
    const std::lock_guard lock(mutex_);
    writing_ = std::move(state);
    if (is_over_) writing_->Revoke();
  }

  void SetReading(std::shared_ptr<internal::FetchState> state) {
    const std::lock_guard lock(mutex_);
    reading_ = std::move(state);
  }

  // Looks through the stores, and leaves what is longer than `known` tokens in `fetch`.
  Result<void> Fetch(const Identity& identity, std::span<const int32_t> tokens, uint32_t known,
                     internal::FetchState& fetch) {
    const auto chain = ChainOf(identity, tokens);
    if (!chain) return Failure(chain.error());
    const auto room = fetch_room_->MakePool(*pool_);
    if (!room) return Failure(room.error());
    for (const ChunkStoreRef& ref : store_refs_) {
      if (!fetch.is_wanted) return {};
      internal::WantedStore store(ref, fetch);
      auto found = StoredPrompts(store, options_.codec).Find(*chain, identity, known, *room);
      if (!found && !fetch.store_error) fetch.store_error = found.error();
      if (!found || !*found) continue;
      fetch.found.emplace(std::move((*found)->cache), fetch_room_);
      fetch.matched = (*found)->matched;
      fetch.logits = std::move((*found)->logits);
      return {};
    }
    return {};
  }

  // Replaces `prefix` by what was fetched, if that is longer and there is room for it, and keeps that in memory.
  Result<bool> TakeFetched(PromptFetch& fetch, const Identity& identity, PromptPrefix& prefix) {
    if (fetch.state_ == nullptr || !fetch.state_->is_done) return false;
    internal::FetchState& state = *fetch.state_;
    prefix.store_error = std::exchange(state.store_error, {});
    const std::optional<StagedCache> found = std::move(state.found);
    state.found.reset();
    if (!found || found->cache().size() <= prefix.cache.size()) return false;
    auto cache = found->CopyTo(pool_);
    if (!cache && cache.error().code == ErrorCode::kResourceExhausted) return false;
    if (!cache) return Failure(cache.error());
    prefix = {std::move(*cache), state.matched, std::move(state.logits), std::move(prefix.store_error)};
    if (auto kept = KeepFound(identity, prefix); !kept) return Failure(kept.error());
    return true;
  }

  // A prompt too large to be kept is still a hit.
  Result<void> KeepFound(const Identity& identity, const PromptPrefix& prefix) {
    const auto chain = ChainOf(identity, prefix.cache.tokens());
    if (!chain) return Failure(chain.error());
    const auto kept = KeepInMemory(prefix.cache, *chain, prefix.logits);
    if (!kept && kept.error().code != ErrorCode::kResourceExhausted) return Failure(kept.error());
    return {};
  }

  // Replaces `prefix` by what a store knows better, if any does, and keeps that in memory. Stores that fail are passed
  // over; the first one's error goes to prefix.store_error.
  Result<bool> SearchStores(const TokenChain& chain, const Identity& identity, PromptPrefix& prefix) {
    for (const StoredPrompts& store : stores_) {
      auto found = store.Find(chain, identity, prefix.cache.size(), pool_);
      if (!found) {
        if (!prefix.store_error) prefix.store_error = std::move(found.error());
        continue;
      }
      if (!*found) continue;
      (*found)->store_error = std::move(prefix.store_error);
      prefix = std::move(**found);
      if (auto kept = KeepFound(identity, prefix); !kept) return Failure(kept.error());
      return true;
    }
    return false;
  }

  // Returns the state as it is kept.
  Result<std::shared_ptr<RevocableCache>> KeepInMemory(const KVCache& cache, const TokenChain& chain,
                                                       std::span<const float> logits) {
    const std::lock_guard lock(mutex_);
    if (auto kept = entries_.Touch(chain, logits)) {
      EvictUntil(options_.max_bytes);  // it may have gained logits
      return kept;
    }
    auto fork = cache.Fork();
    if (!fork) return Failure(fork.error());
    auto candidate = PromptEntries::Candidate::Of(std::move(*fork), chain, {logits.begin(), logits.end()});
    if (!candidate) return Failure(candidate.error());
    const uint64_t whole = candidate->whole_bytes();
    if (whole > options_.max_bytes) {
      return Fail(ErrorCode::kResourceExhausted, "a prompt of " + std::to_string(cache.size()) + " tokens takes " +
                                                     std::to_string(whole) + " bytes, the prompt cache may hold " +
                                                     std::to_string(options_.max_bytes));
    }
    while (entries_.bytes() + entries_.BytesToAdd(*candidate) > options_.max_bytes && entries_.Evict()) {
      ++stats_.evictions;
    }
    return entries_.Insert(std::move(*candidate));
  }

  void EvictUntil(uint64_t max_bytes) noexcept {
    while (entries_.bytes() > max_bytes && entries_.Evict()) ++stats_.evictions;
  }

  void Count(size_t asked, const PromptPrefix& prefix, bool is_from_store) {
    const std::lock_guard lock(mutex_);
    ++stats_.lookups;
    stats_.store_errors += prefix.store_error.has_value();
    if (prefix.cache.size() > 0) ++(is_from_store ? stats_.store_hits : stats_.memory_hits);
    stats_.tokens_asked += asked;
    stats_.tokens_matched += prefix.matched;
    stats_.tokens_reused += prefix.cache.size();
  }

  std::shared_ptr<BlockPool> pool_;
  const Identity identity_;
  const PromptCacheOptions options_;
  const std::vector<ChunkStoreRef> store_refs_;
  std::vector<StoredPrompts> stores_;  // of these
  const std::shared_ptr<StagingRoom> fetch_room_;
  mutable std::mutex mutex_;
  PromptEntries entries_;                          // guarded by mutex_
  PromptCacheStats stats_;                         // guarded by mutex_
  bool is_over_ = false;                           // guarded by mutex_; what is written is given up
  std::shared_ptr<RevocableCache> writing_;        // guarded by mutex_; what the writer is at, or null
  std::shared_ptr<internal::FetchState> reading_;  // guarded by mutex_; what the reader is at, or null
  Reclaimers::Registration registration_;          // last: ends before the others do
};

}  // namespace skald

#endif  // SKALD_STORE_PROMPTS_PROMPT_CACHE_H_
