// SPDX-License-Identifier: Apache-2.0
//
// Messages as chat templates want them, out of those of requests, and the prompt that they make.

#ifndef SKALD_EXAMPLES_SERVER_API_CHAT_MESSAGES_H_
#define SKALD_EXAMPLES_SERVER_API_CHAT_MESSAGES_H_

#include <string>

#include "server/api/request/json_reader.h"
#include "skald/open/tools/tools.h"

namespace skald::serve {

// Reads a list of messages in OpenAI's form. Contents become texts; the arguments of calls become the objects that they
// spell. `notes` takes unknown fields; null: they are refused. Errors are thrown as ApiError: unknown roles, parts that
// are not text.
Json ReadMessages(const Json& messages, const std::string& path, RequestNotes* notes = nullptr);

// The text of a content: a string, or a list of parts of which all are texts. Thrown: other parts, by their type.
std::string ReadContent(const Json& content, const std::string& path, RequestNotes* notes = nullptr);

// Tools as templates want them.
Json ToolsForTemplate(const ToolList& tools);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_CHAT_MESSAGES_H_
