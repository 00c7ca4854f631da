// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/serving/transcripts.h.

#ifndef SKALD_SERVING_DETAIL_TRANSCRIPTS_H_
#define SKALD_SERVING_DETAIL_TRANSCRIPTS_H_

#include "skald/serving/transcripts.h"

#include <cstring>

#include <nlohmann/json.hpp>

#include "skald/base/inline.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/sha256.h"
#include "skald/store/chunks/chunk_codec.h"

namespace skald {

namespace internal::transcripts {

using Json = nlohmann::ordered_json;

inline constexpr ChunkFormat kForm = {ChunkKind::kTranscript, ChunkElement::kBytes, ChunkCodec::kNone};

inline const Json* Member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

inline bool IsAnswer(const Json& message) {
  const Json* const role = Member(message, "role");
  return role != nullptr && *role == "assistant";
}

inline std::string TextOf(const Json* value) {
  return value == nullptr ? "\"\"" : value->dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The parts of a message that clients send back unchanged, as JSON. Made without a tree: those that were hashed before
// were written by one, so the text is exactly {"role":...,"content":...,"calls":[...]}.
inline std::string EssenceOf(const Json& message) {
  std::string essence = "{\"role\":" + TextOf(Member(message, "role"));
  essence += ",\"content\":" + TextOf(Member(message, "content"));
  const Json* const calls = Member(message, "tool_calls");
  size_t count = 0;
  for (size_t i = 0; calls != nullptr && calls->is_array() && i < calls->size(); ++i) {
    const Json* const function = Member((*calls)[i], "function");
    if (function != nullptr) essence += (count++ == 0 ? ",\"calls\":[" : ",") + TextOf(function);
  }
  return essence + (count == 0 ? "}" : "]}");
}

// Does what only a cache does: without memory for it nothing is done.
template <class Function>
void IfThereIsMemory(const Function& function) {
  (void)NoThrow("transcripts", [&]() -> Result<void> {
    function();
    return {};
  });
}

}  // namespace internal::transcripts

SKALD_INLINE Transcripts::Transcripts(const Identity& identity, std::vector<ChunkStoreRef> stores,
                                      BackgroundQueue* writer)
    : stores_(std::move(stores)), writer_(writer) {
  prefix_ = "skald transcript 2";
  for (const Sha256Digest& digest : {identity.weights, identity.tokenizer}) {
    prefix_.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  }
}

SKALD_INLINE Transcripts::~Transcripts() {
  if (writer_ != nullptr) writer_->Withdraw(this);
}

// Each key is the digest of the one before it and of one message more.
SKALD_INLINE std::vector<Transcripts::Beginning> Transcripts::BeginningsOf(const JsonValue& messages,
                                                                           const std::string& salt) {
  using namespace internal::transcripts;
  const Json& list = TreeOf(messages);
  std::vector<Beginning> beginnings;
  if (!list.is_array()) return beginnings;
  beginnings.reserve(list.size());
  Sha256 sha;
  auto digest = sha.Update(prefix_).Update(salt).Finish();
  for (const Json& message : list) {
    if (!digest) break;
    const std::string essence = EssenceOf(message);
    hashed_bytes_ += essence.size();
    digest = sha.Update(std::as_bytes(std::span(*digest))).Update(essence).Finish();
    if (!digest) break;
    ChunkKey& key = beginnings.emplace_back(Beginning{{}, IsAnswer(message)}).key;
    static_assert(sizeof(key.bytes) == sizeof(*digest));
    std::memcpy(key.bytes.data(), digest->data(), key.bytes.size());
  }
  return beginnings;
}

SKALD_INLINE void Transcripts::Remember(const JsonValue& messages, const std::string& salt,
                                        std::span<const int32_t> ids) {
  internal::transcripts::IfThereIsMemory([&] {
    const std::vector<Beginning> beginnings = BeginningsOf(messages, salt);
    if (beginnings.empty() || beginnings.size() < TreeOf(messages).size()) return;
    RememberAs(beginnings.back().key, ids);
  });
}

SKALD_INLINE void Transcripts::RememberAs(const ChunkKey& key, std::span<const int32_t> ids) {
  Keep(key, {ids.begin(), ids.end()});
  if (writer_ == nullptr) return;
  const auto chunk = EncodeChunk(key, internal::transcripts::kForm, std::as_bytes(ids));
  if (!chunk) return;
  const auto write = [this, key, chunk = *chunk] {
    for (const ChunkStoreRef& store : stores_) (void)store.Put(key, chunk);
  };
  (void)writer_->Post(this, write, chunk->size());
}

SKALD_INLINE std::vector<int32_t> Transcripts::Recall(const JsonValue& messages, const std::string& salt) {
  std::vector<int32_t> ids;
  internal::transcripts::IfThereIsMemory([&] { ids = RecallLongest(BeginningsOf(messages, salt)); });
  return ids;
}

SKALD_INLINE std::vector<int32_t> Transcripts::RecallLongest(const std::vector<Beginning>& beginnings) {
  size_t lookups = 0;
  for (size_t i = beginnings.size(); i-- > 0;) {
    if (!beginnings[i].is_answer) continue;
    if (auto ids = FindInMemory(beginnings[i].key)) return *std::move(ids);
    if (++lookups > kMostStoreLookups) continue;
    if (auto ids = FindInStores(beginnings[i].key)) return *std::move(ids);
  }
  return {};
}

SKALD_INLINE void Transcripts::Forget(const JsonValue& messages, size_t keep, const std::string& salt) {
  internal::transcripts::IfThereIsMemory([&] {
    const std::vector<Beginning> beginnings = BeginningsOf(messages, salt);
    std::vector<ChunkKey> gone;
    for (size_t i = keep; i < beginnings.size(); ++i) {
      if (beginnings[i].is_answer) gone.push_back(beginnings[i].key);
    }
    Drop(gone);
  });
}

SKALD_INLINE void Transcripts::Drop(const std::vector<ChunkKey>& keys) {
  {
    const std::lock_guard lock(mutex_);
    for (const ChunkKey& key : keys) Remove(key);
  }
  if (writer_ == nullptr || keys.empty()) return;
  const auto drop = [this, keys] {
    for (const ChunkKey& key : keys) {
      for (const ChunkStoreRef& store : stores_) (void)store.Drop(key);  // what cannot be dropped is only a cache
    }
  };
  if (!writer_->Post(this, drop, keys.size() * sizeof(ChunkKey))) drop();
}

SKALD_INLINE void Transcripts::Remove(const ChunkKey& key) {
  const auto place = places_.find(key);
  if (place == places_.end()) return;
  tokens_ -= place->second->second.size();
  known_.erase(place->second);
  places_.erase(place);
}

SKALD_INLINE void Transcripts::Keep(const ChunkKey& key, std::vector<int32_t> ids) {
  const size_t size = ids.size();
  decltype(known_) added;
  added.emplace_front(key, std::move(ids));
  const std::lock_guard lock(mutex_);
  Remove(key);
  places_[key] = added.begin();
  known_.splice(known_.begin(), added);
  tokens_ += size;
  while (tokens_ > kMostTokens && known_.size() > 1) {
    tokens_ -= known_.back().second.size();
    places_.erase(known_.back().first);
    known_.pop_back();
  }
}

SKALD_INLINE std::optional<std::vector<int32_t>> Transcripts::FindInMemory(const ChunkKey& key) {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(key);
  if (place == places_.end()) return std::nullopt;
  known_.splice(known_.begin(), known_, place->second);
  return place->second->second;
}

SKALD_INLINE std::optional<std::vector<int32_t>> Transcripts::FindInStores(const ChunkKey& key) {
  for (const ChunkStoreRef& store : stores_) {
    const auto stored = store.Get(key);
    if (!stored) continue;
    const auto chunk = DecodeChunk(key, *stored);
    if (!chunk || chunk->header.format.kind != internal::transcripts::kForm.kind ||
        chunk->content.size() % sizeof(int32_t) != 0)
      continue;
    std::vector<int32_t> ids(chunk->content.size() / sizeof(int32_t));
    std::memcpy(ids.data(), chunk->content.data(), chunk->content.size());
    Keep(key, ids);
    return ids;
  }
  return std::nullopt;
}

}  // namespace skald

#endif  // SKALD_SERVING_DETAIL_TRANSCRIPTS_H_
