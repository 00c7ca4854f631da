// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the client of Redis servers: the input is a server's output, after one byte that chooses the size of the
// pieces in which it is read. The same bytes answer one command of each kind over a socket. Accepted answers must be
// within the bounds of one.

#include <hiredis/hiredis.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/files/system_call.h"
#include "skald/store/backends/redis_store.h"

namespace skald {
namespace {

using internal::RedisConnection;
using internal::RedisReader;
using internal::RedisReply;

void Require(bool holds) {
  if (!holds) std::abort();
}

// Looks at every byte of a reply.
size_t Visit(const redisReply& reply, int nesting) {
  Require(nesting <= RedisReader::kMostNesting + 1);
  size_t sum = static_cast<size_t>(reply.type);
  if (reply.str != nullptr) {
    for (const char letter : std::string_view(reply.str, reply.len)) sum += static_cast<unsigned char>(letter);
  }
  if (reply.type != REDIS_REPLY_ARRAY) return sum;
  Require(reply.elements <= static_cast<size_t>(RedisReader::kMostElements));
  for (size_t i = 0; i < reply.elements; ++i) sum += Visit(*reply.element[i], nesting + 1);
  return sum;
}

void ReadInPieces(std::string_view text, size_t piece) {
  RedisReader reader;
  while (!text.empty()) {
    Require(reader.Feed(text.substr(0, piece)));
    text.remove_prefix(std::min(piece, text.size()));
    for (;;) {
      const Result<RedisReply> reply = reader.Next();
      if (!reply) return Require(!reply.error().message.empty());
      if (*reply == nullptr) break;
      Require(Visit(**reply, 0) > 0);
      std::string cursor;
      std::vector<ChunkKey> keys;
      if (internal::TakePage(**reply, "skald:", cursor, keys)) Require(!cursor.empty() && cursor.size() <= 20);
    }
  }
}

void Answer(std::string_view text, std::string_view command, std::initializer_list<int> types) {
  int ends[2];
  Require(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  RedisConnection connection{internal::Socket(ends[0]), "server", std::chrono::milliseconds(1000)};
  const internal::Descriptor server(ends[1]);
  Require(::write(server.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  ::shutdown(server.get(), SHUT_WR);
  const Result<RedisReply> reply = connection.Call({command, "key"}, types);
  Require(reply ? connection.is_usable() : !reply.error().message.empty());
  if (reply) Require(std::find(types.begin(), types.end(), (*reply)->type) != types.end());
  // Now the connection is closed.
  const Result<RedisReply> next = connection.Call({command, "key"}, types);
  Require(!next && !connection.is_usable());
}

void Serve(std::string_view text) {
  Answer(text, "EXISTS", {REDIS_REPLY_INTEGER});
  Answer(text, "GET", {REDIS_REPLY_STRING, REDIS_REPLY_NIL});
  Answer(text, "SET", {REDIS_REPLY_STATUS, REDIS_REPLY_NIL});
  Answer(text, "SCAN", {REDIS_REPLY_ARRAY});
}

}  // namespace
}  // namespace skald

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMost = 60'000;  // what a socket takes without a reader
  if (size == 0 || size > kMost) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  skald::ReadInPieces(text, size_t{1} + data[0]);
  skald::Serve(text);
  return 0;
}
