// SPDX-License-Identifier: Apache-2.0
//
// Sockets: what is sent and received, and that no call takes longer than it may.

#include "skald/base/sockets/socket.h"

#if !defined(_WIN32)  // the other end is POSIX'

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "doctest/doctest.h"
#include "tests/support/check_error.h"

namespace skald::testing {
namespace socket_test {

using internal::Socket;
using std::chrono::milliseconds;

Socket::Clock::time_point In(milliseconds time) { return Socket::Clock::now() + time; }

// A socket on a port of the loopback's that the system chose; connections wait until they are accepted.
struct Listener {
  Listener() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0);
    REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port = ntohs(address.sin_port);
  }
  ~Listener() { ::close(fd); }

  int fd = ::socket(AF_INET, SOCK_STREAM, 0), port = 0;
};

// Both ends of a connection.
struct Pair {
  Pair() {
    REQUIRE(::listen(listener.fd, 1) == 0);
    auto connected = Socket::Connect("127.0.0.1", listener.port, In(milliseconds(60'000)));
    REQUIRE(connected);
    client = *std::move(connected);
    server = ::accept(listener.fd, nullptr, nullptr);
    REQUIRE(server >= 0);
  }
  ~Pair() { EndServer(); }
  void EndServer() {
    if (server >= 0) ::close(server);
    server = -1;
  }

  Listener listener;
  Socket client;
  int server = -1;
};

TEST_CASE("bytes go both ways, and the end of a connection is seen") {
  Pair pair;
  std::error_code error;
  std::array<std::byte, 16> room;
  CHECK(pair.client.IsQuiet());
  CHECK(pair.client.Receive(room, error) == 0);
  CHECK(Socket::IsForLater(error));
  CHECK(pair.client.Send(std::as_bytes(std::span("ping", 4)), error) == 4);
  CHECK(!error);
  std::array<char, 16> received;
  CHECK(::recv(pair.server, received.data(), received.size(), 0) == 4);
  REQUIRE(::send(pair.server, "pong!", 5, 0) == 5);
  CHECK(pair.client.Wait(Socket::Event::kReadable, milliseconds(60'000), error));
  CHECK(!pair.client.IsQuiet());
  CHECK(pair.client.Receive(room, error) == 5);
  CHECK(room[4] == std::byte{'!'});
  CHECK(pair.client.IsQuiet());
  pair.EndServer();
  CHECK(pair.client.Wait(Socket::Event::kReadable, milliseconds(60'000), error));
  CHECK(!pair.client.IsQuiet());
  CHECK(pair.client.Receive(room, error) == 0);
  CHECK(!error);
}

TEST_CASE("a peer that does not read makes calls wait no longer than they are told to") {
  Pair pair;
  std::error_code error;
  const std::vector<std::byte> large(size_t{64} << 20);
  size_t sent = 0;
  while (!error) sent += pair.client.Send(large, error);
  CHECK(Socket::IsForLater(error));
  CHECK(sent < large.size());
  CHECK(!pair.client.Wait(Socket::Event::kWritable, milliseconds(10), error));
  CHECK(!error);
}

TEST_CASE("a peer that went away is an error, not a signal") {
  Pair pair;
  pair.EndServer();
  std::error_code error;
  for (int i = 0; i < 1000 && !error; ++i) {
    (void)pair.client.Send(std::as_bytes(std::span("x", 1)), error);
    ::usleep(1000);
  }
  CHECK((error == std::errc::broken_pipe || error == std::errc::connection_reset));
}

TEST_CASE("what cannot be connected says why, in time") {
  const Listener refuses;  // does not listen
  CheckError(Socket::Connect("127.0.0.1", refuses.port, In(milliseconds(60'000))), ErrorCode::kFailedPrecondition,
             "Connection refused");
  CheckError(Socket::Connect("127.0.0.1", refuses.port, In(milliseconds(-1))), ErrorCode::kFailedPrecondition, "");
  CHECK(!Socket::Connect("no.such.host.invalid", 1, In(milliseconds(60'000))));
  // A queue that is full: further connections are neither accepted nor refused.
  const Listener busy;
  REQUIRE(::listen(busy.fd, 0) == 0);
  std::vector<Socket> waiting;
  for (int i = 0; i < 20; ++i) {
    const auto begin = Socket::Clock::now();
    auto socket = Socket::Connect("127.0.0.1", busy.port, In(milliseconds(50)));
    CHECK(Socket::Clock::now() - begin < milliseconds(60'000));
    if (socket) {
      waiting.push_back(*std::move(socket));
      continue;
    }
    CheckError(socket, ErrorCode::kFailedPrecondition, "timed out");
    break;
  }
  CHECK(waiting.size() < 20);
}

TEST_CASE("addresses are told from names") {
  CHECK(Socket::IsAddress("127.0.0.1"));
  CHECK(Socket::IsAddress("::1"));
  CHECK(!Socket::IsAddress("localhost"));
  CHECK(!Socket::IsAddress(""));
}

TEST_CASE("a socket that was moved from owns nothing") {
  Pair pair;
  const Socket moved = std::move(pair.client);
  std::error_code error;
  CHECK(moved.Send(std::as_bytes(std::span("x", 1)), error) == 1);
  CHECK(pair.client.Send(std::as_bytes(std::span("x", 1)), error) == 0);
  CHECK(!Socket::IsForLater(error));
}

}  // namespace socket_test
}  // namespace skald::testing

#endif  // POSIX
