// SPDX-License-Identifier: Apache-2.0
//
// ConversationIndex: the facts of kept conversations that are known without reading them: their owners, their bytes,
// the times of their last changes. It counts the bytes that each owner keeps, and says which conversations are too old
// or must make room.

#ifndef SKALD_EXAMPLES_SERVER_SERVICE_STATE_CONVERSATION_INDEX_H_
#define SKALD_EXAMPLES_SERVER_SERVICE_STATE_CONVERSATION_INDEX_H_

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/service/state/conversation.h"

namespace skald::serve {

struct ConversationLimits {
  enum class WhenFull { kRefuse, kDropOldest };

  uint64_t bytes = std::numeric_limits<uint64_t>::max();  // that a tenant may keep
  std::optional<std::chrono::seconds> age = {};           // since the last change, after which one is deleted
  WhenFull when_full = WhenFull::kRefuse;
};

// One kept conversation.
struct ConversationEntry {
  uint64_t bytes = 0;
  int64_t updated = 0;                           // Unix seconds
  std::shared_ptr<const std::string> text = {};  // of those in memory
  std::optional<ConversationFacts> facts = {};   // once they are known
  uint64_t turn = 0;                             // the answer that is being written; 0: none is
  bool is_bad = false;                           // its file is no conversation
  uint64_t order = 0;                            // among changes of one second; given by the index
};

// Not safe for concurrent calls.
class ConversationIndex {
 public:
  using Key = std::pair<std::string, std::string>;  // owner, id

  // The bytes that keeping a conversation costs beside its text, about.
  static constexpr uint64_t kEntryBytes = 1024;

  explicit ConversationIndex(const ConversationLimits& limits) : limits_(limits) {}

  // Null if there is none. The entry stays valid until it is put or removed.
  ConversationEntry* Find(const Key& key);
  // The ids of an owner's conversations.
  std::vector<std::string> List(const std::string& owner) const;

  // Makes room for a text of so many bytes, which replaces what is there under the key; until Put or Release it counts.
  // Those that must go for it are added to `dropped`. Error: kResourceExhausted, unless `is_bound` is false.
  Result<void> Reserve(const Key& key, uint64_t bytes, bool is_bound, std::vector<Key>& dropped);
  void Release(const Key& key, uint64_t bytes);
  // Replaces the entry of that key.
  void Put(const Key& key, ConversationEntry entry);
  void Remove(const Key& key);

  // Removes those that were not changed for too long, and returns them.
  std::vector<Key> RemoveOld(int64_t now);

 private:
  using Age = std::pair<int64_t, uint64_t>;  // the second of the last change, and ConversationEntry::order

  struct Shelf {
    std::map<std::string, ConversationEntry> entries;  // by id
    std::map<Age, std::string> by_age;                 // ids, the oldest first
    uint64_t bytes = 0, reserved = 0;
  };

  const ConversationLimits limits_;
  std::map<std::string, Shelf> shelves_;  // by owner
  uint64_t changes_ = 0;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_SERVICE_STATE_CONVERSATION_INDEX_H_
