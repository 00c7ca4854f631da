// SPDX-License-Identifier: Apache-2.0
//
// How many files and sockets the process may have open (RLIMIT_NOFILE), so that connections fit.

#ifndef SKALD_EXAMPLES_SERVER_HTTP_LIMITS_DESCRIPTORS_H_
#define SKALD_EXAMPLES_SERVER_HTTP_LIMITS_DESCRIPTORS_H_

#include <cstddef>

namespace skald::serve {

struct DescriptorLimits {
  size_t connections;  // that fit, at most what was wanted
  size_t descriptors;  // that the process may have
};

// Raises the process's limit, as far as its hard one allows, until `connections` fit beside those kept for what is
// urgent, stores and files.
DescriptorLimits MakeRoomForConnections(size_t connections);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_HTTP_LIMITS_DESCRIPTORS_H_
