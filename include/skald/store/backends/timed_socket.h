// SPDX-License-Identifier: Apache-2.0
//
// A connected socket that nobody can make its owner wait on for ever: neither by silence nor by sending a little now
// and then.

#ifndef SKALD_STORE_BACKENDS_TIMED_SOCKET_H_
#define SKALD_STORE_BACKENDS_TIMED_SOCKET_H_

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <span>
#include <utility>

#include "skald/base/files/system_call.h"

namespace skald::internal {

// Move-only. One thread at a time. Nothing here allocates.
class TimedSocket {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Outcome {
    kDone,
    kSilent,  // for as long as `silence`
    kLate,    // the deadline has come
    kClosed,  // by the peer
    kBroken,  // errno says how
  };

  explicit TimedSocket(Descriptor socket = Descriptor(), std::chrono::milliseconds silence = {})
      : socket_(std::move(socket)), silence_(silence) {}

  // When all that follows must be done.
  void SetDeadline(Clock::time_point deadline) { deadline_ = deadline; }

  Outcome Send(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      if (const Outcome ready = WaitFor(POLLOUT); ready != Outcome::kDone) return ready;
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && !IsForLater()) return Outcome::kBroken;
      bytes = bytes.subspan(static_cast<size_t>(std::max<ssize_t>(sent, 0)));
    }
    return Outcome::kDone;
  }

  // Receives at least one byte, and leaves in `bytes` what it received.
  Outcome Receive(std::span<std::byte>& bytes) {
    for (;;) {
      if (const Outcome ready = WaitFor(POLLIN); ready != Outcome::kDone) return ready;
      const ssize_t received = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (received == 0) return Outcome::kClosed;
      if (received < 0 && !IsForLater()) return Outcome::kBroken;
      if (received < 0) continue;
      bytes = bytes.first(static_cast<size_t>(received));
      return Outcome::kDone;
    }
  }

  // Whether there is nothing to receive: the peer has neither sent anything yet nor closed the connection.
  bool IsQuiet() const {
    char first;
    return ::recv(socket_.get(), &first, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && IsForLater();
  }

 private:
  static bool IsForLater() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

  Outcome WaitFor(short events) const {
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
      if (left.count() <= 0) return Outcome::kLate;
      pollfd poll = {socket_.get(), events, 0};
      const int ready = ::poll(&poll, 1, static_cast<int>(std::min(left, silence_).count()));
      if (ready > 0) return Outcome::kDone;
      if (ready == 0 && silence_ < left) return Outcome::kSilent;
      if (ready < 0 && errno != EINTR) return Outcome::kBroken;
    }
  }

  Descriptor socket_;
  std::chrono::milliseconds silence_;
  Clock::time_point deadline_ = Clock::time_point::max();
};

}  // namespace skald::internal

#endif  // SKALD_STORE_BACKENDS_TIMED_SOCKET_H_
