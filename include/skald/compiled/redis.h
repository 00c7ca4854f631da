// SPDX-License-Identifier: Apache-2.0
//
// The definitions of stores in a Redis server, for the one source of a program that compiles them (skald/compiled.h).
// They need hiredis, and OpenSSL where SKALD_HAS_TLS is defined.

#ifndef SKALD_COMPILED_REDIS_H_
#define SKALD_COMPILED_REDIS_H_

#include "skald/store/backends/detail/redis_connection.h"
#include "skald/store/backends/detail/redis_reader.h"
#include "skald/store/backends/detail/redis_store.h"
#include "skald/store/backends/detail/redis_url.h"
#include "skald/store/backends/detail/timed_socket.h"
#include "skald/store/backends/detail/tls_session.h"

#endif  // SKALD_COMPILED_REDIS_H_
