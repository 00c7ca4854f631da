// SPDX-License-Identifier: Apache-2.0
//
// RedisConnection: one connection to a Redis server, over which commands go one at a time. The one header that needs
// hiredis, whose own sending is not used: a server that went away would end the process with a signal.

#ifndef SKALD_STORE_REDIS_CONNECTION_H_
#define SKALD_STORE_REDIS_CONNECTION_H_

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "skald/base/fd_io.h"
#include "skald/base/result.h"

namespace skald {

struct RedisOptions {
  std::string host = "127.0.0.1";
  int port = 6379;
  // For connecting, on top of what looking up the host's name takes; and the longest silence while a command is sent
  // and answered.
  std::chrono::milliseconds connect_timeout{1000};
  std::chrono::milliseconds answer_timeout{5000};
  // Before each key, so that one server can be shared. Stores with different prefixes see nothing of each other, unless
  // one prefix begins with the other.
  std::string key_prefix = "skald:";
  // Sent with AUTH when connecting, unless empty.
  std::string password = {};
};

namespace internal {

struct FreeRedisReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using RedisReply = std::unique_ptr<redisReply, FreeRedisReply>;

class RedisConnection {
 public:
  // Connects, authenticates and makes sure that it is a Redis server which answers.
  static Result<RedisConnection> Open(const RedisOptions& options) {
    RedisConnection connection(options);
    if (auto connected = connection.Connect(); !connected) return Failure(connected.error());
    if (!options.password.empty()) {
      if (auto done = connection.Call({"AUTH", options.password}, {REDIS_REPLY_STATUS}); !done) {
        return Failure(done.error());
      }
    }
    if (auto done = connection.Call({"PING"}, {REDIS_REPLY_STATUS}); !done) return Failure(done.error());
    return connection;
  }

  // False once a command went wrong in a way after which answers might belong to other commands.
  bool is_usable() const { return is_usable_; }
  // True if that was the server's closing the connection: a new one may do better.
  bool is_lost() const { return is_lost_; }

  // Sends a command and returns its answer, which is of one of the given hiredis types. Errors name the server and the
  // command: kResourceExhausted where it has no memory left; kDataLoss for an answer of another type and for a key that
  // holds another type; kFailedPrecondition for all else that it refuses, and where it is out of reach.
  Result<RedisReply> Call(std::initializer_list<std::string_view> arguments, std::initializer_list<int> types) {
    const std::string_view command = *arguments.begin();
    // Also while an exception flies by.
    is_usable_ = false;
    if (auto sent = Send(arguments); !sent) return Failure(sent.error());
    void* answer = nullptr;
    if (redisGetReply(context_.get(), &answer) != REDIS_OK) return NoAnswer(command, errno);
    RedisReply reply(static_cast<redisReply*>(answer));
    is_usable_ = true;
    if (reply->type == REDIS_REPLY_ERROR) return Refusal(command, {reply->str, reply->len});
    if (std::find(types.begin(), types.end(), reply->type) == types.end()) return Nonsense(command);
    return reply;
  }

  // An answer to `command` that Redis never gives.
  Failure Nonsense(std::string_view command) {
    is_usable_ = false;
    return Fail(ErrorCode::kDataLoss, About(command) + "the answer is not what Redis answers");
  }

 private:
  struct FreeContext {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  struct FreeCommand {
    void operator()(char* command) const { redisFreeCommand(command); }
  };

  explicit RedisConnection(const RedisOptions& options)
      : host_(options.host),
        port_(options.port),
        connect_timeout_(options.connect_timeout),
        answer_timeout_(options.answer_timeout),
        name_("Redis server " + options.host + ":" + std::to_string(options.port)) {}

  static timeval ToTimeval(std::chrono::milliseconds time) {
    timeval value{};
    value.tv_sec = static_cast<decltype(value.tv_sec)>(time.count() / 1000);
    value.tv_usec = static_cast<decltype(value.tv_usec)>(time.count() % 1000 * 1000);
    return value;
  }

  Result<void> Connect() {
    context_.reset(redisConnectWithTimeout(host_.c_str(), port_, ToTimeval(connect_timeout_)));
    if (context_ == nullptr) return OutOfMemory();
    if (context_->err != 0) {
      return Fail(ErrorCode::kFailedPrecondition, name_ + ": cannot connect: " + context_->errstr);
    }
    ::fcntl(context_->fd, F_SETFD, FD_CLOEXEC);
    if (redisSetTimeout(context_.get(), ToTimeval(answer_timeout_)) != REDIS_OK) {
      return Fail(ErrorCode::kFailedPrecondition, name_ + ": cannot set a timeout: " + context_->errstr);
    }
    return {};
  }

  Result<void> Send(std::initializer_list<std::string_view> arguments) {
    std::vector<const char*> texts;
    std::vector<size_t> lengths;
    for (const std::string_view argument : arguments) {
      texts.push_back(argument.data());
      lengths.push_back(argument.size());
    }
    char* formatted = nullptr;
    const auto length =
        redisFormatCommandArgv(&formatted, static_cast<int>(texts.size()), texts.data(), lengths.data());
    if (length < 0) return OutOfMemory();
    const std::unique_ptr<char, FreeCommand> command(formatted);
    const auto bytes = std::as_bytes(std::span(formatted, static_cast<size_t>(length)));
    if (FdStream(context_->fd, name_).Write(bytes)) return {};
    return Broken(*arguments.begin(), errno);
  }

  std::string About(std::string_view command) const { return name_ + ": " + std::string(command) + ": "; }

  Failure OutOfMemory() const {
    return Fail(ErrorCode::kResourceExhausted, name_ + ": hiredis has not enough memory");
  }

  // No answer to a command came, as the connection's context says; `code` is the system's error where it is one.
  Failure NoAnswer(std::string_view command, int code) {
    if (context_->err == REDIS_ERR_IO) return Broken(command, code);
    if (context_->err == REDIS_ERR_OOM) return OutOfMemory();
    if (context_->err == REDIS_ERR_EOF) {
      is_lost_ = true;
      return Fail(ErrorCode::kFailedPrecondition, About(command) + "the server closed the connection");
    }
    const bool is_nonsense = context_->err == REDIS_ERR_PROTOCOL;
    return Fail(is_nonsense ? ErrorCode::kDataLoss : ErrorCode::kFailedPrecondition,
                About(command) + (is_nonsense ? "the answer is not what Redis answers: " : "") + context_->errstr);
  }

  // A system call on the connection failed.
  Failure Broken(std::string_view command, int code) {
    if (code == EAGAIN || code == EWOULDBLOCK) {
      return Fail(ErrorCode::kFailedPrecondition, About(command) + "silence for " +
                                                      std::to_string(answer_timeout_.count()) + " ms");
    }
    is_lost_ = true;
    return Fail(ErrorCode::kFailedPrecondition, About(command) + "the connection broke: " +
                                                    std::generic_category().message(code));
  }

  // The server's own word for what is wrong. It begins with a code in capitals.
  Failure Refusal(std::string_view command, std::string_view text) const {
    const ErrorCode code = text.starts_with("OOM ")         ? ErrorCode::kResourceExhausted
                           : text.starts_with("WRONGTYPE ") ? ErrorCode::kDataLoss
                                                            : ErrorCode::kFailedPrecondition;
    return Fail(code, About(command) + std::string(text));
  }

  std::string host_;
  int port_;
  std::chrono::milliseconds connect_timeout_, answer_timeout_;
  std::string name_;  // in errors
  std::unique_ptr<redisContext, FreeContext> context_;
  bool is_usable_ = false, is_lost_ = false;
};

}  // namespace internal
}  // namespace skald

#endif  // SKALD_STORE_REDIS_CONNECTION_H_
