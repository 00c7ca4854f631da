// SPDX-License-Identifier: Apache-2.0
//
// The HTTP server with small limits and clients that behave badly, without a model.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "server/http/http_server.h"
#include "server/http/spool.h"

namespace skald::testing {
namespace http_server_test {

using serve::Admission;
using serve::Exchange;
using serve::Handler;
using serve::HttpHead;
using serve::HttpOptions;
using serve::HttpPiece;
using serve::HttpRequest;
using serve::HttpServer;
using serve::Spool;
using serve::Wake;
using serve::WholeAnswer;
using std::chrono::milliseconds;

constexpr std::string_view kGet = "GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n";

// A socket of a client. Reads fail after a while in which nothing comes.
class Client {
 public:
  explicit Client(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval patience = {120, 0};
    REQUIRE(setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  }
  Client(Client&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Client() {
    if (fd_ >= 0) close(fd_);
  }

  // Returns whether the server took it.
  bool Send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  // The next request; empty at the end.
  std::string Read(size_t most = 65536) {
    std::string bytes(most, '\0');
    const ssize_t count = recv(fd_, bytes.data(), bytes.size(), 0);
    bytes.resize(count > 0 ? static_cast<size_t>(count) : 0);
    return bytes;
  }

  // Waits until the server has answered one of two.
  bool AnswersBefore(const Client& other) const {
    pollfd sockets[2] = {{fd_, POLLIN, 0}, {other.fd_, POLLIN, 0}};
    REQUIRE(poll(sockets, 2, 120'000) > 0);
    return sockets[0].revents != 0;
  }

  // Reads until `text` has come, or the end.
  std::string ReadUntil(std::string_view text) {
    std::string all;
    while (all.find(text) == all.npos) {
      const std::string more = Read();
      if (more.empty()) break;
      all += more;
    }
    return all;
  }

 private:
  int fd_;
};

// An answer that never comes.
class NoAnswer final : public Exchange {
 public:
  HttpPiece Next() override { return {}; }
};

constexpr size_t kLargeBytes = size_t{24} << 20;

// /small and /large are answered at once, /never never; /refused is refused by its head; others tell of their body.
Admission AdmitAnything(const HttpRequest& head) {
  Admission admission;
  if (head.is_crowded) {
    admission.answer = std::make_unique<WholeAnswer>("crowded", HttpHead{503});
  } else if (head.path == "/small") {
    admission.answer = std::make_unique<WholeAnswer>("small");
  } else if (head.path == "/large") {
    admission.answer = std::make_unique<WholeAnswer>(std::string(kLargeBytes, 'x'));
  } else if (head.path == "/never") {
    admission.answer = std::make_unique<NoAnswer>();
  } else if (head.path == "/refused") {
    admission.answer = std::make_unique<WholeAnswer>("refused", HttpHead{401});
  }
  admission.body = head.path == "/file" ? Admission::Body::kInFile : Admission::Body::kInMemory;
  admission.body_bytes = size_t{1} << 20;
  admission.refuse = [](int status, const std::string& message) {
    return std::make_unique<WholeAnswer>(message, HttpHead{status});
  };
  admission.begin = [](const HttpRequest& request, const Wake&) {
    const uint64_t size = request.file != nullptr ? request.file->size() : request.body.size();
    return std::make_unique<WholeAnswer>("body of " + std::to_string(size));
  };
  return admission;
}

std::unique_ptr<HttpServer> StartOne(HttpOptions options, const Handler& handler = AdmitAnything) {
  options.port = 0;
  options.threads = 2;
  auto server = HttpServer::Start(options, handler);
  REQUIRE(server);
  return *std::move(server);
}

std::string Post(std::string_view path, size_t length, std::string_view more = "") {
  return "POST " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(length) +
         "\r\n" + std::string(more) + "\r\n";
}

TEST_CASE("a client that keeps on reading gets a body that takes longer than the write timeout") {
  HttpOptions options;
  options.write_timeout = milliseconds(1500);
  const auto server = StartOne(options);
  // Returns how many bytes came, and the longest time in which nothing was read.
  const auto read_slowly = [&] {
    Client client(server->port());
    REQUIRE(client.Send("GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
    size_t taken = 0;
    std::chrono::steady_clock::duration longest{};
    for (std::string piece = client.Read(); !piece.empty(); piece = client.Read()) {
      const auto begin = std::chrono::steady_clock::now();
      const size_t pauses = (taken + piece.size()) / (size_t{1} << 20) - taken / (size_t{1} << 20);
      std::this_thread::sleep_for(pauses * milliseconds(120));
      taken += piece.size();
      longest = std::max(longest, std::chrono::steady_clock::now() - begin);
    }
    return std::pair(taken, longest);
  };
  // On a machine that is too busy the client may not keep on reading.
  auto [taken, longest] = read_slowly();
  for (int i = 0; i < 10 && taken <= kLargeBytes && longest > milliseconds(500); ++i) {
    std::tie(taken, longest) = read_slowly();
  }
  CHECK(taken > kLargeBytes);
}

TEST_CASE("a request is refused by its head, whatever body it announces") {
  const auto server = StartOne({});
  Client client(server->port());
  REQUIRE(client.Send(Post("/refused", 1'000'000)));
  const std::string answer = client.ReadUntil("refused");
  CHECK(answer.starts_with("HTTP/1.1 401"));
  CHECK(answer.find("Connection: close") != answer.npos);
  Client waits(server->port());
  REQUIRE(waits.Send(Post("/refused", 10, "Expect: 100-continue\r\n")));
  CHECK(waits.ReadUntil("refused").find("100 Continue") == std::string::npos);
  Client large(server->port());
  REQUIRE(large.Send(Post("/body", 2'000'000, "Expect: 100-continue\r\n")));
  CHECK(large.ReadUntil("bytes").starts_with("HTTP/1.1 413"));
}

TEST_CASE("a client is told to go on before it sends its body, and its next request is answered") {
  const auto server = StartOne({});
  Client client(server->port());
  REQUIRE(client.Send(Post("/body", 3, "Expect: 100-continue\r\n")));
  CHECK(client.ReadUntil("\r\n\r\n").starts_with("HTTP/1.1 100"));
  REQUIRE(client.Send("abc" + std::string(kGet)));
  CHECK(client.ReadUntil("small").find("body of 3") != std::string::npos);
}

TEST_CASE("unfinished bodies share a budget, of which one client has half; small ones are always taken") {
  HttpOptions options;
  options.bodies_bytes = size_t{1} << 20;
  const auto server = StartOne(options);
  Client one(server->port()), other(server->port());
  (void)one.Send(Post("/body", 600'000) + std::string(500'000, 'x'));
  (void)other.Send(Post("/body", 600'000) + std::string(500'000, 'x'));
  const bool is_one_refused = one.AnswersBefore(other);
  Client &refused = is_one_refused ? one : other, &first = is_one_refused ? other : one;
  CHECK(refused.ReadUntil("bodies").starts_with("HTTP/1.1 503"));
  Client small(server->port());
  REQUIRE(small.Send(Post("/body", 60'000) + std::string(60'000, 'x')));
  CHECK(small.ReadUntil("body of").find("body of 60000") != std::string::npos);
  (void)first.Send(std::string(100'000, 'x'));  // more than a half
  CHECK(first.ReadUntil("bodies").starts_with("HTTP/1.1 503"));
  std::string answer;  // all is given back, a moment after the client was told
  for (int i = 0; i < 100'000 && !answer.starts_with("HTTP/1.1 200"); ++i) {
    Client third(server->port());
    (void)third.Send(Post("/body", 500'000) + std::string(500'000, 'x'));
    answer = third.ReadUntil("\r\n\r\nbody of 500000");
  }
  CHECK(answer.find("body of 500000") != std::string::npos);
}

TEST_CASE("large bodies go to files, which have their own limit") {
  Spool spool("", 100'000);
  HttpOptions options;
  options.bodies_bytes = 0;
  options.spool = &spool;
  const auto server = StartOne(options);
  for (int i = 0; i < 3; ++i) {
    Client client(server->port());
    REQUIRE(client.Send(Post("/file", 90'000) + std::string(90'000, 'x')));
    CHECK(client.ReadUntil("body of").find("body of 90000") != std::string::npos);
  }
  Client large(server->port());
  (void)large.Send(Post("/file", 110'000) + std::string(110'000, 'x'));
  CHECK(large.ReadUntil("disk").starts_with("HTTP/1.1 503"));
}

TEST_CASE("silent connections leave when their places are needed") {
  HttpOptions options;
  options.connections = 6;
  options.connections_of_client = 4;
  const auto server = StartOne(options);
  std::vector<Client> silent;
  for (int i = 0; i < 20; ++i) {
    silent.emplace_back(server->port());
    if (i % 2 == 0) REQUIRE(silent.back().Send("GET /small HTTP/1.1\r\nX-Slow: "));
  }
  Client client(server->port());
  REQUIRE(client.Send(kGet));
  CHECK(client.ReadUntil("small").starts_with("HTTP/1.1 200"));
  CHECK(silent[0].Read().empty());
}

TEST_CASE("where all places are in use, what is urgent is still answered") {
  HttpOptions options;
  options.connections = 3;
  options.connections_of_client = 3;
  std::atomic<int> admitted = 0;
  const auto server = StartOne(options, [&](const HttpRequest& head) {
    ++admitted;
    return AdmitAnything(head);
  });
  std::vector<Client> busy;
  for (int i = 0; i < 3; ++i) {
    busy.emplace_back(server->port());
    REQUIRE(busy.back().Send("GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    // A connection whose head has not come would leave for the next one.
    while (admitted <= i) std::this_thread::sleep_for(milliseconds(1));
  }
  Client urgent(server->port());
  REQUIRE(urgent.Send(kGet));
  std::string answer = urgent.ReadUntil("l");
  CHECK(answer.starts_with("HTTP/1.1 503"));
  busy.clear();
  for (int i = 0; i < 6000 && !answer.starts_with("HTTP/1.1 200"); ++i) {
    Client client(server->port());
    REQUIRE(client.Send(kGet));
    answer = client.ReadUntil("l");
    std::this_thread::sleep_for(milliseconds(10));
  }
  CHECK(answer.starts_with("HTTP/1.1 200"));
}

TEST_CASE("a server without descriptors says so once, and goes on when there are some") {
  std::atomic<int> warnings = 0;
  HttpOptions options;
  options.warn = [&](const std::string&) { ++warnings; };
  const auto server = StartOne(options);
  Client client(server->port());
  REQUIRE(client.Send(kGet));
  CHECK(client.ReadUntil("small").starts_with("HTTP/1.1 200"));
  rlimit before = {};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int last = dup(0);
  close(last);
  const rlimit low = {static_cast<rlim_t>(last) + 1, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
  {
    Client late(server->port());  // has the last descriptor: it waits to be accepted
    const bool is_sent = late.Send(kGet);
    for (int i = 0; i < 6000 && warnings == 0; ++i) std::this_thread::sleep_for(milliseconds(10));
    std::this_thread::sleep_for(milliseconds(200));  // a few more tries
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(is_sent);
    CHECK(late.ReadUntil("small").starts_with("HTTP/1.1 200"));
  }
  CHECK(warnings == 1);
}

}  // namespace http_server_test
}  // namespace skald::testing
