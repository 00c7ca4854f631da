// SPDX-License-Identifier: Apache-2.0
//
// RedisConnection: one connection to a Redis server, over which commands go one at a time. hiredis connects, writes
// commands down and reads answers (redis_reader.h); sending and receiving, with their time limits, are ours: with
// hiredis a server that went away would end the process with a signal.

#ifndef SKALD_STORE_BACKENDS_REDIS_CONNECTION_H_
#define SKALD_STORE_BACKENDS_REDIS_CONNECTION_H_

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "skald/base/files/system_call.h"
#include "skald/base/printable.h"
#include "skald/base/result.h"
#include "skald/store/backends/redis_options.h"
#include "skald/store/backends/redis_reader.h"
#include "skald/store/backends/timed_socket.h"
#if defined(SKALD_HAS_TLS)
#include "skald/store/backends/tls_session.h"
#endif

namespace skald {

namespace internal {

class RedisConnection {
 public:
  using Clock = TimedSocket::Clock;

  // Bytes of an answer that holds no value: a number, a word, an error.
  static constexpr uint64_t kShortAnswer = 1 << 16;

  // Connects, authenticates, chooses the database and makes sure that it is a Redis server which answers, all before
  // `deadline`.
  static Result<RedisConnection> Open(const RedisOptions& options, Clock::time_point deadline) {
    auto socket = Connect(options);
    if (!socket) return Failure(socket.error());
    RedisConnection connection(std::move(*socket), NameOf(options), options.answer_timeout);
    connection.SetDeadline(deadline);
    if (auto done = connection.Encrypt(options); !done) return Failure(done.error());
    if (auto done = connection.Authenticate(options); !done) return Failure(done.error());
    if (options.database != 0) {
      const std::string number = std::to_string(options.database);
      if (auto done = connection.Call({"SELECT", number}, {REDIS_REPLY_STATUS}); !done) return Failure(done.error());
    }
    if (auto done = connection.Call({"PING"}, {REDIS_REPLY_STATUS}); !done) return Failure(done.error());
    return connection;
  }

  // Talks over a socket that is connected. `name` stands in errors.
  RedisConnection(Descriptor socket, std::string name, std::chrono::milliseconds answer_timeout)
      : name_(std::move(name)), answer_timeout_(answer_timeout), socket_(std::move(socket), answer_timeout) {}

  // When all calls from now on must be done.
  void SetDeadline(Clock::time_point deadline) { socket_.SetDeadline(deadline); }

  // False once a command went wrong in a way after which answers might belong to other commands. Calls are refused
  // then.
  bool is_usable() const { return is_usable_; }
  // True if that was the server's closing the connection: a new one may do better.
  bool is_lost() const { return is_lost_; }

  // Sends a command and returns its answer, which is of one of the given hiredis types and takes at most `most_bytes`.
  // Errors name the server and the command: kResourceExhausted where it has no memory left; kDataLoss for an answer of
  // another type, a longer one, and for a key that holds another type; kFailedPrecondition for all else that it
  // refuses, and where it is out of reach or takes too long.
  Result<RedisReply> Call(std::initializer_list<std::string_view> arguments, std::initializer_list<int> types,
                          uint64_t most_bytes = kShortAnswer) {
    const std::string_view command = *arguments.begin();
    if (!is_usable_) return Fail(ErrorCode::kFailedPrecondition, About(command) + "the connection broke before");
    // Also while an exception flies by.
    is_usable_ = false;
    // What comes unasked would be taken for the answer. (The first command may find the server's refusal to serve us.)
    if (has_answered_ && !IsQuiet()) return NotQuiet(command);
    if (auto sent = Send(arguments); !sent) return Failure(sent.error());
    auto reply = Receive(command, most_bytes);
    if (!reply) return reply;
    has_answered_ = is_usable_ = true;
    if ((*reply)->type == REDIS_REPLY_ERROR) return Refusal(command, {(*reply)->str, (*reply)->len});
    if (std::find(types.begin(), types.end(), (*reply)->type) == types.end()) return Nonsense(command);
    return reply;
  }

  // An answer to `command` that Redis never gives.
  Failure Nonsense(std::string_view command) {
    is_usable_ = false;
    return Fail(ErrorCode::kDataLoss, About(command) + "the answer is not what Redis answers");
  }

 private:
  using Outcome = TimedSocket::Outcome;

  struct FreeContext {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  struct FreeCommand {
    void operator()(char* command) const { redisFreeCommand(command); }
  };

  static std::string NameOf(const RedisOptions& options) {
    return "Redis server " + options.host + ":" + std::to_string(options.port);
  }

  static timeval ToTimeval(std::chrono::milliseconds time) {
    timeval value{};
    value.tv_sec = static_cast<decltype(value.tv_sec)>(time.count() / 1000);
    value.tv_usec = static_cast<decltype(value.tv_usec)>(time.count() % 1000 * 1000);
    return value;
  }

  static Result<Descriptor> Connect(const RedisOptions& options) {
    const std::unique_ptr<redisContext, FreeContext> context(
        redisConnectWithTimeout(options.host.c_str(), options.port, ToTimeval(options.connect_timeout)));
    const std::string name = NameOf(options);
    if (context == nullptr) return OutOfMemory(name);
    if (context->err != 0) {
      return Fail(ErrorCode::kFailedPrecondition, name + ": cannot connect: " + context->errstr);
    }
    Descriptor socket(::fcntl(context->fd, F_DUPFD_CLOEXEC, 0));
    if (socket.get() < 0) return SystemFailure(name);
    return socket;
  }

#if defined(SKALD_HAS_TLS)
  Result<void> Encrypt(const RedisOptions& options) {
    if (!options.tls.is_used) return {};
    auto session = TlsSession::Create(options.tls, options.host);
    if (!session) return Annotate(name_, session);
    if (auto begun = session->Begin(socket_); !begun) return Annotate(name_, begun);
    tls_.emplace(*std::move(session));
    return {};
  }
  Outcome SendBytes(std::span<const std::byte> bytes) {
    return tls_ ? tls_->Send(socket_, bytes) : socket_.Send(bytes);
  }
  Outcome ReceiveBytes(std::span<std::byte>& bytes) {
    return tls_ ? tls_->Receive(socket_, bytes) : socket_.Receive(bytes);
  }
  bool IsQuiet() { return tls_ ? tls_->IsQuiet(socket_) : socket_.IsQuiet(); }
#else
  Result<void> Encrypt(const RedisOptions& options) const {
    if (!options.tls.is_used) return {};
    return Fail(ErrorCode::kUnsupported, name_ + ": this build has no TLS: it was made without OpenSSL's libssl");
  }
  Outcome SendBytes(std::span<const std::byte> bytes) { return socket_.Send(bytes); }
  Outcome ReceiveBytes(std::span<std::byte>& bytes) { return socket_.Receive(bytes); }
  bool IsQuiet() const { return socket_.IsQuiet(); }
#endif

  // A server that knows no such command repeats what it got, the password included.
  Result<void> Authenticate(const RedisOptions& options) {
    if (options.password.empty()) return {};
    const auto done = options.user.empty() ? Call({"AUTH", options.password}, {REDIS_REPLY_STATUS})
                                           : Call({"AUTH", options.user, options.password}, {REDIS_REPLY_STATUS});
    if (done) return {};
    Error error = done.error();
    if (error.message.find(options.password) != std::string::npos) {
      error.message = About("AUTH") + "it was refused";
    }
    return Failure(std::move(error));
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
    if (length < 0) return OutOfMemory(name_);
    const std::unique_ptr<char, FreeCommand> command(formatted);
    const Outcome sent = SendBytes(std::as_bytes(std::span(formatted, static_cast<size_t>(length))));
    if (sent != Outcome::kDone) return NoAnswer(*arguments.begin(), sent, errno);
    return {};
  }

  Result<RedisReply> Receive(std::string_view command, uint64_t most_bytes) {
    std::array<std::byte, 1 << 14> buffer;
    for (uint64_t bytes = 0;;) {
      auto reply = reader_.Next();
      if (!reply) return Fail(reply.error().code, About(command) + reply.error().message);
      if (*reply != nullptr && !reader_.IsEmpty()) return Nonsense(command);
      if (*reply != nullptr) return reply;
      if (bytes > most_bytes) {
        return Fail(ErrorCode::kDataLoss, About(command) + "the answer is not what Redis answers: it has more than " +
                                              std::to_string(most_bytes) + " bytes");
      }
      std::span<std::byte> received(buffer);
      if (const Outcome got = ReceiveBytes(received); got != Outcome::kDone) return NoAnswer(command, got, errno);
      if (!reader_.Feed({reinterpret_cast<const char*>(received.data()), received.size()})) return OutOfMemory(name_);
      bytes += received.size();
    }
  }

  std::string About(std::string_view command) const { return name_ + ": " + std::string(command) + ": "; }

  static Failure OutOfMemory(const std::string& name) {
    return Fail(ErrorCode::kResourceExhausted, name + ": hiredis has not enough memory");
  }

  // Bytes came, or the connection ended, before anything was asked.
  Failure NotQuiet(std::string_view command) {
    is_lost_ = true;
    return Fail(ErrorCode::kFailedPrecondition, About(command) + "the connection was not quiet, or closed");
  }

  // No answer to a command came; `code` is the system's error where it is one.
  Failure NoAnswer(std::string_view command, Outcome outcome, int code) {
    std::string why;
    if (outcome == Outcome::kSilent) {
      why = "silence for " + std::to_string(answer_timeout_.count()) + " ms";
    } else if (outcome == Outcome::kLate) {
      why = "no whole answer in the time for a call";
    } else {
      is_lost_ = true;
      why = outcome == Outcome::kClosed ? "the server closed the connection"
                                        : "the connection broke: " + std::generic_category().message(code);
    }
    return Fail(ErrorCode::kFailedPrecondition, About(command) + why);
  }

  // The server's own word for what is wrong. It begins with a code in capitals.
  Failure Refusal(std::string_view command, std::string_view text) const {
    constexpr size_t kMostShown = 500;
    const ErrorCode code = text.starts_with("OOM ")         ? ErrorCode::kResourceExhausted
                           : text.starts_with("WRONGTYPE ") ? ErrorCode::kDataLoss
                                                            : ErrorCode::kFailedPrecondition;
    return Fail(code, About(command) + Printable(text.substr(0, kMostShown)));
  }

  std::string name_;  // in errors
  std::chrono::milliseconds answer_timeout_;
  TimedSocket socket_;
#if defined(SKALD_HAS_TLS)
  std::optional<TlsSession> tls_;
#endif
  RedisReader reader_;
  bool has_answered_ = false, is_usable_ = true, is_lost_ = false;
};

}  // namespace internal
}  // namespace skald

#endif  // SKALD_STORE_BACKENDS_REDIS_CONNECTION_H_
