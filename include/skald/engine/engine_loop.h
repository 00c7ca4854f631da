// SPDX-License-Identifier: Apache-2.0
//
// EngineLoop: a thread that steps an engine for callers of any thread. Each request has an inbox of bounded size that
// its caller empties whenever it likes. A caller that does not read pauses its own request once the inbox is full, and
// no other.

#ifndef SKALD_ENGINE_ENGINE_LOOP_H_
#define SKALD_ENGINE_ENGINE_LOOP_H_

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

#include "skald/base/result.h"
#include "skald/engine/engine.h"
#include "skald/engine/requests/engine_options.h"
#include "skald/engine/requests/request.h"

namespace skald {

/// Settings of an EngineLoop.
struct EngineLoopOptions {
  /// Events that wait for their reader before a request pauses; it goes on when half of them are read.
  size_t inbox_events = 256;
  /// Steps in a row that may fail, as for want of memory, before all requests end with that error.
  uint32_t failing_steps = 10;
};

class EngineLoop;

/// The events of one request, for one reader at a time. Safe beside the loop.
class Inbox {
 public:
  /// Waits for the next event; nothing where none came in `timeout`, or where the last one has been read.
  std::optional<Event> Next(std::chrono::milliseconds timeout = std::chrono::hours(24));

  /// Whether the last event of the last sample has been read.
  bool is_finished() const;

 private:
  friend class EngineLoop;

  Inbox(uint32_t samples, std::function<void()> on_event) : on_event_(std::move(on_event)), open_samples_(samples) {}

  void Put(Event event);

  /// Nothing more will come.
  void Close();

  size_t size() const;

  const std::function<void()> on_event_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Event> events_;  ///< guarded by mutex_
  uint32_t open_samples_;     ///< guarded by mutex_
};

/// How a loop ends.
enum class StopMode : uint8_t {
  kFinish,   ///< when all requests are at their ends
  kCancel,   ///< at once; requests end as cancelled
  kSuspend,  ///< at once; EngineLoop::Stop returns what Engine::Resume takes. Inboxes close without a last event
};

/// Whether an engine gets on.
struct LoopHealth {
  /// Since a step last did something, or since there is work that none did anything of; 0 while there is no work.
  double stalled_seconds = 0.0;
  /// Of the last step, where that failed for another reason than want of memory, as where a rank is lost.
  std::optional<Error> failure = {};
};

class EngineLoop {
 public:
  /// The engine must outlive the loop, and is the loop's alone until Stop.
  explicit EngineLoop(Engine& engine, const EngineLoopOptions& options = {})
      : engine_(engine), options_(options), thread_([this] { Run(); }) {}
  ~EngineLoop() { (void)Stop(StopMode::kCancel); }
  EngineLoop(const EngineLoop&) = delete;
  EngineLoop& operator=(const EngineLoop&) = delete;

  /// A request, and its number in the loop.
  struct Ticket {
    uint64_t number;               ///< for Cancel; the loop never uses one twice
    std::shared_ptr<Inbox> inbox;  ///< shared by the caller and the loop; never null
  };

  /// Takes a request. `on_event` is called by the loop's thread whenever something has come into the inbox, so that a
  /// reader with many inboxes need not wait at each: it must be quick, and must not call the loop. Errors: those of
  /// Engine::Submit; kFailedPrecondition after Stop.
  Result<Ticket> Submit(Request request, std::function<void()> on_event = {});

  /// Ends a request soon; its inbox gets the last events.
  Result<void> Cancel(uint64_t number);

  /// As of the last step.
  EngineStats stats() const;

  /// Answers at once, even while a step does not end.
  LoopHealth health() const;

  /// Takes no more requests, ends as `mode` says and returns when the thread has ended; what it returns is empty unless
  /// requests were suspended. A second call does nothing.
  Result<std::vector<std::byte>> Stop(StopMode mode);

  /// Stops as kFinish does, and what is not at its end after `grace` as kCancel does.
  void Finish(std::chrono::milliseconds grace);

 private:
  struct Arrival {
    uint64_t number;
    Request request;
    std::shared_ptr<Inbox> inbox;
  };
  /// One that the engine works on.
  struct Open {
    uint64_t number;
    std::shared_ptr<Inbox> inbox;
    std::vector<bool> has_ended;  ///< [samples]
    uint32_t open_samples;
    bool is_paused = false;
  };

  void Run();

  Result<void> TakeTurn(bool& goes_on);

  /// Hands what callers asked for to the engine.
  std::optional<StopMode> TakeNews();

  /// Requests whose readers have caught up go on.
  void ResumeRead();

  void Deliver(Event event);

  static Event LastEvent(RequestId id, uint32_t sample, const Error& error);

  bool EndsNow(StopMode mode);

  /// The engine cannot go on: every reader is told why.
  void EndAll(const Error& error);

  /// Until a caller wants something; if a reader or memory is late, it looks again soon.
  void Wait();

  static std::chrono::nanoseconds::rep Now();

  /// There is work, at the latest from now on.
  void BeginWork();

  void NoteFailure(const Error& error);

  static constexpr std::chrono::nanoseconds::rep kNoWork = std::numeric_limits<std::chrono::nanoseconds::rep>::min();

  Engine& engine_;
  const EngineLoopOptions options_;
  /// When a step last did something, while there is work; else kNoWork.
  std::atomic<std::chrono::nanoseconds::rep> working_since_ = kNoWork;
  std::map<RequestId, Open> open_;                    ///< the thread's own
  std::unordered_map<uint64_t, RequestId> ids_ = {};  ///< of open_, by their numbers in the loop
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Arrival> arrivals_;  ///< guarded by mutex_, as what follows
  std::vector<uint64_t> cancelled_;
  std::optional<StopMode> stop_;
  bool has_ended_ = false;  ///< the thread does nothing more
  uint64_t next_number_ = 1;
  EngineStats stats_;
  std::optional<Error> failure_;
  std::thread thread_;  ///< last: it uses all of the above
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/detail/engine_loop.h"
#endif

#endif  // SKALD_ENGINE_ENGINE_LOOP_H_
