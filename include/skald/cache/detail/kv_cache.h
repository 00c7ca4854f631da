// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/cache/kv_cache.h.

#ifndef SKALD_CACHE_DETAIL_KV_CACHE_H_
#define SKALD_CACHE_DETAIL_KV_CACHE_H_

#include "skald/cache/kv_cache.h"

#include <cstddef>
#include <utility>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE KVCache::KVCache(KVCache&&) noexcept = default;
SKALD_INLINE KVCache& KVCache::operator=(KVCache&&) noexcept = default;
SKALD_INLINE KVCache::~KVCache() = default;

SKALD_INLINE Result<CacheContents> KVCache::Contents() const {
  return IfValid("KVCache::Contents", [&]() -> Result<CacheContents> { return Copy(); });
}

SKALD_INLINE KVCache::KVCache(CacheContents contents) noexcept
    : lease_(std::move(contents.lease)),
      tokens_(std::move(contents.tokens)),
      resume_points_(std::move(contents.resume_points)),
      exact_tokens_(contents.exact_tokens),
      adapter_(contents.adapter) {}

SKALD_INLINE Result<KVCache> KVCache::Fork() const {
  return IfValid("KVCache::Fork", [&]() -> Result<KVCache> { return KVCache(Copy()); });
}

SKALD_INLINE void KVCache::Clear() noexcept {
  lease_.Clear();
  tokens_.clear();
  resume_points_.clear();
  exact_tokens_ = kMaxTokens;
}

SKALD_INLINE Result<void> KVCache::Truncate(uint32_t tokens) {
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
    DropResumePointsAfter(tokens);
    if (tokens <= exact_tokens_) exact_tokens_ = kMaxTokens;  // tokens computed from here on are exact again
    return {};
  });
}

SKALD_INLINE Result<void> KVCache::Erase(uint32_t begin, uint32_t end) {
  return IfValid("KVCache::Erase", [&]() -> Result<void> {
    SKALD_TRY(CheckEdit("erase", begin, end));
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

SKALD_INLINE Result<void> KVCache::Shift(uint32_t begin, uint32_t end, uint32_t to) {
  return IfValid("KVCache::Shift", [&]() -> Result<void> {
    SKALD_TRY(CheckEdit("shift", begin, end));
    if (to > size() - (end - begin)) {
      return Fail(ErrorCode::kOutOfRange, "cannot shift " + std::to_string(end - begin) + " tokens to position " +
                                              std::to_string(to) + " of a cache of " + std::to_string(size()));
    }
    // Exchanges two neighbouring runs [first, middle) and [middle, last).
    const uint32_t first = std::min(begin, to), last = std::max(end, to + (end - begin));
    const uint32_t middle = to < begin ? begin : end;
    const Segments order = table().Order();
    Segments next = Concatenate(Slice(order, 0, first), Slice(order, middle, last));
    next = Concatenate(std::move(next), Slice(order, first, middle));
    SKALD_TRY(Edit(Concatenate(std::move(next), Slice(order, last, size())), first));
    std::rotate(tokens_.begin() + first, tokens_.begin() + middle, tokens_.begin() + last);
    return {};
  });
}

SKALD_INLINE Result<std::vector<ResumeRange>> KVCache::ResumePoints() const {
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

SKALD_INLINE uint32_t KVCache::NearestResumePoint(uint32_t position) const {
  uint32_t nearest = 0;
  ForEachResumeRange([&](const ResumeRange& range) {
    if (range.first <= position) nearest = std::min(range.last, position);
  });
  return nearest;
}

SKALD_INLINE CacheUsage KVCache::usage() const {
  CacheUsage usage{0, 0};
  for (size_t g = 0; g < table().groups.size(); ++g) {
    for (const BlockId id : table().groups[g].blocks) {
      uint64_t& bytes = pool()->references(g, id) == 1 ? usage.exclusive_bytes : usage.shared_bytes;
      bytes += pool()->geometry(g).block_bytes();
    }
  }
  return usage;
}

SKALD_INLINE CacheContents KVCache::Copy() const {
  CacheContents copy{lease_.Share(), tokens_, {}, exact_tokens_, adapter_};
  copy.resume_points.reserve(resume_points_.size());
  for (const TableLease& resume_point : resume_points_) copy.resume_points.push_back(resume_point.Share());
  return copy;
}

template <class Visit>
void KVCache::ForEachResumeRange(Visit visit) const {
  if (!is_valid()) return;
  const auto visit_table = [&](const BlockTable& table) {
    visit(ResumeRange{EarliestResume(table, pool()->layout()), table.tokens});
  };
  for (const TableLease& resume_point : resume_points_) visit_table(resume_point.table());
  visit_table(table());
}

SKALD_INLINE uint32_t KVCache::EarliestResume(const BlockTable& table, const CacheLayout& layout) {
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

SKALD_INLINE bool KVCache::CanCut(const BlockTable& table, uint32_t tokens) const {
  return tokens <= table.tokens && (tokens == 0 || EarliestResume(table, pool()->layout()) <= tokens);
}

SKALD_INLINE const TableLease* KVCache::FindResumable(uint32_t tokens) const {
  if (CanCut(table(), tokens)) return &lease_;
  for (const TableLease& resume_point : resume_points_) {
    if (CanCut(resume_point.table(), tokens)) return &resume_point;
  }
  return nullptr;
}

SKALD_INLINE std::string KVCache::WhatIsGone() const {
  const char* const windows = "sliding-window layers have released the tokens before it";
  return pool()->layout().has_recurrence() ? "recurrent layers keep no state of it" : windows;
}

SKALD_INLINE BlockTable KVCache::Prefix(BlockTable table, uint32_t tokens) const {
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
      group = {tokens, {}};  // this group stores nothing any more
    } else {
      group.blocks.resize((tokens + block_tokens - 1) / block_tokens - group.first_token / block_tokens);
    }
  }
  return table;
}

SKALD_INLINE Result<void> KVCache::CheckEdit(const char* verb, uint32_t begin, uint32_t end) const {
  const std::string what =
      std::string("cannot ") + verb + " tokens [" + std::to_string(begin) + ", " + std::to_string(end) + ")";
  if (begin > end || end > size()) {
    return Fail(ErrorCode::kOutOfRange, what + " of a cache of " + std::to_string(size()) + " tokens");
  }
  const CacheLayout& layout = pool()->layout();
  if (!layout.moves_tokens()) {
    const uint32_t nearest = NearestResumePoint(begin);
    const char* const why = layout.has_recurrence() ? ": the state of recurrent layers cannot give up single tokens"
                                                    : ": keys and values hold the learned positions of their tokens";
    return Fail(ErrorCode::kUnsupported,
                what + why + "; rewind to position " + std::to_string(nearest) + " and compute what follows again",
                {.resume_point = nearest});
  }
  return {};
}

SKALD_INLINE Result<void> KVCache::Edit(Segments order, uint32_t unchanged) {
  BlockTable edited = table();
  edited.tokens = 0;
  for (const Segment& run : order) edited.tokens += run.length;
  edited.edits = std::move(order);
  if (!CanCut(edited, edited.tokens)) {
    return Fail(ErrorCode::kFailedPrecondition,
                "sliding-window layers have released tokens that the edit would bring back into a window");
  }
  lease_ = lease_.Share(Prefix(edited, edited.tokens));
  DropResumePointsAfter(unchanged);
  if (unchanged < size()) exact_tokens_ = std::min(exact_tokens_, unchanged);
  return {};
}

SKALD_INLINE uint32_t KVCache::ErasableFrom(uint32_t begin) const {
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

SKALD_INLINE void KVCache::DropResumePointsAfter(uint32_t tokens) {
  std::erase_if(resume_points_, [tokens](const auto& resume_point) { return resume_point.table().tokens > tokens; });
}

}  // namespace skald

#endif  // SKALD_CACHE_DETAIL_KV_CACHE_H_
