// SPDX-License-Identifier: Apache-2.0
//
// A connected socket, the same on every system: no call but Connect and Wait takes time, and a peer that went away is
// an error, not a signal.

#ifndef SKALD_BASE_SOCKETS_SOCKET_H_
#define SKALD_BASE_SOCKETS_SOCKET_H_

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "skald/base/result.h"
#include "skald/base/sockets/socket_handle.h"

namespace skald::internal {

/// A socket that its owner's destructor closes. Move-only. One thread at a time. Only Connect allocates.
class Socket {
 public:
  using Clock = std::chrono::steady_clock;

  using Handle = SocketHandle;
  using Event = SocketEvent;

  /// Owns nothing; calls fail.
  Socket() = default;

  /// Takes over a socket that is connected.
  explicit Socket(Handle handle);

  Socket(Socket&& other) noexcept : handle_(std::exchange(other.handle_, kNone)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Socket();

  /// Connects by TCP, before `deadline`, to the first address of `host` that accepts; IPv4 goes first. The look-up of a
  /// name comes on top. Error: kFailedPrecondition, with nothing but the reason. Throws std::bad_alloc.
  static Result<Socket> Connect(const std::string& host, int port, Clock::time_point deadline);

  /// Sends as many of the first `bytes` as the system takes at once, and returns how many. Sets `error` if there are
  /// none; IsForLater tells whether another attempt may do better.
  size_t Send(std::span<const std::byte> bytes, std::error_code& error) const;

  /// Receives as many bytes as are there, and returns how many; 0 without an error if the peer has closed the
  /// connection. Errors as of Send.
  size_t Receive(std::span<std::byte> bytes, std::error_code& error) const;

  /// Whether there is nothing to receive: the peer has neither sent anything nor closed the connection.
  bool IsQuiet() const;

  /// Waits for the event, or the end of the connection, for `most`. Returns whether it came; false without an error if
  /// the time has passed. A signal may end it early, with an error that is for later.
  bool Wait(Event event, std::chrono::milliseconds most, std::error_code& error) const;

  /// Whether an error says only that nothing could be done now.
  static bool IsForLater(std::error_code error);

  /// Whether `host` is an address, not a name.
  static bool IsAddress(const std::string& host);

 private:
  static constexpr Handle kNone = -1;

  Handle handle_ = kNone;
};

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/base/sockets/detail/socket.h"
#endif

#endif  // SKALD_BASE_SOCKETS_SOCKET_H_
