// SPDX-License-Identifier: Apache-2.0
//
// A real redis-server for tests: on a free port of the loopback interface, keeping nothing on disk, and gone with the
// object that started it, or with the process. A test without one says so and returns, and then the whole executable is
// reported as skipped (test_data.h):
//
//   const auto server = RedisServer::Start();
//   if (!server) return;

#ifndef SKALD_TESTS_SUPPORT_REDIS_SERVER_H_
#define SKALD_TESTS_SUPPORT_REDIS_SERVER_H_

#include <arpa/inet.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/files/fd_io.h"
#include "tests/support/test_data.h"

namespace skald::testing {

// A socket at a port of the loopback interface, which it keeps from others; 0 picks a free one.
inline internal::Descriptor BindToLoopback(int& port) {
  internal::Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(socket.get(), any, size) == 0);
  REQUIRE(::getsockname(socket.get(), any, &size) == 0);
  port = ntohs(address.sin_port);
  return socket;
}

inline internal::Descriptor ListenOnLoopback(int& port) {
  internal::Descriptor listener = BindToLoopback(port);
  REQUIRE(::listen(listener.get(), 8) == 0);
  return listener;
}

class RedisServer {
 public:
  static std::unique_ptr<RedisServer> Start() {
    auto server = std::unique_ptr<RedisServer>(new RedisServer);
    // Another program may take the port between finding and using it.
    for (int attempt = 0; attempt < 5; ++attempt) {
      server->port_ = 0;
      ListenOnLoopback(server->port_);
      if (server->Launch()) return server;
      if (!server->is_installed_) {
        ++missing_test_data;
        MESSAGE("SKIPPED for want of redis-server");
        return nullptr;
      }
    }
    FAIL("redis-server is installed but does not start");
    return nullptr;
  }
  ~RedisServer() {
    Kill();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  int port() const { return port_; }

  // Ends it at once, with all that it holds.
  void Kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

  // Starts it anew, empty, at the port of before, once no other program has that. Returns whether it answers.
  bool Restart() {
    for (int attempt = 0; attempt < 600; ++attempt) {
      if (Launch()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  }

  // Sends one command without credentials. Returns the answer's text, "" for none.
  std::string Do(const std::vector<std::string>& arguments) const {
    const std::unique_ptr<redisContext, decltype(&redisFree)> context(redisConnect("127.0.0.1", port_), redisFree);
    if (context == nullptr || context->err != 0) return "";
    std::vector<const char*> texts;
    std::vector<size_t> lengths;
    for (const std::string& argument : arguments) {
      texts.push_back(argument.data());
      lengths.push_back(argument.size());
    }
    auto* const reply = static_cast<redisReply*>(
        redisCommandArgv(context.get(), static_cast<int>(texts.size()), texts.data(), lengths.data()));
    const std::string text = reply != nullptr && reply->str != nullptr ? std::string(reply->str, reply->len) : "";
    if (reply != nullptr) freeReplyObject(reply);
    return text;
  }

 private:
  static constexpr int kNotInstalled = 127;

  RedisServer() {
    std::string folder = (std::filesystem::temp_directory_path() / "skald-redis-XXXXXX").string();
    REQUIRE(::mkdtemp(folder.data()) != nullptr);
    folder_ = folder;
  }

  bool Launch() {
    Kill();
    const pid_t parent = ::getpid();
    const std::string port = std::to_string(port_);
    process_ = ::fork();
    if (process_ == 0) Become(parent, port);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < deadline) {
      int status = 0;
      if (::waitpid(process_, &status, WNOHANG) == process_) {
        process_ = 0;
        is_installed_ = !(WIFEXITED(status) && WEXITSTATUS(status) == kNotInstalled);
        return false;
      }
      if (Do({"PING"}) == "PONG") return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  // Turns the child process into the server.
  [[noreturn]] void Become(pid_t parent, const std::string& port) const {
#if defined(__linux__)
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (::getppid() == parent) {
      ::execlp("redis-server", "redis-server", "--port", port.c_str(), "--bind", "127.0.0.1", "--save", "",
               "--appendonly", "no", "--daemonize", "no", "--dir", folder_.c_str(), "--logfile", "redis.log",
               static_cast<char*>(nullptr));
    }
    ::_exit(kNotInstalled);
  }

  std::filesystem::path folder_;
  int port_ = 0;
  pid_t process_ = 0;
  bool is_installed_ = true;
};

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_REDIS_SERVER_H_
