// SPDX-License-Identifier: Apache-2.0
//
// Conversations by name: list, fork, take back, carry to another server.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "serve/api/endpoints.h"
#include "serve/api/request/json_reader.h"
#include "serve/chat/messages.h"
#include "serve/http/file_answer.h"
#include "skald/base/json/json_tree.h"
#include "skald/store/snapshots/snapshot.h"

namespace skald::serve {
namespace {

Conversation FindOne(const Call& call) {
  return Take(call.service->conversations().Find(call.tenant.name, call.parameter));
}

// The number of messages that a request wants to keep of a conversation.
size_t ReadMessageCount(const Call& call, const Conversation& conversation) {
  const Json body = ParseJson(call.http.body);
  JsonReader reader(body);
  const auto count = reader.Integer("messages", 0, static_cast<int64_t>(conversation.messages.size()));
  if (!count) reader.Fail("messages", "how many messages to keep");
  reader.Finish();
  return static_cast<size_t>(*count);
}

void KeepFirst(size_t count, Conversation& conversation) {
  conversation.messages.erase(conversation.messages.begin() + static_cast<std::ptrdiff_t>(count),
                              conversation.messages.end());
}

Identity IdentityOf(const Call& call, const Sha256Digest& adapter) {
  Identity identity = call.service->model().identity;
  identity.adapter = adapter;
  if (!call.tenant.name.empty()) identity.salt = call.tenant.name;
  return identity;
}

std::optional<std::string> SaltOf(const Call& call) {
  return call.tenant.name.empty() ? std::nullopt : std::optional(call.tenant.name);
}

// What wrote a conversation's last answer, or the model alone where that is not served any more.
const NamedModel& ModelOf(const Call& call, const Conversation& conversation) {
  const NamedModel* const found = call.service->FindModel(conversation.model);
  return found == nullptr ? call.service->named_models()[0] : *found;
}

// State of any of the models that are served, and which one's it is.
std::pair<Snapshot, const NamedModel*> LoadState(const Call& call) {
  std::optional<Error> first;
  for (const NamedModel& model : call.service->named_models()) {
    SpoolReader source(*call.http.file);
    auto loaded = LoadSnapshot(ByteSourceRef(source), IdentityOf(call, model.adapter), call.service->model().pool);
    if (loaded) return {*std::move(loaded), &model};
    if (loaded.error().code == skald::ErrorCode::kResourceExhausted) throw ApiErrorOf(loaded.error());
    if (!first) first = loaded.error();
  }
  throw ApiError{400, "this is no state of a conversation with this model: " + first->message};
}

}  // namespace

Answer ListConversations(const Call& call) {
  Json data = Json::array();
  for (const auto& [conversation, messages] : call.service->conversations().List(call.tenant.name)) {
    Json one = ConversationJson(conversation, /*with_messages=*/false);
    one["message_count"] = messages;
    data.push_back(std::move(one));
  }
  return JsonAnswer({{"object", "list"}, {"data", std::move(data)}});
}

Answer CreateConversation(const Call& call) {
  const Json body = call.http.body.empty() ? Json::object() : ParseJson(call.http.body);
  JsonReader reader(body);
  Conversation conversation;
  conversation.title = reader.String("title").value_or("");
  if (const Json* const messages = reader.Array("messages"); messages != nullptr && !messages->empty()) {
    conversation.messages = ReadMessages(*messages, "messages");
  }
  reader.Finish();
  return JsonAnswer(
      ConversationJson(Take(call.service->conversations().Add(call.tenant.name, std::move(conversation)))), 201);
}

Answer ShowConversation(const Call& call) { return JsonAnswer(ConversationJson(FindOne(call))); }

Answer ChangeConversation(const Call& call) {
  Conversation conversation = FindOne(call);
  const Json body = ParseJson(call.http.body);
  JsonReader reader(body);
  conversation.title = reader.NeedString("title");
  reader.Finish();
  return JsonAnswer(ConversationJson(Take(call.service->conversations().Update(call.tenant.name, conversation))));
}

Answer DeleteConversation(const Call& call) {
  if (auto done = call.service->conversations().Delete(call.tenant.name, call.parameter); !done) {
    throw ApiErrorOf(done.error());
  }
  return JsonAnswer({{"id", call.parameter}, {"object", "conversation.deleted"}, {"deleted", true}});
}

Answer ForkConversation(const Call& call) {
  Conversation fork = FindOne(call);
  const size_t count = ReadMessageCount(call, fork);
  KeepFirst(count, fork);
  fork.parent = {std::exchange(fork.id, {}), count};
  return JsonAnswer(ConversationJson(Take(call.service->conversations().Add(call.tenant.name, std::move(fork)))), 201);
}

Answer RewindConversation(const Call& call) {
  Conversation conversation = FindOne(call);
  KeepFirst(ReadMessageCount(call, conversation), conversation);
  return JsonAnswer(ConversationJson(Take(call.service->conversations().Update(call.tenant.name, conversation))));
}

// A snapshot of what is computed of the conversation, with the conversation as its note.
Answer ExportConversation(const Call& call) {
  const Conversation conversation = FindOne(call);
  std::vector<int32_t> ids = call.service->transcripts().Recall(conversation.messages, call.tenant.name);
  if (ids.empty()) ids = {0};  // nothing of it is known: an empty cache travels
  const Sha256Digest& adapter = ModelOf(call, conversation).adapter;
  const PromptPrefix known = Take(call.service->prompts(adapter).Lookup(ids, SaltOf(call)));
  Json note = {{"conversation", ConversationJson(conversation)}, {"ids", ids}};
  const std::string text = Dump(note);
  const auto bytes = std::as_bytes(std::span(text));
  const SnapshotNotes notes = {.sampler = {}, .user = {bytes.begin(), bytes.end()}};
  std::shared_ptr<SpooledFile> file = Take(call.spool.Create());
  if (auto saved = SaveSnapshot(known.cache, IdentityOf(call, adapter), notes, ByteSinkRef(*file)); !saved) {
    throw ApiErrorOf(saved.error());
  }
  HttpHead head;
  head.content_type = "application/octet-stream";
  head.headers = {{"Content-Disposition", "attachment; filename=\"" + conversation.id + ".skald\""}};
  return std::make_unique<FileAnswer>(std::move(file), std::move(head));
}

Answer ImportConversation(const Call& call) {
  const auto [snapshot, model] = LoadState(call);
  const std::string_view text(reinterpret_cast<const char*>(snapshot.notes.user.data()), snapshot.notes.user.size());
  Json note;
  const bool is_json = internal::ParseJson(text, note).empty();
  const bool is_ours =
      is_json && note.is_object() && note.contains("conversation") && note.contains("ids") && note["ids"].is_array();
  auto conversation = is_ours ? ConversationOf(note["conversation"]) : std::nullopt;
  if (!conversation) throw ApiError{400, "this is a snapshot, but not of a conversation of this server's kind"};
  conversation->id.clear();
  conversation->parent.reset();
  conversation->model = model->name;
  if (!conversation->messages.empty()) (void)ReadMessages(conversation->messages, "messages");
  std::vector<int32_t> ids;
  for (const Json& id : note["ids"]) {
    if (id.is_number_integer()) ids.push_back(id.get<int32_t>());
  }
  if (!conversation->messages.empty()) {
    call.service->transcripts().Remember(conversation->messages, call.tenant.name, ids);
  }
  if (snapshot.cache.size() > 0) (void)call.service->prompts(model->adapter).Insert(snapshot.cache, {}, SaltOf(call));
  return JsonAnswer(
      ConversationJson(Take(call.service->conversations().Add(call.tenant.name, *std::move(conversation)))), 201);
}

}  // namespace skald::serve
