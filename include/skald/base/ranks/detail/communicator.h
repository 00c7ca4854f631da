// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/ranks/communicator.h.

#ifndef SKALD_BASE_RANKS_DETAIL_COMMUNICATOR_H_
#define SKALD_BASE_RANKS_DETAIL_COMMUNICATOR_H_

#include "skald/base/ranks/communicator.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE Result<void> CommunicatorRef::AllGather(std::span<std::byte> all, std::span<const size_t> begins) const {
  return all_gather_(object_, all, begins);
}

}  // namespace skald

#endif  // SKALD_BASE_RANKS_DETAIL_COMMUNICATOR_H_
