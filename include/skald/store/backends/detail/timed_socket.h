// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/backends/timed_socket.h.

#ifndef SKALD_STORE_BACKENDS_DETAIL_TIMED_SOCKET_H_
#define SKALD_STORE_BACKENDS_DETAIL_TIMED_SOCKET_H_

#include "skald/store/backends/timed_socket.h"

#include <algorithm>

#include "skald/base/inline.h"

namespace skald {

namespace internal {

SKALD_INLINE TimedSocket::Outcome TimedSocket::Send(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (const Outcome ready = WaitFor(Socket::Event::kWritable); ready != Outcome::kDone) return ready;
    std::error_code error;
    bytes = bytes.subspan(socket_.Send(bytes, error));
    if (error && !Socket::IsForLater(error)) return Break(error);
  }
  return Outcome::kDone;
}

SKALD_INLINE TimedSocket::Outcome TimedSocket::Receive(std::span<std::byte>& bytes) {
  for (;;) {
    if (const Outcome ready = WaitFor(Socket::Event::kReadable); ready != Outcome::kDone) return ready;
    std::error_code error;
    const size_t received = socket_.Receive(bytes, error);
    if (error && !Socket::IsForLater(error)) return Break(error);
    if (error) continue;
    if (received == 0) return Outcome::kClosed;
    bytes = bytes.first(received);
    return Outcome::kDone;
  }
}

SKALD_INLINE TimedSocket::Outcome TimedSocket::WaitFor(Socket::Event event) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
    if (left.count() <= 0) return Outcome::kLate;
    std::error_code error;
    if (socket_.Wait(event, std::min(left, silence_), error)) return Outcome::kDone;
    if (!error && silence_ < left) return Outcome::kSilent;
    if (error && !Socket::IsForLater(error)) return Break(error);
  }
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_STORE_BACKENDS_DETAIL_TIMED_SOCKET_H_
