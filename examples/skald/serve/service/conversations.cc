// SPDX-License-Identifier: Apache-2.0

#include "serve/service/conversations.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <random>
#include <span>

#include "skald/base/files/fd_io.h"
#include "skald/base/files/folders.h"
#include "skald/base/files/small_file.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/no_throw.h"

namespace skald::serve {
namespace {

constexpr uint64_t kMostBytes = uint64_t{256} << 20;  // of a conversation

Failure NoConversation(const std::string& id) {
  return Fail(ErrorCode::kNotFound, "there is no conversation '" + id.substr(0, 64) + "'");
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
  Json json = {{"id", conversation.id},           {"object", "conversation"},
               {"title", conversation.title},     {"created", conversation.created},
               {"updated", conversation.updated}, {"parent", nullptr},
               {"parent_messages", nullptr},      {"model", nullptr}};
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

std::optional<Conversation> ConversationOf(const Json& json) {
  const auto has = [&](const char* name, bool (Json::*is)() const noexcept) {
    return json.contains(name) && (json[name].*is)();
  };
  if (!json.is_object() || !has("id", &Json::is_string) || !has("messages", &Json::is_array)) return std::nullopt;
  Conversation conversation;
  conversation.id = json["id"].get<std::string>();
  conversation.messages = json["messages"];
  if (has("title", &Json::is_string)) conversation.title = json["title"].get<std::string>();
  if (has("model", &Json::is_string)) conversation.model = json["model"].get<std::string>();
  if (has("created", &Json::is_number_integer)) conversation.created = json["created"].get<int64_t>();
  if (has("updated", &Json::is_number_integer)) conversation.updated = json["updated"].get<int64_t>();
  if (has("parent", &Json::is_string) && has("parent_messages", &Json::is_number_unsigned)) {
    conversation.parent = {json["parent"].get<std::string>(), json["parent_messages"].get<size_t>()};
  }
  return conversation;
}

Result<std::unique_ptr<Conversations>> Conversations::Open(const std::filesystem::path& folder, size_t most) {
  return NoThrow("the conversations", [&]() -> Result<std::unique_ptr<Conversations>> {
    std::unique_ptr<Conversations> conversations(new Conversations(folder, most));
    if (folder.empty()) return conversations;
    if (auto made = MakeFolder(folder, kPrivateFolder, SyncPolicy::kData); !made) return Failure(made.error());
    if (auto read = conversations->ReadAll(); !read) return Failure(read.error());
    return conversations;
  });
}

Result<void> Conversations::ReadAll() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    if (entry.path().extension() != ".json") continue;
    const auto text = ReadSmallFile(entry.path(), kMostBytes);
    if (!text) return Failure(text.error());
    Json json;
    if (!internal::ParseJson(*text, json).empty()) continue;
    auto conversation = ConversationOf(json);
    if (!conversation || conversation->id != entry.path().stem()) continue;
    all_[{json.value("tenant", ""), conversation->id}] = *std::move(conversation);
  }
  if (!error) return {};
  return Fail(ErrorCode::kFailedPrecondition, folder_.string() + ": " + error.message());
}

Result<void> Conversations::Write(const std::string& tenant, const Conversation& conversation) const {
  if (folder_.empty()) return {};
  Json json = ConversationJson(conversation);
  json["tenant"] = tenant;
  const std::string text = Dump(json);
  auto sink = FileSink::CreateAnew(FileOf(conversation.id), kPrivateFile);
  if (!sink) return Failure(sink.error());
  if (auto written = sink->Write(std::as_bytes(std::span(text))); !written) return written;
  return sink->Commit();
}

Result<Conversation> Conversations::Add(const std::string& tenant, Conversation conversation) {
  return NoThrow("a conversation", [&]() -> Result<Conversation> {
    if (conversation.id.empty()) conversation.id = NewId("conv");
    conversation.created = conversation.updated = UnixNow();
    if (auto written = Write(tenant, conversation); !written) return Failure(written.error());
    const std::lock_guard lock(mutex_);
    all_[{tenant, conversation.id}] = conversation;
    while (all_.size() > most_) DropOldest();
    return conversation;
  });
}

void Conversations::DropOldest() {
  const auto oldest = std::ranges::min_element(all_, {}, [](const auto& one) { return one.second.updated; });
  std::error_code ignored;  // what cannot be removed is read again at the next start, and dropped then
  if (!folder_.empty()) std::filesystem::remove(FileOf(oldest->first.second), ignored);
  all_.erase(oldest);
}

Result<Conversation> Conversations::Find(const std::string& tenant, const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find({tenant, id});
  if (found == all_.end()) return NoConversation(id);
  return found->second;
}

Result<Conversation> Conversations::Update(const std::string& tenant, const Conversation& conversation) {
  return NoThrow("a conversation", [&]() -> Result<Conversation> {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find({tenant, conversation.id});
    if (found == all_.end()) return NoConversation(conversation.id);
    Conversation changed = found->second;
    changed.title = conversation.title;
    changed.model = conversation.model;
    changed.messages = conversation.messages;
    changed.updated = UnixNow();
    if (auto written = Write(tenant, changed); !written) return Failure(written.error());
    found->second = changed;
    return changed;
  });
}

Result<void> Conversations::Delete(const std::string& tenant, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find({tenant, id});
  if (found == all_.end()) return NoConversation(id);
  std::error_code error;
  if (!folder_.empty()) std::filesystem::remove(FileOf(id), error);
  if (error) return Fail(ErrorCode::kFailedPrecondition, FileOf(id).string() + ": " + error.message());
  all_.erase(found);
  return {};
}

std::vector<std::pair<Conversation, size_t>> Conversations::List(const std::string& tenant) const {
  std::vector<std::pair<Conversation, size_t>> list;
  const std::lock_guard lock(mutex_);
  for (auto one = all_.lower_bound({tenant, ""}); one != all_.end() && one->first.first == tenant; ++one) {
    const Conversation& conversation = one->second;
    list.push_back({{conversation.id, conversation.title, conversation.created, conversation.updated,
                     conversation.parent, conversation.model, Json::array()},
                    conversation.messages.size()});
  }
  std::ranges::stable_sort(list, std::greater(), [](const auto& one) { return one.first.updated; });
  return list;
}

}  // namespace skald::serve
