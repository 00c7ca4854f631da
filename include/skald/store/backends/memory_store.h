// SPDX-License-Identifier: Apache-2.0
//
// MemoryStore: chunks in this process's memory, within a byte limit. What was used longest ago goes first.

#ifndef SKALD_STORE_BACKENDS_MEMORY_STORE_H_
#define SKALD_STORE_BACKENDS_MEMORY_STORE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/store/chunks/chunk_store.h"

namespace skald {

// A ChunkStore. Not movable, since it holds a lock.
class MemoryStore {
 public:
  // `max_bytes` counts values and an allowance for what keeping each of them takes.
  explicit MemoryStore(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // What an entry costs beside its value, about.
  static constexpr uint64_t kEntryBytes = 200;

  uint64_t max_bytes() const { return max_bytes_; }
  uint64_t used_bytes() const {
    const std::lock_guard lock(mutex_);
    return used_bytes_;
  }

  Result<bool> Has(const ChunkKey& key) const {
    const std::lock_guard lock(mutex_);
    return entries_.contains(key);
  }

  // Counts as a use.
  Result<ChunkBytes> Get(const ChunkKey& key) {
    auto front = Front(key, kMaxChunkBytes);
    if (!front) return Failure(std::move(front.error()));
    return std::move(front->front);
  }

  // The length of a value and its first `most` bytes. Counts as a use.
  Result<ChunkFront> Front(const ChunkKey& key, uint64_t most) {
    std::shared_ptr<const ChunkBytes> value;
    {
      const std::lock_guard lock(mutex_);
      const auto found = entries_.find(key);
      if (found == entries_.end()) return ChunkNotFound(key);
      MarkUsed(found->second);
      value = found->second->value;
    }
    // Copied outside of the lock, so that many threads can read at once.
    return NoThrow("the memory store", [&]() -> Result<ChunkFront> {
      const auto end = value->begin() + static_cast<ptrdiff_t>(std::min<uint64_t>(most, value->size()));
      return ChunkFront{value->size(), ChunkBytes(value->begin(), end)};
    });
  }

  // Counts as a use, whether or not the key is new. Drops what was used longest ago until there is room.
  // Error: kResourceExhausted for a value that does not fit into the whole store.
  Result<void> Put(const ChunkKey& key, std::span<const std::byte> value) {
    if (auto size = CheckChunkSize(key, value.size()); !size) return size;
    return NoThrow("the memory store", [&]() -> Result<void> {
      const uint64_t needed = value.size() + kEntryBytes;
      if (needed > max_bytes_) {
        return Fail(ErrorCode::kResourceExhausted, "chunk " + key.ToHex() + " takes " + std::to_string(needed) +
                                                       " bytes, the memory store's limit is " +
                                                       std::to_string(max_bytes_));
      }
      const std::lock_guard lock(mutex_);
      if (const auto found = entries_.find(key); found != entries_.end()) {
        MarkUsed(found->second);
        return {};
      }
      // What may fail comes first and is undone by itself; making room and linking it in cannot fail.
      EntryList entry;
      entry.push_front({key, std::make_shared<const ChunkBytes>(value.begin(), value.end())});
      entries_.emplace(key, entry.begin());
      while (used_bytes_ + needed > max_bytes_) Remove(ChunkKey(by_use_.back().key));
      by_use_.splice(by_use_.begin(), entry);
      used_bytes_ += needed;
      return {};
    });
  }

  Result<void> Drop(const ChunkKey& key) {
    const std::lock_guard lock(mutex_);
    if (entries_.contains(key)) Remove(key);
    return {};
  }

  Result<std::vector<ChunkKey>> List() const {
    return NoThrow("the memory store", [&]() -> Result<std::vector<ChunkKey>> {
      const std::lock_guard lock(mutex_);
      std::vector<ChunkKey> keys;
      keys.reserve(by_use_.size());
      for (const Entry& entry : by_use_) keys.push_back(entry.key);
      return keys;
    });
  }

 private:
  struct Entry {
    ChunkKey key;
    std::shared_ptr<const ChunkBytes> value;
  };
  using EntryList = std::list<Entry>;  // the last used one first

  void MarkUsed(EntryList::iterator entry) { by_use_.splice(by_use_.begin(), by_use_, entry); }

  void Remove(const ChunkKey& key) {
    const auto found = entries_.find(key);
    const EntryList::iterator entry = found->second;
    used_bytes_ -= entry->value->size() + kEntryBytes;
    entries_.erase(found);
    by_use_.erase(entry);
  }

  const uint64_t max_bytes_;
  mutable std::mutex mutex_;
  EntryList by_use_;                                           // guarded by mutex_
  std::unordered_map<ChunkKey, EntryList::iterator> entries_;  // guarded by mutex_
  uint64_t used_bytes_ = 0;                                    // guarded by mutex_
};

static_assert(ChunkStore<MemoryStore>);

}  // namespace skald

#endif  // SKALD_STORE_BACKENDS_MEMORY_STORE_H_
