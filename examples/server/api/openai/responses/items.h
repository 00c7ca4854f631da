// SPDX-License-Identifier: Apache-2.0
//
// Kept messages as items of OpenAI's Responses and Conversations APIs.

#ifndef SKALD_EXAMPLES_SERVER_API_OPENAI_RESPONSES_ITEMS_H_
#define SKALD_EXAMPLES_SERVER_API_OPENAI_RESPONSES_ITEMS_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/api/request/json_reader.h"
#include "server/service/state/conversation.h"

namespace skald::serve {

struct KeptItem {
  Json json;                        // as the API shows it
  size_t message = 0;               // of which it is
  std::optional<size_t> call = {};  // of the message; unset: its thought, or all of its text
};

// The items of the first `count` messages. Those of a message that a response wrote have the ids that the response
// gives them. The ids of others are made of what they say, so other items may come and go.
std::vector<KeptItem> ItemsOf(const Conversation& conversation, size_t count);

// Takes an item, one of ItemsOf, out of its conversation.
void RemoveItem(const KeptItem& item, Conversation& conversation);

// A list as the API shows it, all of it.
Json ItemList(std::span<const KeptItem> items);

// The page of it that a query asks for: limit, order, after. Thrown: no item has the id that it is to come after.
Json ItemPage(JsonReader& query, std::vector<KeptItem> items);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_OPENAI_RESPONSES_ITEMS_H_
