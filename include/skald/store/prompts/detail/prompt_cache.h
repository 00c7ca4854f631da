// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/prompts/prompt_cache.h.

#ifndef SKALD_STORE_PROMPTS_DETAIL_PROMPT_CACHE_H_
#define SKALD_STORE_PROMPTS_DETAIL_PROMPT_CACHE_H_

#include "skald/store/prompts/prompt_cache.h"

#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/cache/block_peers.h"
#include "skald/cache/create.h"
#include "skald/store/snapshots/snapshot.h"
#include "skald/store/snapshots/snapshot_writer.h"

namespace skald {

SKALD_INLINE Result<std::unique_ptr<PromptCache>> PromptCache::Create(std::shared_ptr<BlockPool> pool,
                                                                      const Identity& identity,
                                                                      const PromptCacheOptions& options,
                                                                      const std::vector<ChunkStoreRef>& stores) {
  return NoThrow("PromptCache::Create", [&]() -> Result<std::unique_ptr<PromptCache>> {
    if (pool == nullptr) return Fail(ErrorCode::kInvalidArgument, "PromptCache: the pool is null");
    if (options.codec == ChunkCodec::kInt8Zstd) {
      return Fail(ErrorCode::kInvalidArgument, "PromptCacheOptions::codec is lossy; prompts are reused exactly or not");
    }
    std::unique_ptr<PromptCache> prompts(new PromptCache(std::move(pool), identity, options, stores));
    SKALD_ASSIGN(auto registration, prompts->pool_->AddReclaimer([prompts = prompts.get()](uint64_t missing_bytes) {
      return prompts->GiveBack(missing_bytes);
    }));
    prompts->registration_ = std::move(registration);
    return prompts;
  });
}

SKALD_INLINE PromptCache::~PromptCache() {
  registration_ = {};  // from here on the pool does not ask for the entries' memory
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    if (writing_ != nullptr) writing_->Revoke();
  }
  if (options_.writer != nullptr) options_.writer->Withdraw(this);
  if (options_.reader != nullptr) options_.reader->Withdraw(this);
}

SKALD_INLINE Result<PromptPrefix> PromptCache::Lookup(std::span<const int32_t> tokens,
                                                      const std::optional<std::string>& salt) {
  return NoThrow("PromptCache::Lookup", [&]() -> Result<PromptPrefix> {
    SKALD_ASSIGN(auto known, LookInMemory("PromptCache::Lookup", tokens, salt));
    bool is_from_store = false;
    if (MayKnowMore(known.prefix, tokens)) {
      SKALD_ASSIGN(const auto found, SearchStores(known.chain, known.identity, known.prefix));
      is_from_store = found;
    }
    Count(tokens.size(), known.prefix, is_from_store);
    return std::move(known.prefix);
  });
}

SKALD_INLINE Result<PromptPrefix> PromptCache::LookupBeside(std::span<const int32_t> tokens,
                                                            const std::optional<std::string>& salt,
                                                            std::optional<PromptFetch>& fetch) {
  if (options_.reader == nullptr) return Lookup(tokens, salt);
  return NoThrow("PromptCache::LookupBeside", [&]() -> Result<PromptPrefix> {
    SKALD_ASSIGN(auto known, LookInMemory("PromptCache::LookupBeside", tokens, salt));
    PromptPrefix& prefix = known.prefix;
    bool is_from_store = false;
    if (fetch && fetch->IsOf(tokens)) {
      SKALD_ASSIGN(const auto taken, TakeFetched(*fetch, known.identity, prefix));
      is_from_store = taken;
    } else if (!fetch && MayKnowMore(prefix, tokens)) {
      fetch = BeginFetch(known.identity, tokens, prefix.cache.size());
      if (fetch) return std::move(prefix);  // counted when the caller calls again
    }
    Count(tokens.size(), prefix, is_from_store);
    return std::move(prefix);
  });
}

SKALD_INLINE Result<void> PromptCache::Insert(const KVCache& cache, std::span<const float> logits,
                                              const std::optional<std::string>& salt) {
  return NoThrow("PromptCache::Insert", [&]() -> Result<void> {
    if (cache.pool() != pool_) {
      return Fail(ErrorCode::kFailedPrecondition, "PromptCache::Insert: the cache is of another pool");
    }
    SKALD_TRY(internal::CheckAdapter(cache, identity_));
    if (cache.exact_tokens() < cache.size()) {
      return Fail(ErrorCode::kFailedPrecondition, "PromptCache::Insert: after an edit only the first " +
                                                      std::to_string(cache.exact_tokens()) +
                                                      " tokens are what computing them would give");
    }
    const Identity identity = WithSalt(salt);
    SKALD_ASSIGN(const auto chain, ChainOf(identity, cache.tokens()));
    SKALD_ASSIGN(auto kept, KeepInMemory(cache, chain, logits));
    if (stores_.empty()) return {};
    if (options_.writer == nullptr) return WriteToStores(cache, identity, chain, {logits.begin(), logits.end()});
    return WriteLater(cache, std::move(kept), identity, {logits.begin(), logits.end()});
  });
}

SKALD_INLINE Result<void> PromptCache::Forget(std::span<const int32_t> tokens, uint32_t keep,
                                              const std::optional<std::string>& salt) {
  return NoThrow("PromptCache::Forget", [&]() -> Result<void> {
    const Identity identity = WithSalt(salt);
    SKALD_ASSIGN(const auto chain, ChainOf(identity, tokens));
    auto result = ForgetInMemory(chain, keep);
    if (stores_.empty() || ForgetLater(identity, tokens, keep)) return result;
    auto done = ForgetInStores(chain, identity, keep);
    return result ? std::move(done) : std::move(result);
  });
}

SKALD_INLINE void PromptCache::Trim(uint64_t max_bytes) noexcept {
  const std::lock_guard lock(mutex_);
  EvictUntil(max_bytes);
}

SKALD_INLINE PromptCacheStats PromptCache::stats() const {
  const std::lock_guard lock(mutex_);
  PromptCacheStats stats = stats_;
  stats.entries = entries_.size();
  stats.bytes = entries_.bytes();
  return stats;
}

SKALD_INLINE PromptCache::PromptCache(std::shared_ptr<BlockPool> pool, const Identity& identity,
                                      const PromptCacheOptions& options, const std::vector<ChunkStoreRef>& stores)
    : pool_(std::move(pool)),
      identity_(identity),
      options_(options),
      store_refs_(stores),
      fetch_room_(std::make_shared<StagingRoom>(options.fetch_bytes)) {
  for (const ChunkStoreRef& store : stores) stores_.emplace_back(store, options.codec);
}

SKALD_INLINE uint64_t PromptCache::GiveBack(uint64_t missing_bytes) noexcept {
  const std::lock_guard lock(mutex_);
  return entries_.GiveBack(missing_bytes, stats_.evictions);
}

SKALD_INLINE Identity PromptCache::WithSalt(const std::optional<std::string>& salt) const {
  Identity identity = identity_;
  if (salt) identity.salt = *salt;
  return identity;
}

SKALD_INLINE Result<TokenChain> PromptCache::ChainOf(const Identity& identity, std::span<const int32_t> tokens) const {
  SKALD_ASSIGN(const auto kind, internal::StateKindOf(*pool_, identity, options_.codec));
  return TokenChain::Of(kind, tokens);
}

SKALD_INLINE Result<void> PromptCache::ForgetInMemory(const TokenChain& chain, uint32_t keep) {
  const std::lock_guard lock(mutex_);
  return entries_.Forget(chain, keep, stats_.evictions);
}

SKALD_INLINE Result<void> PromptCache::ForgetInStores(const TokenChain& chain, const Identity& identity,
                                                      uint32_t keep) const {
  Result<void> result;
  for (const StoredPrompts& store : stores_) {
    auto done = store.Forget(chain, identity, keep, pool_);
    if (!done && result) result = std::move(done);
  }
  return result;
}

SKALD_INLINE bool PromptCache::ForgetLater(const Identity& identity, std::span<const int32_t> tokens, uint32_t keep) {
  if (options_.writer == nullptr) return false;
  const auto forget = [this, identity, keep, tokens = std::vector<int32_t>(tokens.begin(), tokens.end())] {
    if (const auto chain = ChainOf(identity, tokens)) (void)ForgetInStores(*chain, identity, keep);
  };
  return options_.writer->Post(this, forget, tokens.size_bytes());
}

SKALD_INLINE Result<PromptCache::Known> PromptCache::LookInMemory(const char* caller, std::span<const int32_t> tokens,
                                                                  const std::optional<std::string>& salt) {
  if (tokens.empty()) return Fail(ErrorCode::kInvalidArgument, std::string(caller) + ": there are no tokens");
  Identity identity = WithSalt(salt);
  SKALD_ASSIGN(auto chain, ChainOf(identity, tokens));
  SKALD_ASSIGN(auto prefix, FindInMemory(chain));
  return Known{std::move(identity), std::move(chain), std::move(prefix)};
}

SKALD_INLINE Result<PromptPrefix> PromptCache::FindInMemory(const TokenChain& chain) {
  const std::lock_guard lock(mutex_);
  return entries_.Find(chain, pool_, identity_.adapter);
}

SKALD_INLINE Result<void> PromptCache::WriteToStores(const StateSource& state, const Identity& identity,
                                                     const TokenChain& chain, const std::vector<float>& logits) const {
  Result<void> result;
  for (const StoredPrompts& store : stores_) {
    auto stored = store.Insert(state, identity, chain, logits);
    if (!stored && result) result = std::move(stored);
  }
  return result;
}

SKALD_INLINE Result<void> PromptCache::WriteLater(const KVCache& cache, std::shared_ptr<RevocableCache> kept,
                                                  const Identity& identity, std::vector<float> logits) {
  uint64_t bytes = cache.size() * sizeof(int32_t) + logits.size() * sizeof(float);
  if (BlockPeers* const peers = pool_->peers().get()) {
    SKALD_ASSIGN(auto whole, peers->Gather(cache));
    bytes += whole.pool()->usage().used_bytes;
    kept = std::make_shared<RevocableCache>(std::move(whole));
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

SKALD_INLINE bool PromptCache::MayKnowMore(const PromptPrefix& prefix, std::span<const int32_t> tokens) const {
  return !stores_.empty() && prefix.logits.empty() && prefix.cache.size() + 1 < tokens.size();
}

SKALD_INLINE std::optional<PromptFetch> PromptCache::BeginFetch(const Identity& identity,
                                                                std::span<const int32_t> tokens, uint32_t known) {
  const auto state = std::make_shared<internal::FetchState>();
  state->tokens.assign(tokens.begin(), tokens.end());
  {
    const std::lock_guard lock(mutex_);
    if (reading_ != nullptr && !reading_->is_wanted) return std::nullopt;
  }
  const bool is_posted = options_.reader->Post(
      this,
      [this, state, identity, known] {
        SetReading(state);
        auto fetched = NoThrow("fetching a prompt", [&] { return Fetch(identity, known, *state); });
        if (!fetched) state->store_error = std::move(fetched.error());
        state->is_done = true;
        SetReading(nullptr);
      },
      tokens.size_bytes());
  if (!is_posted) return std::nullopt;
  return PromptFetch(state);
}

SKALD_INLINE void PromptCache::SetWriting(std::shared_ptr<RevocableCache> state) {
  const std::lock_guard lock(mutex_);
  writing_ = std::move(state);
  if (is_over_) writing_->Revoke();
}

SKALD_INLINE void PromptCache::SetReading(std::shared_ptr<internal::FetchState> state) {
  const std::lock_guard lock(mutex_);
  reading_ = std::move(state);
}

SKALD_INLINE Result<void> PromptCache::Fetch(const Identity& identity, uint32_t known, internal::FetchState& fetch) {
  SKALD_ASSIGN(const auto chain, ChainOf(identity, fetch.tokens));
  SKALD_ASSIGN(const auto room, fetch_room_->MakePool(*pool_));
  for (const ChunkStoreRef& ref : store_refs_) {
    if (!fetch.is_wanted) return {};
    internal::WantedStore store(ref, fetch);
    auto found = StoredPrompts(store, options_.codec).Find(chain, identity, known, room);
    if (!found && !fetch.store_error) fetch.store_error = found.error();
    if (!found || !*found) continue;
    fetch.found.emplace(std::move((*found)->cache), fetch_room_);
    fetch.matched = (*found)->matched;
    fetch.logits = std::move((*found)->logits);
    return {};
  }
  return {};
}

SKALD_INLINE Result<bool> PromptCache::TakeFetched(PromptFetch& fetch, const Identity& identity, PromptPrefix& prefix) {
  if (!fetch.state_->is_done) return false;
  internal::FetchState& state = *fetch.state_;
  prefix.store_error = std::exchange(state.store_error, {});
  const std::optional<StagedCache> found = std::move(state.found);
  state.found.reset();
  if (!found || found->cache().size() <= prefix.cache.size()) return false;
  auto cache = found->CopyTo(pool_);
  if (!cache && cache.error().code == ErrorCode::kResourceExhausted) return false;
  if (!cache) return Failure(cache.error());
  prefix = {std::move(*cache), state.matched, std::move(state.logits), std::move(prefix.store_error)};
  SKALD_TRY(KeepFound(identity, prefix));
  return true;
}

SKALD_INLINE Result<void> PromptCache::KeepFound(const Identity& identity, const PromptPrefix& prefix) {
  SKALD_ASSIGN(const auto chain, ChainOf(identity, prefix.cache.tokens()));
  const auto kept = KeepInMemory(prefix.cache, chain, prefix.logits);
  if (!kept && kept.error().code != ErrorCode::kResourceExhausted) return Failure(kept.error());
  return {};
}

SKALD_INLINE Result<bool> PromptCache::SearchStores(const TokenChain& chain, const Identity& identity,
                                                    PromptPrefix& prefix) {
  for (const StoredPrompts& store : stores_) {
    auto found = store.Find(chain, identity, prefix.cache.size(), pool_);
    if (!found) {
      if (!prefix.store_error) prefix.store_error = std::move(found.error());
      continue;
    }
    if (!*found) continue;
    (*found)->store_error = std::move(prefix.store_error);
    prefix = std::move(**found);
    SKALD_TRY(KeepFound(identity, prefix));
    return true;
  }
  return false;
}

SKALD_INLINE Result<std::shared_ptr<RevocableCache>> PromptCache::KeepInMemory(const KVCache& cache,
                                                                               const TokenChain& chain,
                                                                               std::span<const float> logits) {
  const std::lock_guard lock(mutex_);
  if (auto kept = entries_.Touch(chain, logits)) {
    EvictUntil(options_.max_bytes);  // it may have gained logits
    return kept;
  }
  SKALD_ASSIGN(auto fork, cache.Fork());
  SKALD_ASSIGN(auto candidate, PromptEntries::Candidate::Of(std::move(fork), chain, {logits.begin(), logits.end()}));
  const uint64_t whole = candidate.whole_bytes();
  if (whole > options_.max_bytes) {
    return Fail(ErrorCode::kResourceExhausted, "a prompt of " + std::to_string(cache.size()) + " tokens takes " +
                                                   std::to_string(whole) + " bytes, the prompt cache may hold " +
                                                   std::to_string(options_.max_bytes));
  }
  while (entries_.bytes() + entries_.BytesToAdd(candidate) > options_.max_bytes && entries_.Evict()) {
    ++stats_.evictions;
  }
  return entries_.Insert(std::move(candidate));
}

SKALD_INLINE void PromptCache::EvictUntil(uint64_t max_bytes) noexcept {
  while (entries_.bytes() > max_bytes && entries_.Evict()) ++stats_.evictions;
}

SKALD_INLINE void PromptCache::Count(size_t asked, const PromptPrefix& prefix, bool is_from_store) {
  const std::lock_guard lock(mutex_);
  ++stats_.lookups;
  stats_.store_errors += prefix.store_error.has_value();
  if (prefix.cache.size() > 0) ++(is_from_store ? stats_.store_hits : stats_.memory_hits);
  stats_.tokens_asked += asked;
  stats_.tokens_matched += prefix.matched;
  stats_.tokens_reused += prefix.cache.size();
}

}  // namespace skald

#endif  // SKALD_STORE_PROMPTS_DETAIL_PROMPT_CACHE_H_
