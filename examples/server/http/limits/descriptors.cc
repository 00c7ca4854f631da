// SPDX-License-Identifier: Apache-2.0

#include "server/http/limits/descriptors.h"

#include <sys/resource.h>

#include <algorithm>

#include "server/http/limits/places.h"

namespace skald::serve {
namespace {

// Of weights, stores, conversations that are being written, bodies in files, the system's own.
constexpr size_t kOtherDescriptors = 128;

}  // namespace

DescriptorLimits MakeRoomForConnections(size_t connections) {
  const rlim_t wanted = connections + Places::kUrgent + kOtherDescriptors;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {connections, static_cast<size_t>(wanted)};
  if (limit.rlim_cur < wanted) {
    const rlimit raised = {std::min(limit.rlim_max, wanted), limit.rlim_max};
    (void)setrlimit(RLIMIT_NOFILE, &raised);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {connections, static_cast<size_t>(wanted)};
  }
  if (limit.rlim_cur >= wanted) return {connections, static_cast<size_t>(limit.rlim_cur)};
  // If there are few descriptors, at least half of them are for connections.
  const auto there = static_cast<size_t>(limit.rlim_cur);
  const size_t others = std::min(Places::kUrgent + kOtherDescriptors, there / 2);
  return {std::max<size_t>(there - others, 1), there};
}

}  // namespace skald::serve
