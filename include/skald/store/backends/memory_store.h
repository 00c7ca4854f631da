// SPDX-License-Identifier: Apache-2.0
//
// MemoryStore: chunks in this process's memory, within a byte limit. The least recently used chunks are dropped first.

#ifndef SKALD_STORE_BACKENDS_MEMORY_STORE_H_
#define SKALD_STORE_BACKENDS_MEMORY_STORE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "skald/base/result.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"

namespace skald {

/// A ChunkStore. Not movable, since it holds a lock.
class MemoryStore {
 public:
  /// `max_bytes` counts values and an allowance for the overhead of each.
  explicit MemoryStore(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  /// Approximate bytes of an entry beside its value.
  static constexpr uint64_t kEntryBytes = 200;

  /// The limit, as given.
  uint64_t max_bytes() const { return max_bytes_; }
  /// Bytes of all values, with kEntryBytes for each.
  uint64_t used_bytes() const;

  Result<bool> Has(const ChunkKey& key) const;

  /// Counts as a use.
  Result<ChunkBytes> Get(const ChunkKey& key);

  /// The length of a value and its first `most` bytes. Counts as a use.
  Result<ChunkFront> Front(const ChunkKey& key, uint64_t most);

  /// Counts as a use, whether or not the key is new. Drops the least recently used chunks until there is room. Error:
  /// kResourceExhausted for a value that does not fit into the whole store.
  Result<void> Put(const ChunkKey& key, std::span<const std::byte> value);

  Result<void> Drop(const ChunkKey& key);

  Result<std::vector<ChunkKey>> List() const;

 private:
  struct Entry {
    ChunkKey key;
    std::shared_ptr<const ChunkBytes> value;
  };
  using EntryList = std::list<Entry>;  ///< most recently used first

  void MarkUsed(EntryList::iterator entry) { by_use_.splice(by_use_.begin(), by_use_, entry); }

  void Remove(const ChunkKey& key);

  const uint64_t max_bytes_;
  mutable std::mutex mutex_;
  EntryList by_use_;                                           ///< guarded by mutex_
  std::unordered_map<ChunkKey, EntryList::iterator> entries_;  ///< guarded by mutex_
  uint64_t used_bytes_ = 0;                                    ///< guarded by mutex_
};

static_assert(ChunkStore<MemoryStore>);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/backends/detail/memory_store.h"
#endif

#endif  // SKALD_STORE_BACKENDS_MEMORY_STORE_H_
