// SPDX-License-Identifier: Apache-2.0
//
// The words that Socket and the calls of a system share.

#ifndef SKALD_BASE_SOCKETS_SOCKET_HANDLE_H_
#define SKALD_BASE_SOCKETS_SOCKET_HANDLE_H_

#include <cstdint>

namespace skald::internal {

/// The system's own name of a socket: a descriptor, or a SOCKET on Windows.
using SocketHandle = std::intptr_t;

/// The event that a caller waits for.
enum class SocketEvent { kReadable, kWritable };

}  // namespace skald::internal

#endif  // SKALD_BASE_SOCKETS_SOCKET_HANDLE_H_
