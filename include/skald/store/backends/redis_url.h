// SPDX-License-Identifier: Apache-2.0
//
// Addresses of Redis servers, in the form that Redis clients use:
//     HOST[:PORT]     redis[s]://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]
//   (iana.org/assignments/uri-schemes/prov/redis, .../rediss). Errors never show text that may be a password.

#ifndef SKALD_STORE_BACKENDS_REDIS_URL_H_
#define SKALD_STORE_BACKENDS_REDIS_URL_H_

#include <string_view>

#include "skald/base/result.h"
#include "skald/store/backends/redis_options.h"

namespace skald {

/// Returns `base` with the server, user, password, database and TLS that `address` gives. Error: kInvalidArgument for
/// an invalid address; the sentence does not repeat it.
Result<RedisOptions> ParseRedisAddress(std::string_view address, const RedisOptions& base = {});

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/backends/detail/redis_url.h"
#endif

#endif  // SKALD_STORE_BACKENDS_REDIS_URL_H_
