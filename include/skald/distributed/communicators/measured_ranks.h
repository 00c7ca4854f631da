// SPDX-License-Identifier: Apache-2.0
//
// MeasuredRanks: any communicator, with an account of what goes over it.

#ifndef SKALD_DISTRIBUTED_COMMUNICATORS_MEASURED_RANKS_H_
#define SKALD_DISTRIBUTED_COMMUNICATORS_MEASURED_RANKS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/base/ranks/communicator.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/result.h"

namespace skald {

/// Bytes that one rank has sent, and its waiting time, since the account began.
struct RankTraffic {
  uint64_t exchanges = 0;              ///< calls of AllGather and Broadcast
  uint64_t bytes = 0;                  ///< that the others got from this rank, counted once however many they are
  std::chrono::nanoseconds waited{0};  ///< in exchanges, for others and for the bytes themselves
};

class MeasuredRanks {
 public:
  /// `ranks` must outlive this.
  explicit MeasuredRanks(const CommunicatorRef& ranks) : ranks_(ranks) {}

  RankShare share() const { return ranks_.share(); }
  Result<void> AllGather(std::span<std::byte> all, std::span<const size_t> begins);
  /// Waiting for rank 0 to have something to do is no part of the account.
  Result<void> Broadcast(std::vector<std::byte>& bytes);
  Result<void> Wait() { return ranks_.Wait(); }

  /// Valid as long as this.
  const RankTraffic& traffic() const { return traffic_; }
  /// Begins the account again.
  void Reset() { traffic_ = {}; }

 private:
  template <class Exchange>
  Result<void> Count(size_t bytes, Exchange exchange);

  const CommunicatorRef ranks_;
  RankTraffic traffic_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/distributed/communicators/detail/measured_ranks.h"
#endif

#endif  // SKALD_DISTRIBUTED_COMMUNICATORS_MEASURED_RANKS_H_
