// SPDX-License-Identifier: Apache-2.0
//
// The settings of a chat's answers by their names, as /set and /show have them.

#ifndef SKALD_EXAMPLES_SKALD_CONVERSATION_CHAT_CHAT_SETTINGS_H_
#define SKALD_EXAMPLES_SKALD_CONVERSATION_CHAT_CHAT_SETTINGS_H_

#include <string>

#include "skald/base/result.h"
#include "skald/open/conversation.h"

namespace skald::program {

// Tells all of them, a line each.
void ShowSettings(const Conversation& chat);

// Changes one for the answers to come: "temperature 0.5", or with an equals sign. Errors: there is none of that name,
// or the value is none of its.
Result<void> ChangeSetting(Conversation& chat, const std::string& text);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_CONVERSATION_CHAT_CHAT_SETTINGS_H_
