// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/backends/memory_store.h.

#ifndef SKALD_STORE_BACKENDS_DETAIL_MEMORY_STORE_H_
#define SKALD_STORE_BACKENDS_DETAIL_MEMORY_STORE_H_

#include "skald/store/backends/memory_store.h"

#include <algorithm>
#include <string>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE uint64_t MemoryStore::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes_;
}

SKALD_INLINE Result<bool> MemoryStore::Has(const ChunkKey& key) const {
  const std::lock_guard lock(mutex_);
  return entries_.contains(key);
}

SKALD_INLINE Result<ChunkBytes> MemoryStore::Get(const ChunkKey& key) {
  SKALD_ASSIGN(auto front, Front(key, kMaxChunkBytes));
  return std::move(front.front);
}

SKALD_INLINE Result<ChunkFront> MemoryStore::Front(const ChunkKey& key, uint64_t most) {
  std::shared_ptr<const ChunkBytes> value;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return ChunkNotFound(key);
    MarkUsed(found->second);
    value = found->second->value;
  }
  // Copies outside of the lock, so that many threads can read at once.
  return NoThrow("the memory store", [&]() -> Result<ChunkFront> {
    const auto end = value->begin() + static_cast<ptrdiff_t>(std::min<uint64_t>(most, value->size()));
    return ChunkFront{value->size(), ChunkBytes(value->begin(), end)};
  });
}

SKALD_INLINE Result<void> MemoryStore::Put(const ChunkKey& key, std::span<const std::byte> value) {
  SKALD_TRY(CheckChunkSize(key, value.size()));
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
    // Steps that may fail come first and undo themselves; making room and linking the entry cannot fail.
    EntryList entry;
    entry.push_front({key, std::make_shared<const ChunkBytes>(value.begin(), value.end())});
    entries_.emplace(key, entry.begin());
    while (used_bytes_ + needed > max_bytes_) Remove(ChunkKey(by_use_.back().key));
    by_use_.splice(by_use_.begin(), entry);
    used_bytes_ += needed;
    return {};
  });
}

SKALD_INLINE Result<void> MemoryStore::Drop(const ChunkKey& key) {
  const std::lock_guard lock(mutex_);
  if (entries_.contains(key)) Remove(key);
  return {};
}

SKALD_INLINE Result<std::vector<ChunkKey>> MemoryStore::List() const {
  return NoThrow("the memory store", [&]() -> Result<std::vector<ChunkKey>> {
    const std::lock_guard lock(mutex_);
    std::vector<ChunkKey> keys;
    keys.reserve(by_use_.size());
    for (const Entry& entry : by_use_) keys.push_back(entry.key);
    return keys;
  });
}

SKALD_INLINE void MemoryStore::Remove(const ChunkKey& key) {
  const auto found = entries_.find(key);
  const EntryList::iterator entry = found->second;
  used_bytes_ -= entry->value->size() + kEntryBytes;
  entries_.erase(found);
  by_use_.erase(entry);
}

}  // namespace skald

#endif  // SKALD_STORE_BACKENDS_DETAIL_MEMORY_STORE_H_
