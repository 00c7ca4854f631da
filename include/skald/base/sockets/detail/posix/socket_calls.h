// SPDX-License-Identifier: Apache-2.0
//
// The calls of detail/socket.h on POSIX systems.

#ifndef SKALD_BASE_SOCKETS_DETAIL_POSIX_SOCKET_CALLS_H_
#define SKALD_BASE_SOCKETS_DETAIL_POSIX_SOCKET_CALLS_H_

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <system_error>

#include "skald/base/sockets/socket_handle.h"

namespace skald::internal {

inline constexpr size_t kMostAtOnce = std::numeric_limits<ssize_t>::max();

// macOS knows no such flag of send(): there it is an option of the socket.
#if defined(MSG_NOSIGNAL)
inline constexpr int kNoSignal = MSG_NOSIGNAL;
#else
inline constexpr int kNoSignal = 0;
#endif

inline std::error_code LastSocketError() { return {errno, std::generic_category()}; }

inline std::error_code StartSockets() { return {}; }

inline std::string LookUpError(int code) { return ::gai_strerror(code); }

// Sets an option that a connection works without.
inline void Prefer(SocketHandle handle, int level, int option) {
  const int on = 1;
  (void)::setsockopt(static_cast<int>(handle), level, option, &on, sizeof(on));
}

inline void PrepareSocket(SocketHandle handle) {
  const int fd = static_cast<int>(handle);
  (void)::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
#if defined(SO_NOSIGPIPE)
  Prefer(handle, SOL_SOCKET, SO_NOSIGPIPE);
#endif
}

inline void CloseSocket(SocketHandle handle) { (void)::close(static_cast<int>(handle)); }

// A socket that programs started from this one do not inherit.
inline SocketHandle OpenSocket(const addrinfo& address) {
#if defined(SOCK_CLOEXEC)
  return ::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, address.ai_protocol);
#else
  const int fd = ::socket(address.ai_family, address.ai_socktype, address.ai_protocol);
  if (fd >= 0) (void)::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return fd;
#endif
}

// Commands and answers are sent whole, so nothing is won by waiting for more bytes.
inline std::error_code BeginToConnect(SocketHandle handle, const addrinfo& address) {
  Prefer(handle, IPPROTO_TCP, TCP_NODELAY);
  const bool is_connected = ::connect(static_cast<int>(handle), address.ai_addr, address.ai_addrlen) == 0;
  return is_connected ? std::error_code() : LastSocketError();
}

inline std::error_code HowConnected(SocketHandle handle) {
  int code = 0;
  socklen_t size = sizeof(code);
  if (::getsockopt(static_cast<int>(handle), SOL_SOCKET, SO_ERROR, &code, &size) != 0) return LastSocketError();
  return {code, std::generic_category()};
}

inline ssize_t SendSome(SocketHandle handle, std::span<const std::byte> bytes) {
  return ::send(static_cast<int>(handle), bytes.data(), bytes.size(), kNoSignal);
}

inline ssize_t ReceiveSome(SocketHandle handle, std::span<std::byte> bytes, int flags) {
  return ::recv(static_cast<int>(handle), bytes.data(), bytes.size(), flags);
}

inline int WaitForSocket(SocketHandle handle, SocketEvent event, std::chrono::milliseconds most) {
  pollfd poll = {static_cast<int>(handle), static_cast<short>(event == SocketEvent::kReadable ? POLLIN : POLLOUT), 0};
  return ::poll(&poll, 1, static_cast<int>(most.count()));
}

}  // namespace skald::internal

#endif  // SKALD_BASE_SOCKETS_DETAIL_POSIX_SOCKET_CALLS_H_
