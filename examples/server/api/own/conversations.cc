// SPDX-License-Identifier: Apache-2.0
//
// Conversations by name: list, fork, take back, carry to another server.

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "server/api/chat/entity_tag.h"
#include "server/api/chat/messages.h"
#include "server/api/endpoints.h"
#include "server/api/openai/responses/input.h"
#include "server/api/openai/responses/kept_responses.h"
#include "server/api/request/body_reader.h"
#include "server/api/request/sampling.h"
#include "server/http/file_answer.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/store/snapshots/snapshot.h"

namespace skald::serve {
namespace {

Conversation FindOne(const Call& call) {
  return TakeKept(call.service->conversations().Find(call.tenant.name, call.path.id));
}

Answer ConversationAnswer(const Conversation& conversation, const RequestNotes& notes, int status = 200) {
  Json json = ConversationJson(conversation);
  if (!notes.ignored().empty()) json["skald"]["ignored"] = notes.ignored();
  return std::make_unique<WholeAnswer>(Dump(json),
                                       HttpHead{status, "application/json", {{"ETag", EntityTagOf(conversation)}}});
}

Answer AddOne(const Call& call, Conversation conversation, const RequestNotes& notes) {
  return ConversationAnswer(TakeKept(call.service->conversations().Add(call.tenant.name, std::move(conversation))),
                            notes, 201);
}

void CheckTitle(const std::string& title, const std::string& path) {
  if (title.size() <= kMostTitleBytes) return;
  throw ApiError{400,
                 "'" + path + "' has " + std::to_string(title.size()) + " bytes, expected at most " +
                     std::to_string(kMostTitleBytes),
                 path};
}

// Reads what a client keeps beside a conversation, within OpenAI's limits; nothing if it does not say it.
std::optional<Json> ReadMetadata(JsonReader& reader) {
  constexpr size_t kMostPairs = 16, kMostNameBytes = 64, kMostBytes = 512;
  auto metadata = reader.Object("metadata");
  if (!metadata) return std::nullopt;
  const Json& pairs = metadata->json();
  for (auto pair = pairs.begin(); pair != pairs.end(); ++pair) {
    const bool fits = pair->is_string() && pair.key().size() <= kMostNameBytes &&
                      pair->get_ref<const std::string&>().size() <= kMostBytes;
    if (!fits || pairs.size() > kMostPairs) {
      reader.Fail("metadata", "at most 16 texts of at most 512 bytes, by names of at most 64 bytes");
    }
  }
  return pairs;
}

// The number of messages that a request wants to keep of a conversation. With `appended` it may bring messages to go on
// with.
size_t ReadMessageCount(JsonReader& reader, const Conversation& conversation, Json* appended = nullptr) {
  const auto count = reader.Integer("messages", 0, static_cast<int64_t>(conversation.messages.size()));
  if (!count) reader.Fail("messages", "how many messages to keep");
  const Json* const more = appended == nullptr ? nullptr : reader.Array("append");
  if (more != nullptr && !more->empty()) *appended = ReadMessages(*more, "append", reader.notes());
  reader.Finish();
  return static_cast<size_t>(*count);
}

void KeepFirst(size_t count, Conversation& conversation) {
  conversation.messages.erase(conversation.messages.begin() + static_cast<std::ptrdiff_t>(count),
                              conversation.messages.end());
  conversation.writers.resize(std::min(count, conversation.writers.size()));
}

Identity IdentityOf(const Call& call, const Sha256Digest& adapter) {
  Identity identity = call.model().served().identity;
  identity.adapter = adapter;
  if (!call.tenant.name.empty()) identity.salt = call.tenant.name;
  return identity;
}

// Of the prompts that the conversation shares.
std::optional<std::string> SaltOf(const Call& call, const Conversation& conversation) {
  std::string salt = SaltOf(call.tenant.name, conversation);
  return salt.empty() ? std::nullopt : std::optional(std::move(salt));
}

// The model that wrote a conversation's last answer, or the default one if that one is not served any more.
const NamedModel& ModelOf(const Call& call, const Conversation& conversation) {
  const bool is_served = call.service->models().Has(conversation.model);
  return ModelNamed(is_served ? conversation.model : std::string(), call);
}

// State of the model that the query names, or of one of its adapters, and whose it is.
std::pair<Snapshot, const NamedModel*> LoadState(const Call& call) {
  (void)ModelOfQuery(call);
  std::optional<Error> first;
  for (const NamedModel& model : call.model().named_models()) {
    SpoolReader source(*call.http.file);
    auto loaded = LoadSnapshot(ByteSourceRef(source), IdentityOf(call, model.adapter), call.model().served().pool);
    if (loaded) return {*std::move(loaded), &model};
    if (loaded.error().code == skald::ErrorCode::kResourceExhausted) throw ApiErrorOf(loaded.error());
    if (!first) first = loaded.error();
  }
  throw ApiError{400, "this is no state of a conversation with '" + call.model().served().name +
                          "' ('?model=' names another model): " + first->message};
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
  BodyReader reader(call, "NewConversation", BodyReader::IfEmpty::kTakeAsObject);
  Conversation conversation;
  conversation.title = reader.String("title").value_or("");
  CheckTitle(conversation.title, "title");
  if (const Json* const messages = reader.Array("messages"); messages != nullptr && !messages->empty()) {
    conversation.messages = ReadMessages(*messages, "messages", reader.notes());
  }
  if (reader.Array("items") != nullptr) {
    if (!conversation.messages.empty()) reader.Fail("items", "nothing beside 'messages'");
    conversation.messages = ReadResponseItems(reader, "items", {}, FinderOfMessages(call));
  }
  conversation.metadata = ReadMetadata(reader).value_or(Json::object());
  reader.Finish();
  return AddOne(call, std::move(conversation), *reader.notes());
}

Answer ShowConversation(const Call& call) { return ConversationAnswer(FindOne(call), RequestNotes(call.fields)); }

Answer ChangeConversation(const Call& call) {
  const auto version = ReadIfMatch(call.http, FindOne(call));
  BodyReader reader(call, "ConversationChange");
  const auto title = reader.String("title");
  const auto metadata = ReadMetadata(reader);
  if (!title && !metadata) reader.Fail("title", "a string, unless 'metadata' is there");
  CheckTitle(title.value_or(""), "title");
  reader.Finish();
  return ConversationAnswer(TakeKept(call.service->conversations().Change(call.tenant.name, call.path.id, version,
                                                                          [&](Conversation& conversation) {
                                                                            if (title) conversation.title = *title;
                                                                            if (metadata)
                                                                              conversation.metadata = *metadata;
                                                                          })),
                            *reader.notes());
}

Answer DeleteConversation(const Call& call) {
  const auto found = call.service->conversations().Find(call.tenant.name, call.path.id);
  std::optional<uint64_t> version;
  if (!call.http.Header("if-match").empty()) version = ReadIfMatch(call.http, FindOne(call));
  TakeKept(call.service->conversations().Delete(call.tenant.name, call.path.id, version));
  if (found) call.service->Forget(call.tenant.name, *found);  // of a file that is none nothing is known
  return JsonAnswer({{"id", call.path.id}, {"object", "conversation.deleted"}, {"deleted", true}});
}

Answer ForkConversation(const Call& call) {
  Conversation fork = FindOne(call);
  BodyReader reader(call, "Fork");
  Json appended = Json::array();
  const size_t count = ReadMessageCount(reader, fork, &appended);
  KeepFirst(count, fork);
  for (Json& message : appended) fork.messages.push_back(std::move(message));
  fork.parent = {std::exchange(fork.id, {}), count};
  return AddOne(call, std::move(fork), *reader.notes());
}

Answer RewindConversation(const Call& call) {
  const Conversation conversation = FindOne(call);
  (void)ReadIfMatch(call.http, conversation);
  BodyReader reader(call, "MessageCount");
  const size_t count = ReadMessageCount(reader, conversation);
  return ConversationAnswer(
      TakeKept(call.service->conversations().Change(call.tenant.name, call.path.id, conversation.version,
                                                    [&](Conversation& changed) { KeepFirst(count, changed); })),
      *reader.notes());
}

// A snapshot of what is computed of the conversation, with the conversation as its note.
Answer ExportConversation(const Call& call) {
  const Conversation conversation = FindOne(call);
  const Sha256Digest& adapter = ModelOf(call, conversation).adapter;
  std::vector<int32_t> ids = call.model().transcripts().Recall(
      JsonValueOf(call.service->WithSystem(conversation.messages)), SaltOf(call.tenant.name, conversation));
  if (ids.empty()) ids = {0};  // nothing of it is known: an empty cache travels
  const PromptPrefix known = Take(call.model().prompts(adapter).Lookup(ids, SaltOf(call, conversation)));
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

// The conversation, and the tokens that it is said to be, of the note in a snapshot.
std::pair<Conversation, std::vector<int32_t>> ReadNote(const Call& call, std::span<const std::byte> note) {
  Json json;  // deeper than a request: it has messages as deep as those of requests inside
  const std::string complaint = internal::ParseJson({reinterpret_cast<const char*>(note.data()), note.size()}, json);
  if (!complaint.empty()) throw ApiError{400, "the snapshot's note " + complaint};
  if (!json.is_object() || !json.contains("conversation") || !json.contains("ids")) {
    throw ApiError{400, "this is a snapshot, but not of a conversation of this server's kind"};
  }
  JsonReader reader(json);
  Conversation conversation = ConversationOf(json["conversation"], "conversation");
  CheckTitle(conversation.title, "conversation.title");
  if (!conversation.messages.empty()) {
    conversation.messages = ReadMessages(conversation.messages, "conversation.messages");
  }
  std::vector<int32_t> ids;
  const int64_t vocabulary = call.model().served().model.vocab_size();
  for (const Json& id : reader.NeedArray("ids")) {
    const bool is_id = id.is_number_integer() && id.get<int64_t>() >= 0 && id.get<int64_t>() < vocabulary;
    if (!is_id) reader.Fail("ids", "ids of tokens below " + std::to_string(vocabulary));
    ids.push_back(id.get<int32_t>());
  }
  return {std::move(conversation), std::move(ids)};
}

// Nothing proves that the state in a snapshot is what its tokens compute to, nor that its tokens spell its messages: it
// is kept under a secret of this conversation alone.
Answer ImportConversation(const Call& call) {
  const auto [snapshot, model] = LoadState(call);
  auto [conversation, ids] = ReadNote(call, snapshot.notes.user);
  conversation.id.clear();
  conversation.parent.reset();
  conversation.model = model->name;
  conversation.secret = NewId("secret");
  Answer answer = AddOne(call, conversation, RequestNotes(call.fields));
  if (!conversation.messages.empty()) {
    call.model().transcripts().Remember(JsonValueOf(conversation.messages), SaltOf(call.tenant.name, conversation),
                                        ids);
  }
  if (snapshot.cache.size() > 0) {
    (void)call.model().prompts(model->adapter).Insert(snapshot.cache, {}, SaltOf(call, conversation));
  }
  return answer;
}

}  // namespace skald::serve
