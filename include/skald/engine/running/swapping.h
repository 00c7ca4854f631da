// SPDX-License-Identifier: Apache-2.0
//
// Swapping: which caches are written to a store when their memory is needed, and how they come back. With a queue of
// another thread no step waits for the store: a cache is copied to memory of its own, its blocks are free, and it is
// written from there; on its way back it comes the same way, while its request sits out steps.

#ifndef SKALD_ENGINE_RUNNING_SWAPPING_H_
#define SKALD_ENGINE_RUNNING_SWAPPING_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/base/threads/background_queue.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/engine/form/engine_options.h"
#include "skald/engine/plan/cost_model.h"
#include "skald/engine/running/sequence.h"
#include "skald/engine/running/swap_space.h"
#include "skald/engine/running/swap_ticket.h"
#include "skald/store/snapshots/staged_cache.h"

namespace skald {

class Swapping {
 public:
  // `options` must outlive this.
  explicit Swapping(const EngineOptions& options)
      : options_(options), room_(std::make_shared<StagingRoom>(options.swap_bytes)) {
    if (options.swap) space_.emplace(*options.swap, options.identity);
  }
  // Waits for the store that is being asked, and has it forget what nobody needs.
  ~Swapping() {
    if (options_.swapper != nullptr) options_.swapper->Withdraw(this);
    if (space_) ForgetDropped();
  }
  Swapping(const Swapping&) = delete;
  Swapping& operator=(const Swapping&) = delete;

  // Whether that is quicker than computing it again, by what both took so far.
  bool IsWorthWriting(const Sequence& sequence, const CostModel& cost) const {
    if (!space_) return false;
    if (!cost.is_known()) return true;
    // Written, and read again.
    return 2 * seconds_per_token_ * sequence.cache->size() < cost.Seconds(StepWork().With(0, sequence.cache->size()));
  }

  // Has its cache written down, which stays; where that fails, it will be computed again.
  void WriteDown(Sequence& sequence) noexcept {
    if (!space_ || sequence.cache->size() == 0) return;
    const double begin = options_.clock();
    const bool is_down = options_.swapper != nullptr ? WriteBeside(sequence) : WriteNow(sequence);
    if (!is_down) {
      ++failed_;
      return;
    }
    ++written_;
    const double seconds = options_.clock() - begin;
    seconds_per_token_ += (seconds / sequence.swapped->tokens - seconds_per_token_) * kLearning;
  }

  // The same, and waits for the store, so that it is there for another engine. Only after Settle.
  void WriteThrough(Sequence& sequence) noexcept {
    if (!space_ || sequence.cache->size() == 0) return;
    ++(WriteNow(sequence) ? written_ : failed_);
  }

  // Its cache is there again when this returns, or it is not swapped any more (what cannot be read is computed again),
  // or it is being read beside the engine, which is waited for, for a time. Error: kResourceExhausted where it finds no
  // room; unless it `is_alone`, when it is computed again.
  Result<void> BringBack(Sequence& sequence, const std::shared_ptr<BlockPool>& pool, bool is_alone) {
    if (options_.swapper != nullptr && !FetchBeside(sequence, pool)) return {};
    auto cache = sequence.swap_ticket != nullptr ? TakeStaged(*sequence.swap_ticket, pool)
                                                 : space_->Read(*sequence.swapped, pool, sequence.request->adapter,
                                                                SaltOf(*sequence.request).value_or(""));
    if (!cache && cache.error().code == ErrorCode::kResourceExhausted && !is_alone) return Failure(cache.error());
    Drop(sequence);
    if (!cache) {
      ++failed_;
      return {};
    }
    ++read_;
    sequence.cache = std::move(*cache);
    return {};
  }

  // It need not be written down any more.
  void Drop(Sequence& sequence) noexcept {
    if (!sequence.swapped) return;
    std::optional<SwappedCache> written = std::exchange(sequence.swapped, {});
    if (const auto ticket = std::exchange(sequence.swap_ticket, {})) {
      const std::lock_guard lock(ticket->mutex);
      ticket->is_wanted = false;
      written = std::exchange(ticket->written, {});
    }
    if (!written) return;
    options_.swapper != nullptr ? DropBeside(std::move(*written)) : space_->Drop(*written);
  }

  // Takes over what another engine wrote down, if there is a store to read it from. Error: kResourceExhausted; then it
  // is not written down.
  Result<void> Adopt(Sequence& sequence) {
    if (!sequence.swapped) return {};
    const bool fits = space_ && sequence.swapped->tokens <= sequence.answer.size();
    auto adopted = fits ? space_->Adopt(sequence.swapped->chunks) : Result<void>();
    if (!fits || !adopted) sequence.swapped.reset();
    return adopted;
  }

  // Waits, a minute at most, until what is being written is in the store or not, so that Written can tell.
  void Settle() {
    if (options_.swapper != nullptr && !options_.swapper->WaitUntilDone(std::chrono::minutes(1))) {
      options_.swapper->Withdraw(this);
    }
  }

  // What another engine could read; nothing where it is not in the store.
  static std::optional<SwappedCache> Written(const Sequence& sequence) {
    if (sequence.swap_ticket == nullptr) return sequence.swapped;
    const std::lock_guard lock(sequence.swap_ticket->mutex);
    return sequence.swap_ticket->written;
  }

  // Leaves what is written down to another engine.
  void Disown(Sequence& sequence) noexcept {
    const auto ticket = std::exchange(sequence.swap_ticket, {});
    std::optional<SwappedCache> written = std::exchange(sequence.swapped, {});
    if (ticket != nullptr) {
      const std::lock_guard lock(ticket->mutex);
      ticket->is_wanted = false;
      written = std::exchange(ticket->written, {});
    }
    if (written) space_->Disown(written->chunks);
  }

  void CountIn(EngineStats& stats) const {
    stats.swapped_out = written_;
    stats.swapped_in = read_;
    stats.failed_swaps = failed_;
  }

 private:
  using Stage = SwapTicket::Stage;
  static constexpr double kLearning = 0.2;

  bool WriteNow(Sequence& sequence) noexcept {
    return NoThrow("swapping",
                   [&]() -> Result<void> {
                     auto written = space_->Write(*sequence.cache, SaltOf(*sequence.request).value_or(""));
                     if (!written) return Failure(written.error());
                     sequence.swapped = std::move(*written);
                     return {};
                   })
        .has_value();
  }

  // False where there is no memory to stage it in, or no room in the queue.
  bool WriteBeside(Sequence& sequence) noexcept {
    return NoThrow("swapping",
                   [&]() -> Result<void> {
                     auto staged = StagedCache::CopyOf(*sequence.cache, room_);
                     if (!staged) return Failure(staged.error());
                     auto ticket = std::make_shared<SwapTicket>();
                     ticket->staged.emplace(std::move(*staged));
                     const bool is_posted = options_.swapper->Post(
                         this,
                         [this, ticket, tenant = SaltOf(*sequence.request).value_or("")] { Write(*ticket, tenant); });
                     if (!is_posted) return Fail(ErrorCode::kResourceExhausted, "the queue is full");
                     sequence.swapped = SwappedCache{{}, sequence.cache->size(), {}};
                     sequence.swap_ticket = std::move(ticket);
                     return {};
                   })
        .has_value();
  }

  // On the queue's thread. What the store does not take stays staged.
  void Write(SwapTicket& ticket, const std::string& tenant) {
    ForgetDropped();
    {
      const std::lock_guard lock(ticket.mutex);
      if (!ticket.is_wanted) return;
    }
    auto written = space_->Write(ticket.staged->cache(), tenant);
    {
      const std::lock_guard lock(ticket.mutex);
      ticket.stage = Stage::kAtRest;
      failed_ += !written;
      if (!written) return;
      if (ticket.is_wanted) {
        ticket.written = std::move(*written);
        ticket.staged.reset();
        return;
      }
    }
    space_->Drop(*written);
  }

  // True where it is known what comes of reading it: it is staged, or cannot be read. Else somebody reads it.
  bool FetchBeside(Sequence& sequence, const std::shared_ptr<BlockPool>& pool) {
    if (sequence.swap_ticket == nullptr) {  // another engine's
      sequence.swap_ticket = std::make_shared<SwapTicket>();
      sequence.swap_ticket->stage = Stage::kAtRest;
      sequence.swap_ticket->written = sequence.swapped;
    }
    const std::shared_ptr<SwapTicket>& ticket = sequence.swap_ticket;
    const std::lock_guard lock(ticket->mutex);
    if (ticket->stage == Stage::kReading) return false;
    if (ticket->staged || !ticket->written || ticket->was_read) return true;
    const auto read = [this, ticket, pool, adapter = sequence.request->adapter,
                       tenant = SaltOf(*sequence.request).value_or("")] { Read(*ticket, pool, adapter, tenant); };
    if (!options_.swapper->Post(this, read)) return true;
    ticket->stage = Stage::kReading;
    sequence.wait_until = options_.clock() + options_.store_seconds;
    return false;
  }

  // On the queue's thread.
  void Read(SwapTicket& ticket, const std::shared_ptr<BlockPool>& pool, const Sha256Digest& adapter,
            const std::string& tenant) {
    std::optional<SwappedCache> wanted;
    {
      const std::lock_guard lock(ticket.mutex);
      if (ticket.is_wanted) wanted = ticket.written;
    }
    const auto staging = room_->MakePool(*pool);
    auto cache = wanted && staging ? space_->Read(*wanted, *staging, adapter, tenant)
                                   : Result<KVCache>(Fail(ErrorCode::kNotFound, "nobody waits for it"));
    const std::lock_guard lock(ticket.mutex);
    if (cache) ticket.staged.emplace(std::move(*cache), room_);
    ticket.was_read = true;
    ticket.stage = Stage::kAtRest;
  }

  static Result<KVCache> TakeStaged(SwapTicket& ticket, const std::shared_ptr<BlockPool>& pool) {
    const std::lock_guard lock(ticket.mutex);
    if (!ticket.staged) return Fail(ErrorCode::kNotFound, "it is not in the store");
    return ticket.staged->CopyTo(pool);
  }

  void DropBeside(SwappedCache written) noexcept {
    const auto noted = NoThrow("swapping", [&]() -> Result<void> {
      const std::lock_guard lock(mutex_);
      dropped_.push_back(std::move(written));
      return {};
    });
    // Where the queue is full, whoever comes next does it.
    if (noted) (void)options_.swapper->Post(this, [this] { ForgetDropped(); });
  }

  // On the queue's thread, or where none of its tasks runs.
  void ForgetDropped() noexcept {
    std::vector<SwappedCache> dropped;
    {
      const std::lock_guard lock(mutex_);
      dropped.swap(dropped_);
    }
    for (const SwappedCache& written : dropped) space_->Drop(written);
  }

  const EngineOptions& options_;
  std::optional<SwapSpace> space_;
  const std::shared_ptr<StagingRoom> room_;
  double seconds_per_token_ = 0.0;  // of what a step takes for writing
  std::atomic<uint64_t> written_ = 0, read_ = 0, failed_ = 0;
  std::mutex mutex_;
  std::vector<SwappedCache> dropped_;  // guarded by mutex_; what the store still holds
};

}  // namespace skald

#endif  // SKALD_ENGINE_RUNNING_SWAPPING_H_
