// SPDX-License-Identifier: Apache-2.0
//
// RedisStore: chunks in a Redis server (4.0 or newer), where other processes and machines find them too. The server
// decides how long they stay: by its memory limit, eviction policy and persistence.

#ifndef SKALD_STORE_BACKENDS_REDIS_STORE_H_
#define SKALD_STORE_BACKENDS_REDIS_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/store/backends/redis_connection.h"
#include "skald/store/backends/redis_options.h"
#include "skald/store/backends/redis_reader.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"

namespace skald {
namespace internal {

/// Reads an answer to SCAN: the next cursor, and keys that begin with `prefix`, some of which may be of other programs.
/// Returns false if it is not such an answer.
bool TakePage(const redisReply& page, std::string_view prefix, std::string& cursor, std::vector<ChunkKey>& keys);

}  // namespace internal

/// A ChunkStore over one connection. Calls from several threads use it one at a time; for more, make more stores. A
/// lost connection is replaced, once for each call. Move-only. Must not be used on both sides of a fork().
class RedisStore {
 public:
  /// Errors: kInvalidArgument for options that can never work; kFailedPrecondition if no such server can be reached or
  /// it refuses; kDataLoss if the answers are not those of Redis.
  static Result<RedisStore> Connect(const RedisOptions& options = {});

  /// True for any key that exists; reading it shows whether it holds a chunk.
  Result<bool> Has(const ChunkKey& key) const;

  Result<ChunkBytes> Get(const ChunkKey& key) const;

  /// The length of a value and its first `most` bytes.
  Result<ChunkFront> Front(const ChunkKey& key, uint64_t most) const;

  Result<void> Put(const ChunkKey& key, std::span<const std::byte> value) const;

  Result<void> Drop(const ChunkKey& key) const;

  /// Visits all keys of the server, those of other programs too.
  Result<std::vector<ChunkKey>> List() const;

 private:
  // From this size on, asking whether a value is already there is cheaper than sending it.
  static constexpr size_t kAskFirst = 4096;
  /// Most bytes of an answer to SCAN: about a thousand names, of which some may be long and of other programs.
  static constexpr uint64_t kMaxPage = uint64_t{64} << 20;

  struct Shared {
    std::mutex mutex;
    std::optional<internal::RedisConnection> connection;  ///< guarded by mutex; null or unusable: to be opened again
  };

  RedisStore(const RedisOptions& options, internal::RedisConnection connection);

  static internal::RedisConnection::Clock::time_point DeadlineOf(const RedisOptions& options);

  std::string NameOf(const ChunkKey& key) const { return options_.key_prefix + key.ToHex(); }

  /// A glob that matches exactly the keys that begin with `prefix`.
  static std::string PatternOf(std::string_view prefix);

  static Result<void> Done(const Result<internal::RedisReply>& reply);

  Result<bool> Exists(internal::RedisConnection& server, const ChunkKey& key) const;

  /// Returns function(connection). If the connection turns out to be lost, because the server was restarted or closed
  /// it when idle, calls it once more on a new one: every command here is idempotent.
  template <class T, class Function>
  Result<T> Run(const Function& function) const;

  RedisOptions options_;
  std::string pattern_;
  std::unique_ptr<Shared> shared_;
};

static_assert(ChunkStore<RedisStore>);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/backends/detail/redis_store.h"
#endif

#endif  // SKALD_STORE_BACKENDS_REDIS_STORE_H_
