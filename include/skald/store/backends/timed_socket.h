// SPDX-License-Identifier: Apache-2.0
//
// A connected socket on which no peer can make a call block for ever, neither by silence nor by sending a little now
// and then.

#ifndef SKALD_STORE_BACKENDS_TIMED_SOCKET_H_
#define SKALD_STORE_BACKENDS_TIMED_SOCKET_H_

#include <chrono>
#include <cstddef>
#include <span>
#include <system_error>
#include <utility>

#include "skald/base/sockets/socket.h"

namespace skald::internal {

/// Move-only. One thread at a time. Nothing here allocates.
class TimedSocket {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Outcome {
    kDone,
    kSilent,  ///< for as long as `silence`
    kLate,    ///< the deadline has passed
    kClosed,  ///< by the peer
    kBroken,  ///< error() says how
  };

  explicit TimedSocket(Socket socket = Socket(), std::chrono::milliseconds silence = {})
      : socket_(std::move(socket)), silence_(silence) {}

  /// The time by which all later calls must be done.
  void SetDeadline(Clock::time_point deadline) { deadline_ = deadline; }

  Outcome Send(std::span<const std::byte> bytes);

  /// Receives at least one byte, and shrinks `bytes` to what it received.
  Outcome Receive(std::span<std::byte>& bytes);

  /// Whether there is nothing to receive: the peer has neither sent anything nor closed the connection.
  bool IsQuiet() const { return socket_.IsQuiet(); }

  /// Why the last call that returned kBroken did.
  std::error_code error() const { return error_; }

  /// Returns kBroken, for a reason of the caller's.
  Outcome Break(std::error_code error) {
    error_ = error;
    return Outcome::kBroken;
  }

 private:
  Outcome WaitFor(Socket::Event event);

  Socket socket_;
  std::error_code error_;
  std::chrono::milliseconds silence_;
  Clock::time_point deadline_ = Clock::time_point::max();
};

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/store/backends/detail/timed_socket.h"
#endif

#endif  // SKALD_STORE_BACKENDS_TIMED_SOCKET_H_
