// SPDX-License-Identifier: Apache-2.0
//
// The lines of a chat that begin with a slash.

#ifndef SKALD_EXAMPLES_SKALD_CONVERSATION_CHAT_CHAT_COMMANDS_H_
#define SKALD_EXAMPLES_SKALD_CONVERSATION_CHAT_CHAT_COMMANDS_H_

#include <string>
#include <vector>

#include "conversation/chat/kept_chat.h"
#include "skald/base/result.h"

namespace skald::program {

// Their names, with a space after those that take something, for completion.
std::vector<std::string> ChatCommandNames();

// Carries out a line that begins with a slash, other than /quit. Errors: there is no such command, or it cannot be
// done; the conversation is as it was.
Result<void> RunChatCommand(const std::string& line, KeptChat& chat);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_CONVERSATION_CHAT_CHAT_COMMANDS_H_
