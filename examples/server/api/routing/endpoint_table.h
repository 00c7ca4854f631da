// SPDX-License-Identifier: Apache-2.0
//
// The table of endpoints, by method and path.

#ifndef SKALD_EXAMPLES_SERVER_API_ROUTING_ENDPOINT_TABLE_H_
#define SKALD_EXAMPLES_SERVER_API_ROUTING_ENDPOINT_TABLE_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/api/endpoints.h"

namespace skald::serve {

struct Endpoint {
  // Which text a path's {} takes.
  enum class Parameter {
    kSegment,   // without a slash
    kSegments,  // with slashes too, such as a name "organization/model"
  };

  std::string_view method;
  std::string_view path;  // {} is the place of a parameter
  Answer (*answer)(const Call&);
  Admission::Body body = Admission::Body::kInMemory;
  Parameter parameter = Parameter::kSegment;
};

std::span<const Endpoint> Endpoints();

// The texts in the places of {}, or nothing if the path is another one.
std::optional<PathParameters> MatchPath(const Endpoint& endpoint, std::string_view path);

// The path of an endpoint that is meant by `path`: clients are given the server's address with /v1 or without, and some
// add it themselves.
std::string PathOfEndpoint(std::string path);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_ROUTING_ENDPOINT_TABLE_H_
