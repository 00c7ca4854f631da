// SPDX-License-Identifier: Apache-2.0
//
// Byte-pair encoding: which two tokens make a third, how urgently, and a word's tokens merged by that. Immutable once
// built; safe for concurrent calls, each with room of its own to work in.
// Source: Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units", ACL 2016.

#ifndef SKALD_TEXT_TOKENIZERS_PIPELINE_MERGE_TABLE_H_
#define SKALD_TEXT_TOKENIZERS_PIPELINE_MERGE_TABLE_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "skald/text/tokenizers/pipeline/token_table.h"

namespace skald::internal {

struct Merge {
  int32_t left, right, result;
};

class MergeTable {
 public:
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

  explicit MergeTable(size_t merges = 0) : slots_(std::bit_ceil(2 * merges + 2)) {}

  // The first merge is the most urgent one. Of two of the same pair the last one counts.
  void Add(const Merge& merge, uint32_t rank) {
    Slot& slot = SlotOf(KeyOf(merge.left, merge.right));
    slot = {KeyOf(merge.left, merge.right), rank, merge.result};
  }

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
  static constexpr uint32_t kNoRank = ~uint32_t{0};
  static constexpr uint64_t kNoPair = ~uint64_t{0};
  struct Slot {
    uint64_t pair = kNoPair;
    uint32_t rank = kNoRank;
    int32_t result = kNoToken;
  };

  static uint64_t KeyOf(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  size_t Begin(uint64_t pair) const {
    const uint64_t hash = (pair ^ pair >> 29) * 0x9E3779B97F4A7C15u;
    return static_cast<size_t>(hash ^ hash >> 32) & (slots_.size() - 1);
  }
  Slot& SlotOf(uint64_t pair) {
    for (size_t i = Begin(pair);; ++i) {
      Slot& slot = slots_[i & (slots_.size() - 1)];
      if (slot.pair == pair || slot.pair == kNoPair) return slot;
    }
  }
  const Slot& Find(int32_t left, int32_t right) const {
    const uint64_t pair = KeyOf(left, right);
    for (size_t i = Begin(pair);; ++i) {
      const Slot& slot = slots_[i & (slots_.size() - 1)];
      if (slot.pair == pair || slot.pair == kNoPair) return slot;  // an empty slot has no rank
    }
  }

  void ApplyToShort(std::vector<int32_t>& ids, Room& room) const {
    size_t count = ids.size();
    room.ranks.resize(count);
    room.merged.resize(count);
    const auto look = [&](size_t i) {
      const Slot& slot = Find(ids[i], ids[i + 1]);
      room.ranks[i] = slot.rank;
      room.merged[i] = slot.result;
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

  // The same with a heap of all merges that are possible, in n log n. What it says of a place where another merge came
  // first shows by its rank.
  void ApplyToLong(std::vector<int32_t>& ids, Room& room) const {
    const auto count = static_cast<uint32_t>(ids.size());
    std::vector<Room::Symbol>& symbols = room.symbols;
    std::vector<uint64_t>& heap = room.heap;
    symbols.resize(count);
    heap.clear();
    const auto entry = [&](uint32_t i) { return uint64_t{symbols[i].rank} << 32 | i; };
    const auto look = [&](uint32_t i) {
      const uint32_t after = symbols[i].after;
      const Slot slot = after < count ? Find(symbols[i].id, symbols[after].id) : Slot();
      symbols[i].rank = slot.rank;
      symbols[i].merged = slot.result;
      return slot.rank != kNoRank;
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

  std::vector<Slot> slots_;  // a power of two of them, at most half of them taken
};

}  // namespace skald::internal

#endif  // SKALD_TEXT_TOKENIZERS_PIPELINE_MERGE_TABLE_H_
