// SPDX-License-Identifier: Apache-2.0
//
// EngineLoop: a thread that steps an engine for callers of any thread. Each request has an inbox of bounded size that
// its caller empties whenever it likes: who does not read stops its own request, once the inbox is full, and no
// other's.

#ifndef SKALD_ENGINE_ENGINE_LOOP_H_
#define SKALD_ENGINE_ENGINE_LOOP_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/engine/engine.h"
#include "skald/engine/form/request.h"

namespace skald {

struct EngineLoopOptions {
  // Events that wait for their reader before a request pauses; it goes on when half of them are read.
  size_t inbox_events = 256;
  // Steps in a row that may fail, as for want of memory, before all requests end with that error.
  uint32_t failing_steps = 10;
};

class EngineLoop;

// The events of one request, for one reader at a time. Safe beside the loop.
class Inbox {
 public:
  // Waits for the next event; nothing where none came in `timeout`, or where the last one has been read.
  std::optional<Event> Next(std::chrono::milliseconds timeout = std::chrono::hours(24)) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] { return !events_.empty() || open_samples_ == 0; });
    if (events_.empty()) return std::nullopt;
    std::optional<Event> event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

  // Whether the last event of the last sample has been read.
  bool is_finished() const {
    const std::lock_guard lock(mutex_);
    return open_samples_ == 0 && events_.empty();
  }

 private:
  friend class EngineLoop;

  Inbox(uint32_t samples, std::function<void()> on_event) : on_event_(std::move(on_event)), open_samples_(samples) {}

  void Put(Event event) {
    {
      const std::lock_guard lock(mutex_);
      open_samples_ -= event.finish.has_value();
      events_.push_back(std::move(event));
    }
    changed_.notify_all();
    if (on_event_) on_event_();
  }

  // Nothing more will come.
  void Close() {
    {
      const std::lock_guard lock(mutex_);
      open_samples_ = 0;
    }
    changed_.notify_all();
    if (on_event_) on_event_();
  }

  size_t size() const {
    const std::lock_guard lock(mutex_);
    return events_.size();
  }

  const std::function<void()> on_event_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Event> events_;  // guarded by mutex_
  uint32_t open_samples_;     // guarded by mutex_
};

// How a loop ends.
enum class StopMode : uint8_t {
  kFinish,   // when all requests are at their ends
  kCancel,   // at once; requests end as cancelled
  kSuspend,  // at once; EngineLoop::Stop returns what Engine::Resume takes. Inboxes close without a last event
};

// Whether an engine gets on.
struct LoopHealth {
  // Since a step last did something, or since there is work that none did anything of; 0 while there is no work.
  double stalled_seconds = 0.0;
  // Of the last step, where that failed for another reason than want of memory, as where a rank is lost.
  std::optional<Error> failure = {};
};

class EngineLoop {
 public:
  // The engine must outlive the loop, and is the loop's alone until Stop.
  explicit EngineLoop(Engine& engine, const EngineLoopOptions& options = {})
      : engine_(engine), options_(options), thread_([this] { Run(); }) {}
  ~EngineLoop() { (void)Stop(StopMode::kCancel); }
  EngineLoop(const EngineLoop&) = delete;
  EngineLoop& operator=(const EngineLoop&) = delete;

  // A request, and its number in the loop.
  struct Ticket {
    uint64_t number;
    std::shared_ptr<Inbox> inbox;
  };

  // Takes a request. `on_event` is called by the loop's thread whenever something has come into the inbox, so that a
  // reader with many inboxes need not wait at each: it must be quick, and must not call the loop. Errors: those of
  // Engine::Submit; kFailedPrecondition after Stop.
  Result<Ticket> Submit(Request request, std::function<void()> on_event = {}) {
    return NoThrow("EngineLoop::Submit", [&]() -> Result<Ticket> {
      if (auto valid = engine_.Check(request); !valid) return Failure(valid.error());
      std::shared_ptr<Inbox> inbox(new Inbox(request.samples, std::move(on_event)));
      const std::lock_guard lock(mutex_);
      if (stop_) return Fail(ErrorCode::kFailedPrecondition, "the engine's loop was stopped");
      arrivals_.push_back({next_number_, std::move(request), inbox});
      BeginWork();
      changed_.notify_all();
      return Ticket{next_number_++, std::move(inbox)};
    });
  }

  // Ends a request soon; its inbox gets the last events.
  Result<void> Cancel(uint64_t number) {
    return NoThrow("EngineLoop::Cancel", [&]() -> Result<void> {
      const std::lock_guard lock(mutex_);
      cancelled_.push_back(number);
      changed_.notify_all();
      return {};
    });
  }

  // As of the last step.
  EngineStats stats() const {
    const std::lock_guard lock(mutex_);
    return stats_;
  }

  // Answers at once, even while a step does not end.
  LoopHealth health() const {
    const std::chrono::nanoseconds::rep since = working_since_;
    LoopHealth health;
    if (since != kNoWork) health.stalled_seconds = std::max(0.0, static_cast<double>(Now() - since) * 1e-9);
    const std::lock_guard lock(mutex_);
    health.failure = failure_;
    return health;
  }

  // Takes no more requests, ends as `mode` says and returns when the thread has ended; what it returns is empty unless
  // requests were suspended. A second call does nothing.
  Result<std::vector<std::byte>> Stop(StopMode mode) {
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

 private:
  struct Arrival {
    uint64_t number;
    Request request;
    std::shared_ptr<Inbox> inbox;
  };
  // One that the engine works on.
  struct Open {
    uint64_t number;
    std::shared_ptr<Inbox> inbox;
    std::vector<bool> has_ended;  // [samples]
    uint32_t open_samples;
    bool is_paused = false;
  };

  void Run() {
    uint32_t failures = 0;
    for (bool goes_on = true; goes_on;) {
      const auto turn = NoThrow("the engine's loop", [&]() -> Result<void> { return TakeTurn(goes_on); });
      failures = turn ? 0 : failures + 1;
      if (!turn) NoteFailure(turn.error());
      if (failures >= options_.failing_steps) EndAll(turn.error());
    }
  }

  Result<void> TakeTurn(bool& goes_on) {
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
    auto report = engine_.Step();
    if (!report) return Failure(report.error());
    if (report->rows > 0 || !report->events.empty()) working_since_ = Now();
    for (Event& event : report->events) Deliver(std::move(event));
    {
      const std::lock_guard lock(mutex_);
      stats_ = engine_.stats();
      if (report->rows > 0) failure_.reset();
    }
    // Others than the engine hold the pool's memory.
    if (report->rows == 0 && report->events.empty()) Wait();
    return {};
  }

  // Hands what callers asked for to the engine.
  std::optional<StopMode> TakeNews() {
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

  // Requests whose readers have caught up go on.
  void ResumeRead() {
    for (auto& [id, open] : open_) {
      if (!open.is_paused || open.inbox->size() > options_.inbox_events / 2) continue;
      engine_.Pause(id, open.is_paused = false);
    }
  }

  void Deliver(Event event) {
    const auto found = open_.find(event.request);
    if (found == open_.end()) return;  // resumed by someone else, who has no inbox here
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

  static Event LastEvent(RequestId id, uint32_t sample, const Error& error) {
    Event event;
    event.request = id;
    event.sample = sample;
    event.finish = FinishReason::kError;
    event.error = error;
    return event;
  }

  bool EndsNow(StopMode mode) {
    if (mode == StopMode::kSuspend) {
      for (const auto& [id, open] : open_) open.inbox->Close();
      return true;
    }
    if (mode == StopMode::kFinish) return open_.empty();
    for (const auto& [id, open] : open_) engine_.Cancel(id);
    return open_.empty();
  }

  // The engine cannot go on: every reader is told why.
  void EndAll(const Error& error) {
    for (auto& [id, open] : open_) {
      engine_.Cancel(id);
      for (uint32_t sample = 0; sample < open.has_ended.size(); ++sample) {
        if (!open.has_ended[sample]) open.inbox->Put(LastEvent(id, sample, error));
      }
    }
    open_.clear();
    ids_.clear();
  }

  // Until a caller wants something; for those whose readers or whose memory is behind it looks again soon.
  void Wait() {
    std::unique_lock lock(mutex_);
    const auto has_news = [&] { return !arrivals_.empty() || !cancelled_.empty() || (stop_ && open_.empty()); };
    changed_.wait_for(lock, open_.empty() ? std::chrono::milliseconds(1000) : std::chrono::milliseconds(2), has_news);
  }

  static std::chrono::nanoseconds::rep Now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  // There is work, at the latest from now on.
  void BeginWork() {
    auto none = kNoWork;
    working_since_.compare_exchange_strong(none, Now());
  }

  void NoteFailure(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (error.code != ErrorCode::kResourceExhausted) failure_ = error;
  }

  static constexpr std::chrono::nanoseconds::rep kNoWork = std::numeric_limits<std::chrono::nanoseconds::rep>::min();

  Engine& engine_;
  const EngineLoopOptions options_;
  // When a step last did something, while there is work; else kNoWork.
  std::atomic<std::chrono::nanoseconds::rep> working_since_ = kNoWork;
  std::map<RequestId, Open> open_;                    // the thread's own
  std::unordered_map<uint64_t, RequestId> ids_ = {};  // of open_, by their numbers in the loop
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Arrival> arrivals_;  // guarded by mutex_, as what follows
  std::vector<uint64_t> cancelled_;
  std::optional<StopMode> stop_;
  uint64_t next_number_ = 1;
  EngineStats stats_;
  std::optional<Error> failure_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace skald

#endif  // SKALD_ENGINE_ENGINE_LOOP_H_
