// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/distributed/communicators/measured_ranks.h.

#ifndef SKALD_DISTRIBUTED_COMMUNICATORS_DETAIL_MEASURED_RANKS_H_
#define SKALD_DISTRIBUTED_COMMUNICATORS_DETAIL_MEASURED_RANKS_H_

#include "skald/distributed/communicators/measured_ranks.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE Result<void> MeasuredRanks::AllGather(std::span<std::byte> all, std::span<const size_t> begins) {
  const size_t rank = share().rank;
  return Count(begins[rank + 1] - begins[rank], [&] { return ranks_.AllGather(all, begins); });
}

SKALD_INLINE Result<void> MeasuredRanks::Broadcast(std::vector<std::byte>& bytes) {
  if (share().rank != 0) return ranks_.Broadcast(bytes);
  return Count(bytes.size(), [&] { return ranks_.Broadcast(bytes); });
}

template <class Exchange>
Result<void> MeasuredRanks::Count(size_t bytes, Exchange exchange) {
  const auto begin = std::chrono::steady_clock::now();
  auto done = exchange();
  traffic_.waited += std::chrono::steady_clock::now() - begin;
  traffic_.bytes += bytes;
  ++traffic_.exchanges;
  return done;
}

}  // namespace skald

#endif  // SKALD_DISTRIBUTED_COMMUNICATORS_DETAIL_MEASURED_RANKS_H_
