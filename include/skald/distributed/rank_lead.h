// SPDX-License-Identifier: Apache-2.0
//
// RankLead: rank 0's orders to the others, one at a time.

#ifndef SKALD_DISTRIBUTED_RANK_LEAD_H_
#define SKALD_DISTRIBUTED_RANK_LEAD_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "skald/base/ranks/communicator.h"
#include "skald/base/result.h"
#include "skald/distributed/rank_messages.h"

namespace skald::internal {

/// Safe for concurrent calls.
class RankLead {
 public:
  explicit RankLead(const CommunicatorRef& ranks) : ranks_(ranks) {}

  const CommunicatorRef& ranks() const { return ranks_; }

  /// Held from before an order is given until it is carried out.
  std::unique_lock<std::mutex> Turn() { return std::unique_lock(turn_); }

  /// Tells the others what to do; with Turn() held.
  Result<void> Give(std::vector<std::byte> order);

  /// Sends a message that need not be carried out: a rank that does not receive it is gone. The last one is kStop.
  void Leave(RankOrder what, uint64_t pool = 0) noexcept;

 private:
  const CommunicatorRef ranks_;
  std::mutex turn_;
  bool is_over_ = false;  ///< guarded by turn_
};

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/distributed/detail/rank_lead.h"
#endif

#endif  // SKALD_DISTRIBUTED_RANK_LEAD_H_
