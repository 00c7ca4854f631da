// SPDX-License-Identifier: Apache-2.0

#include "server/service/conversations.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <span>
#include <system_error>

#include "skald/base/files/fd_io.h"
#include "skald/base/files/file_calls.h"
#include "skald/base/files/folders.h"
#include "skald/base/files/small_file.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/sha256.h"
#include "skald/store/chunks/chunk_key.h"

namespace skald::serve {
namespace {

constexpr uint64_t kMostBytes = uint64_t{256} << 20;  // of a conversation
constexpr const char* kTenants = "tenants";           // the folder of those that have names

Failure NoConversation(const std::string& id) {
  return Fail(ErrorCode::kNotFound, "there is no conversation '" + id.substr(0, 64) + "'");
}

Failure Changed(const std::string& id) {
  return Fail(ErrorCode::kFailedPrecondition, "the conversation '" + id + "' was changed meanwhile; look at it again");
}

Failure Answering(const std::string& id) {
  return Fail(ErrorCode::kFailedPrecondition,
              "an answer of the conversation '" + id + "' is being written; wait for its end");
}

// The error of a file that could not be written or read, by the codes of Conversations.
Failure FileTrouble(const Error& error) {
  const bool is_full = error.code == ErrorCode::kResourceExhausted;
  return Fail(is_full ? ErrorCode::kResourceExhausted : ErrorCode::kDataLoss, error.message);
}

bool IsFileOfConversation(const std::filesystem::path& path) { return path.extension() == ".json"; }

// The first bytes of a file, or all.
Result<std::string> ReadFront(const std::filesystem::path& path, size_t most) {
  const internal::Descriptor file = internal::OpenToRead(path);
  if (file.get() < 0) return internal::SystemFailure(path.native());
  std::string text(most, '\0');
  const int64_t read = internal::ReadSome(file.get(), std::as_writable_bytes(std::span(text)));
  if (read < 0) return internal::SystemFailure(path.native());
  text.resize(static_cast<size_t>(read));
  return text;
}

}  // namespace

Result<std::unique_ptr<Conversations>> Conversations::Open(const std::filesystem::path& folder,
                                                           const ConversationLimits& limits, Tell tell) {
  return NoThrow("the conversations", [&]() -> Result<std::unique_ptr<Conversations>> {
    std::unique_ptr<Conversations> conversations(new Conversations(folder, limits, std::move(tell)));
    if (folder.empty()) return conversations;
    SKALD_TRY(MakeFolder(folder, kPrivateFolder));
    SKALD_TRY(conversations->SortOldFiles());
    conversations->ListFolder("");
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder / kTenants, error)) {
      conversations->ListFolder(entry.path().filename().string());
    }
    if (error) return Fail(ErrorCode::kFailedPrecondition, (folder / kTenants).string() + ": " + error.message());
    conversations->ForgetOld();
    return conversations;
  });
}

// Earlier releases had all tenants' files in one folder.
Result<void> Conversations::SortOldFiles() {
  std::error_code error;
  if (std::filesystem::is_directory(folder_ / kTenants, error)) return {};
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    if (!IsFileOfConversation(entry.path())) continue;
    const auto text = ReadSmallFile(entry.path(), kMostBytes);
    const auto tenant = text ? DecodeTenant(*text) : Result<std::string>(Failure(text.error()));
    if (!tenant || tenant->empty()) continue;  // what is none is told of when it is met
    const Key key = {OwnerOf(*tenant), entry.path().stem().string()};
    SKALD_TRY(MakeFolder(FolderOf(key.first), kPrivateFolder));
    std::filesystem::rename(entry.path(), FileOf(key), error);
    if (error) return Fail(ErrorCode::kFailedPrecondition, entry.path().string() + ": " + error.message());
  }
  if (error) return Fail(ErrorCode::kFailedPrecondition, folder_.string() + ": " + error.message());
  return MakeFolder(folder_ / kTenants, kPrivateFolder);
}

void Conversations::ListFolder(const std::string& owner) {
  const std::filesystem::path folder = FolderOf(owner);
  const auto is_ours = [](std::string_view name) { return name.ends_with(".json"); };
  (void)RemoveUnfinishedFiles(folder, is_ours);  // what stays of them is no conversation
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (!IsFileOfConversation(entry.path())) continue;
    const auto facts = internal::FactsOf(entry.path());
    if (!facts || facts->kind != FileKind::kRegular) {
      const std::string why = facts ? "this is no regular file" : std::generic_category().message(errno);
      if (tell_) tell_(entry.path().string() + ": " + why + "; it is passed over");
      continue;
    }
    ConversationEntry found;
    found.bytes = facts->bytes + ConversationIndex::kEntryBytes;
    found.updated = facts->modified.seconds;
    index_.Put({owner, entry.path().stem().string()}, std::move(found));
  }
}

std::string Conversations::OwnerOf(const std::string& tenant) {
  if (tenant.empty()) return {};
  const auto digest = Sha256().Update("skald tenant").Update(tenant).Finish();
  if (!digest) throw std::bad_alloc();
  return ChunkKey{*digest}.ToHex().substr(0, 32);
}

std::filesystem::path Conversations::FolderOf(const std::string& owner) const {
  return owner.empty() ? folder_ : folder_ / kTenants / owner;
}

void Conversations::ForgetOld() {
  std::vector<Key> old;
  {
    const std::lock_guard lock(mutex_);
    old = index_.RemoveOld(UnixNow());
  }
  RemoveFiles(old);
}

// A file that cannot be removed is found again at the next start.
void Conversations::RemoveFiles(const std::vector<Key>& keys) {
  std::error_code ignored;
  if (folder_.empty()) return;
  for (const Key& key : keys) std::filesystem::remove(FileOf(key), ignored);
}

void Conversations::PassOver(const Key& key, const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    ConversationEntry* const entry = index_.Find(key);
    if (entry == nullptr || std::exchange(entry->is_bad, true)) return;
  }
  if (tell_) tell_(FileOf(key).string() + ": " + why + "; it is passed over");
}

Result<std::optional<std::string>> Conversations::Text(const Key& key, bool only_facts) {
  {
    const std::lock_guard lock(mutex_);
    const ConversationEntry* const entry = index_.Find(key);
    if (entry == nullptr || entry->is_bad) return std::nullopt;
    if (folder_.empty()) return *entry->text;
  }
  auto text = only_facts ? ReadFront(FileOf(key), kMostFactsBytes) : ReadSmallFile(FileOf(key), kMostBytes);
  if (text && only_facts && text->find('\n') == text->npos) text = ReadSmallFile(FileOf(key), kMostBytes);
  // A read does not hold up a deletion, so the file may be gone by now.
  if (!text && text.error().code == ErrorCode::kNotFound) return std::nullopt;
  if (!text) return FileTrouble(text.error());
  return *std::move(text);
}

Result<Conversation> Conversations::Read(const Key& key) {
  SKALD_ASSIGN(const auto text, Text(key, /*only_facts=*/false));
  if (!text) return NoConversation(key.second);
  auto conversation = DecodeConversation(*text);
  if (conversation && conversation->id != key.second) {
    conversation = Fail(ErrorCode::kDataLoss, "its id is '" + conversation->id.substr(0, 64) + "'");
  }
  if (conversation) return conversation;
  PassOver(key, conversation.error().message);
  return NoConversation(key.second);
}

std::optional<ConversationFacts> Conversations::Facts(const Key& key) {
  {
    const std::lock_guard lock(mutex_);
    const ConversationEntry* const entry = index_.Find(key);
    if (entry == nullptr || entry->is_bad) return std::nullopt;
    if (entry->facts) return entry->facts;
  }
  const auto text = Text(key, /*only_facts=*/true);
  if (!text || !*text) {
    if (!text) PassOver(key, text.error().message);
    return std::nullopt;
  }
  const auto decoded = DecodeFacts(**text);
  ConversationFacts facts;
  if (decoded && *decoded && (*decoded)->conversation.id == key.second) {
    facts = **decoded;
  } else if (auto whole = Read(key); whole) {  // a file of an earlier release, or one that is passed over now
    facts = FactsOf(*std::move(whole));
  } else {
    return std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  if (ConversationEntry* const entry = index_.Find(key); entry != nullptr && !entry->facts) entry->facts = facts;
  return facts;
}

Result<void> Conversations::Write(const std::string& tenant, const Conversation& conversation, uint64_t turn,
                                  bool is_bound) {
  const Key key = {OwnerOf(tenant), conversation.id};
  auto text = std::make_shared<const std::string>(EncodeConversation(tenant, conversation));
  ConversationEntry entry;
  entry.bytes = text->size() + ConversationIndex::kEntryBytes;
  entry.updated = conversation.updated;
  entry.facts = FactsOf(conversation);
  entry.turn = turn;
  std::vector<Key> dropped;
  {
    const std::lock_guard lock(mutex_);
    SKALD_TRY(index_.Reserve(key, entry.bytes, is_bound, dropped));
  }
  RemoveFiles(dropped);
  Result<void> written;
  if (!folder_.empty()) {
    written = [&]() -> Result<void> {
      SKALD_TRY(MakeFolder(FolderOf(key.first), kPrivateFolder));
      SKALD_ASSIGN(auto sink, FileSink::CreateAnew(FileOf(key), kPrivateFile));
      SKALD_TRY(sink.Write(std::as_bytes(std::span(*text))));
      return sink.Commit();
    }();
  } else {
    entry.text = std::move(text);
  }
  const std::lock_guard lock(mutex_);
  index_.Release(key, entry.bytes);
  if (!written) return FileTrouble(written.error());
  index_.Put(key, std::move(entry));
  return {};
}

Result<Conversation> Conversations::Add(const std::string& tenant, Conversation conversation) {
  return NoThrow("a conversation", [&]() -> Result<Conversation> {
    ForgetOld();
    if (conversation.id.empty()) conversation.id = NewId("conv");
    conversation.created = conversation.updated = UnixNow();
    conversation.version = 1;
    const std::lock_guard changing(ChangingOf(conversation.id));
    if (auto written = Write(tenant, conversation, /*turn=*/0, /*is_bound=*/true); !written) {
      return Failure(written.error());
    }
    return conversation;
  });
}

Result<Conversation> Conversations::Find(const std::string& tenant, const std::string& id) {
  return NoThrow("a conversation", [&] {
    ForgetOld();
    return Read({OwnerOf(tenant), id});
  });
}

Result<Conversation> Conversations::FindIdle(const std::string& tenant, const std::string& id) {
  return NoThrow("a conversation", [&]() -> Result<Conversation> {
    {
      const std::lock_guard lock(mutex_);
      const ConversationEntry* const entry = index_.Find({OwnerOf(tenant), id});
      if (entry != nullptr && entry->turn != 0) return Answering(id);
    }
    return Find(tenant, id);
  });
}

Result<Conversation> Conversations::Change(const std::string& tenant, const std::string& id,
                                           std::optional<uint64_t> version,
                                           const std::function<void(Conversation&)>& edit) {
  return NoThrow("a conversation", [&]() -> Result<Conversation> {
    const Key key = {OwnerOf(tenant), id};
    const std::lock_guard changing(ChangingOf(id));
    SKALD_ASSIGN(const auto before, Read(key));
    if (version && *version != before.version) return Changed(id);
    Conversation after = before;
    edit(after);
    after.version = before.version + 1;
    after.updated = UnixNow();
    uint64_t turn = 0;
    if (after.messages == before.messages) {
      const std::lock_guard lock(mutex_);
      if (const ConversationEntry* const entry = index_.Find(key)) turn = entry->turn;
    }
    SKALD_TRY(Write(tenant, after, turn, /*is_bound=*/true));
    return after;
  });
}

Result<void> Conversations::Delete(const std::string& tenant, const std::string& id, std::optional<uint64_t> version) {
  return NoThrow("a conversation", [&]() -> Result<void> {
    const Key key = {OwnerOf(tenant), id};
    const std::lock_guard changing(ChangingOf(id));
    if (version) {
      SKALD_ASSIGN(const auto now, Read(key));
      if (*version != now.version) return Changed(id);
    }
    {
      const std::lock_guard lock(mutex_);
      if (index_.Find(key) == nullptr) return NoConversation(id);
    }
    std::error_code error;
    if (!folder_.empty()) std::filesystem::remove(FileOf(key), error);
    if (error) return Fail(ErrorCode::kDataLoss, FileOf(key).string() + ": " + error.message());
    const std::lock_guard lock(mutex_);
    index_.Remove(key);
    return {};
  });
}

std::vector<std::pair<Conversation, size_t>> Conversations::List(const std::string& tenant) {
  ForgetOld();
  const std::string owner = OwnerOf(tenant);
  std::vector<std::string> ids;
  {
    const std::lock_guard lock(mutex_);
    ids = index_.List(owner);
  }
  std::vector<std::pair<Conversation, size_t>> list;
  for (const std::string& id : ids) {
    if (auto facts = Facts({owner, id})) list.emplace_back(std::move(facts->conversation), facts->messages);
  }
  std::ranges::stable_sort(list, std::greater(), [](const auto& one) { return one.first.updated; });
  return list;
}

std::vector<Conversation> Conversations::Relatives(const std::string& tenant, const Conversation& conversation) {
  const std::string owner = OwnerOf(tenant), root = RootOf(conversation.messages);
  std::vector<std::string> ids;
  {
    const std::lock_guard lock(mutex_);
    ids = index_.List(owner);
  }
  std::vector<Conversation> relatives;
  for (const std::string& id : ids) {
    if (id == conversation.id) continue;
    const auto facts = Facts({owner, id});
    if (!facts || facts->root != root || facts->conversation.secret != conversation.secret) continue;
    if (auto relative = Read({owner, id})) relatives.push_back(*std::move(relative));
  }
  return relatives;
}

Result<uint64_t> Conversations::BeginTurn(const std::string& tenant, const std::string& id, uint64_t version,
                                          const Json& messages) {
  return NoThrow("a conversation", [&]() -> Result<uint64_t> {
    const Key key = {OwnerOf(tenant), id};
    const std::lock_guard changing(ChangingOf(id));
    SKALD_ASSIGN(auto conversation, Read(key));
    uint64_t turn = 0;
    {
      const std::lock_guard lock(mutex_);
      const ConversationEntry* const entry = index_.Find(key);
      if (entry == nullptr) return NoConversation(id);
      if (entry->turn != 0) return Answering(id);
      turn = ++turns_;
    }
    if (conversation.version != version) return Changed(id);
    conversation.messages = messages;
    ++conversation.version;
    conversation.updated = UnixNow();
    if (auto written = Write(tenant, conversation, turn, /*is_bound=*/true); !written) {
      return Failure(written.error());
    }
    return turn;
  });
}

Result<Conversation> Conversations::EndTurn(const std::string& tenant, const std::string& id, uint64_t turn,
                                            const std::function<void(Conversation&)>& edit) {
  return NoThrow("a conversation", [&]() -> Result<Conversation> {
    const Key key = {OwnerOf(tenant), id};
    const std::lock_guard changing(ChangingOf(id));
    {
      const std::lock_guard lock(mutex_);
      ConversationEntry* const entry = index_.Find(key);
      if (entry == nullptr || entry->turn != turn) return Changed(id);
      entry->turn = 0;  // even if the rest fails: no other call would end it
    }
    SKALD_ASSIGN(auto conversation, Read(key));
    edit(conversation);
    ++conversation.version;
    conversation.updated = UnixNow();
    if (auto written = Write(tenant, conversation, /*turn=*/0, /*is_bound=*/false); !written) {
      return Failure(written.error());
    }
    return conversation;
  });
}

}  // namespace skald::serve
