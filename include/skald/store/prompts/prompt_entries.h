// SPDX-License-Identifier: Apache-2.0
//
// PromptEntries: prompts kept in pool memory, found by their beginnings through the digests of their chunks. Counts
// every block it holds once, however many entries share it, and forgets the least recently used entry first. What takes
// memory happens before anything changes; forgetting takes none, and gives the memory back at once: who is writing the
// prompt to a store then gives up. Not thread-safe; PromptCache adds the lock.

#ifndef SKALD_STORE_PROMPTS_PROMPT_ENTRIES_H_
#define SKALD_STORE_PROMPTS_PROMPT_ENTRIES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/create.h"
#include "skald/cache/kv_cache.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/prompts/stored_prompts.h"
#include "skald/store/snapshots/state_source.h"
#include "skald/store/snapshots/token_chain.h"

namespace skald {

class PromptEntries {
  using HeldBlock = std::pair<uint32_t, BlockId>;  // group, block
  struct BlockReferences {
    HeldBlock block;
    uint32_t count;
  };
  struct Entry {
    std::shared_ptr<RevocableCache> state;  // which others may be writing down, until the entry goes
    std::vector<float> logits;              // of its last token; may be empty
    std::vector<ChunkKey> borders;          // digests of its first 0, 1, 2, ... chunks
    std::vector<BlockReferences> blocks;    // that its table and resume points refer to, and how often

    const KVCache& cache() const { return state->cache(); }
  };
  using EntryList = std::list<Entry>;
  using BorderIndex = std::multimap<ChunkKey, EntryList::iterator>;
  using HeldBlocks = std::map<HeldBlock, uint32_t>;

 public:
  // A prompt that is not in yet, with all the memory that being in takes.
  class Candidate {
   public:
    // `chain` is of the cache's tokens. Throws std::bad_alloc.
    static Result<Candidate> Of(KVCache cache, const TokenChain& chain, std::vector<float> logits) {
      Candidate candidate;
      Entry& entry = candidate.entry_.emplace_front(
          Entry{std::make_shared<RevocableCache>(std::move(cache)), std::move(logits), {}, {}});
      for (size_t count = 0; count <= chain.tokens().size(); count += kChunkTokens) {
        const auto link = chain.At(count);
        if (!link) return Failure(link.error());
        entry.borders.push_back({*link});
        candidate.borders_.emplace(entry.borders.back(), candidate.entry_.begin());
      }
      entry.cache().ForEachTable([&](const BlockTable& table) {
        table.ForEachBlock([&](uint32_t group, BlockId id) { ++candidate.held_[{group, id}]; });
      });
      for (const auto& [block, count] : candidate.held_) entry.blocks.push_back({block, count});
      return candidate;
    }

    // Bytes of it by itself, shared blocks included.
    uint64_t whole_bytes() const {
      uint64_t bytes = OwnBytes(entry_.front());
      for (const BlockReferences& held : entry_.front().blocks) bytes += BlockBytes(entry_.front(), held.block);
      return bytes;
    }

   private:
    friend class PromptEntries;

    EntryList entry_;      // this one
    BorderIndex borders_;  // of this one
    HeldBlocks held_;      // by this one
  };

  uint64_t bytes() const { return bytes_; }
  size_t size() const { return entries_.size(); }

  // Returns the bytes that an entry would add: its tokens, its logits, and those of its blocks that no entry holds yet.
  uint64_t BytesToAdd(const Candidate& candidate) const {
    const Entry& entry = candidate.entry_.front();
    uint64_t bytes = OwnBytes(entry);
    for (const BlockReferences& held : entry.blocks) {
      if (!held_.contains(held.block)) bytes += BlockBytes(entry, held.block);
    }
    return bytes;
  }

  // Returns the state of the entry, which is revoked when it goes.
  std::shared_ptr<RevocableCache> Insert(Candidate candidate) noexcept {
    bytes_ += BytesToAdd(candidate);
    while (!candidate.held_.empty()) {
      const auto added = held_.insert(candidate.held_.extract(candidate.held_.begin()));
      if (!added.inserted) added.position->second += added.node.mapped();
    }
    by_border_.merge(candidate.borders_);
    entries_.splice(entries_.begin(), candidate.entry_);
    return entries_.front().state;
  }

  // Returns the state of the entry that holds exactly chain.tokens(), or null. The entry then counts as used, and gains
  // the logits if it has none.
  std::shared_ptr<RevocableCache> Touch(const TokenChain& chain, std::span<const float> logits) {
    const std::span<const int32_t> tokens = chain.tokens();
    const auto border = chain.At(tokens.size() / kChunkTokens * kChunkTokens);
    if (!border) return nullptr;
    const auto [begin, end] = by_border_.equal_range(ChunkKey{*border});
    for (auto found = begin; found != end; ++found) {
      Entry& entry = *found->second;
      if (!std::ranges::equal(entry.cache().tokens(), tokens)) continue;
      if (entry.logits.empty()) {
        entry.logits.assign(logits.begin(), logits.end());
        bytes_ += logits.size_bytes();
      }
      entries_.splice(entries_.begin(), entries_, found->second);
      return entry.state;
    }
    return nullptr;
  }

  // Returns the longest beginning of chain.tokens() that some entry can go on from; it may be empty, a cache of `pool`
  // for `adapter`.
  Result<PromptPrefix> Find(const TokenChain& chain, const std::shared_ptr<BlockPool>& pool,
                            const Sha256Digest& adapter) {
    const std::span<const int32_t> tokens = chain.tokens();
    Best best;
    for (size_t border = tokens.size() / kChunkTokens + 1; border-- > 0;) {
      if (best.reused >= (border + 1) * kChunkTokens) break;  // what parts ways earlier cannot be longer
      const auto link = chain.At(border * kChunkTokens);
      if (!link) return Failure(link.error());
      const auto [begin, end] = by_border_.equal_range(ChunkKey{*link});
      for (auto found = begin; found != end; ++found) Consider(found->second, tokens, best);
    }
    auto cache = best.reused == 0 ? CreateKVCache(pool, adapter) : best.entry->cache().Fork();
    if (!cache) return Failure(cache.error());
    PromptPrefix prefix{std::move(*cache), best.matched, {}};
    if (best.reused == 0) return prefix;
    if (auto rewound = prefix.cache.Truncate(best.reused); !rewound) return Failure(rewound.error());
    if (best.reused == tokens.size()) prefix.logits = best.entry->logits;
    entries_.splice(entries_.begin(), entries_, best.entry);
    return prefix;
  }

  // Forgets the entries that have more than the first `keep` tokens of the chain, and adds to `evictions` how many
  // went.
  Result<void> Forget(const TokenChain& chain, uint32_t keep, uint64_t& evictions) {
    const auto front = chain.At(0);
    if (!front) return Failure(front.error());
    std::vector<EntryList::iterator> gone;  // removing one removes it from all borders, the end of this range too
    const auto [begin, end] = by_border_.equal_range(ChunkKey{*front});
    for (auto found = begin; found != end; ++found) {
      if (internal::CommonPrefix(chain.tokens(), found->second->cache().tokens()) > keep) gone.push_back(found->second);
    }
    for (const EntryList::iterator entry : gone) Remove(entry);
    evictions += gone.size();
    return {};
  }

  // Forgets the least recently used entry, and returns false where there is none.
  bool Evict() noexcept {
    if (entries_.empty()) return false;
    Remove(std::prev(entries_.end()));
    return true;
  }

  // Forgets entries until the pool has got back `missing_bytes`, or until no block would come back: what conversations
  // share with an entry stays in use whether that entry goes or not. Returns the bytes that came back, and adds to
  // `evictions` how many entries went.
  uint64_t GiveBack(uint64_t missing_bytes, uint64_t& evictions) noexcept {
    uint64_t freed = 0;
    while (freed < std::max<uint64_t>(missing_bytes, 1)) {
      const auto victim = FindVictim();
      if (victim == entries_.end()) break;
      freed += BytesFreedBy(*victim);
      Remove(victim);
      ++evictions;
    }
    return freed;
  }

 private:
  struct Best {
    EntryList::iterator entry;
    uint32_t matched = 0, reused = 0;
  };

  static uint64_t OwnBytes(const Entry& entry) {
    return entry.cache().tokens().size_bytes() + std::span(entry.logits).size_bytes();
  }

  static uint64_t BlockBytes(const Entry& entry, HeldBlock block) {
    return entry.cache().pool()->geometry(block.first).block_bytes();
  }

  static uint32_t ReferencesTo(const Entry& entry, HeldBlock block) {
    return entry.cache().pool()->references(block.first, block.second);
  }

  // Bytes of the blocks that only this entry refers to.
  static uint64_t BytesFreedBy(const Entry& entry) {
    uint64_t bytes = 0;
    for (const BlockReferences& held : entry.blocks) {
      if (ReferencesTo(entry, held.block) == held.count) bytes += BlockBytes(entry, held.block);
    }
    return bytes;
  }

  // Whether it has a block that only entries refer to.
  bool IsPartlyOurs(const Entry& entry) const {
    return std::any_of(entry.blocks.begin(), entry.blocks.end(), [&](const BlockReferences& held) {
      return ReferencesTo(entry, held.block) == held_.find(held.block)->second;
    });
  }

  // The least recently used entry that frees a block when it goes. Where there is none, entries may share blocks with
  // each other alone, which come back with the last of them.
  EntryList::iterator FindVictim() noexcept {
    for (auto entry = entries_.end(); entry != entries_.begin();) {
      if (BytesFreedBy(*--entry) > 0) return entry;
    }
    for (auto entry = entries_.end(); entry != entries_.begin();) {
      if (IsPartlyOurs(*--entry)) return entry;
    }
    return entries_.end();
  }

  void Remove(EntryList::iterator entry) noexcept {
    bytes_ -= OwnBytes(*entry);
    for (const BlockReferences& references : entry->blocks) {
      const auto held = held_.find(references.block);
      held->second -= references.count;
      if (held->second > 0) continue;
      bytes_ -= BlockBytes(*entry, references.block);
      held_.erase(held);
    }
    for (const ChunkKey& border : entry->borders) {
      const auto [begin, end] = by_border_.equal_range(border);
      by_border_.erase(std::find_if(begin, end, [entry](const auto& found) { return found.second == entry; }));
    }
    entry->state->Revoke();
    entries_.erase(entry);
  }

  static void Consider(EntryList::iterator entry, std::span<const int32_t> tokens, Best& best) {
    const uint32_t matched = internal::CommonPrefix(tokens, entry->cache().tokens());
    best.matched = std::max(best.matched, matched);
    const bool knows_next = matched == entry->cache().size() && !entry->logits.empty();
    const uint32_t reused = entry->cache().NearestResumePoint(internal::MostReusable(tokens, matched, knows_next));
    if (reused <= best.reused) return;
    best.entry = entry;
    best.reused = reused;
  }

  EntryList entries_;  // most recently used first
  BorderIndex by_border_;
  HeldBlocks held_;  // how often entries refer to each block
  uint64_t bytes_ = 0;
};

}  // namespace skald

#endif  // SKALD_STORE_PROMPTS_PROMPT_ENTRIES_H_
