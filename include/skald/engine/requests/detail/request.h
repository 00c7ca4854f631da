// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/requests/request.h.

#ifndef SKALD_ENGINE_REQUESTS_DETAIL_REQUEST_H_
#define SKALD_ENGINE_REQUESTS_DETAIL_REQUEST_H_

#include "skald/engine/requests/request.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE std::optional<std::string> SaltOf(const Request& request) {
  if (request.salt || request.tenant.empty()) return request.salt;
  return request.tenant;
}

}  // namespace skald

#endif  // SKALD_ENGINE_REQUESTS_DETAIL_REQUEST_H_
