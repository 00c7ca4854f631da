// SPDX-License-Identifier: Apache-2.0
//
// RedisConnection: one connection to a Redis server, with one command at a time. hiredis formats commands and parses
// answers (redis_reader.h). Sockets, with their time limits, are our own (base/sockets/): with hiredis a server that
// went away would end the process with a signal.

#ifndef SKALD_STORE_BACKENDS_REDIS_CONNECTION_H_
#define SKALD_STORE_BACKENDS_REDIS_CONNECTION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "skald/base/result.h"
#include "skald/base/sockets/socket.h"
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

  /// Limit of the bytes of an answer without a value: a number, a word, an error.
  static constexpr uint64_t kShortAnswer = 1 << 16;

  /// Connects, authenticates, selects the database and checks that it is a Redis server that answers, all before
  /// `deadline`.
  static Result<RedisConnection> Open(const RedisOptions& options, Clock::time_point deadline);

  /// Uses a socket that is connected. Errors contain `name`.
  RedisConnection(Socket socket, std::string name, std::chrono::milliseconds answer_timeout)
      : name_(std::move(name)), answer_timeout_(answer_timeout), socket_(std::move(socket), answer_timeout) {}

  /// The time by which all later calls must be done.
  void SetDeadline(Clock::time_point deadline) { socket_.SetDeadline(deadline); }

  /// False after an error that could make later answers belong to other commands. Further calls are refused.
  bool is_usable() const { return is_usable_; }
  /// True if the error was that the server closed the connection: a new one may work.
  bool is_lost() const { return is_lost_; }

  /// Sends a command and returns its answer, which has one of the given hiredis types and at most `most_bytes`. Errors
  /// name the server and the command: kResourceExhausted if the server has no memory left; kDataLoss for an answer of
  /// another type, a longer one, and for a key that holds another type; kFailedPrecondition for every other refusal,
  /// and if the server cannot be reached or takes too long.
  Result<RedisReply> Call(std::initializer_list<std::string_view> arguments, std::initializer_list<int> types,
                          uint64_t most_bytes = kShortAnswer);

  /// The error for an answer to `command` that Redis never gives.
  Failure Nonsense(std::string_view command);

 private:
  using Outcome = TimedSocket::Outcome;

  static std::string NameOf(const RedisOptions& options);

  static Result<Socket> Connect(const RedisOptions& options);

#if defined(SKALD_HAS_TLS)
  Result<void> Encrypt(const RedisOptions& options);
  Outcome SendBytes(std::span<const std::byte> bytes);
  Outcome ReceiveBytes(std::span<std::byte>& bytes);
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

  /// The server's errors for unknown commands repeat the arguments, the password included, so they are not shown.
  Result<void> Authenticate(const RedisOptions& options);

  Result<void> Send(std::initializer_list<std::string_view> arguments);

  Result<RedisReply> Receive(std::string_view command, uint64_t most_bytes);

  std::string About(std::string_view command) const { return name_ + ": " + std::string(command) + ": "; }

  static Failure OutOfMemory(const std::string& name);

  /// The error if bytes came, or the connection ended, before a command was sent.
  Failure NotQuiet(std::string_view command);

  /// The error if `command` got no answer.
  Failure NoAnswer(std::string_view command, Outcome outcome);

  /// The server's own error. It begins with a code in capitals.
  Failure Refusal(std::string_view command, std::string_view text) const;

  std::string name_;  ///< in errors
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

#ifndef SKALD_COMPILED
#include "skald/store/backends/detail/redis_connection.h"
#endif

#endif  // SKALD_STORE_BACKENDS_REDIS_CONNECTION_H_
