// SPDX-License-Identifier: Apache-2.0
//
// Transcripts: how answers were spelled. A client sends back texts, and a tokenizer may spell an answer with other
// tokens than the model did; with the model's own tokens the next prompt begins just as the cache of the last one ends.
// Kept in memory and in the chunk stores, so that servers that share one know each other's.

#ifndef SKALD_EXAMPLES_SERVER_SERVICE_TRANSCRIPTS_H_
#define SKALD_EXAMPLES_SERVER_SERVICE_TRANSCRIPTS_H_

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/threads/background_queue.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"
#include "skald/store/snapshots/identity.h"

namespace skald::serve {

// Safe for concurrent calls.
class Transcripts {
 public:
  // The stores must outlive it. So must `writer`, which writes to them; it is null if there are no stores. The tokens
  // that are remembered are of `identity`'s model and tokenizer.
  Transcripts(const Identity& identity, std::vector<ChunkStoreRef> stores, BackgroundQueue* writer);
  ~Transcripts();

  // `ids` are the tokens of `messages`, of which the last is the model's answer. The call waits for no store; a store
  // that fails forgets them.
  void Remember(const nlohmann::ordered_json& messages, const std::string& tenant, std::span<const int32_t> ids);

  // The tokens of the longest beginning of `messages` that ends with an answer and is known; empty if none is. A
  // beginning that only stores know counts if it ends with one of the last few answers.
  std::vector<int32_t> Recall(const nlohmann::ordered_json& messages, const std::string& tenant);

  // Forgets the beginnings of `messages` that have more than the first `keep` of them. The writer drops them from the
  // stores after the work that is queued before; if its queue is full, this call drops them.
  void Forget(const nlohmann::ordered_json& messages, size_t keep, const std::string& tenant);

  // Bytes of messages that all calls have hashed.
  uint64_t hashed_bytes() const { return hashed_bytes_; }

 private:
  // The keys of the first message, of the first two, and so on, in one pass over all of them; fewer where libcrypto
  // fails.
  std::vector<ChunkKey> KeysOf(const nlohmann::ordered_json& messages, const std::string& tenant);
  void Remove(const ChunkKey& key);  // from memory; mutex_ is held
  void Keep(const ChunkKey& key, std::vector<int32_t> ids);
  std::optional<std::vector<int32_t>> FindInMemory(const ChunkKey& key);
  std::optional<std::vector<int32_t>> FindInStores(const ChunkKey& key);

  static constexpr size_t kMostTokens = size_t{16} << 20;  // in memory, over all
  // Answers that are looked for in stores, the last ones first: each costs a way to the store and back. Another server
  // has the last one, or one that was taken back a little.
  static constexpr size_t kMostStoreLookups = 8;
  std::string prefix_;  // of all that is hashed
  std::vector<ChunkStoreRef> stores_;
  BackgroundQueue* writer_;
  std::atomic<uint64_t> hashed_bytes_ = 0;
  std::mutex mutex_;
  std::list<std::pair<ChunkKey, std::vector<int32_t>>> known_;  // guarded by mutex_; used last, first
  std::map<ChunkKey, decltype(known_)::iterator> places_;       // guarded by mutex_
  size_t tokens_ = 0;                                           // guarded by mutex_
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_SERVICE_TRANSCRIPTS_H_
