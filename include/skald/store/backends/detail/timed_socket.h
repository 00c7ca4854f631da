// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/backends/timed_socket.h.

#ifndef SKALD_STORE_BACKENDS_DETAIL_TIMED_SOCKET_H_
#define SKALD_STORE_BACKENDS_DETAIL_TIMED_SOCKET_H_

#include "skald/store/backends/timed_socket.h"

#include <poll.h>

#include <algorithm>

#include "skald/base/inline.h"

namespace skald {

namespace internal {

SKALD_INLINE TimedSocket::Outcome TimedSocket::Send(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (const Outcome ready = WaitFor(POLLOUT); ready != Outcome::kDone) return ready;
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && !IsForLater()) return Outcome::kBroken;
    bytes = bytes.subspan(static_cast<size_t>(std::max<ssize_t>(sent, 0)));
  }
  return Outcome::kDone;
}

SKALD_INLINE TimedSocket::Outcome TimedSocket::Receive(std::span<std::byte>& bytes) {
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

SKALD_INLINE bool TimedSocket::IsQuiet() const {
  char first;
  return ::recv(socket_.get(), &first, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && IsForLater();
}

SKALD_INLINE TimedSocket::Outcome TimedSocket::WaitFor(short events) const {
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

}  // namespace internal
}  // namespace skald

#endif  // SKALD_STORE_BACKENDS_DETAIL_TIMED_SOCKET_H_
