// SPDX-License-Identifier: Apache-2.0
//
// The input of OpenAI's responses: items, which become messages.

#ifndef SKALD_EXAMPLES_SERVER_API_OPENAI_RESPONSES_INPUT_H_
#define SKALD_EXAMPLES_SERVER_API_OPENAI_RESPONSES_INPUT_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "server/api/chat/tool_reading.h"
#include "server/api/request/json_reader.h"

namespace skald::serve {

// Gives the messages of an earlier response, the answer last, or nothing if it is not stored.
using FindMessages = std::function<std::optional<Json>(const std::string& id)>;

// Reads a field of a request that has notes, a text or a list of items, as ReadMessages returns messages. Items of
// tools that others run are left out and noted.
Json ReadResponseItems(JsonReader& request, std::string_view field, const RequestTools& tools,
                       const FindMessages& find);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_OPENAI_RESPONSES_INPUT_H_
