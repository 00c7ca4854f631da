// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/backends/redis_connection.h.

#ifndef SKALD_STORE_BACKENDS_DETAIL_REDIS_CONNECTION_H_
#define SKALD_STORE_BACKENDS_DETAIL_REDIS_CONNECTION_H_

#include "skald/store/backends/redis_connection.h"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "skald/base/inline.h"
#include "skald/base/text/printable.h"

namespace skald {

namespace internal {

struct FreeRedisCommand {
  void operator()(char* command) const { redisFreeCommand(command); }
};

SKALD_INLINE Result<RedisConnection> RedisConnection::Open(const RedisOptions& options, Clock::time_point deadline) {
  SKALD_ASSIGN(auto socket, Connect(options));
  RedisConnection connection(std::move(socket), NameOf(options), options.answer_timeout);
  connection.SetDeadline(deadline);
  SKALD_TRY(connection.Encrypt(options));
  SKALD_TRY(connection.Authenticate(options));
  if (options.database != 0) {
    const std::string number = std::to_string(options.database);
    SKALD_TRY(connection.Call({"SELECT", number}, {REDIS_REPLY_STATUS}));
  }
  SKALD_TRY(connection.Call({"PING"}, {REDIS_REPLY_STATUS}));
  return connection;
}

SKALD_INLINE Result<RedisReply> RedisConnection::Call(std::initializer_list<std::string_view> arguments,
                                                      std::initializer_list<int> types, uint64_t most_bytes) {
  const std::string_view command = *arguments.begin();
  if (!is_usable_) return Fail(ErrorCode::kFailedPrecondition, About(command) + "the connection broke before");
  // Also during an exception.
  is_usable_ = false;
  // Unexpected bytes would be taken for the answer. (The first command may find the server's refusal of the
  // connection.)
  if (has_answered_ && !IsQuiet()) return NotQuiet(command);
  SKALD_TRY(Send(arguments));
  SKALD_ASSIGN(auto reply, Receive(command, most_bytes));
  has_answered_ = is_usable_ = true;
  if (reply->type == REDIS_REPLY_ERROR) return Refusal(command, {reply->str, reply->len});
  if (std::find(types.begin(), types.end(), reply->type) == types.end()) return Nonsense(command);
  return reply;
}

SKALD_INLINE Failure RedisConnection::Nonsense(std::string_view command) {
  is_usable_ = false;
  return Fail(ErrorCode::kDataLoss, About(command) + "the answer does not follow the Redis protocol");
}

SKALD_INLINE std::string RedisConnection::NameOf(const RedisOptions& options) {
  return "Redis server " + options.host + ":" + std::to_string(options.port);
}

SKALD_INLINE Result<Socket> RedisConnection::Connect(const RedisOptions& options) {
  auto socket = Socket::Connect(options.host, options.port, Clock::now() + options.connect_timeout);
  if (!socket) return Annotate(NameOf(options) + ": cannot connect", socket);
  return socket;
}

#if defined(SKALD_HAS_TLS)

SKALD_INLINE Result<void> RedisConnection::Encrypt(const RedisOptions& options) {
  if (!options.tls.is_used) return {};
  auto session = TlsSession::Create(options.tls, options.host);
  if (!session) return Annotate(name_, session);
  if (auto begun = session->Begin(socket_); !begun) return Annotate(name_, begun);
  tls_.emplace(*std::move(session));
  return {};
}

SKALD_INLINE RedisConnection::Outcome RedisConnection::SendBytes(std::span<const std::byte> bytes) {
  return tls_ ? tls_->Send(socket_, bytes) : socket_.Send(bytes);
}

SKALD_INLINE RedisConnection::Outcome RedisConnection::ReceiveBytes(std::span<std::byte>& bytes) {
  return tls_ ? tls_->Receive(socket_, bytes) : socket_.Receive(bytes);
}

#endif

SKALD_INLINE Result<void> RedisConnection::Authenticate(const RedisOptions& options) {
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

SKALD_INLINE Result<void> RedisConnection::Send(std::initializer_list<std::string_view> arguments) {
  std::vector<const char*> texts;
  std::vector<size_t> lengths;
  for (const std::string_view argument : arguments) {
    texts.push_back(argument.data());
    lengths.push_back(argument.size());
  }
  char* formatted = nullptr;
  const auto length = redisFormatCommandArgv(&formatted, static_cast<int>(texts.size()), texts.data(), lengths.data());
  if (length < 0) return OutOfMemory(name_);
  const std::unique_ptr<char, FreeRedisCommand> command(formatted);
  const Outcome sent = SendBytes(std::as_bytes(std::span(formatted, static_cast<size_t>(length))));
  if (sent != Outcome::kDone) return NoAnswer(*arguments.begin(), sent);
  return {};
}

SKALD_INLINE Result<RedisReply> RedisConnection::Receive(std::string_view command, uint64_t most_bytes) {
  std::array<std::byte, 1 << 14> buffer;
  for (uint64_t bytes = 0;;) {
    auto reply = reader_.Next();
    if (!reply) return Fail(reply.error().code, About(command) + reply.error().message);
    if (*reply != nullptr && !reader_.IsEmpty()) return Nonsense(command);
    if (*reply != nullptr) return reply;
    if (bytes > most_bytes) {
      return Fail(ErrorCode::kDataLoss, About(command) +
                                            "the answer does not follow the Redis protocol: it has more than " +
                                            std::to_string(most_bytes) + " bytes");
    }
    std::span<std::byte> received(buffer);
    if (const Outcome got = ReceiveBytes(received); got != Outcome::kDone) return NoAnswer(command, got);
    if (!reader_.Feed({reinterpret_cast<const char*>(received.data()), received.size()})) return OutOfMemory(name_);
    bytes += received.size();
  }
}

SKALD_INLINE Failure RedisConnection::OutOfMemory(const std::string& name) {
  return Fail(ErrorCode::kResourceExhausted, name + ": hiredis ran out of memory");
}

SKALD_INLINE Failure RedisConnection::NotQuiet(std::string_view command) {
  is_lost_ = true;
  return Fail(ErrorCode::kFailedPrecondition, About(command) + "the connection was closed, or had unexpected data");
}

SKALD_INLINE Failure RedisConnection::NoAnswer(std::string_view command, Outcome outcome) {
  std::string why;
  if (outcome == Outcome::kSilent) {
    why = "silence for " + std::to_string(answer_timeout_.count()) + " ms";
  } else if (outcome == Outcome::kLate) {
    why = "no complete answer within the time limit of a call";
  } else {
    is_lost_ = true;
    why = outcome == Outcome::kClosed ? "the server closed the connection"
                                      : "the connection broke: " + socket_.error().message();
  }
  return Fail(ErrorCode::kFailedPrecondition, About(command) + why);
}

SKALD_INLINE Failure RedisConnection::Refusal(std::string_view command, std::string_view text) const {
  constexpr size_t kMostShown = 500;
  const ErrorCode code = text.starts_with("OOM ")         ? ErrorCode::kResourceExhausted
                         : text.starts_with("WRONGTYPE ") ? ErrorCode::kDataLoss
                                                          : ErrorCode::kFailedPrecondition;
  return Fail(code, About(command) + Printable(text.substr(0, kMostShown)));
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_STORE_BACKENDS_DETAIL_REDIS_CONNECTION_H_
