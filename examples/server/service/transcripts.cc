// SPDX-License-Identifier: Apache-2.0

#include "server/service/transcripts.h"

#include <cstring>

#include "server/api/request/json_reader.h"
#include "skald/base/numbers/sha256.h"
#include "skald/store/chunks/chunk_codec.h"

namespace skald::serve {
namespace {

constexpr ChunkFormat kForm = {ChunkKind::kTranscript, ChunkElement::kBytes, ChunkCodec::kNone};

// The parts of a message that clients send back unchanged.
Json Essence(const Json& message) {
  Json essence = {{"role", message.value("role", "")}, {"content", message.value("content", "")}};
  if (!message.contains("tool_calls")) return essence;
  for (const Json& call : message["tool_calls"]) {
    if (call.is_object() && call.contains("function")) essence["calls"].push_back(call["function"]);
  }
  return essence;
}

}  // namespace

Transcripts::Transcripts(const Identity& identity, std::vector<ChunkStoreRef> stores, BackgroundQueue* writer)
    : stores_(std::move(stores)), writer_(writer) {
  prefix_ = "skald transcript 2";
  for (const Sha256Digest& digest : {identity.weights, identity.tokenizer}) {
    prefix_.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  }
}

Transcripts::~Transcripts() {
  if (writer_ != nullptr) writer_->Withdraw(this);
}

// Each key is the digest of the one before it and of one message more.
std::vector<ChunkKey> Transcripts::KeysOf(const Json& messages, const std::string& tenant) {
  std::vector<ChunkKey> keys;
  keys.reserve(messages.size());
  Sha256 sha;
  auto digest = sha.Update(prefix_).Update(tenant).Finish();
  for (const Json& message : messages) {
    if (!digest) break;
    const std::string essence = Dump(Essence(message));
    hashed_bytes_ += essence.size();
    digest = sha.Update(std::as_bytes(std::span(*digest))).Update(essence).Finish();
    if (!digest) break;
    ChunkKey& key = keys.emplace_back();
    static_assert(sizeof(key.bytes) == sizeof(*digest));
    std::memcpy(key.bytes.data(), digest->data(), key.bytes.size());
  }
  return keys;
}

void Transcripts::Remember(const Json& messages, const std::string& tenant, std::span<const int32_t> ids) {
  const std::vector<ChunkKey> keys = KeysOf(messages, tenant);
  if (keys.empty() || keys.size() < messages.size()) return;
  const ChunkKey& key = keys.back();
  Keep(key, {ids.begin(), ids.end()});
  if (writer_ == nullptr) return;
  const auto chunk = EncodeChunk(key, kForm, std::as_bytes(ids));
  if (!chunk) return;
  const auto write = [this, key, chunk = *chunk] {
    for (const ChunkStoreRef& store : stores_) (void)store.Put(key, chunk);
  };
  (void)writer_->Post(this, write, chunk->size());
}

std::vector<int32_t> Transcripts::Recall(const Json& messages, const std::string& tenant) {
  const std::vector<ChunkKey> keys = KeysOf(messages, tenant);
  size_t lookups = 0;
  for (size_t i = keys.size(); i-- > 0;) {
    if (messages[i].value("role", "") != "assistant") continue;
    if (auto ids = FindInMemory(keys[i])) return *std::move(ids);
    if (++lookups > kMostStoreLookups) continue;
    if (auto ids = FindInStores(keys[i])) return *std::move(ids);
  }
  return {};
}

void Transcripts::Forget(const Json& messages, size_t keep, const std::string& tenant) {
  const std::vector<ChunkKey> keys = KeysOf(messages, tenant);
  std::vector<ChunkKey> gone;
  for (size_t i = keep; i < keys.size(); ++i) {
    if (messages[i].value("role", "") != "assistant") continue;
    {
      const std::lock_guard lock(mutex_);
      Remove(keys[i]);
    }
    gone.push_back(keys[i]);
  }
  if (writer_ == nullptr || gone.empty()) return;
  const auto drop = [this, gone] {
    for (const ChunkKey& key : gone) {
      for (const ChunkStoreRef& store : stores_) (void)store.Drop(key);  // what cannot be dropped is only a cache
    }
  };
  if (!writer_->Post(this, drop, gone.size() * sizeof(ChunkKey))) drop();
}

void Transcripts::Remove(const ChunkKey& key) {
  const auto place = places_.find(key);
  if (place == places_.end()) return;
  tokens_ -= place->second->second.size();
  known_.erase(place->second);
  places_.erase(place);
}

void Transcripts::Keep(const ChunkKey& key, std::vector<int32_t> ids) {
  const std::lock_guard lock(mutex_);
  Remove(key);
  tokens_ += ids.size();
  known_.emplace_front(key, std::move(ids));
  places_[key] = known_.begin();
  while (tokens_ > kMostTokens && known_.size() > 1) {
    tokens_ -= known_.back().second.size();
    places_.erase(known_.back().first);
    known_.pop_back();
  }
}

std::optional<std::vector<int32_t>> Transcripts::FindInMemory(const ChunkKey& key) {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(key);
  if (place == places_.end()) return std::nullopt;
  known_.splice(known_.begin(), known_, place->second);
  return place->second->second;
}

std::optional<std::vector<int32_t>> Transcripts::FindInStores(const ChunkKey& key) {
  for (const ChunkStoreRef& store : stores_) {
    const auto stored = store.Get(key);
    if (!stored) continue;
    const auto chunk = DecodeChunk(key, *stored);
    if (!chunk || chunk->header.format.kind != kForm.kind || chunk->content.size() % sizeof(int32_t) != 0) continue;
    std::vector<int32_t> ids(chunk->content.size() / sizeof(int32_t));
    std::memcpy(ids.data(), chunk->content.data(), chunk->content.size());
    Keep(key, ids);
    return ids;
  }
  return std::nullopt;
}

}  // namespace skald::serve
