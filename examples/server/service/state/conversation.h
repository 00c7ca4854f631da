// SPDX-License-Identifier: Apache-2.0
//
// Conversation: a chat that the server keeps under a name, as a value, as the API shows it, and as the text of its
// file.

#ifndef SKALD_EXAMPLES_SERVER_SERVICE_STATE_CONVERSATION_H_
#define SKALD_EXAMPLES_SERVER_SERVICE_STATE_CONVERSATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/api/request/json_reader.h"
#include "skald/base/result.h"

namespace skald::serve {

struct Conversation {
  std::string id;                    // "conv_..."
  std::string title;                 // may be empty
  int64_t created = 0, updated = 0;  // Unix seconds
  // The conversation that this one was forked from, and how many messages it took along.
  std::optional<std::pair<std::string, size_t>> parent = {};
  std::string model = {};  // that wrote its last answer; empty where none has
  uint64_t version = 0;    // grows with every change
  // Not empty where computed state came along from outside this server, in an import. Such state is found under this
  // secret alone, so no other conversation is ever continued from it. Forks take it along. The API never shows it.
  std::string secret = {};
  Json metadata = Json::object();  // texts by names, for the client itself
  Json messages = Json::array();   // as ReadMessages returns them
  // The responses of OpenAI's API that wrote messages, by the places of these; empty for messages of others, which may
  // be missing at the end.
  std::vector<std::string> writers = {};
  Json response = {};  // of what is kept of a response: the response as the API shows it; null: none
};

// The salt under which a conversation's computed state is kept. It decides which conversations share that state: all of
// the tenant or, if the conversation has a secret, only those with the same secret.
std::string SaltOf(const std::string& tenant, const Conversation& conversation);

// Bytes of a title, at most.
inline constexpr size_t kMostTitleBytes = 4096;

// "PREFIX_" and 24 digits that cannot be guessed.
std::string NewId(std::string_view prefix);

// Unix seconds.
int64_t UnixNow();

// A conversation as the API shows it, with its messages.
Json ConversationJson(const Conversation& conversation, bool with_messages = true);
// The reverse; the messages are taken as they are. `path` names the object in errors, which are thrown as ApiError: a
// field of another type. Unknown fields are passed over.
Conversation ConversationOf(const Json& json, const std::string& path);

// Names the beginning of a conversation, up to the first message of a user: conversations that differ in it have no
// turn in common.
std::string RootOf(const Json& messages);

// The facts of a conversation that are told without its messages.
struct ConversationFacts {
  Conversation conversation;  // without messages
  size_t messages = 0;
  std::string root;  // RootOf its messages
};

ConversationFacts FactsOf(const Conversation& conversation);

// A conversation as the text of its file: its facts on the first line, its messages on the second, and on the third, if
// there is one, what responses have to do with it.
std::string EncodeConversation(const std::string& tenant, const Conversation& conversation);

// Bytes of a file within which the first line ends.
inline constexpr size_t kMostFactsBytes = size_t{64} << 10;

// Reads the first line of such a text, which may be cut off after that line. Returns nothing if no line ends in
// `front`, as in files of earlier releases. Error: kDataLoss, with what is wrong.
Result<std::optional<ConversationFacts>> DecodeFacts(std::string_view front);

// Reads a whole text, also one of an earlier release. Error: kDataLoss, with what is wrong.
Result<Conversation> DecodeConversation(std::string_view text);

// The tenant that a text names; files of earlier releases are not sorted by tenants. Error as above.
Result<std::string> DecodeTenant(std::string_view text);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_SERVICE_STATE_CONVERSATION_H_
