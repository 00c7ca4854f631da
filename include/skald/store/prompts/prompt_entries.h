// SPDX-License-Identifier: Apache-2.0
//
// PromptEntries: prompts kept in pool memory, found by their beginnings through the digests of their chunks. Counts
// every block once, however many entries share it, and forgets the least recently used entry first. All allocations
// happen before anything changes. Forgetting allocates nothing, and frees the memory at once: a thread that writes the
// prompt to a store then gives up. Not thread-safe; PromptCache adds the lock.

#ifndef SKALD_STORE_PROMPTS_PROMPT_ENTRIES_H_
#define SKALD_STORE_PROMPTS_PROMPT_ENTRIES_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/blocks/block_table.h"
#include "skald/cache/kv_cache.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/prompts/stored_prompts.h"
#include "skald/store/snapshots/state_source.h"
#include "skald/store/snapshots/token_chain.h"

namespace skald {

class PromptEntries {
  using HeldBlock = std::pair<uint32_t, BlockId>;  ///< group, block
  struct BlockReferences {
    HeldBlock block;
    uint32_t count;
  };
  struct Entry {
    std::shared_ptr<RevocableCache> state;  ///< which a writer may be reading, until the entry goes
    std::vector<float> logits;              ///< of its last token; may be empty
    std::vector<ChunkKey> borders;          ///< digests of its first 0, 1, 2, ... chunks
    std::vector<BlockReferences> blocks;    ///< that its table and resume points refer to, and how often

    const KVCache& cache() const { return state->cache(); }
  };
  using EntryList = std::list<Entry>;
  using BorderIndex = std::multimap<ChunkKey, EntryList::iterator>;
  using HeldBlocks = std::map<HeldBlock, uint32_t>;

 public:
  /// A prompt that is not inserted yet, with all the memory for its insertion.
  class Candidate {
   public:
    /// `chain` is of the cache's tokens. Throws std::bad_alloc.
    static Result<Candidate> Of(KVCache cache, const TokenChain& chain, std::vector<float> logits);

    /// Bytes of it by itself, shared blocks included.
    uint64_t whole_bytes() const;

   private:
    friend class PromptEntries;

    EntryList entry_;      ///< this one
    BorderIndex borders_;  ///< of this one
    HeldBlocks held_;      ///< by this one
  };

  /// Bytes of blocks, tokens and logits of all entries.
  uint64_t bytes() const { return bytes_; }
  size_t size() const { return entries_.size(); }

  /// Returns the bytes that an entry would add: its tokens, its logits, and those of its blocks that no entry holds
  /// yet.
  uint64_t BytesToAdd(const Candidate& candidate) const;

  /// Returns the state of the entry, which is revoked when the entry goes.
  std::shared_ptr<RevocableCache> Insert(Candidate candidate) noexcept;

  /// Returns the state of the entry that holds exactly chain.tokens(), or null. The entry then counts as used, and
  /// gains the logits if it has none.
  std::shared_ptr<RevocableCache> Touch(const TokenChain& chain, std::span<const float> logits);

  /// Returns the longest beginning of chain.tokens() that some entry can continue from; it may be empty, a cache of
  /// `pool` for `adapter`.
  Result<PromptPrefix> Find(const TokenChain& chain, const std::shared_ptr<BlockPool>& pool,
                            const Sha256Digest& adapter);

  /// Forgets the entries that have more than the first `keep` tokens of the chain, and adds their number to
  /// `evictions`.
  Result<void> Forget(const TokenChain& chain, uint32_t keep, uint64_t& evictions);

  /// Forgets the least recently used entry, and returns false if there is none.
  bool Evict() noexcept;

  /// Forgets entries until the pool has got back `missing_bytes`, or until no block would come back: blocks that
  /// conversations share with an entry stay in use without it. Returns the bytes that came back, and adds the number of
  /// forgotten entries to `evictions`.
  uint64_t GiveBack(uint64_t missing_bytes, uint64_t& evictions) noexcept;

 private:
  struct Best {
    EntryList::iterator entry;
    uint32_t matched = 0, reused = 0;
  };

  static uint64_t OwnBytes(const Entry& entry);

  static uint64_t BlockBytes(const Entry& entry, HeldBlock block);

  static uint32_t ReferencesTo(const Entry& entry, HeldBlock block);

  /// Bytes of the blocks that only this entry refers to.
  static uint64_t BytesFreedBy(const Entry& entry);

  /// Whether it has a block that only entries refer to.
  bool IsPartlyOurs(const Entry& entry) const;

  /// The least recently used entry that frees a block when it goes. If there is none, entries may share blocks with
  /// each other alone, which come back with the last of them.
  EntryList::iterator FindVictim() noexcept;

  void Remove(EntryList::iterator entry) noexcept;

  static void Consider(EntryList::iterator entry, std::span<const int32_t> tokens, Best& best);

  EntryList entries_;  ///< most recently used first
  BorderIndex by_border_;
  HeldBlocks held_;  ///< how often entries refer to each block
  uint64_t bytes_ = 0;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/prompts/detail/prompt_entries.h"
#endif

#endif  // SKALD_STORE_PROMPTS_PROMPT_ENTRIES_H_
