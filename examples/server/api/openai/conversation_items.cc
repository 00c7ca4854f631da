// SPDX-License-Identifier: Apache-2.0
//
// Conversations as OpenAI's API has them: platform.openai.com/docs/api-reference/conversations. Their messages are
// items.

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/api/chat/entity_tag.h"
#include "server/api/endpoints.h"
#include "server/api/openai/responses/items.h"
#include "server/api/openai/responses/kept_responses.h"
#include "server/api/request/body_reader.h"
#include "server/api/request/query_reader.h"

namespace skald::serve {
namespace {

std::vector<KeptItem> AllItemsOf(const Conversation& conversation) {
  return ItemsOf(conversation, conversation.messages.size());
}

Conversation FindConversation(const Call& call) {
  return TakeKept(call.service->conversations().Find(call.tenant.name, call.path.id));
}

KeptItem FindItem(const Call& call, const Conversation& conversation) {
  for (KeptItem& item : AllItemsOf(conversation)) {
    if (item.json["id"] == call.path.item) return std::move(item);
  }
  throw ApiError{404, "there is no item '" + call.path.item.substr(0, 64) + "' in this conversation"};
}

// The conversation, if no answer of it is being written and it is the one that the client means. Thrown: 409, 412.
Conversation FindToChange(const Call& call) {
  Conversation conversation = TakeKept(call.service->conversations().FindIdle(call.tenant.name, call.path.id));
  (void)ReadIfMatch(call.http, conversation);
  return conversation;
}

Conversation ChangeFrom(const Call& call, const Conversation& before, const std::function<void(Conversation&)>& edit) {
  return TakeKept(call.service->conversations().Change(call.tenant.name, before.id, before.version, edit));
}

}  // namespace

Answer ListConversationItems(const Call& call) {
  QueryReader query(call, "ItemsQuery");
  Json page = ItemPage(query, AllItemsOf(FindConversation(call)));
  query.Finish();
  return JsonAnswer(std::move(page), *query.notes());
}

Answer AddConversationItems(const Call& call) {
  BodyReader reader(call, "NewItems");
  (void)reader.NeedArray("items");
  Json added = ReadResponseItems(reader, "items", {}, FinderOfMessages(call));
  reader.Finish();
  const Conversation before = FindToChange(call);
  const Conversation after = ChangeFrom(call, before, [&](Conversation& conversation) {
    for (Json& message : added) conversation.messages.push_back(std::move(message));
  });
  const std::vector<KeptItem> items = AllItemsOf(after);
  const auto first =
      std::ranges::find_if(items, [&](const KeptItem& item) { return item.message >= before.messages.size(); });
  return JsonAnswer(ItemList(std::span(first, items.end())), *reader.notes());
}

Answer ShowConversationItem(const Call& call) { return JsonAnswer(FindItem(call, FindConversation(call)).json); }

Answer DeleteConversationItem(const Call& call) {
  const Conversation before = FindToChange(call);
  const KeptItem item = FindItem(call, before);
  const Conversation after =
      ChangeFrom(call, before, [&](Conversation& conversation) { RemoveItem(item, conversation); });
  return JsonAnswer(ConversationJson(after, /*with_messages=*/false));
}

}  // namespace skald::serve
