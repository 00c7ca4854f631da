// SPDX-License-Identifier: Apache-2.0
//
// KVCache: one conversation's whole mutable state, over all layers. Owned by the caller, made by the factories in
// create.h, grown by Model::Forward. Used by one thread at a time; caches that share a pool may be used by
// different threads. All groups of layers stand at the same position before and after every call, and a call that fails
// leaves the cache as it was. One that was moved from has no pool: it refuses every call with kFailedPrecondition.

#ifndef SKALD_CACHE_KV_CACHE_H_
#define SKALD_CACHE_KV_CACHE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/blocks/block_table.h"
#include "skald/cache/blocks/table_lease.h"

namespace skald {

// Positions first..last, both included.
struct ResumeRange {
  uint32_t first;
  uint32_t last;

  friend bool operator==(const ResumeRange&, const ResumeRange&) = default;
};

// Bytes of the blocks that a cache refers to, its checkpoints' not counted.
struct CacheUsage {
  uint64_t exclusive_bytes;  // freed when this cache goes
  uint64_t shared_bytes;     // also held by forks or checkpoints
};

// All that makes up a cache, for whoever writes it down or puts it together again (store/).
struct CacheContents {
  TableLease lease;
  std::vector<int32_t> tokens = {};
  // Ascending by length; their blocks may be those of `lease`.
  std::vector<TableLease> checkpoints = {};
  uint32_t exact_tokens = kMaxTokens;  // see KVCache::exact_tokens
  Sha256Digest adapter = {};           // see KVCache::adapter
};

class KVCache {
 public:
  // Use CreateKVCache for an empty one.
  KVCache(KVCache&&) noexcept = default;
  KVCache& operator=(KVCache&&) noexcept = default;

  // False of a cache that was moved from.
  bool is_valid() const { return pool() != nullptr; }

  // Tokens held, and the most that may be held.
  uint32_t size() const { return lease_.table().tokens; }
  uint32_t max_tokens() const { return is_valid() ? pool()->runtime().max_tokens : 0; }
  // The tokens themselves; valid until the cache changes.
  std::span<const int32_t> tokens() const { return tokens_; }

  // Leading tokens whose state is what computing them afresh would give. All of them, unless Erase or Shift left
  // others with memories of tokens now gone, or state was restored from a lossy form.
  uint32_t exact_tokens() const { return std::min(size(), exact_tokens_); }

  // The digest of the adapter that computes this conversation from its first token on; all zeros: the model alone does.
  const Sha256Digest& adapter() const { return adapter_; }

  // The same past as a Fork would have, taken apart; and a cache put together. `contents` must be consistent: every
  // group of every table stands at its table's tokens.
  Result<CacheContents> Contents() const {
    return IfValid("KVCache::Contents", [&]() -> Result<CacheContents> { return Copy(); });
  }
  explicit KVCache(CacheContents contents) noexcept
      : lease_(std::move(contents.lease)),
        tokens_(std::move(contents.tokens)),
        checkpoints_(std::move(contents.checkpoints)),
        exact_tokens_(contents.exact_tokens),
        adapter_(contents.adapter) {}

  // Where the blocks come from; null of a cache that was moved from.
  const std::shared_ptr<BlockPool>& pool() const { return lease_.pool(); }
  const BlockTable& table() const { return lease_.table(); }

  // Calls visit(table) for every table that this cache holds blocks of: its own and those of its resume points.
  template <class Visit>
  void ForEachTable(Visit visit) const {
    visit(table());
    for (const TableLease& checkpoint : checkpoints_) visit(checkpoint.table());
  }

  // Returns a second conversation with the same past. O(blocks); no token state is copied now, and a block is copied
  // later only where one of the two writes into it. Errors: kResourceExhausted where there is no memory for the tables.
  Result<KVCache> Fork() const {
    return IfValid("KVCache::Fork", [&]() -> Result<KVCache> { return KVCache(Copy()); });
  }

  // Forgets everything but its adapter. Blocks and checkpoints go back to the pool.
  void Clear() noexcept {
    lease_.Clear();
    tokens_.clear();
    checkpoints_.clear();
    exact_tokens_ = kMaxTokens;
  }

  // Rewinds to the first `tokens` tokens; what follows is as if the others had never been seen. Errors:
  // kOutOfRange beyond size(); kFailedPrecondition where a window's or a recurrent layer's earlier state is gone,
  // naming the nearest earlier resume point; kResourceExhausted as Fork. O(blocks): no token state is copied.
  Result<void> Truncate(uint32_t tokens) {
    return IfValid("KVCache::Truncate", [&]() -> Result<void> {
      if (tokens > size()) {
        return Fail(ErrorCode::kOutOfRange,
                    "cannot truncate a cache of " + std::to_string(size()) + " tokens to " + std::to_string(tokens),
                    {.needed_tokens = tokens, .available_tokens = size()});
      }
      const TableLease* from = FindResumable(tokens);
      if (from == nullptr) {
        const uint32_t nearest = NearestResumePoint(tokens);
        return Fail(ErrorCode::kFailedPrecondition,
                    "cannot rewind to position " + std::to_string(tokens) + ": " + WhatIsGone() +
                        "; the nearest earlier resume point is " + std::to_string(nearest),
                    {.resume_point = nearest});
      }
      lease_ = from->Share(Prefix(from->table(), tokens));
      // Nothing from here on can fail.
      tokens_.resize(tokens);
      DropCheckpointsAfter(tokens);
      if (tokens <= exact_tokens_) exact_tokens_ = kMaxTokens;  // what comes now is exact again
      return {};
    });
  }

  // Removes tokens [begin, end); later ones move down to close the gap, their keys turned to their new positions at
  // the next step. What they once read from the removed tokens stays in them: this is not the same as never having
  // seen those tokens. Errors: kOutOfRange; kFailedPrecondition where a window would need released tokens;
  // kUnsupported with recurrent layers, whose state cannot give up single tokens.
  Result<void> Erase(uint32_t begin, uint32_t end) {
    return IfValid("KVCache::Erase", [&]() -> Result<void> {
      if (auto valid = CheckEdit("erase", begin, end); !valid) return valid;
      const Segments order = table().Order();
      auto edited = Edit(Concatenate(Slice(order, 0, begin), Slice(order, end, size())), begin);
      if (!edited) {
        const uint32_t erasable = ErasableFrom(begin);
        return Fail(edited.error().code,
                    edited.error().message + "; from position " + std::to_string(begin) + " on, at most " +
                        std::to_string(erasable) + " tokens can be erased",
                    {.needed_tokens = end - begin, .available_tokens = erasable});
      }
      tokens_.erase(tokens_.begin() + begin, tokens_.begin() + end);
      return {};
    });
  }

  // Moves tokens [begin, end) so that the first of them comes to stand at `to`; the tokens in between move the other
  // way. Keys are turned at the next step. Errors as Erase.
  Result<void> Shift(uint32_t begin, uint32_t end, uint32_t to) {
    return IfValid("KVCache::Shift", [&]() -> Result<void> {
      if (auto valid = CheckEdit("shift", begin, end); !valid) return valid;
      if (to > size() - (end - begin)) {
        return Fail(ErrorCode::kOutOfRange, "cannot shift " + std::to_string(end - begin) + " tokens to position " +
                                                std::to_string(to) + " of a cache of " + std::to_string(size()));
      }
      // Two neighbouring runs [first, middle) and [middle, last) change places.
      const uint32_t first = std::min(begin, to), last = std::max(end, to + (end - begin));
      const uint32_t middle = to < begin ? begin : end;
      const Segments order = table().Order();
      Segments next = Concatenate(Slice(order, 0, first), Slice(order, middle, last));
      next = Concatenate(std::move(next), Slice(order, first, middle));
      auto edited = Edit(Concatenate(std::move(next), Slice(order, last, size())), first);
      if (!edited) return edited;
      std::rotate(tokens_.begin() + first, tokens_.begin() + middle, tokens_.begin() + last);
      return {};
    });
  }

  // Positions that Truncate can go to, ascending. Where all layers are full attention that is every position.
  Result<std::vector<ResumeRange>> ResumePoints() const {
    return IfValid("KVCache::ResumePoints", [&]() -> Result<std::vector<ResumeRange>> {
      std::vector<ResumeRange> points = {{0, 0}};
      ForEachResumeRange([&points](const ResumeRange& range) {
        if (range.first <= points.back().last + 1) {
          points.back().last = range.last;
        } else {
          points.push_back(range);
        }
      });
      return points;
    });
  }

  // Gives up the resume points that are kept aside; what the cache's own blocks allow stays.
  void DropResumePoints() noexcept { checkpoints_.clear(); }
  bool has_resume_points() const { return !checkpoints_.empty(); }

  // The last position, at or before `position`, that Truncate can go to.
  uint32_t NearestResumePoint(uint32_t position) const {
    uint32_t nearest = 0;
    ForEachResumeRange([&](const ResumeRange& range) {
      if (range.first <= position) nearest = std::min(range.last, position);
    });
    return nearest;
  }

  CacheUsage usage() const {
    CacheUsage usage{0, 0};
    for (size_t g = 0; g < table().groups.size(); ++g) {
      for (const BlockId id : table().groups[g].blocks) {
        uint64_t& bytes = pool()->references(g, id) == 1 ? usage.exclusive_bytes : usage.shared_bytes;
        bytes += pool()->geometry(g).block_bytes();
      }
    }
    return usage;
  }

 private:
  friend class Step;  // publishes finished steps

  // Runs a call at the edge of the API.
  template <class Function>
  auto IfValid(std::string_view call, Function function) const -> decltype(function()) {
    return NoThrow(call, [&]() -> decltype(function()) {
      if (is_valid()) return function();
      return Fail(ErrorCode::kFailedPrecondition, std::string(call) + ": the cache was moved from");
    });
  }

  CacheContents Copy() const {
    CacheContents copy{lease_.Share(), tokens_, {}, exact_tokens_, adapter_};
    copy.checkpoints.reserve(checkpoints_.size());
    for (const TableLease& checkpoint : checkpoints_) copy.checkpoints.push_back(checkpoint.Share());
    return copy;
  }

  // Calls visit(range) for the positions that each table can be cut to, ascending; ranges may touch or overlap.
  template <class Visit>
  void ForEachResumeRange(Visit visit) const {
    if (!is_valid()) return;
    const auto visit_table = [&](const BlockTable& table) {
      visit(ResumeRange{EarliestResume(table, pool()->layout()), table.tokens});
    };
    for (const TableLease& checkpoint : checkpoints_) visit_table(checkpoint.table());
    visit_table(table());
  }

  // The first position a table can be cut to without missing tokens that a window there would see, or the state of a
  // recurrent layer. Position 0 needs nothing and always works; it is not what is meant.
  static uint32_t EarliestResume(const BlockTable& table, const CacheLayout& layout) {
    uint32_t earliest = 0;
    for (size_t g = 0; g < table.groups.size(); ++g) {
      if (!layout.groups()[g].is_attention()) {
        earliest = std::max(earliest, table.groups[g].first_token);
        continue;
      }
      const uint32_t retained = FirstRetained(table, table.groups[g].first_token);
      if (retained > 0) earliest = std::max(earliest, retained + layout.groups()[g].window - 1);
    }
    return earliest;
  }

  bool CanCut(const BlockTable& table, uint32_t tokens) const {
    return tokens <= table.tokens && (tokens == 0 || EarliestResume(table, pool()->layout()) <= tokens);
  }

  const TableLease* FindResumable(uint32_t tokens) const {
    if (CanCut(table(), tokens)) return &lease_;
    for (const TableLease& checkpoint : checkpoints_) {
      if (CanCut(checkpoint.table(), tokens)) return &checkpoint;
    }
    return nullptr;
  }

  // What keeps this cache from going back anywhere.
  std::string WhatIsGone() const {
    const char* const windows = "sliding-window layers have released the tokens before it";
    return pool()->layout().has_recurrence() ? "recurrent layers keep no state of it" : windows;
  }

  // The first `tokens` tokens of `table`. Blocks that only later tokens used are left out, unless pending edits may
  // still refer to them.
  BlockTable Prefix(BlockTable table, uint32_t tokens) const {
    const uint32_t block_tokens = pool()->runtime().block_tokens;
    const bool is_all = tokens == table.tokens;
    table.tokens = tokens;
    table.edits = Slice(table.edits, 0, tokens);
    if (table.edits == Segments{{0, tokens}}) table.edits.clear();
    if (!table.edits.empty()) return table;
    for (size_t g = 0; g < table.groups.size(); ++g) {
      GroupTable& group = table.groups[g];
      const CacheGroup& kind = pool()->layout().groups()[g];
      if (tokens == 0) {
        group = {};
      } else if (kind.is_inputs()) {
        group.blocks.resize(tokens - group.first_token);
      } else if (kind.is_replayed()) {
        if (!is_all) group.blocks.resize(group.first_token > 0 ? 1 : 0);
      } else if (kind.is_recurrent()) {
        group.blocks.resize(tokens - group.first_token + 1);
      } else if (group.first_token >= tokens) {
        group = {tokens, {}};  // nothing is left that this group stores
      } else {
        group.blocks.resize((tokens + block_tokens - 1) / block_tokens - group.first_token / block_tokens);
      }
    }
    return table;
  }

  Result<void> CheckEdit(const char* verb, uint32_t begin, uint32_t end) const {
    const std::string what =
        std::string("cannot ") + verb + " tokens [" + std::to_string(begin) + ", " + std::to_string(end) + ")";
    if (begin > end || end > size()) {
      return Fail(ErrorCode::kOutOfRange, what + " of a cache of " + std::to_string(size()) + " tokens");
    }
    if (pool()->layout().has_recurrence()) {
      const uint32_t nearest = NearestResumePoint(begin);
      return Fail(ErrorCode::kUnsupported,
                  what + ": the state of recurrent layers cannot give up single tokens; rewind to position " +
                      std::to_string(nearest) + " and compute what follows again",
                  {.resume_point = nearest});
    }
    return {};
  }

  // Makes `order` the order of tokens; those before `unchanged` keep their place. Refused where the next token's
  // window would reach tokens that are no longer stored.
  Result<void> Edit(Segments order, uint32_t unchanged) {
    BlockTable edited = table();
    edited.tokens = 0;
    for (const Segment& run : order) edited.tokens += run.length;
    edited.edits = std::move(order);
    if (!CanCut(edited, edited.tokens)) {
      return Fail(ErrorCode::kFailedPrecondition,
                  "sliding-window layers have released tokens that the edit would bring back into a window");
    }
    lease_ = lease_.Share(Prefix(edited, edited.tokens));
    DropCheckpointsAfter(unchanged);
    if (unchanged < size()) exact_tokens_ = std::min(exact_tokens_, unchanged);
    return {};
  }

  // How many tokens from `begin` on may go before some window lacks tokens.
  uint32_t ErasableFrom(uint32_t begin) const {
    uint32_t erasable = size() - begin;
    for (size_t g = 0; g < table().groups.size(); ++g) {
      const uint32_t retained = FirstRetained(table(), table().groups[g].first_token);
      if (retained == 0) continue;
      const uint32_t needed = pool()->layout().groups()[g].window - 1;
      const uint32_t last = size() - retained < needed ? 0 : std::max(begin, retained) + (size() - retained - needed);
      erasable = std::min(erasable, last < begin ? 0 : last - begin);
    }
    return erasable;
  }

  void DropCheckpointsAfter(uint32_t tokens) {
    std::erase_if(checkpoints_, [tokens](const auto& checkpoint) { return checkpoint.table().tokens > tokens; });
  }

  TableLease lease_;
  std::vector<int32_t> tokens_;
  // Forks kept aside for rewinding, ascending by length.
  std::vector<TableLease> checkpoints_;
  uint32_t exact_tokens_ = kMaxTokens;
  Sha256Digest adapter_;
};

}  // namespace skald

#endif  // SKALD_CACHE_KV_CACHE_H_
