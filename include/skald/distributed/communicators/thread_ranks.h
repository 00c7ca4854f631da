// SPDX-License-Identifier: Apache-2.0
//
// ThreadRanks: ranks that are threads of one process: for tests, and for machines whose threads had better each keep to
// the memory beside them.

#ifndef SKALD_DISTRIBUTED_COMMUNICATORS_THREAD_RANKS_H_
#define SKALD_DISTRIBUTED_COMMUNICATORS_THREAD_RANKS_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/ranks/communicator.h"
#include "skald/base/result.h"
#include "skald/base/threads/pause.h"
#include "skald/distributed/communicators/missing_ranks.h"

namespace skald {

// One rank's end, for one thread. Made by CreateThreadRanks.
class ThreadRank {
 public:
  RankShare share() const { return share_; }

  Result<void> AllGather(std::span<std::byte> all, std::span<const size_t> begins) {
    group_->parts[share_.rank] = all.data();
    if (auto came = Meet(); !came) return came;  // all parts are there
    for (size_t r = 0; r < share_.ranks; ++r) {
      if (r == share_.rank || begins[r] == begins[r + 1]) continue;
      std::memcpy(all.data() + begins[r], group_->parts[r] + begins[r], begins[r + 1] - begins[r]);
    }
    return Meet();  // no part is read any more
  }

  Result<void> Broadcast(std::vector<std::byte>& bytes) {
    if (share_.rank == 0) group_->broadcast = &bytes;
    if (auto came = Meet(/*has_patience=*/share_.rank == 0); !came) return came;
    if (share_.rank != 0) bytes = *group_->broadcast;
    return Meet();
  }

  Result<void> Wait() { return Meet(/*has_patience=*/false); }

  // Makes every call of every rank fail from now on: what a process does by ending.
  void Leave() noexcept {
    const std::lock_guard lock(group_->mutex);
    group_->left[share_.rank] = true;
    Break();
  }

 private:
  friend std::vector<ThreadRank> CreateThreadRanks(size_t ranks, std::chrono::milliseconds patience);

  // What the ranks share. `parts` and `broadcast` are written before one meeting and read before the next.
  struct Group {
    std::vector<const std::byte*> parts;  // [ranks]
    const std::vector<std::byte>* broadcast = nullptr;
    std::chrono::milliseconds patience;
    std::atomic<size_t> arrived{0};
    std::atomic<size_t> meetings{0};
    std::atomic<bool> is_broken{false};
    std::vector<std::atomic<size_t>> came;  // [ranks]: how many meetings each has come to
    std::vector<bool> left;                 // [ranks]; guarded by mutex
    std::mutex mutex;                       // of `changed`, by which those hear of it who have looked in vain for long
    std::condition_variable changed;
  };

  ThreadRank(std::shared_ptr<Group> group, const RankShare& share) : group_(std::move(group)), share_(share) {}

  // With the group's mutex held.
  void Break() noexcept {
    group_->is_broken.store(true, std::memory_order_release);
    group_->changed.notify_all();
  }

  // Returns when all ranks have come; with patience, that ends some time.
  Result<void> Meet(bool has_patience = true) {
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
      return group.is_broken.load(std::memory_order_acquire) ||
             group.meetings.load(std::memory_order_acquire) != meeting;
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

  // Those that left, or else those that have not come to this meeting. With the group's mutex held.
  std::string WhoIsMissing(size_t meeting) const {
    std::vector<bool> came(share_.ranks);
    for (size_t r = 0; r < share_.ranks; ++r) came[r] = !group_->left[r];
    if (std::ranges::find(came, false) != came.end()) return internal::NamesOfMissing(came);
    for (size_t r = 0; r < share_.ranks; ++r) came[r] = group_->came[r].load(std::memory_order_relaxed) > meeting;
    return internal::NamesOfMissing(came);
  }

  Failure FailGone(const std::string& why) const {
    return Fail(ErrorCode::kFailedPrecondition,
                "rank " + std::to_string(share_.rank) + " of " + std::to_string(share_.ranks) + ": " + why);
  }

  // At whether the others have come, before the processor is given away: some microseconds.
  static constexpr size_t kLooks = 400;

  std::shared_ptr<Group> group_;
  RankShare share_;
};

// Returns as many ranks, each for a thread of its own. One that waits longer than `patience` for the others gives all
// of them up.
inline std::vector<ThreadRank> CreateThreadRanks(size_t ranks,
                                                 std::chrono::milliseconds patience = std::chrono::seconds(10)) {
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

#endif  // SKALD_DISTRIBUTED_COMMUNICATORS_THREAD_RANKS_H_
