// SPDX-License-Identifier: Apache-2.0
//
// Chats for templates that take no more than one system message, first, and users' and assistants' messages by turns:
// agents send other ones.

#ifndef SKALD_EXAMPLES_SERVER_API_CHAT_PLAIN_MESSAGES_H_
#define SKALD_EXAMPLES_SERVER_API_CHAT_PLAIN_MESSAGES_H_

#include <vector>

#include "server/api/request/json_reader.h"

namespace skald::serve {

// Returns the same messages, as ReadMessages returns them, in forms that more templates take, the closest one first.
// First, system messages at the beginning become one, later ones the user's, and messages of one role that follow each
// other one. Then the system message becomes the beginning of the user's first. Forms that change nothing are left out.
std::vector<Json> PlainerMessages(const Json& messages);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_CHAT_PLAIN_MESSAGES_H_
