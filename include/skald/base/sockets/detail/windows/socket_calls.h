// SPDX-License-Identifier: Apache-2.0
//
// The calls of detail/socket.h on Windows (Winsock 2; programs link ws2_32).

#ifndef SKALD_BASE_SOCKETS_DETAIL_WINDOWS_SOCKET_CALLS_H_
#define SKALD_BASE_SOCKETS_DETAIL_WINDOWS_SOCKET_CALLS_H_

#include <chrono>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <system_error>

#include "skald/base/detail/windows_api.h"
#include "skald/base/sockets/socket_handle.h"

namespace skald::internal {

inline constexpr size_t kMostAtOnce = std::numeric_limits<int>::max();

inline SOCKET NativeSocket(SocketHandle handle) { return static_cast<SOCKET>(handle); }

// Not every C++ library knows the errors of sockets among those of the system.
inline std::error_code SocketErrorOf(int code) {
  switch (code) {
    case WSAEWOULDBLOCK:
      return std::make_error_code(std::errc::operation_would_block);
    case WSAEINPROGRESS:
      return std::make_error_code(std::errc::operation_in_progress);
    case WSAEINTR:
      return std::make_error_code(std::errc::interrupted);
    default:
      return {code, std::system_category()};
  }
}

inline std::error_code LastSocketError() { return SocketErrorOf(::WSAGetLastError()); }

// Once for the process, which needs the sockets until its end.
inline std::error_code StartSockets() {
  static const int code = [] {
    WSADATA data;
    return ::WSAStartup(MAKEWORD(2, 2), &data);
  }();
  return SocketErrorOf(code);
}

inline std::string LookUpError(int code) { return SocketErrorOf(code).message(); }

inline void PrepareSocket(SocketHandle handle) {
  u_long on = 1;
  (void)::ioctlsocket(NativeSocket(handle), static_cast<long>(FIONBIO), &on);
}

inline void CloseSocket(SocketHandle handle) { (void)::closesocket(NativeSocket(handle)); }

// A socket that programs started from this one do not inherit.
inline SocketHandle OpenSocket(const addrinfo& address) {
  const SOCKET socket = ::WSASocketW(address.ai_family, address.ai_socktype, address.ai_protocol, nullptr, 0,
                                     WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
  return static_cast<SocketHandle>(socket);
}

// Commands and answers are sent whole, so nothing is won by waiting for more bytes.
inline std::error_code BeginToConnect(SocketHandle handle, const addrinfo& address) {
  const char on = 1;
  (void)::setsockopt(NativeSocket(handle), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const bool is_connected = ::connect(NativeSocket(handle), address.ai_addr, static_cast<int>(address.ai_addrlen)) == 0;
  return is_connected ? std::error_code() : LastSocketError();
}

inline std::error_code HowConnected(SocketHandle handle) {
  int code = 0, size = sizeof(code);
  char* const into = reinterpret_cast<char*>(&code);
  if (::getsockopt(NativeSocket(handle), SOL_SOCKET, SO_ERROR, into, &size) != 0) return LastSocketError();
  return SocketErrorOf(code);
}

inline int SendSome(SocketHandle handle, std::span<const std::byte> bytes) {
  const char* const data = reinterpret_cast<const char*>(bytes.data());
  return ::send(NativeSocket(handle), data, static_cast<int>(bytes.size()), 0);
}

inline int ReceiveSome(SocketHandle handle, std::span<std::byte> bytes, int flags) {
  char* const data = reinterpret_cast<char*>(bytes.data());
  return ::recv(NativeSocket(handle), data, static_cast<int>(bytes.size()), flags);
}

// WSAPoll of older versions never tells that a connection was refused.
inline int WaitForSocket(SocketHandle handle, SocketEvent event, std::chrono::milliseconds most) {
  fd_set waited{1, {NativeSocket(handle)}}, broken = waited;
  timeval time{static_cast<long>(most.count() / 1000), static_cast<long>(most.count() % 1000 * 1000)};
  const bool reads = event == SocketEvent::kReadable;
  return ::select(0, reads ? &waited : nullptr, reads ? nullptr : &waited, &broken, &time);
}

}  // namespace skald::internal

#endif  // SKALD_BASE_SOCKETS_DETAIL_WINDOWS_SOCKET_CALLS_H_
