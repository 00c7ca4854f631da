// SPDX-License-Identifier: Apache-2.0
//
// BoundedCache: what was computed and may be asked for again, within a number of bytes. Not safe for concurrent calls.

#ifndef SKALD_CONSTRAINTS_GRAMMAR_BOUNDED_CACHE_H_
#define SKALD_CONSTRAINTS_GRAMMAR_BOUNDED_CACHE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>

namespace skald::internal {

/// Two generations: once the young one has half of the bytes it is the old one, and what the old one had goes, unless
/// it was asked for meanwhile.
template <class Key, class Value, class Hash = std::hash<Key>>
class BoundedCache {
 public:
  explicit BoundedCache(size_t max_bytes) : max_young_bytes_(max_bytes / 2) {}

  /// Returns null for what is not there.
  std::shared_ptr<const Value> Find(const Key& key) {
    if (const auto found = young_.find(key); found != young_.end()) return found->second.value;
    const auto found = old_.find(key);
    if (found == old_.end()) return nullptr;
    const Entry entry = found->second;
    Add(key, entry.value, entry.bytes);
    return entry.value;
  }

  /// Those of all values, as they were told.
  size_t bytes() const { return young_bytes_ + old_bytes_; }

  void Add(const Key& key, std::shared_ptr<const Value> value, size_t bytes) {
    if (young_bytes_ + bytes > max_young_bytes_) {
      old_ = std::exchange(young_, {});
      old_bytes_ = std::exchange(young_bytes_, 0);
    }
    if (young_.try_emplace(key, Entry{std::move(value), bytes}).second) young_bytes_ += bytes;
  }

 private:
  struct Entry {
    std::shared_ptr<const Value> value;
    size_t bytes;
  };

  size_t max_young_bytes_, young_bytes_ = 0, old_bytes_ = 0;
  std::unordered_map<Key, Entry, Hash> young_, old_;
};

}  // namespace skald::internal

#endif  // SKALD_CONSTRAINTS_GRAMMAR_BOUNDED_CACHE_H_
