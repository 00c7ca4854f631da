// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/running/swapping.h.

#ifndef SKALD_ENGINE_RUNNING_DETAIL_SWAPPING_H_
#define SKALD_ENGINE_RUNNING_DETAIL_SWAPPING_H_

#include "skald/engine/running/swapping.h"

#include <chrono>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/threads/background_queue.h"
#include "skald/engine/answers/answer.h"
#include "skald/engine/requests/request.h"

namespace skald {

SKALD_INLINE Swapping::Swapping(const EngineOptions& options)
    : options_(options), room_(std::make_shared<StagingRoom>(options.swap_bytes)) {
  if (options.swap) space_.emplace(*options.swap, options.identity);
}

SKALD_INLINE Swapping::~Swapping() {
  if (options_.swapper != nullptr) options_.swapper->Withdraw(this);
  if (space_) ForgetDropped();
}

SKALD_INLINE bool Swapping::IsWorthWriting(const Sequence& sequence, const CostModel& cost) const {
  if (!space_) return false;
  if (!cost.is_known()) return true;
  // Written, and read again.
  return 2 * seconds_per_token_ * sequence.cache().size() < cost.Seconds(StepWork().With(0, sequence.cache().size()));
}

SKALD_INLINE void Swapping::WriteDown(Sequence& sequence) noexcept {
  if (!space_ || sequence.cache().size() == 0) return;
  const double begin = options_.clock();
  const bool is_down = options_.swapper != nullptr ? WriteBeside(sequence) : WriteNow(sequence);
  if (!is_down) {
    ++failed_;
    return;
  }
  ++written_;
  const double seconds = options_.clock() - begin;
  seconds_per_token_ += (seconds / sequence.swapped()->tokens - seconds_per_token_) * kLearning;
}

SKALD_INLINE void Swapping::WriteThrough(Sequence& sequence) noexcept {
  if (!space_ || sequence.cache().size() == 0) return;
  ++(WriteNow(sequence) ? written_ : failed_);
}

SKALD_INLINE Result<void> Swapping::BringBack(Sequence& sequence, const std::shared_ptr<BlockPool>& pool,
                                              bool is_alone) {
  if (options_.swapper != nullptr && !FetchBeside(sequence, pool)) return {};
  auto cache = sequence.swap_ticket() != nullptr ? TakeStaged(*sequence.swap_ticket(), pool)
                                                 : space_->Read(*sequence.swapped(), pool, sequence.request().adapter,
                                                                SaltOf(sequence.request()).value_or(""));
  if (!cache && cache.error().code == ErrorCode::kResourceExhausted && !is_alone) return Failure(cache.error());
  Drop(sequence);
  if (!cache) {
    ++failed_;
    return {};
  }
  ++read_;
  sequence.GoOnFrom(std::move(*cache));
  return {};
}

SKALD_INLINE std::optional<SwappedCache> Swapping::TakeWritten(Sequence& sequence) noexcept {
  auto [written, ticket] = sequence.TakeSwapped();
  if (ticket != nullptr) {
    const std::lock_guard lock(ticket->mutex);
    ticket->is_wanted = false;
    written = std::exchange(ticket->written, {});
  }
  return std::move(written);
}

SKALD_INLINE void Swapping::Drop(Sequence& sequence) noexcept {
  std::optional<SwappedCache> written = TakeWritten(sequence);
  if (!written) return;
  options_.swapper != nullptr ? DropBeside(std::move(*written)) : space_->Drop(*written);
}

SKALD_INLINE Result<void> Swapping::Adopt(Sequence& sequence) {
  if (!sequence.swapped()) return {};
  const bool fits = space_ && sequence.swapped()->tokens <= sequence.size();
  auto adopted = fits ? space_->Adopt(sequence.swapped()->chunks) : Result<void>();
  if (!fits || !adopted) (void)sequence.TakeSwapped();
  return adopted;
}

SKALD_INLINE void Swapping::Settle() {
  if (options_.swapper != nullptr && !options_.swapper->WaitUntilDone(std::chrono::minutes(1))) {
    options_.swapper->Withdraw(this);
  }
}

SKALD_INLINE std::optional<SwappedCache> Swapping::Written(const Sequence& sequence) {
  if (sequence.swap_ticket() == nullptr) return sequence.swapped();
  const std::lock_guard lock(sequence.swap_ticket()->mutex);
  return sequence.swap_ticket()->written;
}

SKALD_INLINE void Swapping::Disown(Sequence& sequence) noexcept {
  if (const auto written = TakeWritten(sequence)) space_->Disown(written->chunks);
}

SKALD_INLINE void Swapping::CountIn(EngineStats& stats) const {
  stats.swapped_out = written_;
  stats.swapped_in = read_;
  stats.failed_swaps = failed_;
}

SKALD_INLINE bool Swapping::WriteNow(Sequence& sequence) noexcept {
  return NoThrow("swapping",
                 [&]() -> Result<void> {
                   SKALD_ASSIGN(auto written, space_->Write(sequence.cache(), SaltOf(sequence.request()).value_or("")));
                   sequence.SwapOut(std::move(written));
                   return {};
                 })
      .has_value();
}

SKALD_INLINE bool Swapping::WriteBeside(Sequence& sequence) noexcept {
  return NoThrow("swapping",
                 [&]() -> Result<void> {
                   SKALD_ASSIGN(auto staged, StagedCache::CopyOf(sequence.cache(), room_));
                   auto ticket = std::make_shared<SwapTicket>();
                   ticket->staged.emplace(std::move(staged));
                   const bool is_posted = options_.swapper->Post(
                       this,
                       [this, ticket, tenant = SaltOf(sequence.request()).value_or("")] { Write(*ticket, tenant); });
                   if (!is_posted) return Fail(ErrorCode::kResourceExhausted, "the queue is full");
                   sequence.SwapOut({{}, sequence.cache().size(), {}}, std::move(ticket));
                   return {};
                 })
      .has_value();
}

SKALD_INLINE void Swapping::Write(SwapTicket& ticket, const std::string& tenant) {
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

SKALD_INLINE bool Swapping::FetchBeside(Sequence& sequence, const std::shared_ptr<BlockPool>& pool) {
  if (sequence.swap_ticket() == nullptr) {  // another engine's
    auto made = std::make_shared<SwapTicket>();
    made->stage = Stage::kAtRest;
    made->written = sequence.swapped();
    sequence.SetTicket(std::move(made));
  }
  const std::shared_ptr<SwapTicket> ticket = sequence.swap_ticket();
  const std::lock_guard lock(ticket->mutex);
  if (ticket->stage == Stage::kReading) return false;
  if (ticket->staged || !ticket->written || ticket->was_read) return true;
  const auto read = [this, ticket, pool, adapter = sequence.request().adapter,
                     tenant = SaltOf(sequence.request()).value_or("")] { Read(*ticket, pool, adapter, tenant); };
  if (!options_.swapper->Post(this, read)) return true;
  ticket->stage = Stage::kReading;
  sequence.WaitUntil(options_.clock() + options_.store_seconds);
  return false;
}

SKALD_INLINE void Swapping::Read(SwapTicket& ticket, const std::shared_ptr<BlockPool>& pool,
                                 const Sha256Digest& adapter, const std::string& tenant) {
  std::optional<SwappedCache> wanted;
  {
    const std::lock_guard lock(ticket.mutex);
    if (ticket.is_wanted) wanted = ticket.written;
  }
  const auto staging = room_->MakePool(*pool);
  auto cache = wanted && staging ? space_->Read(*wanted, *staging, adapter, tenant)
                                 : Result<KVCache>(Fail(ErrorCode::kNotFound, "no request waits for it"));
  const std::lock_guard lock(ticket.mutex);
  if (cache) ticket.staged.emplace(std::move(*cache), room_);
  ticket.was_read = true;
  ticket.stage = Stage::kAtRest;
}

SKALD_INLINE Result<KVCache> Swapping::TakeStaged(SwapTicket& ticket, const std::shared_ptr<BlockPool>& pool) {
  const std::lock_guard lock(ticket.mutex);
  if (!ticket.staged) return Fail(ErrorCode::kNotFound, "it is not in the store");
  return ticket.staged->CopyTo(pool);
}

SKALD_INLINE void Swapping::DropBeside(SwappedCache written) noexcept {
  const auto noted = NoThrow("swapping", [&]() -> Result<void> {
    const std::lock_guard lock(mutex_);
    dropped_.push_back(std::move(written));
    return {};
  });
  // If the queue is full, the next task does it.
  if (noted) (void)options_.swapper->Post(this, [this] { ForgetDropped(); });
}

SKALD_INLINE void Swapping::ForgetDropped() noexcept {
  std::vector<SwappedCache> dropped;
  {
    const std::lock_guard lock(mutex_);
    dropped.swap(dropped_);
  }
  for (const SwappedCache& written : dropped) space_->Drop(written);
}

}  // namespace skald

#endif  // SKALD_ENGINE_RUNNING_DETAIL_SWAPPING_H_
