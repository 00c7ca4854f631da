// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/prompts/prompt_entries.h.

#ifndef SKALD_STORE_PROMPTS_DETAIL_PROMPT_ENTRIES_H_
#define SKALD_STORE_PROMPTS_DETAIL_PROMPT_ENTRIES_H_

#include "skald/store/prompts/prompt_entries.h"

#include <algorithm>
#include <iterator>

#include "skald/base/inline.h"
#include "skald/cache/create.h"
#include "skald/cache/layout/layout.h"

namespace skald {

SKALD_INLINE Result<PromptEntries::Candidate> PromptEntries::Candidate::Of(KVCache cache, const TokenChain& chain,
                                                                           std::vector<float> logits) {
  Candidate candidate;
  Entry& entry = candidate.entry_.emplace_front(
      Entry{std::make_shared<RevocableCache>(std::move(cache)), std::move(logits), {}, {}});
  for (size_t count = 0; count <= chain.tokens().size(); count += kChunkTokens) {
    SKALD_ASSIGN(const auto link, chain.At(count));
    entry.borders.push_back({link});
    candidate.borders_.emplace(entry.borders.back(), candidate.entry_.begin());
  }
  entry.cache().ForEachTable([&](const BlockTable& table) {
    table.ForEachBlock([&](uint32_t group, BlockId id) { ++candidate.held_[{group, id}]; });
  });
  for (const auto& [block, count] : candidate.held_) entry.blocks.push_back({block, count});
  return candidate;
}

SKALD_INLINE uint64_t PromptEntries::Candidate::whole_bytes() const {
  uint64_t bytes = OwnBytes(entry_.front());
  for (const BlockReferences& held : entry_.front().blocks) bytes += BlockBytes(entry_.front(), held.block);
  return bytes;
}

SKALD_INLINE uint64_t PromptEntries::BytesToAdd(const Candidate& candidate) const {
  const Entry& entry = candidate.entry_.front();
  uint64_t bytes = OwnBytes(entry);
  for (const BlockReferences& held : entry.blocks) {
    if (!held_.contains(held.block)) bytes += BlockBytes(entry, held.block);
  }
  return bytes;
}

SKALD_INLINE std::shared_ptr<RevocableCache> PromptEntries::Insert(Candidate candidate) noexcept {
  bytes_ += BytesToAdd(candidate);
  while (!candidate.held_.empty()) {
    const auto added = held_.insert(candidate.held_.extract(candidate.held_.begin()));
    if (!added.inserted) added.position->second += added.node.mapped();
  }
  by_border_.merge(candidate.borders_);
  entries_.splice(entries_.begin(), candidate.entry_);
  return entries_.front().state;
}

SKALD_INLINE std::shared_ptr<RevocableCache> PromptEntries::Touch(const TokenChain& chain,
                                                                  std::span<const float> logits) {
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

SKALD_INLINE Result<PromptPrefix> PromptEntries::Find(const TokenChain& chain, const std::shared_ptr<BlockPool>& pool,
                                                      const Sha256Digest& adapter) {
  const std::span<const int32_t> tokens = chain.tokens();
  Best best;
  for (size_t border = tokens.size() / kChunkTokens + 1; border-- > 0;) {
    if (best.reused >= (border + 1) * kChunkTokens) break;  // entries that differ earlier cannot be longer
    SKALD_ASSIGN(const auto link, chain.At(border * kChunkTokens));
    const auto [begin, end] = by_border_.equal_range(ChunkKey{link});
    for (auto found = begin; found != end; ++found) Consider(found->second, tokens, best);
  }
  SKALD_ASSIGN(auto cache, best.reused == 0 ? CreateKVCache(pool, adapter) : best.entry->cache().Fork());
  PromptPrefix prefix{std::move(cache), best.matched, {}};
  if (best.reused == 0) return prefix;
  SKALD_TRY(prefix.cache.Truncate(best.reused));
  if (best.reused == tokens.size()) prefix.logits = best.entry->logits;
  entries_.splice(entries_.begin(), entries_, best.entry);
  return prefix;
}

SKALD_INLINE Result<void> PromptEntries::Forget(const TokenChain& chain, uint32_t keep, uint64_t& evictions) {
  SKALD_ASSIGN(const auto front, chain.At(0));
  std::vector<EntryList::iterator> gone;  // removing one removes it from all borders, the end of this range too
  const auto [begin, end] = by_border_.equal_range(ChunkKey{front});
  for (auto found = begin; found != end; ++found) {
    if (internal::CommonPrefix(chain.tokens(), found->second->cache().tokens()) > keep) gone.push_back(found->second);
  }
  for (const EntryList::iterator entry : gone) Remove(entry);
  evictions += gone.size();
  return {};
}

SKALD_INLINE bool PromptEntries::Evict() noexcept {
  if (entries_.empty()) return false;
  Remove(std::prev(entries_.end()));
  return true;
}

SKALD_INLINE uint64_t PromptEntries::GiveBack(uint64_t missing_bytes, uint64_t& evictions) noexcept {
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

SKALD_INLINE uint64_t PromptEntries::OwnBytes(const Entry& entry) {
  return entry.cache().tokens().size_bytes() + std::span(entry.logits).size_bytes();
}

SKALD_INLINE uint64_t PromptEntries::BlockBytes(const Entry& entry, HeldBlock block) {
  return entry.cache().pool()->geometry(block.first).block_bytes();
}

SKALD_INLINE uint32_t PromptEntries::ReferencesTo(const Entry& entry, HeldBlock block) {
  return entry.cache().pool()->references(block.first, block.second);
}

SKALD_INLINE uint64_t PromptEntries::BytesFreedBy(const Entry& entry) {
  uint64_t bytes = 0;
  for (const BlockReferences& held : entry.blocks) {
    if (ReferencesTo(entry, held.block) == held.count) bytes += BlockBytes(entry, held.block);
  }
  return bytes;
}

SKALD_INLINE bool PromptEntries::IsPartlyOurs(const Entry& entry) const {
  return std::any_of(entry.blocks.begin(), entry.blocks.end(), [&](const BlockReferences& held) {
    return ReferencesTo(entry, held.block) == held_.find(held.block)->second;
  });
}

SKALD_INLINE PromptEntries::EntryList::iterator PromptEntries::FindVictim() noexcept {
  for (auto entry = entries_.end(); entry != entries_.begin();) {
    if (BytesFreedBy(*--entry) > 0) return entry;
  }
  for (auto entry = entries_.end(); entry != entries_.begin();) {
    if (IsPartlyOurs(*--entry)) return entry;
  }
  return entries_.end();
}

SKALD_INLINE void PromptEntries::Remove(EntryList::iterator entry) noexcept {
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

SKALD_INLINE void PromptEntries::Consider(EntryList::iterator entry, std::span<const int32_t> tokens, Best& best) {
  const uint32_t matched = internal::CommonPrefix(tokens, entry->cache().tokens());
  best.matched = std::max(best.matched, matched);
  const bool knows_next = matched == entry->cache().size() && !entry->logits.empty();
  const uint32_t reused = entry->cache().NearestResumePoint(internal::MostReusable(tokens, matched, knows_next));
  if (reused <= best.reused) return;
  best.entry = entry;
  best.reused = reused;
}

}  // namespace skald

#endif  // SKALD_STORE_PROMPTS_DETAIL_PROMPT_ENTRIES_H_
