// SPDX-License-Identifier: Apache-2.0
//
// Byte-pair encoding: which two tokens make a third, how urgently, and a word's tokens merged by that. Immutable once
// built; safe for concurrent calls, each with room of its own to work in.
// Source: Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units", ACL 2016.

#ifndef SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_MERGE_TABLE_H_
#define SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_MERGE_TABLE_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "skald/tokenizers/detail/pipeline/models/token_table.h"

namespace skald::internal {

struct Merge {
  int32_t left, right, result;
};

class MergeTable {
 public:
  static constexpr uint32_t kNoRank = ~uint32_t{0};
  static constexpr uint64_t kNoPair = ~uint64_t{0};

  // Room that Apply works in, to be used again for the next word.
  struct Room {
    struct Symbol {
      int32_t id;
      uint32_t before, after;  // neighbours that still stand
      uint32_t rank;           // of the merge with the one after, or kNoRank
      int32_t merged;          // what that makes
    };
    std::vector<uint32_t> ranks;
    std::vector<int32_t> merged;
    std::vector<Symbol> symbols;
    std::vector<uint64_t> heap;
  };

  // The result of merging two tokens, and its rank: the lowest rank comes first.
  struct Entry {
    uint64_t pair = kNoPair;  // the left one in the high half
    uint32_t rank = kNoRank;
    int32_t result = kNoToken;

    int32_t left() const { return static_cast<int32_t>(pair >> 32); }
    int32_t right() const { return static_cast<int32_t>(pair); }
  };

  MergeTable() = default;

  // The first merge is the most urgent one. Of two of the same pair the last one counts.
  explicit MergeTable(std::span<const Merge> merges) : entries_(merges.size()) {
    const int shift = ShiftFor(merges.size());
    std::vector<uint32_t> begins((size_t{2} << (63 - shift)) + 1);
    for (const Merge& merge : merges) ++begins[(HashOf(PairOf(merge.left, merge.right)) >> shift) + 1];
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    for (size_t i = 0; i < merges.size(); ++i) {
      Entry entry = {PairOf(merges[i].left, merges[i].right), static_cast<uint32_t>(i), merges[i].result};
      const uint64_t hash = HashOf(entry.pair);
      Entry* at = &entries_[begins[hash >> shift]];  // a bucket's own entries come before its free places
      while (at->pair != kNoPair && HashOf(at->pair) < hash) ++at;
      if (at->pair == entry.pair) *at = std::exchange(entry, {});
      for (; entry.pair != kNoPair; ++at) std::swap(*at, entry);
    }
    std::erase_if(entries_, [](const Entry& entry) { return entry.pair == kNoPair; });
    IndexBuckets();
  }

  // A table of what entries() returned, or nothing if it cannot have.
  static std::optional<MergeTable> From(std::vector<Entry> entries) {
    MergeTable table;
    table.entries_ = std::move(entries);
    return table.IndexBuckets() ? std::optional(std::move(table)) : std::nullopt;
  }

  // All of them, by their hashes: a table of these needs no sorting.
  std::span<const Entry> entries() const { return entries_; }

  // Merges neighbours in `ids` until no two of them merge: of all that do the most urgent, of equals the leftmost.
  void Apply(std::vector<int32_t>& ids, Room& room) const {
    constexpr size_t kShort = 40;  // where a heap begins to pay
    if (ids.size() < 2) return;
    if (ids.size() <= kShort) {
      ApplyToShort(ids, room);
    } else {
      ApplyToLong(ids, room);
    }
  }

 private:
  static uint64_t PairOf(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  // No two pairs have the same.
  static uint64_t HashOf(uint64_t pair) { return (pair ^ pair >> 29) * 0x9E3779B97F4A7C15u; }

  // The highest bits of a hash are its bucket: for one or two entries each.
  static int ShiftFor(size_t entries) { return 64 - std::max(1, static_cast<int>(std::bit_width(entries)) - 1); }

  // Notes where each bucket begins. Returns whether the hashes ascend, as they must.
  bool IndexBuckets() {
    shift_ = ShiftFor(entries_.size());
    begins_.resize((size_t{2} << (63 - shift_)) + 1);
    bool ascend = true;
    uint64_t last = 0;
    for (size_t i = 0; i < entries_.size(); ++i) {
      const uint64_t hash = HashOf(entries_[i].pair);
      ascend &= i == 0 || hash > last;
      last = hash;
      begins_[(hash >> shift_) + 1] = static_cast<uint32_t>(i + 1);
    }
    // An empty bucket begins where the one before ends.
    for (size_t i = 1; i < begins_.size(); ++i) begins_[i] = std::max(begins_[i], begins_[i - 1]);
    return ascend;
  }

  // The merge of a pair; an entry without a rank if it does not merge.
  Entry Find(int32_t left, int32_t right) const {
    const uint64_t pair = PairOf(left, right), bucket = HashOf(pair) >> shift_;
    for (uint32_t i = begins_[bucket]; i < begins_[bucket + 1]; ++i) {
      if (entries_[i].pair == pair) return entries_[i];
    }
    return {};
  }

  void ApplyToShort(std::vector<int32_t>& ids, Room& room) const {
    size_t count = ids.size();
    room.ranks.resize(count);
    room.merged.resize(count);
    const auto look = [&](size_t i) {
      const Entry entry = Find(ids[i], ids[i + 1]);
      room.ranks[i] = entry.rank;
      room.merged[i] = entry.result;
    };
    for (size_t i = 0; i + 1 < count; ++i) look(i);
    while (count > 1) {
      const auto ranks = room.ranks.begin(), end = ranks + static_cast<ptrdiff_t>(count - 1);
      const auto lowest = std::min_element(ranks, end);  // the first of equals
      if (*lowest == kNoRank) break;
      const auto at = lowest - ranks;
      const auto i = static_cast<size_t>(at);
      ids[i] = room.merged[i];
      std::copy(ids.begin() + at + 2, ids.begin() + static_cast<ptrdiff_t>(count), ids.begin() + at + 1);
      if (i + 2 < count) {
        std::copy(lowest + 2, end, lowest + 1);
        std::copy(room.merged.begin() + at + 2, room.merged.begin() + (end - ranks), room.merged.begin() + at + 1);
      }
      --count;
      if (i + 1 < count) look(i);
      if (i > 0) look(i - 1);
    }
    ids.resize(count);
  }

  // The same with a heap of all merges that are possible, in n log n. Its entry for a place where another merge came
  // first is recognised by its rank.
  void ApplyToLong(std::vector<int32_t>& ids, Room& room) const {
    const auto count = static_cast<uint32_t>(ids.size());
    std::vector<Room::Symbol>& symbols = room.symbols;
    std::vector<uint64_t>& heap = room.heap;
    symbols.resize(count);
    heap.clear();
    const auto entry = [&](uint32_t i) { return uint64_t{symbols[i].rank} << 32 | i; };
    const auto look = [&](uint32_t i) {
      const uint32_t after = symbols[i].after;
      const Entry found = after < count ? Find(symbols[i].id, symbols[after].id) : Entry();
      symbols[i].rank = found.rank;
      symbols[i].merged = found.result;
      return found.rank != kNoRank;
    };
    for (uint32_t i = 0; i < count; ++i) symbols[i] = {ids[i], i == 0 ? count : i - 1, i + 1, kNoRank, kNoToken};
    for (uint32_t i = 0; i < count; ++i) {
      if (look(i)) heap.push_back(entry(i));
    }
    std::make_heap(heap.begin(), heap.end(), std::greater<>());
    const auto push = [&](uint32_t i) {
      if (!look(i)) return;
      heap.push_back(entry(i));
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
    };
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), std::greater<>());
      const uint64_t next = heap.back();
      heap.pop_back();
      const auto i = static_cast<uint32_t>(next);
      if (symbols[i].rank != next >> 32 || symbols[i].rank == kNoRank) continue;  // it has merged otherwise since
      Room::Symbol& gone = symbols[symbols[i].after];
      symbols[i].id = symbols[i].merged;
      symbols[i].after = gone.after;
      gone.rank = kNoRank;
      if (symbols[i].after < count) symbols[symbols[i].after].before = i;
      push(i);
      if (symbols[i].before < count) push(symbols[i].before);
    }
    ids.clear();
    for (uint32_t i = 0; i < count; i = symbols[i].after) ids.push_back(symbols[i].id);
  }

  std::vector<Entry> entries_;                // hashes ascend
  std::vector<uint32_t> begins_ = {0, 0, 0};  // of each bucket in the entries, and the end of the last
  int shift_ = 63;
};

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_MERGE_TABLE_H_
