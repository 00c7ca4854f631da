// SPDX-License-Identifier: Apache-2.0
//
// Texts that are computed as they are, without a chat around them.

#ifndef SKALD_EXAMPLES_SERVER_API_REQUEST_TEXTS_H_
#define SKALD_EXAMPLES_SERVER_API_REQUEST_TEXTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/api/call.h"
#include "server/api/request/json_reader.h"
#include "skald/tokenizers/tokenizer_value.h"

namespace skald::serve {

// Reads a field that has a text, the ids of its tokens, or a list of either: the tokens of each. Thrown: anything else,
// texts of no tokens, ids that are none, more texts than `most`.
// With ParseSpecial::kYes the client writes special tokens by their names, and a list of both ids and texts is one
// text.
std::vector<std::vector<int32_t>> ReadTexts(JsonReader& reader, std::string_view name, const Call& call, size_t most,
                                            ParseSpecial parse_special = ParseSpecial::kNo);

// The tokens of a text of the field `name`, which may be none. Thrown: more than fit.
std::vector<int32_t> TokensOfText(const std::string& text, std::string_view name, const Call& call,
                                  ParseSpecial parse_special, AddSpecial add_special = AddSpecial::kYes);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_REQUEST_TEXTS_H_
