// SPDX-License-Identifier: Apache-2.0
//
// PromptCache: no prompt is computed twice, nor is the beginning of one. Prompts are kept in pool memory, and behind
// that in any number of chunk stores, nearest first: a directory, say, then a Redis server. A hit is a cache of the
// caller's own that shares its blocks, ready to go on with what the prompt has left.
//
// The bits are those of computing the whole prompt. Windows and recurrent layers can go on only from resume points
// (RuntimeConfig::checkpoint_every); the statistics tell matched tokens from reused ones.

#ifndef SKALD_STORE_PROMPT_CACHE_H_
#define SKALD_STORE_PROMPT_CACHE_H_

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
#include "skald/base/result.h"
#include "skald/cache/block_pool.h"
#include "skald/cache/create.h"
#include "skald/cache/kv_cache.h"
#include "skald/store/chunk_store.h"
#include "skald/store/identity.h"
#include "skald/store/prompt_entries.h"
#include "skald/store/snapshot.h"
#include "skald/store/stored_prompts.h"
#include "skald/store/token_chain.h"

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
};

// Safe for concurrent calls. Stores must outlive it.
class PromptCache {
 public:
  // `identity` is of the model; its salt is that of callers who name none. Where the pool is full, prompts make room
  // for conversations. Error: kInvalidArgument for a null pool or a lossy codec.
  static Result<std::unique_ptr<PromptCache>> Create(std::shared_ptr<BlockPool> pool, const Identity& identity,
                                                     const PromptCacheOptions& options = {},
                                                     const std::vector<ChunkStoreRef>& stores = {}) {
    if (pool == nullptr) return Fail(ErrorCode::kInvalidArgument, "PromptCache: the pool is null");
    if (options.codec == ChunkCodec::kInt8Zstd) {
      return Fail(ErrorCode::kInvalidArgument, "PromptCacheOptions::codec is lossy; prompts are reused exactly or not");
    }
    return std::unique_ptr<PromptCache>(new PromptCache(std::move(pool), identity, options, stores));
  }
  ~PromptCache() { pool_->SetReclaimer(nullptr); }
  PromptCache(const PromptCache&) = delete;
  PromptCache& operator=(const PromptCache&) = delete;

  // Returns a cache that holds the longest known beginning of `tokens`, possibly nothing. At least one token is left to
  // compute, unless the last logits come along. Prompts of other salts are not seen. Errors: kInvalidArgument for no
  // tokens; those of the stores, so that a caller can tell an outage from a miss.
  Result<PromptPrefix> Lookup(std::span<const int32_t> tokens, const std::optional<std::string>& salt = {}) {
    if (tokens.empty()) return Fail(ErrorCode::kInvalidArgument, "PromptCache::Lookup: there are no tokens");
    return NoThrow("PromptCache::Lookup", [&]() -> Result<PromptPrefix> {
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
  // another pool, or with tokens that edits left inexact; kResourceExhausted for a prompt larger than max_bytes; those
  // of the stores.
  Result<void> Insert(const KVCache& cache, std::span<const float> logits = {},
                      const std::optional<std::string>& salt = {}) {
    if (cache.pool() != pool_) {
      return Fail(ErrorCode::kFailedPrecondition, "PromptCache::Insert: the cache is of another pool");
    }
    if (cache.exact_tokens() < cache.size()) {
      return Fail(ErrorCode::kFailedPrecondition, "PromptCache::Insert: after an edit only the first " +
                                                      std::to_string(cache.exact_tokens()) +
                                                      " tokens are what computing them would give");
    }
    return NoThrow("PromptCache::Insert", [&]() -> Result<void> {
      const Identity identity = WithSalt(salt);
      const auto chain = ChainOf(identity, cache.tokens());
      if (!chain) return Failure(chain.error());
      std::vector<float> last_logits(logits.begin(), logits.end());
      if (auto kept = KeepInMemory(cache, *chain, last_logits); !kept) return kept;
      for (const StoredPrompts& store : stores_) {
        if (auto stored = store.Insert(cache, identity, *chain, last_logits); !stored) return stored;
      }
      return {};
    });
  }

  // Forgets the least recently used prompts in memory until at most `max_bytes` are held.
  void Trim(uint64_t max_bytes) {
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
    pool_->SetReclaimer([this] {
      const std::lock_guard lock(mutex_);
      if (!entries_.Evict()) return false;
      ++stats_.evictions;
      return true;
    });
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
    return entries_.Find(chain, pool_);
  }

  // Replaces `prefix` by what a store knows better, if any does, and keeps that in memory.
  Result<bool> SearchStores(const TokenChain& chain, const Identity& identity, PromptPrefix& prefix) {
    for (const StoredPrompts& store : stores_) {
      auto found = store.Find(chain, identity, prefix.cache.size(), pool_);
      if (!found) return Failure(found.error());
      if (!*found) continue;
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

  Result<void> KeepInMemory(const KVCache& cache, const TokenChain& chain, const std::vector<float>& logits) {
    const std::lock_guard lock(mutex_);
    if (entries_.Touch(chain, logits)) return {};
    const uint64_t whole = PromptEntries::WholeBytes(cache, logits);
    if (whole > options_.max_bytes) {
      return Fail(ErrorCode::kResourceExhausted, "a prompt of " + std::to_string(cache.size()) + " tokens takes " +
                                                     std::to_string(whole) + " bytes, the prompt cache may hold " +
                                                     std::to_string(options_.max_bytes));
    }
    while (entries_.bytes() + entries_.BytesToAdd(cache, logits) > options_.max_bytes) EvictUntil(entries_.bytes() - 1);
    auto fork = cache.Fork();
    if (!fork) return Failure(fork.error());
    return entries_.Insert(std::move(*fork), chain, logits);
  }

  void EvictUntil(uint64_t max_bytes) {
    while (entries_.bytes() > max_bytes && entries_.Evict()) ++stats_.evictions;
  }

  void Count(size_t asked, const PromptPrefix& prefix, bool is_from_store) {
    const std::lock_guard lock(mutex_);
    ++stats_.lookups;
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
  PromptEntries entries_;   // guarded by mutex_
  PromptCacheStats stats_;  // guarded by mutex_
};

}  // namespace skald

#endif  // SKALD_STORE_PROMPT_CACHE_H_
