// SPDX-License-Identifier: Apache-2.0
//
// Conversations: chats that the server keeps under names, so that clients can continue, fork and take them back from
// anywhere. Only their messages are kept; the state that was computed for these is in the prompt cache, found by its
// tokens. With a folder, each conversation is a file there. The file is whole at every moment, and is read when the
// conversation is asked for.

#ifndef SKALD_EXAMPLES_SERVER_SERVICE_CONVERSATIONS_H_
#define SKALD_EXAMPLES_SERVER_SERVICE_CONVERSATIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/service/state/conversation.h"
#include "server/service/state/conversation_index.h"
#include "skald/base/result.h"

namespace skald::serve {

// Safe for concurrent calls. `tenant` owns a conversation; no tenant sees those of another. Errors: kNotFound if there
// is no such conversation; kFailedPrecondition if it was changed meanwhile; kResourceExhausted if the tenant's limit is
// reached or the disk is full; kDataLoss if the file system refuses. After an error nothing has changed.
class Conversations {
 public:
  using Tell = std::function<void(const std::string&)>;  // gets warnings for people; called from any thread

  // Lists the conversations in `folder` without reading them; the folder is made if it is not there. If `folder` is
  // empty, conversations are kept in memory alone. A file that is no conversation is left alone, and told of when it is
  // met. Errors: the folder's.
  static Result<std::unique_ptr<Conversations>> Open(const std::filesystem::path& folder,
                                                     const ConversationLimits& limits = {}, Tell tell = {});

  // Keeps a new conversation and returns it. If it has no id, it gets a new one. It outlives a power cut.
  Result<Conversation> Add(const std::string& tenant, Conversation conversation);

  Result<Conversation> Find(const std::string& tenant, const std::string& id);
  // The same. Error: kFailedPrecondition if an answer of the conversation is being written.
  Result<Conversation> FindIdle(const std::string& tenant, const std::string& id);
  // Changes a conversation by `edit`. If a `version` is given, the conversation must still have it. An edit of messages
  // ends the claim of an answer that is being written.
  Result<Conversation> Change(const std::string& tenant, const std::string& id, std::optional<uint64_t> version,
                              const std::function<void(Conversation&)>& edit);
  Result<void> Delete(const std::string& tenant, const std::string& id, std::optional<uint64_t> version = {});

  // All conversations without their messages, each with the number of these; the one that was changed last comes first.
  std::vector<std::pair<Conversation, size_t>> List(const std::string& tenant);
  // The other conversations whose first turn may be the same, with their messages.
  std::vector<Conversation> Relatives(const std::string& tenant, const Conversation& conversation);

  // Stores `messages`, to which an answer is about to be computed, and returns the number of that turn. Until it ends,
  // no other turn begins: kFailedPrecondition. `version` is that of the conversation that the messages continue.
  Result<uint64_t> BeginTurn(const std::string& tenant, const std::string& id, uint64_t version, const Json& messages);
  // Ends a turn, and changes the conversation by `edit`. The tenant's limit may be passed by one answer. Error:
  // kFailedPrecondition if the messages were changed since the turn began.
  Result<Conversation> EndTurn(const std::string& tenant, const std::string& id, uint64_t turn,
                               const std::function<void(Conversation&)>& edit);

 private:
  using Key = ConversationIndex::Key;

  Conversations(std::filesystem::path folder, const ConversationLimits& limits, Tell tell)
      : folder_(std::move(folder)), tell_(std::move(tell)), index_(limits) {}

  static std::string OwnerOf(const std::string& tenant);
  std::filesystem::path FolderOf(const std::string& owner) const;
  std::filesystem::path FileOf(const Key& key) const { return FolderOf(key.first) / (key.second + ".json"); }
  std::mutex& ChangingOf(const std::string& id) { return changing_[std::hash<std::string>()(id) % changing_.size()]; }

  Result<void> SortOldFiles();
  void ListFolder(const std::string& owner);
  void ForgetOld();
  void RemoveFiles(const std::vector<Key>& keys);
  void PassOver(const Key& key, const std::string& why);

  // The text that is kept under a key, or nothing if there is none. With `only_facts` it may lack all but its first
  // line.
  Result<std::optional<std::string>> Text(const Key& key, bool only_facts);
  Result<Conversation> Read(const Key& key);
  std::optional<ConversationFacts> Facts(const Key& key);
  // The caller holds the id's lock of changing_.
  Result<void> Write(const std::string& tenant, const Conversation& conversation, uint64_t turn, bool is_bound);

  const std::filesystem::path folder_;
  const Tell tell_;
  // Held by id while one is changed, which may wait for the disk.
  std::array<std::mutex, 64> changing_;
  std::mutex mutex_;
  ConversationIndex index_;  // guarded by mutex_
  uint64_t turns_ = 0;       // guarded by mutex_
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_SERVICE_CONVERSATIONS_H_
