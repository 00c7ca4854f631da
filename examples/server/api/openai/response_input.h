// SPDX-License-Identifier: Apache-2.0
//
// The input of OpenAI's responses: items, which become messages.

#ifndef SKALD_EXAMPLES_SERVER_API_OPENAI_RESPONSE_INPUT_H_
#define SKALD_EXAMPLES_SERVER_API_OPENAI_RESPONSE_INPUT_H_

#include <functional>
#include <optional>
#include <string>

#include "server/api/request/json_reader.h"
#include "server/api/request/tool_reading.h"

namespace skald::serve {

// Gives the messages of an earlier response, the answer last, or nothing if it is not stored.
using FindResponse = std::function<std::optional<Json>(const std::string& id)>;

// Reads the field `input` of a request that has notes, as ReadMessages returns messages. Items of tools that others run
// are left out and noted.
Json ReadResponseInput(JsonReader& request, const RequestTools& tools, const FindResponse& find);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_OPENAI_RESPONSE_INPUT_H_
