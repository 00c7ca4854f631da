// SPDX-License-Identifier: Apache-2.0

#include "server/api/openai/responses/kept_responses.h"

#include <utility>

#include "server/api/chat/entity_tag.h"
#include "server/api/endpoints.h"
#include "server/api/openai/responses/items.h"
#include "server/api/request/query_reader.h"

namespace skald::serve {
namespace {

ApiError NoResponse(const std::string& id, std::optional<std::string> param) {
  return {404, "there is no response '" + id.substr(0, 64) + "' here: it was not stored, or is not any more",
          std::move(param)};
}

// The number of the messages that are not the answer.
size_t CountInput(const Conversation& kept) {
  const bool has_answer = kept.writers.size() == kept.messages.size() && !kept.writers.empty();
  return kept.messages.size() - (has_answer && kept.writers.back() == kept.id ? 1 : 0);
}

}  // namespace

void KeepResponse(Service& service, const std::string& tenant, const AnsweredChat& answered, ResponseWriter& writer) {
  Conversation kept;
  kept.id = writer.form().id;
  kept.model = writer.form().model;
  kept.messages = answered.messages;
  kept.writers = answered.writers;
  kept.response = writer.End(answered.choices);
  (void)service.responses().Add(tenant, std::move(kept));
}

Conversation FindKeptResponse(const Call& call, const std::string& id, std::optional<std::string> param) {
  auto found = call.service->responses().Find(call.tenant.name, id);
  if (!found && found.error().code == skald::ErrorCode::kNotFound) throw NoResponse(id, std::move(param));
  return Take(std::move(found), std::move(param));
}

FindMessages FinderOfMessages(const Call& call) {
  return [&call](const std::string& id) -> std::optional<Json> {
    auto found = call.service->responses().Find(call.tenant.name, id);
    return found ? std::optional(std::move(found->messages)) : std::nullopt;
  };
}

Answer ShowResponse(const Call& call) {
  QueryReader query(call, "ResponseQuery");
  (void)query.Strings("include");  // a response has all that there is
  query.Finish();
  Conversation kept = FindKeptResponse(call, call.path.id);
  if (kept.response.is_null()) throw NoResponse(call.path.id, {});  // an earlier release kept its messages alone
  return JsonAnswer(std::move(kept.response), *query.notes());
}

Answer DeleteResponse(const Call& call) {
  (void)FindKeptResponse(call, call.path.id);
  TakeKept(call.service->responses().Delete(call.tenant.name, call.path.id));
  return JsonAnswer({{"id", call.path.id}, {"object", "response"}, {"deleted", true}});
}

Answer ListInputItems(const Call& call) {
  QueryReader query(call, "ItemsQuery");
  const Conversation kept = FindKeptResponse(call, call.path.id);
  Json page = ItemPage(query, ItemsOf(kept, CountInput(kept)));
  query.Finish();
  return JsonAnswer(std::move(page), *query.notes());
}

Answer CancelResponse(const Call& call) {
  (void)FindKeptResponse(call, call.path.id);
  throw ApiError{
      400, "the response '" + call.path.id.substr(0, 64) +
               "' cannot be cancelled: it was not made in the background; a client ends one by closing its stream"};
}

}  // namespace skald::serve
