// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/distributed/communicators/thread_ranks.h.

#ifndef SKALD_DISTRIBUTED_COMMUNICATORS_DETAIL_THREAD_RANKS_H_
#define SKALD_DISTRIBUTED_COMMUNICATORS_DETAIL_THREAD_RANKS_H_

#include "skald/distributed/communicators/thread_ranks.h"

#include <algorithm>
#include <cstring>

#include "skald/base/inline.h"
#include "skald/base/ranks/communicator.h"
#include "skald/base/threads/pause.h"
#include "skald/distributed/communicators/missing_ranks.h"

namespace skald {

SKALD_INLINE Result<void> ThreadRank::AllGather(std::span<std::byte> all, std::span<const size_t> begins) {
  group_->parts[share_.rank] = all.data();
  SKALD_TRY(Meet());  // all parts are there
  for (size_t r = 0; r < share_.ranks; ++r) {
    if (r == share_.rank || begins[r] == begins[r + 1]) continue;
    std::memcpy(all.data() + begins[r], group_->parts[r] + begins[r], begins[r + 1] - begins[r]);
  }
  return Meet();  // no part is read any more
}

SKALD_INLINE Result<void> ThreadRank::Broadcast(std::vector<std::byte>& bytes) {
  if (share_.rank == 0) group_->broadcast = &bytes;
  SKALD_TRY(Meet(/*has_patience=*/share_.rank == 0));
  if (share_.rank != 0) bytes = *group_->broadcast;
  return Meet();
}

SKALD_INLINE void ThreadRank::Leave() noexcept {
  const std::lock_guard lock(group_->mutex);
  group_->left[share_.rank] = true;
  Break();
}

SKALD_INLINE void ThreadRank::Break() noexcept {
  group_->is_broken.store(true, std::memory_order_release);
  group_->changed.notify_all();
}

SKALD_INLINE Result<void> ThreadRank::Meet(bool has_patience) {
  Group& group = *group_;
  const size_t meeting = group.meetings.load(std::memory_order_acquire);
  group.came[share_.rank].store(meeting + 1, std::memory_order_relaxed);
  if (group.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == share_.ranks) {
    group.arrived.store(0, std::memory_order_relaxed);
    const std::lock_guard lock(group.mutex);
    group.meetings.store(meeting + 1, std::memory_order_release);
    group.changed.notify_all();
  }
  const auto is_over = [&] {
    return group.is_broken.load(std::memory_order_acquire) || group.meetings.load(std::memory_order_acquire) != meeting;
  };
  for (size_t i = 0; i < kLooks && !is_over(); ++i) Pause();
  if (!is_over()) {
    std::unique_lock lock(group.mutex);
    if (!has_patience) {
      group.changed.wait(lock, is_over);
    } else if (!group.changed.wait_for(lock, group.patience, is_over)) {
      Break();
      return FailGone(WhoIsMissing(meeting) + " did not answer within " + std::to_string(group.patience.count()) +
                      " ms");
    }
  }
  if (group.meetings.load(std::memory_order_acquire) != meeting) return {};
  const std::lock_guard lock(group.mutex);
  return FailGone(WhoIsMissing(meeting) + " has left");
}

SKALD_INLINE std::string ThreadRank::WhoIsMissing(size_t meeting) const {
  std::vector<bool> came(share_.ranks);
  for (size_t r = 0; r < share_.ranks; ++r) came[r] = !group_->left[r];
  if (std::ranges::find(came, false) != came.end()) return internal::NamesOfMissing(came);
  for (size_t r = 0; r < share_.ranks; ++r) came[r] = group_->came[r].load(std::memory_order_relaxed) > meeting;
  return internal::NamesOfMissing(came);
}

SKALD_INLINE Failure ThreadRank::FailGone(const std::string& why) const {
  return Fail(ErrorCode::kFailedPrecondition,
              "rank " + std::to_string(share_.rank) + " of " + std::to_string(share_.ranks) + ": " + why);
}

SKALD_INLINE std::vector<ThreadRank> CreateThreadRanks(size_t ranks, std::chrono::milliseconds patience) {
  auto group = std::make_shared<ThreadRank::Group>();
  group->parts.resize(ranks);
  group->came = std::vector<std::atomic<size_t>>(ranks);
  group->left.resize(ranks);
  group->patience = patience;
  std::vector<ThreadRank> all;
  for (size_t r = 0; r < ranks; ++r) all.push_back(ThreadRank(group, {r, ranks}));
  return all;
}

}  // namespace skald

#endif  // SKALD_DISTRIBUTED_COMMUNICATORS_DETAIL_THREAD_RANKS_H_
