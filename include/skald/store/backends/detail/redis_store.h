// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/backends/redis_store.h.

#ifndef SKALD_STORE_BACKENDS_DETAIL_REDIS_STORE_H_
#define SKALD_STORE_BACKENDS_DETAIL_REDIS_STORE_H_

#include "skald/store/backends/redis_store.h"

#include <algorithm>
#include <chrono>
#include <unordered_set>
#include <utility>

#include <hiredis/hiredis.h>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

namespace internal {

SKALD_INLINE bool TakePage(const redisReply& page, std::string_view prefix, std::string& cursor,
                           std::vector<ChunkKey>& keys) {
  if (page.type != REDIS_REPLY_ARRAY || page.elements != 2) return false;
  const redisReply &next = *page.element[0], &names = *page.element[1];
  if (next.type != REDIS_REPLY_STRING || names.type != REDIS_REPLY_ARRAY) return false;
  constexpr size_t kMostDigits = 20;
  if (next.len == 0 || next.len > kMostDigits) return false;
  cursor.assign(next.str, next.len);
  for (const redisReply* name : std::span(names.element, names.elements)) {
    if (name->type != REDIS_REPLY_STRING) return false;
    const std::string_view text(name->str, name->len);
    if (!text.starts_with(prefix)) continue;
    if (const auto key = ChunkKey::FromHex(text.substr(prefix.size()))) keys.push_back(*key);
  }
  return true;
}

}  // namespace internal

SKALD_INLINE Result<RedisStore> RedisStore::Connect(const RedisOptions& options) {
  return NoThrow("connecting to Redis", [&]() -> Result<RedisStore> {
    if (options.port < 1 || options.port > 65535) {
      return Fail(ErrorCode::kInvalidArgument,
                  "RedisOptions::port is " + std::to_string(options.port) + ", expected 1 to 65535");
    }
    for (const auto timeout : {options.connect_timeout, options.answer_timeout, options.call_timeout}) {
      if (timeout >= std::chrono::milliseconds(1) && timeout <= std::chrono::hours(1)) continue;
      return Fail(ErrorCode::kInvalidArgument,
                  "RedisOptions: a timeout is " + std::to_string(timeout.count()) + " ms, expected 1 ms to 1 hour");
    }
    SKALD_ASSIGN(auto connection, internal::RedisConnection::Open(options, DeadlineOf(options)));
    return RedisStore(options, std::move(connection));
  });
}

SKALD_INLINE Result<bool> RedisStore::Has(const ChunkKey& key) const {
  return Run<bool>([&](internal::RedisConnection& server) { return Exists(server, key); });
}

SKALD_INLINE Result<ChunkBytes> RedisStore::Get(const ChunkKey& key) const {
  return Run<ChunkBytes>([&](internal::RedisConnection& server) -> Result<ChunkBytes> {
    SKALD_ASSIGN(const auto reply, server.Call({"GET", NameOf(key)}, {REDIS_REPLY_STRING, REDIS_REPLY_NIL},
                                               kMaxChunkBytes + internal::RedisConnection::kShortAnswer));
    if (reply->type == REDIS_REPLY_NIL) return ChunkNotFound(key);
    const auto value = std::as_bytes(std::span(reply->str, reply->len));
    return ChunkBytes(value.begin(), value.end());
  });
}

SKALD_INLINE Result<ChunkFront> RedisStore::Front(const ChunkKey& key, uint64_t most) const {
  return Run<ChunkFront>([&](internal::RedisConnection& server) -> Result<ChunkFront> {
    const std::string last = std::to_string(std::clamp<uint64_t>(most, 1, kMaxChunkBytes) - 1);
    SKALD_ASSIGN(const auto front, server.Call({"GETRANGE", NameOf(key), "0", last}, {REDIS_REPLY_STRING}));
    if (front->len == 0) {  // an empty value, or no value
      SKALD_ASSIGN(const auto exists, Exists(server, key));
      return exists ? Result<ChunkFront>(ChunkFront{}) : ChunkNotFound(key);
    }
    SKALD_ASSIGN(const auto length, server.Call({"STRLEN", NameOf(key)}, {REDIS_REPLY_INTEGER}));
    const auto bytes = std::as_bytes(std::span(front->str, front->len));
    return ChunkFront{static_cast<uint64_t>(length->integer), ChunkBytes(bytes.begin(), bytes.end())};
  });
}

SKALD_INLINE Result<void> RedisStore::Put(const ChunkKey& key, std::span<const std::byte> value) const {
  SKALD_TRY(NoThrow("a chunk", [&] { return CheckChunkSize(key, value.size()); }));
  return Run<void>([&](internal::RedisConnection& server) -> Result<void> {
    if (value.size() > kAskFirst) {
      SKALD_ASSIGN(const auto exists, Exists(server, key));
      if (exists) return {};
    }
    const std::string_view text(reinterpret_cast<const char*>(value.data()), value.size());
    return Done(server.Call({"SET", NameOf(key), text, "NX"}, {REDIS_REPLY_STATUS, REDIS_REPLY_NIL}));
  });
}

SKALD_INLINE Result<void> RedisStore::Drop(const ChunkKey& key) const {
  return Run<void>([&](internal::RedisConnection& server) {
    return Done(server.Call({"UNLINK", NameOf(key)}, {REDIS_REPLY_INTEGER}));
  });
}

SKALD_INLINE Result<std::vector<ChunkKey>> RedisStore::List() const {
  return Run<std::vector<ChunkKey>>([&](internal::RedisConnection& server) -> Result<std::vector<ChunkKey>> {
    std::vector<ChunkKey> keys;
    // A scan never returns the same cursor twice, however many keys change meanwhile.
    std::unordered_set<std::string> cursors;
    std::string cursor = "0";
    do {
      SKALD_ASSIGN(const auto reply,
                   server.Call({"SCAN", cursor, "MATCH", pattern_, "COUNT", "1000"}, {REDIS_REPLY_ARRAY}, kMaxPage));
      if (!internal::TakePage(*reply, options_.key_prefix, cursor, keys) || !cursors.insert(cursor).second)
        return server.Nonsense("SCAN");
    } while (cursor != "0");
    // A scan may return a key twice.
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    return keys;
  });
}

SKALD_INLINE RedisStore::RedisStore(const RedisOptions& options, internal::RedisConnection connection)
    : options_(options), pattern_(PatternOf(options.key_prefix)), shared_(std::make_unique<Shared>()) {
  shared_->connection = std::move(connection);
}

SKALD_INLINE internal::RedisConnection::Clock::time_point RedisStore::DeadlineOf(const RedisOptions& options) {
  return internal::RedisConnection::Clock::now() + options.call_timeout;
}

SKALD_INLINE std::string RedisStore::PatternOf(std::string_view prefix) {
  std::string pattern;
  for (const char letter : prefix) {
    if (std::string_view("*?[]^\\").find(letter) != std::string_view::npos) pattern += '\\';
    pattern += letter;
  }
  return pattern + '*';
}

SKALD_INLINE Result<void> RedisStore::Done(const Result<internal::RedisReply>& reply) {
  if (!reply) return Failure(reply.error());
  return {};
}

SKALD_INLINE Result<bool> RedisStore::Exists(internal::RedisConnection& server, const ChunkKey& key) const {
  SKALD_ASSIGN(const auto reply, server.Call({"EXISTS", NameOf(key)}, {REDIS_REPLY_INTEGER}));
  return reply->integer != 0;
}

template <class T, class Function>
Result<T> RedisStore::Run(const Function& function) const {
  return NoThrow("RedisStore", [&]() -> Result<T> {
    const std::lock_guard lock(shared_->mutex);
    std::optional<internal::RedisConnection>& connection = shared_->connection;
    const auto deadline = DeadlineOf(options_);
    const bool was_open = connection && connection->is_usable();
    if (was_open) connection->SetDeadline(deadline);
    for (bool is_retry = false;; is_retry = true) {
      if (!was_open || is_retry) {
        connection.reset();  // first, for servers that allow few connections
        SKALD_ASSIGN(auto opened, internal::RedisConnection::Open(options_, deadline));
        connection = std::move(opened);
      }
      Result<T> result = function(*connection);
      if (result || is_retry || !was_open || !connection->is_lost()) return result;
    }
  });
}

}  // namespace skald

#endif  // SKALD_STORE_BACKENDS_DETAIL_REDIS_STORE_H_
