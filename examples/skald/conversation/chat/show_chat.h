// SPDX-License-Identifier: Apache-2.0
//
// Tells the user the parts of a chat: /show.

#ifndef SKALD_EXAMPLES_SKALD_CONVERSATION_CHAT_SHOW_CHAT_H_
#define SKALD_EXAMPLES_SKALD_CONVERSATION_CHAT_SHOW_CHAT_H_

#include <string>

#include "conversation/chat/kept_chat.h"
#include "skald/base/result.h"

namespace skald::program {

// Tells one part: "model", "system", "settings" or "template", whose text is printed; or, with an empty `part`, all of
// them but that text. Error: there is no such part.
Result<void> ShowChat(KeptChat& chat, const std::string& part);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_CONVERSATION_CHAT_SHOW_CHAT_H_
