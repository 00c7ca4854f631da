// SPDX-License-Identifier: Apache-2.0
//
// The headers of Windows: sockets before the rest, and without the macros min and max.

#ifndef SKALD_BASE_DETAIL_WINDOWS_API_H_
#define SKALD_BASE_DETAIL_WINDOWS_API_H_

#if defined(_WIN32)

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif

// clang-format off: the order is Windows' own
#include <windows.h>
#include <winsock2.h>
#include <ws2tcpip.h>
// clang-format on

#undef Yield  // an empty macro, of a function that did something in 16-bit Windows

#endif

#endif  // SKALD_BASE_DETAIL_WINDOWS_API_H_
