// SPDX-License-Identifier: Apache-2.0
//
// Servers that answer like Redis and never come to an end, or announce more than there can be: a caller gets an error,
// in time and without the memory that was announced.

#include "doctest/doctest.h"
#include "tests/support/check_error.h"

#if __has_include(<hiredis/hiredis.h>)

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>

#include "skald/store/backends/redis_store.h"
#include "tests/support/fake_redis_server.h"

namespace skald::testing {
namespace hostile_redis_test {

using std::chrono::milliseconds;

RedisOptions At(int port, milliseconds call_timeout = milliseconds(60000)) {
  return {.port = port, .answer_timeout = milliseconds(60'000), .call_timeout = call_timeout};
}

std::string PageTo(const std::string& cursor) {
  return "*2\r\n$" + std::to_string(cursor.size()) + "\r\n" + cursor + "\r\n*0\r\n";
}

TEST_CASE("a scan that comes by the same place twice is nonsense") {
  const FakeServer server({Answers{kPong, PageTo("7"), PageTo("9"), PageTo("7"), PageTo("9")}});
  CheckError(RedisStore::Connect(At(server.port))->List(), ErrorCode::kDataLoss,
             "SCAN: the answer does not follow the Redis protocol");
  const FakeServer wordy({Answers{kPong, PageTo(std::string(21, '1'))}});
  CheckError(RedisStore::Connect(At(wordy.port))->List(), ErrorCode::kDataLoss,
             "SCAN: the answer does not follow the Redis protocol");
}

TEST_CASE("a scan that goes on for ever ends with the time for a call") {
  Answers pages = {kPong};
  for (int i = 1; i < 500'000; ++i) pages.push_back(PageTo(std::to_string(i)));
  const FakeServer server({pages});
  const RedisStore store = *RedisStore::Connect(At(server.port, milliseconds(2000)));
  CheckError(store.List(), ErrorCode::kFailedPrecondition, "SCAN: no complete answer within the time limit of a call");
}

TEST_CASE("a server that sends a byte now and then ends with the time for a call") {
  const FakeServer server({Answers{kPong, kDrip}});
  const RedisStore store = *RedisStore::Connect(At(server.port, milliseconds(2000)));
  CheckError(store.Has({}), ErrorCode::kFailedPrecondition,
             "EXISTS: no complete answer within the time limit of a call");
}

TEST_CASE("answers longer than any to the command are refused before they are there") {
  const std::string endless = "$9223372036854775000\r\n" + std::string(1 << 20, 'x');
  const auto check = [](const std::string& answer, const std::string& text) {
    const FakeServer server({Answers{kPong, answer}, Answers{kPong, ":1\r\n"}});
    const RedisStore store = *RedisStore::Connect(At(server.port));
    CheckError(store.Has({}), ErrorCode::kDataLoss, text);
    CHECK(store.Has({}));  // on a new connection
  };
  check(endless, "EXISTS: the answer does not follow the Redis protocol: it has more than 65536 bytes");
  for (const char* list : {"*2147483647\r\n", "*1048577\r\n:1\r\n", "*1\r\n*1\r\n*1\r\n:1\r\n"}) {
    check(list, "EXISTS: the answer does not follow the Redis protocol: a list has too many elements");
  }
  check(":1\r\n:0\r\n", "EXISTS: the answer does not follow the Redis protocol");  // two
}

// Both ends of a connection.
struct Pair {
  Pair() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    connection = internal::RedisConnection(internal::Socket(ends[0]), "server", milliseconds(60'000));
    server = internal::Descriptor(ends[1]);
  }
  void Says(std::string_view text) const { REQUIRE(::write(server.get(), text.data(), text.size()) > 0); }
  Result<internal::RedisReply> Asks() { return connection.Call({"EXISTS", "key"}, {REDIS_REPLY_INTEGER}); }

  internal::RedisConnection connection{internal::Socket(), "", {}};
  internal::Descriptor server;
};

TEST_CASE("what a server says without being asked is not taken for an answer") {
  Pair pair;
  pair.Says(":1\r\n");
  CHECK(pair.Asks());
  CHECK(pair.connection.is_usable());
  pair.Says(":0\r\n");
  CheckError(pair.Asks(), ErrorCode::kFailedPrecondition,
             "server: EXISTS: the connection was closed, or had unexpected data");
  CHECK_FALSE(pair.connection.is_usable());
  CHECK(pair.connection.is_lost());  // a new one may do better
}

TEST_CASE("what is left of answers that made no sense is not taken for later ones") {
  Pair pair;
  pair.Says(":1\r\n:0\r\n");
  CheckError(pair.Asks(), ErrorCode::kDataLoss, "server: EXISTS: the answer does not follow the Redis protocol");
  CheckError(pair.Asks(), ErrorCode::kFailedPrecondition, "server: EXISTS: the connection broke before");
}

TEST_CASE("a server's words are shown without what could drive a terminal, and in part") {
  Pair pair;
  pair.Says("-ERR \x1B[2J" + std::string(10'000, 'x') + "\r\n");
  const auto refused = pair.Asks();
  CheckError(refused, ErrorCode::kFailedPrecondition, "EXISTS: ERR ?[2Jxxx");
  CHECK(refused.error().message.size() < 1000);
  CHECK(pair.connection.is_usable());
}

TEST_CASE("a server that does not read ends with the time for a call") {
  Pair pair;
  pair.connection.SetDeadline(std::chrono::steady_clock::now() + milliseconds(50));
  const std::string large(100 << 20, 'x');
  CheckError(pair.connection.Call({"SET", "key", large}, {REDIS_REPLY_STATUS}), ErrorCode::kFailedPrecondition,
             "SET: no complete answer within the time limit of a call");
  CHECK_FALSE(pair.connection.is_usable());
}

}  // namespace hostile_redis_test
}  // namespace skald::testing

#endif  // hiredis
