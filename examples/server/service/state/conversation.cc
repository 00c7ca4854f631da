// SPDX-License-Identifier: Apache-2.0

#include "server/service/state/conversation.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <random>

#include "skald/base/json/json_tree.h"
#include "skald/base/numbers/sha256.h"

namespace skald::serve {
namespace {

Failure Wrong(const std::string& what) { return Fail(ErrorCode::kDataLoss, "this is no conversation: " + what); }

// Returns function(), whose thrown errors are about a file.
template <class Function>
auto Reading(Function function) -> Result<decltype(function())> {
  try {
    return function();
  } catch (const ApiError& error) {
    return Wrong(error.message);
  }
}

Json ParseLine(std::string_view line) {
  Json json;
  const std::string complaint = internal::ParseJson(line, json);
  if (!complaint.empty()) throw ApiError{400, "a line of it " + complaint};
  return json;
}

// The first messages of a conversation that all turns go on from.
size_t CountFirst(const Json& messages) {
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i]["role"] == "user") return i + 1;
  }
  return messages.size();
}

// Messages are written and read by this server: only what the rest relies on is checked.
void CheckMessages(const Json& messages, const std::string& path) {
  for (size_t i = 0; i < messages.size(); ++i) {
    JsonReader message(messages[i], path + "[" + std::to_string(i) + "]");
    (void)message.NeedString("role");
    (void)message.String("content");
    const Json* const calls = message.Array("tool_calls");
    for (size_t k = 0; calls != nullptr && k < calls->size(); ++k) {
      JsonReader call((*calls)[k], message.PathOf("tool_calls") + "[" + std::to_string(k) + "]");
      auto function = call.Object("function");
      if (!function) call.Fail("function", "an object with a name and arguments");
      (void)function->NeedString("name");
      if (function->Any("arguments") == nullptr) function->Fail("arguments", "those of a call");
    }
  }
}

Conversation ReadFacts(JsonReader& reader) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() >> 10;  // a double holds it
  Conversation conversation;
  conversation.id = reader.NeedString("id");
  conversation.title = reader.String("title").value_or("");
  conversation.model = reader.String("model").value_or("");
  conversation.created = reader.Integer("created", 0, kMost).value_or(0);
  conversation.updated = reader.Integer("updated", 0, kMost).value_or(0);
  if (const auto metadata = reader.Object("metadata")) conversation.metadata = metadata->json();
  conversation.version = static_cast<uint64_t>(reader.Integer("version", 0, kMost).value_or(0));
  const auto parent = reader.String("parent");
  const auto taken = reader.Integer("parent_messages", 0, kMost);
  if (parent && taken) conversation.parent = {*parent, static_cast<size_t>(*taken)};
  return conversation;
}

Conversation ReadKeptFacts(JsonReader& reader) {
  Conversation conversation = ReadFacts(reader);
  conversation.secret = reader.String("secret").value_or("");
  (void)reader.String("tenant");
  return conversation;
}

// The lines of a file. A file of an earlier release has only the first.
struct Lines {
  std::string_view first, second, third;
  bool is_old = false;
};

Lines LinesOf(std::string_view text) {
  const size_t end = text.find('\n');
  if (end == text.npos) return {text, {}, {}, true};
  const std::string_view rest = text.substr(end + 1);
  const size_t second_end = std::min(rest.find('\n'), rest.size());
  return {text.substr(0, end), rest.substr(0, second_end), rest.substr(std::min(second_end + 1, rest.size())), false};
}

void ReadResponseFacts(const Json& json, Conversation& conversation) {
  JsonReader reader(json);
  conversation.writers = reader.Strings("writers");
  if (const auto response = reader.Object("response")) conversation.response = response->json();
}

}  // namespace

std::string NewId(std::string_view prefix) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::random_device random;
  std::string id = std::string(prefix) + "_";
  for (int i = 0; i < 3; ++i) {
    for (auto [bits, digit] = std::pair(static_cast<uint32_t>(random()), 0); digit < 8; ++digit, bits >>= 4) {
      id += kDigits[bits & 15];
    }
  }
  return id;
}

int64_t UnixNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Json ConversationJson(const Conversation& conversation, bool with_messages) {
  Json json = {{"id", conversation.id},
               {"object", "conversation"},
               {"title", conversation.title},
               {"created", conversation.created},
               {"created_at", conversation.created},  // OpenAI's name
               {"updated", conversation.updated},
               {"version", conversation.version},
               {"parent", nullptr},
               {"parent_messages", nullptr},
               {"model", nullptr},
               {"metadata", conversation.metadata}};
  if (conversation.parent) {
    json["parent"] = conversation.parent->first;
    json["parent_messages"] = conversation.parent->second;
  }
  if (!conversation.model.empty()) json["model"] = conversation.model;
  if (with_messages) {
    json["message_count"] = conversation.messages.size();
    json["messages"] = conversation.messages;
  }
  return json;
}

Conversation ConversationOf(const Json& json, const std::string& path) {
  JsonReader reader(json, path);
  Conversation conversation = ReadFacts(reader);
  conversation.messages = reader.NeedArray("messages");
  return conversation;
}

std::string SaltOf(const std::string& tenant, const Conversation& conversation) {
  return conversation.secret.empty() ? tenant : tenant + "\n" + conversation.secret;
}

std::string RootOf(const Json& messages) {
  Json first = Json::array();
  for (size_t i = 0; i < CountFirst(messages); ++i) first.push_back(messages[i]);
  const auto digest = Sha256().Update(Dump(first)).Finish();
  return digest ? ShortHex(*digest) : std::string();
}

ConversationFacts FactsOf(const Conversation& conversation) {
  return {{conversation.id, conversation.title, conversation.created, conversation.updated, conversation.parent,
           conversation.model, conversation.version, conversation.secret, conversation.metadata},
          conversation.messages.size(),
          RootOf(conversation.messages)};
}

std::string EncodeConversation(const std::string& tenant, const Conversation& conversation) {
  Json facts = ConversationJson(conversation, /*with_messages=*/false);
  facts["message_count"] = conversation.messages.size();
  facts["root"] = RootOf(conversation.messages);
  facts["tenant"] = tenant;
  if (!conversation.secret.empty()) facts["secret"] = conversation.secret;
  std::string text = Dump(facts) + "\n" + Dump(conversation.messages) + "\n";
  const auto is_response = [](const std::string& writer) { return !writer.empty(); };
  const bool has_writers = std::ranges::any_of(conversation.writers, is_response);
  if (!has_writers && conversation.response.is_null()) return text;
  return text + Dump({{"writers", conversation.writers}, {"response", conversation.response}}) + "\n";
}

Result<std::optional<ConversationFacts>> DecodeFacts(std::string_view front) {
  const Lines lines = LinesOf(front);
  if (lines.is_old) return std::nullopt;
  return Reading([&]() -> std::optional<ConversationFacts> {
    const Json json = ParseLine(lines.first);
    JsonReader reader(json);
    ConversationFacts facts = {ReadKeptFacts(reader)};
    const auto count = reader.Integer("message_count", 0, std::numeric_limits<int32_t>::max());
    if (!count) reader.Fail("message_count", "a number");
    facts.messages = static_cast<size_t>(*count);
    facts.root = reader.String("root").value_or("");
    return facts;
  });
}

Result<Conversation> DecodeConversation(std::string_view text) {
  const Lines lines = LinesOf(text);
  return Reading([&]() -> Conversation {
    const Json facts = ParseLine(lines.first);
    JsonReader reader(facts);
    Conversation conversation = ReadKeptFacts(reader);
    conversation.messages = lines.is_old ? reader.NeedArray("messages") : ParseLine(lines.second);
    if (!conversation.messages.is_array()) throw ApiError{400, "its second line is no list of messages"};
    CheckMessages(conversation.messages, "messages");
    if (!lines.third.empty()) ReadResponseFacts(ParseLine(lines.third), conversation);
    return conversation;
  });
}

Result<std::string> DecodeTenant(std::string_view text) {
  return Reading([&] {
    const Json facts = ParseLine(LinesOf(text).first);
    return JsonReader(facts).String("tenant").value_or("");
  });
}

}  // namespace skald::serve
