// SPDX-License-Identifier: Apache-2.0
//
// Swapping: which caches are written to a store when their memory is needed, and how they come back. With a queue of
// another thread no step waits for the store: a cache is copied to memory of its own, its blocks are free, and it is
// written from there; on its way back it comes the same way, while its request sits out steps.

#ifndef SKALD_ENGINE_RUNNING_SWAPPING_H_
#define SKALD_ENGINE_RUNNING_SWAPPING_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/engine/plan/cost_model.h"
#include "skald/engine/requests/engine_options.h"
#include "skald/engine/running/sequence.h"
#include "skald/engine/suspension/swap_space.h"
#include "skald/engine/suspension/swap_ticket.h"
#include "skald/store/snapshots/staged_cache.h"

namespace skald {

class Swapping {
 public:
  /// `options` must outlive this.
  explicit Swapping(const EngineOptions& options);
  /// Waits for the store that is being asked, and has it forget what is not needed any more.
  ~Swapping();
  Swapping(const Swapping&) = delete;
  Swapping& operator=(const Swapping&) = delete;

  /// Whether that is quicker than computing it again, by what both took so far.
  bool IsWorthWriting(const Sequence& sequence, const CostModel& cost) const;

  /// Has its cache written down, which stays; where that fails, it will be computed again.
  void WriteDown(Sequence& sequence) noexcept;

  /// The same, and waits for the store, so that it is there for another engine. Only after Settle.
  void WriteThrough(Sequence& sequence) noexcept;

  /// Its cache is there again when this returns, or it is not swapped any more (what cannot be read is computed again),
  /// or it is being read beside the engine, which is waited for, for a time. Error: kResourceExhausted where it finds
  /// no room; unless it `is_alone`, when it is computed again.
  Result<void> BringBack(Sequence& sequence, const std::shared_ptr<BlockPool>& pool, bool is_alone);

  /// It need not be written down any more.
  void Drop(Sequence& sequence) noexcept;

  /// Takes over what another engine wrote down, if there is a store to read it from. Error: kResourceExhausted; then it
  /// is not written down.
  Result<void> Adopt(Sequence& sequence);

  /// Waits, a minute at most, until what is being written is in the store or not, so that Written can tell.
  void Settle();

  /// The cache that another engine could read; nothing if it is not in the store.
  static std::optional<SwappedCache> Written(const Sequence& sequence);

  /// Leaves what is written down to another engine.
  void Disown(Sequence& sequence) noexcept;

  /// Sets swapped_out, swapped_in and failed_swaps of `stats`. Any thread may call it.
  void CountIn(EngineStats& stats) const;

 private:
  using Stage = SwapTicket::Stage;
  static constexpr double kLearning = 0.2;

  /// It is written down no longer, nor wanted where that is under way. Returns what the store holds of it.
  static std::optional<SwappedCache> TakeWritten(Sequence& sequence) noexcept;

  bool WriteNow(Sequence& sequence) noexcept;

  /// False without memory to stage it in, or room in the queue.
  bool WriteBeside(Sequence& sequence) noexcept;

  /// On the queue's thread. A cache that the store does not take stays staged.
  void Write(SwapTicket& ticket, const std::string& tenant);

  /// True where it is known what comes of reading it: it is staged, or cannot be read. Else a thread reads it.
  bool FetchBeside(Sequence& sequence, const std::shared_ptr<BlockPool>& pool);

  /// On the queue's thread.
  void Read(SwapTicket& ticket, const std::shared_ptr<BlockPool>& pool, const Sha256Digest& adapter,
            const std::string& tenant);

  static Result<KVCache> TakeStaged(SwapTicket& ticket, const std::shared_ptr<BlockPool>& pool);

  void DropBeside(SwappedCache written) noexcept;

  /// On the queue's thread, or where none of its tasks runs.
  void ForgetDropped() noexcept;

  const EngineOptions& options_;
  std::optional<SwapSpace> space_;
  const std::shared_ptr<StagingRoom> room_;
  double seconds_per_token_ = 0.0;  ///< of what a step takes for writing
  std::atomic<uint64_t> written_ = 0, read_ = 0, failed_ = 0;
  std::mutex mutex_;
  std::vector<SwappedCache> dropped_;  ///< guarded by mutex_; what the store still holds
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/running/detail/swapping.h"
#endif

#endif  // SKALD_ENGINE_RUNNING_SWAPPING_H_
