// SPDX-License-Identifier: Apache-2.0
//
// Answers like a Redis server while a test wants it to, and then with nonsense.

#ifndef SKALD_TESTS_SUPPORT_FAKE_REDIS_SERVER_H_
#define SKALD_TESTS_SUPPORT_FAKE_REDIS_SERVER_H_

#include <sys/socket.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/redis_server.h"

namespace skald::testing {

using Answers = std::vector<std::string>;

inline const std::string kPong = "+PONG\r\n", kDrip = "a byte now and then";

// A server that sends the given answers, each after it received something, to one connection after the other, and then
// closes it; or waits where the answer is "", or goes on with a byte now and then where it is kDrip.
class FakeServer {
 public:
  explicit FakeServer(std::vector<Answers> connections) : listener_(ListenOnLoopback(port)) {
    thread_ = std::thread([this, connections = std::move(connections)] {
      for (const Answers& answers : connections) {
        const internal::Descriptor peer(::accept(listener_.get(), nullptr, nullptr));
        for (const std::string& answer : answers) {
          char buffer[4096];
          if (::recv(peer.get(), buffer, sizeof buffer, 0) <= 0) break;
          if (answer.empty()) (void)::recv(peer.get(), buffer, sizeof buffer, 0);
          if (answer == kDrip) (void)::send(peer.get(), ":", 1, MSG_NOSIGNAL);  // a number, digit by digit
          while (answer == kDrip && ::send(peer.get(), "1", 1, MSG_NOSIGNAL) == 1) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
          (void)::send(peer.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
        }
      }
    });
  }
  ~FakeServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

  int port = 0;

 private:
  internal::Descriptor listener_;
  std::thread thread_;
};

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_FAKE_REDIS_SERVER_H_
