// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/distributed/rank_lead.h.

#ifndef SKALD_DISTRIBUTED_DETAIL_RANK_LEAD_H_
#define SKALD_DISTRIBUTED_DETAIL_RANK_LEAD_H_

#include "skald/distributed/rank_lead.h"

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

namespace internal {

SKALD_INLINE Result<void> RankLead::Give(std::vector<std::byte> order) {
  if (is_over_) return Fail(ErrorCode::kFailedPrecondition, "the ranks were let go");
  return ranks_.Broadcast(order);
}

SKALD_INLINE void RankLead::Leave(RankOrder what, uint64_t pool) noexcept {
  const auto told = NoThrow("RankLead", [&]() -> Result<void> {
    const auto turn = Turn();
    auto given = Give(BytesOf(what, pool));
    is_over_ |= what == RankOrder::kStop;
    return given;
  });
  static_cast<void>(told);
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_DISTRIBUTED_DETAIL_RANK_LEAD_H_
