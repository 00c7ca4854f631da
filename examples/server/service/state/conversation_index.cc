// SPDX-License-Identifier: Apache-2.0

#include "server/service/state/conversation_index.h"

namespace skald::serve {

ConversationEntry* ConversationIndex::Find(const Key& key) {
  const auto shelf = shelves_.find(key.first);
  if (shelf == shelves_.end()) return nullptr;
  const auto found = shelf->second.entries.find(key.second);
  return found == shelf->second.entries.end() ? nullptr : &found->second;
}

std::vector<std::string> ConversationIndex::List(const std::string& owner) const {
  std::vector<std::string> ids;
  const auto shelf = shelves_.find(owner);
  if (shelf == shelves_.end()) return ids;
  for (const auto& [id, entry] : shelf->second.entries) ids.push_back(id);
  return ids;
}

Result<void> ConversationIndex::Reserve(const Key& key, uint64_t bytes, bool is_bound, std::vector<Key>& dropped) {
  Shelf& shelf = shelves_[key.first];
  const ConversationEntry* const replaced = Find(key);
  const uint64_t before = replaced == nullptr ? 0 : replaced->bytes;
  const auto is_too_much = [&] { return shelf.bytes + shelf.reserved - before + bytes > limits_.bytes; };
  if (limits_.when_full == ConversationLimits::WhenFull::kDropOldest && bytes <= limits_.bytes) {
    for (auto oldest = shelf.by_age.begin(); is_too_much() && oldest != shelf.by_age.end();) {
      const Key victim = {key.first, (oldest++)->second};
      if (victim == key) continue;
      dropped.push_back(victim);
      Remove(victim);
    }
  }
  // A change that makes a conversation smaller is never refused.
  if (is_bound && bytes > before && is_too_much()) {
    return Fail(ErrorCode::kResourceExhausted, "this would be " +
                                                   std::to_string(shelf.bytes + shelf.reserved - before + bytes) +
                                                   " bytes of conversations, and a key may keep " +
                                                   std::to_string(limits_.bytes) + "; delete some that are not needed");
  }
  shelf.reserved += bytes;
  return {};
}

void ConversationIndex::Release(const Key& key, uint64_t bytes) { shelves_[key.first].reserved -= bytes; }

void ConversationIndex::Put(const Key& key, ConversationEntry entry) {
  Remove(key);
  Shelf& shelf = shelves_[key.first];
  shelf.bytes += entry.bytes;
  entry.order = ++changes_;
  shelf.by_age.emplace(Age{entry.updated, entry.order}, key.second);
  shelf.entries[key.second] = std::move(entry);
}

void ConversationIndex::Remove(const Key& key) {
  const ConversationEntry* const entry = Find(key);
  if (entry == nullptr) return;
  Shelf& shelf = shelves_[key.first];
  shelf.bytes -= entry->bytes;
  shelf.by_age.erase({entry->updated, entry->order});
  shelf.entries.erase(key.second);
}

std::vector<ConversationIndex::Key> ConversationIndex::RemoveOld(int64_t now) {
  std::vector<Key> removed;
  if (!limits_.age) return removed;
  for (auto& [owner, shelf] : shelves_) {
    while (!shelf.by_age.empty() && shelf.by_age.begin()->first.first + limits_.age->count() < now) {
      removed.emplace_back(owner, shelf.by_age.begin()->second);
      Remove(removed.back());
    }
  }
  return removed;
}

}  // namespace skald::serve
