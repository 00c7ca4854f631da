// SPDX-License-Identifier: Apache-2.0
//
// ThreadRanks: ranks that are threads of one process: for tests, and for machines whose threads had better each keep to
// the memory beside them.

#ifndef SKALD_DISTRIBUTED_COMMUNICATORS_THREAD_RANKS_H_
#define SKALD_DISTRIBUTED_COMMUNICATORS_THREAD_RANKS_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/ranks/rank_share.h"
#include "skald/base/result.h"

namespace skald {

/// One rank's end, for one thread. Made by CreateThreadRanks.
class ThreadRank {
 public:
  RankShare share() const { return share_; }

  Result<void> AllGather(std::span<std::byte> all, std::span<const size_t> begins);

  Result<void> Broadcast(std::vector<std::byte>& bytes);

  Result<void> Wait() { return Meet(/*has_patience=*/false); }

  /// Makes every call of every rank fail from now on: what a process does by ending.
  void Leave() noexcept;

 private:
  friend std::vector<ThreadRank> CreateThreadRanks(size_t ranks, std::chrono::milliseconds patience);

  /// The state that the ranks share. `parts` and `broadcast` are written before one meeting and read before the next.
  struct Group {
    std::vector<const std::byte*> parts;  ///< [ranks]
    const std::vector<std::byte>* broadcast = nullptr;
    std::chrono::milliseconds patience;
    std::atomic<size_t> arrived{0};
    std::atomic<size_t> meetings{0};
    std::atomic<bool> is_broken{false};
    std::vector<std::atomic<size_t>> came;  ///< [ranks]: how many meetings each has come to
    std::vector<bool> left;                 ///< [ranks]; guarded by mutex
    std::mutex mutex;                       ///< of `changed`, which wakes ranks that have polled in vain
    std::condition_variable changed;
  };

  ThreadRank(std::shared_ptr<Group> group, const RankShare& share) : group_(std::move(group)), share_(share) {}

  /// With the group's mutex held.
  void Break() noexcept;

  /// Returns when all ranks have come; with patience, that ends some time.
  Result<void> Meet(bool has_patience = true);

  /// Those that left, or else those that have not come to this meeting. With the group's mutex held.
  std::string WhoIsMissing(size_t meeting) const;

  Failure FailGone(const std::string& why) const;

  /// At whether the others have come, before the processor is given away: some microseconds.
  static constexpr size_t kLooks = 400;

  std::shared_ptr<Group> group_;
  RankShare share_;
};

/// Returns as many ranks, each for a thread of its own. One that waits longer than `patience` for the others gives all
/// of them up.
std::vector<ThreadRank> CreateThreadRanks(size_t ranks, std::chrono::milliseconds patience = std::chrono::seconds(10));

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/distributed/communicators/detail/thread_ranks.h"
#endif

#endif  // SKALD_DISTRIBUTED_COMMUNICATORS_THREAD_RANKS_H_
