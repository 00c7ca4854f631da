// SPDX-License-Identifier: Apache-2.0
//
// Transcripts: how answers were spelled. A client sends back texts, and a tokenizer may spell an answer with other
// tokens than the model did; with the model's own tokens the next prompt begins just as the cache of the last one ends.
// Kept in memory and in chunk stores, so that programs that share one know each other's.

#ifndef SKALD_SERVING_TRANSCRIPTS_H_
#define SKALD_SERVING_TRANSCRIPTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/json/json_value.h"
#include "skald/base/threads/background_queue.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"
#include "skald/store/snapshots/identity.h"

namespace skald {

/// Messages are those of Chat::messages. Of each the role, the content and the functions of its calls count, which
/// clients send back unchanged. An answer is found under the salt alone with which it was remembered. A cache: without
/// memory for it, nothing is remembered or found. Safe for concurrent calls.
class Transcripts {
 public:
  /// The stores must outlive it. So must `writer`, which writes to them; it is null if there are no stores. The tokens
  /// that are remembered are of `identity`'s model and tokenizer.
  Transcripts(const Identity& identity, std::vector<ChunkStoreRef> stores, BackgroundQueue* writer);
  /// Drops what is not written yet.
  ~Transcripts();
  Transcripts(const Transcripts&) = delete;
  Transcripts& operator=(const Transcripts&) = delete;

  /// Remembers the tokens of `messages`, of which the last is the model's answer. The call waits for no store; a store
  /// that fails forgets them.
  void Remember(const JsonValue& messages, const std::string& salt, std::span<const int32_t> ids);

  /// Returns the tokens of the longest beginning of `messages` that ends with an answer and is known; empty if none is.
  /// A beginning that only stores know counts if it ends with one of the last few answers.
  std::vector<int32_t> Recall(const JsonValue& messages, const std::string& salt);

  /// Forgets the beginnings of `messages` that have more than the first `keep` of them. The writer drops them from the
  /// stores after the work that is queued before; if its queue is full, this call drops them.
  void Forget(const JsonValue& messages, size_t keep, const std::string& salt);

  /// Returns the bytes of messages that all calls have hashed.
  uint64_t hashed_bytes() const { return hashed_bytes_; }

 private:
  /// Of the beginning that ends with one message.
  struct Beginning {
    ChunkKey key;
    bool is_answer;  ///< it ends with one
  };

  /// The first message, the first two, and so on, in one pass over all of them; fewer where libcrypto fails.
  std::vector<Beginning> BeginningsOf(const JsonValue& messages, const std::string& salt);
  void RememberAs(const ChunkKey& key, std::span<const int32_t> ids);
  std::vector<int32_t> RecallLongest(const std::vector<Beginning>& beginnings);
  void Drop(const std::vector<ChunkKey>& keys);
  void Remove(const ChunkKey& key);  ///< from memory; mutex_ is held
  void Keep(const ChunkKey& key, std::vector<int32_t> ids);
  std::optional<std::vector<int32_t>> FindInMemory(const ChunkKey& key);
  std::optional<std::vector<int32_t>> FindInStores(const ChunkKey& key);

  static constexpr size_t kMostTokens = size_t{16} << 20;  ///< in memory, over all
  /// Answers that are looked for in stores, the last ones first: each costs a way to the store and back. Another
  /// program has the last one, or one that was taken back a little.
  static constexpr size_t kMostStoreLookups = 8;
  std::string prefix_;  ///< of all that is hashed
  std::vector<ChunkStoreRef> stores_;
  BackgroundQueue* writer_;
  std::atomic<uint64_t> hashed_bytes_ = 0;
  std::mutex mutex_;
  std::list<std::pair<ChunkKey, std::vector<int32_t>>> known_;  ///< guarded by mutex_; used last, first
  std::map<ChunkKey, decltype(known_)::iterator> places_;       ///< guarded by mutex_
  size_t tokens_ = 0;                                           ///< guarded by mutex_
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/serving/detail/transcripts.h"
#endif

#endif  // SKALD_SERVING_TRANSCRIPTS_H_
