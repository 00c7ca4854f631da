// SPDX-License-Identifier: Apache-2.0
//
// TLS over a TimedSocket, as a client (RFC 8446), by OpenSSL's libssl. OpenSSL reads and writes memory alone; bytes go
// through the socket, whose time limits hold for everything. Its definitions alone need libssl.

#ifndef SKALD_STORE_BACKENDS_TLS_SESSION_H_
#define SKALD_STORE_BACKENDS_TLS_SESSION_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "skald/base/result.h"
#include "skald/store/backends/redis_options.h"
#include "skald/store/backends/timed_socket.h"

// Of libssl.
struct ssl_st;
struct ssl_ctx_st;

namespace skald::internal {

/// Move-only. One thread at a time.
class TlsSession {
 public:
  using Outcome = TimedSocket::Outcome;

  /// Sets up a session; nothing is sent yet. Errors: kInvalidArgument for files with the wrong content;
  /// kResourceExhausted.
  static Result<TlsSession> Create(const TlsOptions& options, const std::string& host);

  /// Performs the handshake, and verifies that the server is `host`. Error: kFailedPrecondition, with the reason.
  Result<void> Begin(TimedSocket& socket);

  Outcome Send(TimedSocket& socket, std::span<const std::byte> bytes);

  /// As TimedSocket::Receive.
  Outcome Receive(TimedSocket& socket, std::span<std::byte>& bytes);

  /// As TimedSocket::IsQuiet: records of TLS itself do not count.
  bool IsQuiet(TimedSocket& socket);

 private:
  static constexpr size_t kRecord = size_t{1} << 14, kMostAtOnce = size_t{1} << 20;

  struct Free {
    void operator()(ssl_ctx_st* context) const;
    void operator()(ssl_st* ssl) const;
  };

  TlsSession() = default;

  static Failure OutOfMemory() { return Fail(ErrorCode::kResourceExhausted, "TLS: OpenSSL ran out of memory"); }

  static Result<void> Trust(ssl_ctx_st* context, const TlsOptions& options);

  static Result<void> UseOwn(ssl_ctx_st* context, const TlsOptions& options);

  bool ExpectHost(const std::string& host);

  /// Sends the bytes that OpenSSL has written.
  Outcome Flush(TimedSocket& socket);

  /// Passes the next received bytes to OpenSSL.
  Outcome Fill(TimedSocket& socket);

  bool Feed(std::span<const std::byte> bytes);

  static Outcome Broken(TimedSocket& socket);

  /// Why the handshake failed.
  std::string WhyNot() const;

  std::unique_ptr<ssl_ctx_st, Free> context_;
  std::unique_ptr<ssl_st, Free> ssl_;
};

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/store/backends/detail/tls_session.h"
#endif

#endif  // SKALD_STORE_BACKENDS_TLS_SESSION_H_
