// SPDX-License-Identifier: Apache-2.0
//
// Conversations: chats that the server keeps under names, so that they can be gone on with, forked and taken back from
// anywhere. What is kept is what was said; the state that it was computed to is in the prompt cache, found by its
// tokens. With a folder each conversation is a file there, which is whole at every moment.

#ifndef SKALD_EXAMPLES_SKALD_SERVE_SERVICE_CONVERSATIONS_H_
#define SKALD_EXAMPLES_SKALD_SERVE_SERVICE_CONVERSATIONS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "serve/api/request/json_reader.h"
#include "skald/base/result.h"

namespace skald::serve {

struct Conversation {
  std::string id;                    // "conv_..."
  std::string title;                 // may be empty
  int64_t created = 0, updated = 0;  // Unix seconds
  // The conversation that this one was forked from, and how many messages it took along.
  std::optional<std::pair<std::string, size_t>> parent = {};
  std::string model = {};         // that wrote its last answer; empty where none has
  Json messages = Json::array();  // as ReadMessages returns them
};

// Safe for concurrent calls. `tenant` is whose a conversation is; nobody sees those of another.
class Conversations {
 public:
  // Reads the conversations in `folder`, which is made if it is not there; empty: they are kept in memory alone. Beyond
  // `most` those go that were not changed for the longest time. Errors: the folder's. A file that is no conversation is
  // left alone.
  static Result<std::unique_ptr<Conversations>> Open(const std::filesystem::path& folder,
                                                     size_t most = std::numeric_limits<size_t>::max());

  // Keeps a new conversation, under its id or, where it has none, a new one, and returns it. Errors of this and Update:
  // the file's; then nothing has changed.
  Result<Conversation> Add(const std::string& tenant, Conversation conversation);

  // Errors of the following: kNotFound.
  Result<Conversation> Find(const std::string& tenant, const std::string& id) const;
  // Replaces title, model and messages.
  Result<Conversation> Update(const std::string& tenant, const Conversation& conversation);
  Result<void> Delete(const std::string& tenant, const std::string& id);

  // All, the one that was changed last first, without their messages; how many there are instead.
  std::vector<std::pair<Conversation, size_t>> List(const std::string& tenant) const;

 private:
  using Key = std::pair<std::string, std::string>;  // tenant, id

  Conversations(std::filesystem::path folder, size_t most) : folder_(std::move(folder)), most_(most) {}
  Result<void> ReadAll();
  void DropOldest();
  Result<void> Write(const std::string& tenant, const Conversation& conversation) const;
  std::filesystem::path FileOf(const std::string& id) const { return folder_ / (id + ".json"); }

  const std::filesystem::path folder_;
  const size_t most_;
  mutable std::mutex mutex_;
  std::map<Key, Conversation> all_;  // guarded by mutex_
};

// "PREFIX_" and 24 digits that nobody can guess.
std::string NewId(std::string_view prefix);

// Unix seconds.
int64_t UnixNow();

// A conversation as the API shows it, with its messages.
Json ConversationJson(const Conversation& conversation, bool with_messages = true);
// The other way round. Nothing where it is none.
std::optional<Conversation> ConversationOf(const Json& json);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SKALD_SERVE_SERVICE_CONVERSATIONS_H_
