// SPDX-License-Identifier: Apache-2.0
//
// PromptEntries: prompts kept in pool memory, found by their beginnings through the digests of their chunks. Counts
// every block it holds once, however many entries share it, and forgets the least recently used entry first. Not
// thread-safe; PromptCache adds the lock.

#ifndef SKALD_STORE_PROMPT_ENTRIES_H_
#define SKALD_STORE_PROMPT_ENTRIES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/cache/block_pool.h"
#include "skald/cache/create.h"
#include "skald/cache/kv_cache.h"
#include "skald/store/chunk_key.h"
#include "skald/store/stored_prompts.h"
#include "skald/store/token_chain.h"

namespace skald {

class PromptEntries {
 public:
  uint64_t bytes() const { return bytes_; }
  size_t size() const { return entries_.size(); }

  // Returns the bytes that `cache` would add: its tokens, its logits, and those of its blocks that no entry holds yet.
  uint64_t BytesToAdd(const KVCache& cache, std::span<const float> logits) const {
    uint64_t bytes = OwnBytes(cache, logits);
    for (const auto& [group, block] : BlocksOf(cache)) {
      if (!held_.contains({group, block})) bytes += cache.pool()->geometry(group).block_bytes();
    }
    return bytes;
  }

  // Returns the bytes of an entry by itself, shared blocks included.
  static uint64_t WholeBytes(const KVCache& cache, std::span<const float> logits) {
    uint64_t bytes = OwnBytes(cache, logits);
    for (const auto& [group, block] : BlocksOf(cache)) bytes += cache.pool()->geometry(group).block_bytes();
    return bytes;
  }

  // `chain` is of the cache's tokens.
  Result<void> Insert(KVCache cache, const TokenChain& chain, std::vector<float> logits) {
    std::vector<ChunkKey> borders;
    for (size_t count = 0; count <= chain.tokens().size(); count += kChunkTokens) {
      const auto link = chain.At(count);
      if (!link) return Failure(link.error());
      borders.push_back({*link});
    }
    bytes_ += BytesToAdd(cache, logits);
    for (const auto& block : BlocksOf(cache)) ++held_[block];
    entries_.push_front({std::move(cache), std::move(logits), std::move(borders)});
    for (const ChunkKey& border : entries_.front().borders) by_border_.emplace(border, entries_.begin());
    return {};
  }

  // True if an entry holds exactly chain.tokens(); it then counts as used, and gains the logits if it has none.
  bool Touch(const TokenChain& chain, const std::vector<float>& logits) {
    const std::span<const int32_t> tokens = chain.tokens();
    const auto border = chain.At(tokens.size() / kChunkTokens * kChunkTokens);
    if (!border) return false;
    const auto [begin, end] = by_border_.equal_range(ChunkKey{*border});
    for (auto found = begin; found != end; ++found) {
      Entry& entry = *found->second;
      if (!std::ranges::equal(entry.cache.tokens(), tokens)) continue;
      if (entry.logits.empty()) {
        entry.logits = logits;
        bytes_ += std::span(logits).size_bytes();
      }
      entries_.splice(entries_.begin(), entries_, found->second);
      return true;
    }
    return false;
  }

  // Returns the longest beginning of chain.tokens() that some entry can go on from; it may be empty, a cache of `pool`.
  Result<PromptPrefix> Find(const TokenChain& chain, const std::shared_ptr<BlockPool>& pool) {
    const std::span<const int32_t> tokens = chain.tokens();
    Best best;
    for (size_t border = tokens.size() / kChunkTokens + 1; border-- > 0;) {
      if (best.reused >= (border + 1) * kChunkTokens) break;  // what parts ways earlier cannot be longer
      const auto link = chain.At(border * kChunkTokens);
      if (!link) return Failure(link.error());
      const auto [begin, end] = by_border_.equal_range(ChunkKey{*link});
      for (auto found = begin; found != end; ++found) Consider(found->second, tokens, best);
    }
    auto cache = best.reused == 0 ? CreateKVCache(pool) : best.entry->cache.Fork();
    if (!cache) return Failure(cache.error());
    PromptPrefix prefix{std::move(*cache), best.matched, {}};
    if (best.reused == 0) return prefix;
    entries_.splice(entries_.begin(), entries_, best.entry);
    if (auto rewound = prefix.cache.Truncate(best.reused); !rewound) return Failure(rewound.error());
    if (best.reused == tokens.size()) prefix.logits = best.entry->logits;
    return prefix;
  }

  // Forgets the least recently used entry, and returns false where there is none.
  bool Evict() {
    if (entries_.empty()) return false;
    const auto last = std::prev(entries_.end());
    bytes_ -= OwnBytes(last->cache, last->logits);
    for (const auto& block : BlocksOf(last->cache)) {
      const auto held = held_.find(block);
      if (--held->second > 0) continue;
      bytes_ -= last->cache.pool()->geometry(block.first).block_bytes();
      held_.erase(held);
    }
    for (const ChunkKey& border : last->borders) {
      const auto [begin, end] = by_border_.equal_range(border);
      by_border_.erase(std::find_if(begin, end, [last](const auto& entry) { return entry.second == last; }));
    }
    entries_.erase(last);
    return true;
  }

 private:
  using HeldBlock = std::pair<uint32_t, BlockId>;  // group, block

  struct Entry {
    KVCache cache;
    std::vector<float> logits;      // of its last token; may be empty
    std::vector<ChunkKey> borders;  // digests of its first 0, 1, 2, ... chunks
  };
  using EntryList = std::list<Entry>;

  struct Best {
    EntryList::iterator entry;
    uint32_t matched = 0, reused = 0;
  };

  static uint64_t OwnBytes(const KVCache& cache, std::span<const float> logits) {
    return cache.tokens().size_bytes() + logits.size_bytes();
  }

  // Every block that the cache's table or a checkpoint refers to.
  static std::set<HeldBlock> BlocksOf(const KVCache& cache) {
    std::set<HeldBlock> blocks;
    const auto add = [&blocks](const BlockTable& table) {
      for (uint32_t g = 0; g < table.groups.size(); ++g) {
        for (const BlockId id : table.groups[g].blocks) blocks.insert({g, id});
      }
    };
    cache.ForEachTable(add);
    return blocks;
  }

  static void Consider(EntryList::iterator entry, std::span<const int32_t> tokens, Best& best) {
    const uint32_t matched = internal::CommonPrefix(tokens, entry->cache.tokens());
    best.matched = std::max(best.matched, matched);
    const bool knows_next = matched == entry->cache.size() && !entry->logits.empty();
    const uint32_t reused = entry->cache.NearestResumePoint(internal::MostReusable(tokens, matched, knows_next));
    if (reused <= best.reused) return;
    best.entry = entry;
    best.reused = reused;
  }

  EntryList entries_;  // most recently used first
  std::unordered_multimap<ChunkKey, EntryList::iterator> by_border_;
  std::map<HeldBlock, uint32_t> held_;  // how many entries hold each block
  uint64_t bytes_ = 0;
};

}  // namespace skald

#endif  // SKALD_STORE_PROMPT_ENTRIES_H_
