// SPDX-License-Identifier: Apache-2.0
//
// KVCache: one conversation's whole mutable state, over all layers. Owned by the caller, made by the factories in
// create.h, grown by Model::Forward. Used by one thread at a time; caches that share a pool may be used by different
// threads. All groups of layers are at the same position before and after every call, and a call that fails leaves the
// cache unchanged. A cache that was moved from has no pool: it refuses every call with kFailedPrecondition.

#ifndef SKALD_CACHE_KV_CACHE_H_
#define SKALD_CACHE_KV_CACHE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/blocks/block_table.h"
#include "skald/cache/blocks/table_lease.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/layout/runtime_config.h"

namespace skald {

/// Positions first..last, both included.
struct ResumeRange {
  uint32_t first;  ///< tokens
  uint32_t last;   ///< tokens, itself included

  friend bool operator==(const ResumeRange&, const ResumeRange&) = default;
};

/// Bytes of the blocks that a cache refers to, without its resume points.
struct CacheUsage {
  uint64_t exclusive_bytes;  ///< freed when this cache is destroyed
  uint64_t shared_bytes;     ///< also held by forks or resume points
};

/// All parts of a cache, for code that saves or restores it (store/).
struct CacheContents {
  TableLease lease;                  ///< the state of `tokens`
  std::vector<int32_t> tokens = {};  ///< token ids; empty if they are not known
  /// Ascending by length; their blocks may be those of `lease`.
  std::vector<TableLease> resume_points = {};
  uint32_t exact_tokens = kMaxTokens;  ///< see KVCache::exact_tokens
  Sha256Digest adapter = {};           ///< see KVCache::adapter
};

class KVCache {
 public:
  /// Use CreateKVCache for an empty one.
  KVCache(KVCache&&) noexcept;
  KVCache& operator=(KVCache&&) noexcept;
  ~KVCache();

  /// False after the cache was moved from.
  bool is_valid() const { return pool() != nullptr; }

  /// The number of tokens.
  uint32_t size() const { return lease_.table().tokens; }
  /// Tokens that it may hold, RuntimeConfig::max_tokens; 0 after a move.
  uint32_t max_tokens() const { return is_valid() ? pool()->runtime().max_tokens : 0; }
  /// The tokens themselves; valid until the cache changes.
  std::span<const int32_t> tokens() const { return tokens_; }

  /// Leading tokens whose state equals that of computing them. All of them, unless Erase or Shift left tokens whose
  /// state depends on removed ones, or state was restored from a lossy form.
  uint32_t exact_tokens() const { return std::min(size(), exact_tokens_); }

  /// The digest of the adapter that computes this conversation from its first token on; all zeros: the model alone.
  const Sha256Digest& adapter() const { return adapter_; }

  /// Contents returns the parts of a Fork; the constructor below assembles a cache from them. `contents` must be
  /// consistent: every group of every table is at its table's tokens.
  Result<CacheContents> Contents() const;
  /// A cache with content that was computed elsewhere.
  explicit KVCache(CacheContents contents) noexcept;

  /// The pool of the blocks; null after the cache was moved from.
  const std::shared_ptr<BlockPool>& pool() const { return lease_.pool(); }
  /// The blocks that hold its state. Valid until the next call that changes the cache.
  const BlockTable& table() const { return lease_.table(); }

  /// Calls visit(table) for every table whose blocks this cache holds: its own and those of its resume points.
  template <class Visit>
  void ForEachTable(Visit visit) const {
    visit(table());
    for (const TableLease& resume_point : resume_points_) visit(resume_point.table());
  }

  /// Returns a second conversation with the same past. O(blocks); no token state is copied now. A block is copied
  /// later, only if one of the two writes into it. Errors: kResourceExhausted if there is no memory for the tables.
  Result<KVCache> Fork() const;

  /// Empties the cache, except for its adapter. Blocks and resume points go back to the pool.
  void Clear() noexcept;

  /// Rewinds to the first `tokens` tokens; later results are as if the others had never been computed. Errors:
  /// kOutOfRange beyond size(); kFailedPrecondition if a window's or a recurrent layer's earlier state is gone, naming
  /// the nearest earlier resume point; kResourceExhausted as Fork. O(blocks): no token state is copied.
  Result<void> Truncate(uint32_t tokens);

  /// Removes tokens [begin, end); later ones move down to close the gap, and the next step rotates their keys to their
  /// new positions. Their state still depends on the removed tokens: this is not the same as never having computed
  /// those. Errors: kOutOfRange; kFailedPrecondition if a window would need released tokens; kUnsupported with
  /// recurrent layers, whose state cannot give up single tokens, and where positions are learned: keys hold them.
  Result<void> Erase(uint32_t begin, uint32_t end);

  /// Moves tokens [begin, end) so that the first of them is at `to`; the tokens in between move the other way. The next
  /// step rotates the keys. Errors as Erase.
  Result<void> Shift(uint32_t begin, uint32_t end, uint32_t to);

  /// Positions that Truncate can go to, ascending. If all layers are full attention, every position.
  Result<std::vector<ResumeRange>> ResumePoints() const;

  /// Drops the resume points that are kept separately; positions that the cache's own blocks allow stay.
  void DropResumePoints() noexcept { resume_points_.clear(); }
  /// Whether resume points were kept, which take memory.
  bool has_resume_points() const { return !resume_points_.empty(); }

  /// The last position, at or before `position`, that Truncate can go to.
  uint32_t NearestResumePoint(uint32_t position) const;

  /// Bytes of its blocks. O(blocks).
  CacheUsage usage() const;

 private:
  friend class Step;  // publishes finished steps

  /// Runs a public call: turns exceptions into errors.
  template <class Function>
  auto IfValid(std::string_view call, Function function) const -> decltype(function()) {
    return NoThrow(call, [&]() -> decltype(function()) {
      if (is_valid()) return function();
      return Fail(ErrorCode::kFailedPrecondition, std::string(call) + ": the cache was moved from");
    });
  }

  CacheContents Copy() const;

  /// Calls visit(range) for the positions that each table can be cut to, ascending; ranges may touch or overlap.
  template <class Visit>
  void ForEachResumeRange(Visit visit) const;

  /// The first position that a table can be cut to without missing tokens in a window there, or the state of a
  /// recurrent layer. Position 0 always works and is not counted.
  static uint32_t EarliestResume(const BlockTable& table, const CacheLayout& layout);

  bool CanCut(const BlockTable& table, uint32_t tokens) const;

  const TableLease* FindResumable(uint32_t tokens) const;

  /// The reason why this cache cannot go back, for an error.
  std::string WhatIsGone() const;

  /// The first `tokens` tokens of `table`. Blocks that only later tokens used are left out, unless pending edits may
  /// still refer to them.
  BlockTable Prefix(BlockTable table, uint32_t tokens) const;

  Result<void> CheckEdit(const char* verb, uint32_t begin, uint32_t end) const;

  /// Makes `order` the order of tokens; those before `unchanged` keep their place. Refused if the next token's window
  /// would reach tokens that are no longer stored.
  Result<void> Edit(Segments order, uint32_t unchanged);

  /// How many tokens from `begin` on may be erased before some window lacks tokens.
  uint32_t ErasableFrom(uint32_t begin) const;

  void DropResumePointsAfter(uint32_t tokens);

  TableLease lease_;
  std::vector<int32_t> tokens_;
  /// Forks kept aside for rewinding, ascending by length.
  std::vector<TableLease> resume_points_;
  uint32_t exact_tokens_ = kMaxTokens;
  Sha256Digest adapter_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/cache/detail/kv_cache.h"
#endif

#endif  // SKALD_CACHE_KV_CACHE_H_
