// SPDX-License-Identifier: Apache-2.0
//
// Texts that are computed as they are, without a chat around them.

#ifndef SKALD_EXAMPLES_SERVER_API_REQUEST_TEXTS_H_
#define SKALD_EXAMPLES_SERVER_API_REQUEST_TEXTS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "server/api/call.h"
#include "server/api/request/json_reader.h"

namespace skald::serve {

// Reads a field that has a text, the ids of its tokens, or a list of either: the tokens of each. Thrown: anything else,
// texts of no tokens, ids that are none, more texts than `most`.
std::vector<std::vector<int32_t>> ReadTexts(JsonReader& reader, std::string_view name, const Call& call, size_t most);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_REQUEST_TEXTS_H_
