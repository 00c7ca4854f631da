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

#ifndef SKALD_STORE_PROMPTS_PROMPT_CACHE_H_
#define SKALD_STORE_PROMPTS_PROMPT_CACHE_H_

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
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/create.h"
#include "skald/cache/kv_cache.h"
#include "skald/store/chunks/chunk_store.h"
#include "skald/store/prompts/prompt_entries.h"
#include "skald/store/prompts/stored_prompts.h"
#include "skald/store/snapshots/identity.h"
#include "skald/store/snapshots/snapshot.h"
#include "skald/store/snapshots/token_chain.h"

namespace skald {

struct PromptCacheOptions {
  // Bytes that the prompts kept in memory may hold: blocks, tokens and logits. They lie in the pool, and count towards
  // its limit too.
  uint64_t max_bytes = kUnlimited;
  // How prompts are written to the stores; a lossless codec.
  ChunkCodec codec = ChunkCodec::kSplitZstd;
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

  // Returns a cache that holds the longest known beginning of `tokens`, possibly nothing. At least one token is left to
  // compute, unless the last logits come along. Prompts of other salts are not seen. A store that fails is passed over,
  // and store_error says why, so that a caller can tell an outage from a miss, or take it for one. Errors:
  // kInvalidArgument for no tokens; kResourceExhausted.
  Result<PromptPrefix> Lookup(std::span<const int32_t> tokens, const std::optional<std::string>& salt = {}) {
    return NoThrow("PromptCache::Lookup", [&]() -> Result<PromptPrefix> {
      if (tokens.empty()) return Fail(ErrorCode::kInvalidArgument, "PromptCache::Lookup: there are no tokens");
      const Identity identity = WithSalt(salt);
      const auto chain = ChainOf(identity, tokens);
      if (!chain) return Failure(chain.error());
      auto prefix = FindInMemory(*chain);
      if (!prefix) return Failure(prefix.error());
      bool is_from_store = false;
      if (prefix->logits.empty() && prefix->cache.size() + 1 < tokens.size()) {
        const auto found = SearchStores(*chain, identity, *prefix);
        if (!found) return Failure(found.error());
        is_from_store = *found;
      }
      Count(tokens.size(), *prefix, is_from_store);
      return prefix;
    });
  }

  // Keeps what `cache` holds, and the logits of its last token if given. Errors: kFailedPrecondition for a cache of
  // another pool or adapter, or with tokens that edits left inexact; kResourceExhausted for a prompt larger than
  // max_bytes; that of the first store that fails, after the others got it.
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
      if (auto kept = KeepInMemory(cache, *chain, logits); !kept) return kept;
      Result<void> result;
      for (const StoredPrompts& store : stores_) {
        auto stored = store.Insert(cache, identity, *chain, {logits.begin(), logits.end()});
        if (!stored && result) result = std::move(stored);
      }
      return result;
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
      : pool_(std::move(pool)), identity_(identity), options_(options) {
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

  Result<PromptPrefix> FindInMemory(const TokenChain& chain) {
    const std::lock_guard lock(mutex_);
    return entries_.Find(chain, pool_, identity_.adapter);
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
      const auto known = ChainOf(identity, prefix.cache.tokens());
      if (!known) return Failure(known.error());
      const auto kept = KeepInMemory(prefix.cache, *known, prefix.logits);
      // A prompt too large to be kept is still a hit.
      if (!kept && kept.error().code != ErrorCode::kResourceExhausted) return Failure(kept.error());
      return true;
    }
    return false;
  }

  Result<void> KeepInMemory(const KVCache& cache, const TokenChain& chain, std::span<const float> logits) {
    const std::lock_guard lock(mutex_);
    if (entries_.Touch(chain, logits)) {
      EvictUntil(options_.max_bytes);  // it may have gained logits
      return {};
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
    entries_.Insert(std::move(*candidate));
    return {};
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
  std::vector<StoredPrompts> stores_;
  mutable std::mutex mutex_;
  PromptEntries entries_;                  // guarded by mutex_
  PromptCacheStats stats_;                 // guarded by mutex_
  Reclaimers::Registration registration_;  // last: ends before the others do
};

}  // namespace skald

#endif  // SKALD_STORE_PROMPTS_PROMPT_CACHE_H_
