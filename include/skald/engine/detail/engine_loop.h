// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/engine_loop.h.

#ifndef SKALD_ENGINE_DETAIL_ENGINE_LOOP_H_
#define SKALD_ENGINE_DETAIL_ENGINE_LOOP_H_

#include "skald/engine/engine_loop.h"

#include <algorithm>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE std::optional<Event> Inbox::Next(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout, [&] { return !events_.empty() || open_samples_ == 0; });
  if (events_.empty()) return std::nullopt;
  std::optional<Event> event = std::move(events_.front());
  events_.pop_front();
  return event;
}

SKALD_INLINE bool Inbox::is_finished() const {
  const std::lock_guard lock(mutex_);
  return open_samples_ == 0 && events_.empty();
}

SKALD_INLINE void Inbox::Put(Event event) {
  {
    const std::lock_guard lock(mutex_);
    open_samples_ -= event.finish.has_value();
    events_.push_back(std::move(event));
  }
  changed_.notify_all();
  if (on_event_) on_event_();
}

SKALD_INLINE void Inbox::Close() {
  {
    const std::lock_guard lock(mutex_);
    open_samples_ = 0;
  }
  changed_.notify_all();
  if (on_event_) on_event_();
}

SKALD_INLINE size_t Inbox::size() const {
  const std::lock_guard lock(mutex_);
  return events_.size();
}

SKALD_INLINE Result<EngineLoop::Ticket> EngineLoop::Submit(Request request, std::function<void()> on_event) {
  return NoThrow("EngineLoop::Submit", [&]() -> Result<Ticket> {
    SKALD_TRY(engine_.Check(request));
    std::shared_ptr<Inbox> inbox(new Inbox(request.samples, std::move(on_event)));
    const std::lock_guard lock(mutex_);
    if (stop_) return Fail(ErrorCode::kFailedPrecondition, "the engine's loop was stopped");
    arrivals_.push_back({next_number_, std::move(request), inbox});
    BeginWork();
    changed_.notify_all();
    return Ticket{next_number_++, std::move(inbox)};
  });
}

SKALD_INLINE Result<void> EngineLoop::Cancel(uint64_t number) {
  return NoThrow("EngineLoop::Cancel", [&]() -> Result<void> {
    const std::lock_guard lock(mutex_);
    cancelled_.push_back(number);
    changed_.notify_all();
    return {};
  });
}

SKALD_INLINE EngineStats EngineLoop::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

SKALD_INLINE LoopHealth EngineLoop::health() const {
  const std::chrono::nanoseconds::rep since = working_since_;
  LoopHealth health;
  if (since != kNoWork) health.stalled_seconds = std::max(0.0, static_cast<double>(Now() - since) * 1e-9);
  const std::lock_guard lock(mutex_);
  health.failure = failure_;
  return health;
}

SKALD_INLINE Result<std::vector<std::byte>> EngineLoop::Stop(StopMode mode) {
  return NoThrow("EngineLoop::Stop", [&]() -> Result<std::vector<std::byte>> {
    {
      const std::lock_guard lock(mutex_);
      if (!stop_) stop_ = mode;
      changed_.notify_all();
    }
    if (!thread_.joinable()) return std::vector<std::byte>();
    thread_.join();
    return mode == StopMode::kSuspend ? engine_.Suspend() : Result<std::vector<std::byte>>();
  });
}

SKALD_INLINE void EngineLoop::Finish(std::chrono::milliseconds grace) {
  {
    std::unique_lock lock(mutex_);
    if (!stop_) stop_ = StopMode::kFinish;
    changed_.notify_all();
    const bool is_late = !changed_.wait_for(lock, grace, [&] { return has_ended_; });
    if (is_late && stop_ == StopMode::kFinish) stop_ = StopMode::kCancel;
  }
  (void)Stop(StopMode::kCancel);
}

SKALD_INLINE void EngineLoop::Run() {
  uint32_t failures = 0;
  for (bool goes_on = true; goes_on;) {
    const auto turn = NoThrow("the engine's loop", [&]() -> Result<void> { return TakeTurn(goes_on); });
    failures = turn ? 0 : failures + 1;
    if (!turn) NoteFailure(turn.error());
    if (failures >= options_.failing_steps) EndAll(turn.error());
  }
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  changed_.notify_all();
}

SKALD_INLINE Result<void> EngineLoop::TakeTurn(bool& goes_on) {
  const std::optional<StopMode> stop = TakeNews();
  ResumeRead();
  if (stop && EndsNow(*stop)) {
    goes_on = false;
    return {};
  }
  if (!engine_.has_work()) {
    working_since_ = kNoWork;
    Wait();
    return {};
  }
  BeginWork();
  SKALD_ASSIGN(auto report, engine_.Step());
  if (report.rows > 0 || !report.events.empty()) working_since_ = Now();
  for (Event& event : report.events) Deliver(std::move(event));
  {
    const std::lock_guard lock(mutex_);
    stats_ = engine_.stats();
    if (report.rows > 0) failure_.reset();
  }
  // Others than the engine hold the pool's memory.
  if (report.rows == 0 && report.events.empty()) Wait();
  return {};
}

SKALD_INLINE std::optional<StopMode> EngineLoop::TakeNews() {
  std::vector<Arrival> arrivals;
  std::vector<uint64_t> cancelled;
  std::optional<StopMode> stop;
  {
    const std::lock_guard lock(mutex_);
    arrivals.swap(arrivals_);
    cancelled.swap(cancelled_);
    stop = stop_;
  }
  for (Arrival& arrival : arrivals) {
    const uint32_t samples = arrival.request.samples;
    const auto id = engine_.Submit(std::move(arrival.request));
    if (id) {
      open_[*id] = {arrival.number, std::move(arrival.inbox), std::vector<bool>(samples), samples};
      ids_[arrival.number] = *id;
    } else {
      for (uint32_t sample = 0; sample < samples; ++sample) arrival.inbox->Put(LastEvent(0, sample, id.error()));
    }
  }
  for (const uint64_t number : cancelled) {
    if (const auto found = ids_.find(number); found != ids_.end()) engine_.Cancel(found->second);
  }
  return stop;
}

SKALD_INLINE void EngineLoop::ResumeRead() {
  for (auto& [id, open] : open_) {
    if (!open.is_paused || open.inbox->size() > options_.inbox_events / 2) continue;
    engine_.Pause(id, open.is_paused = false);
  }
}

SKALD_INLINE void EngineLoop::Deliver(Event event) {
  const auto found = open_.find(event.request);
  if (found == open_.end()) return;  // it was resumed by other code, and has no inbox here
  Open& open = found->second;
  if (event.finish && !open.has_ended[event.sample]) {
    open.has_ended[event.sample] = true;
    --open.open_samples;
  }
  open.inbox->Put(std::move(event));
  if (open.open_samples == 0) {
    ids_.erase(open.number);
    open_.erase(found);
  } else if (!open.is_paused && open.inbox->size() >= options_.inbox_events) {
    engine_.Pause(found->first, open.is_paused = true);
  }
}

SKALD_INLINE Event EngineLoop::LastEvent(RequestId id, uint32_t sample, const Error& error) {
  Event event;
  event.request = id;
  event.sample = sample;
  event.finish = FinishReason::kError;
  event.error = error;
  return event;
}

SKALD_INLINE bool EngineLoop::EndsNow(StopMode mode) {
  if (mode == StopMode::kSuspend) {
    for (const auto& [id, open] : open_) open.inbox->Close();
    return true;
  }
  if (mode == StopMode::kFinish) return open_.empty();
  for (const auto& [id, open] : open_) engine_.Cancel(id);
  return open_.empty();
}

SKALD_INLINE void EngineLoop::EndAll(const Error& error) {
  for (auto& [id, open] : open_) {
    engine_.Cancel(id);
    for (uint32_t sample = 0; sample < open.has_ended.size(); ++sample) {
      if (!open.has_ended[sample]) open.inbox->Put(LastEvent(id, sample, error));
    }
  }
  open_.clear();
  ids_.clear();
}

SKALD_INLINE void EngineLoop::Wait() {
  std::unique_lock lock(mutex_);
  const auto has_news = [&] { return !arrivals_.empty() || !cancelled_.empty() || (stop_ && open_.empty()); };
  changed_.wait_for(lock, open_.empty() ? std::chrono::milliseconds(1000) : std::chrono::milliseconds(2), has_news);
}

SKALD_INLINE std::chrono::nanoseconds::rep EngineLoop::Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

SKALD_INLINE void EngineLoop::BeginWork() {
  auto none = kNoWork;
  working_since_.compare_exchange_strong(none, Now());
}

SKALD_INLINE void EngineLoop::NoteFailure(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (error.code != ErrorCode::kResourceExhausted) failure_ = error;
}

}  // namespace skald

#endif  // SKALD_ENGINE_DETAIL_ENGINE_LOOP_H_
