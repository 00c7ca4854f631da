// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/sockets/socket.h: what Berkeley's sockets and those of Windows have in common.

#ifndef SKALD_BASE_SOCKETS_DETAIL_SOCKET_H_
#define SKALD_BASE_SOCKETS_DETAIL_SOCKET_H_

#include "skald/base/sockets/socket.h"

#include <algorithm>
#include <memory>

#include "skald/base/inline.h"

#if defined(_WIN32)
#include "skald/base/sockets/detail/windows/socket_calls.h"
#else
#include "skald/base/sockets/detail/posix/socket_calls.h"
#endif

namespace skald::internal {

SKALD_INLINE Socket::Socket(Handle handle) : handle_(handle) {
  if (handle_ != kNone) PrepareSocket(handle_);
}

SKALD_INLINE Socket::~Socket() {
  if (handle_ != kNone) CloseSocket(handle_);
}

// Connects a new socket to one address. The time may pass, and signals may interrupt the wait.
inline Socket ConnectTo(const addrinfo& address, Socket::Clock::time_point deadline, std::error_code& error) {
  const Socket::Handle handle = OpenSocket(address);
  if (handle < 0) {
    error = LastSocketError();
    return Socket();
  }
  Socket socket(handle);
  for (error = BeginToConnect(handle, address); Socket::IsForLater(error);) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Socket::Clock::now());
    if (left.count() > 0 && socket.Wait(Socket::Event::kWritable, left, error)) {
      error = HowConnected(handle);
    } else if (left.count() <= 0 || !error) {
      error = std::make_error_code(std::errc::timed_out);
    }
  }
  return socket;
}

SKALD_INLINE Result<Socket> Socket::Connect(const std::string& host, int port, Clock::time_point deadline) {
  const auto failed = [](std::string why) { return Fail(ErrorCode::kFailedPrecondition, std::move(why)); };
  if (const std::error_code error = StartSockets()) return failed(error.message());
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); code != 0) {
    return failed(LookUpError(code));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  std::error_code error = std::make_error_code(std::errc::address_not_available);
  for (const bool is_ipv4 : {true, false}) {
    for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
      if ((address->ai_family == AF_INET) != is_ipv4) continue;
      Socket socket = ConnectTo(*address, deadline, error);
      if (!error) return socket;
    }
  }
  return failed(error.message());
}

SKALD_INLINE size_t Socket::Send(std::span<const std::byte> bytes, std::error_code& error) const {
  const auto sent = SendSome(handle_, bytes.first(std::min(bytes.size(), kMostAtOnce)));
  error = sent < 0 ? LastSocketError() : std::error_code();
  return sent < 0 ? 0 : static_cast<size_t>(sent);
}

SKALD_INLINE size_t Socket::Receive(std::span<std::byte> bytes, std::error_code& error) const {
  const auto received = ReceiveSome(handle_, bytes.first(std::min(bytes.size(), kMostAtOnce)), /*flags=*/0);
  error = received < 0 ? LastSocketError() : std::error_code();
  return received < 0 ? 0 : static_cast<size_t>(received);
}

SKALD_INLINE bool Socket::IsQuiet() const {
  std::byte first;
  return ReceiveSome(handle_, {&first, 1}, MSG_PEEK) < 0 && IsForLater(LastSocketError());
}

SKALD_INLINE bool Socket::Wait(Event event, std::chrono::milliseconds most, std::error_code& error) const {
  constexpr std::chrono::milliseconds kMost = std::chrono::hours(24);
  const int ready = WaitForSocket(handle_, event, std::clamp(most, std::chrono::milliseconds(0), kMost));
  error = ready < 0 ? LastSocketError() : std::error_code();
  return ready > 0;
}

SKALD_INLINE bool Socket::IsForLater(std::error_code error) {
  return error == std::errc::operation_would_block || error == std::errc::resource_unavailable_try_again ||
         error == std::errc::operation_in_progress || error == std::errc::interrupted;
}

SKALD_INLINE bool Socket::IsAddress(const std::string& host) {
  in6_addr address;
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 || ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

}  // namespace skald::internal

#endif  // SKALD_BASE_SOCKETS_DETAIL_SOCKET_H_
