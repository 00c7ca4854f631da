// SPDX-License-Identifier: Apache-2.0
//
// Sequences: all sequences that an engine works on. It decides which of them gets a cache, from memory or from a store,
// which share a beginning, and which give memory away. It knows no model: what a step computes is the engine's.

#ifndef SKALD_ENGINE_RUNNING_SEQUENCES_H_
#define SKALD_ENGINE_RUNNING_SEQUENCES_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/engine/plan/cost_model.h"
#include "skald/engine/plan/scheduler.h"
#include "skald/engine/plan/tenants.h"
#include "skald/engine/requests/engine_options.h"
#include "skald/engine/requests/request.h"
#include "skald/engine/running/memory_holders.h"
#include "skald/engine/running/prompt_ends.h"
#include "skald/engine/running/sequence.h"
#include "skald/engine/running/sequence_list.h"
#include "skald/engine/running/sequence_view.h"
#include "skald/engine/running/swapping.h"
#include "skald/engine/suspension/suspended.h"
#include "skald/sampling/sampler.h"

namespace skald {

/// The facts that a schedule is made from.
struct Candidates {
  std::vector<Sequence*> sequences = {};  ///< all that are not finished
  std::vector<SequenceView> views = {};   ///< of each of them
  uint64_t free_bytes = 0;                ///< of the pool, with what yields to tokens: kept prompts, resume points
  uint64_t step = 0;                      ///< steps so far
  size_t left_lately = 0;                 ///< Tenants::LeftLately, if the policy divides steps among tenants
};

/// The result of a schedule before anything of it is computed.
struct Admitted {
  bool has_waiting = false;           ///< one waits now for another sequence, or for a store
  std::optional<Error> no_room = {};  ///< why another waits on
};

/// Rows of one sequence that were computed.
struct ComputedRows {
  Sequence* sequence;                               ///< not null
  std::vector<std::span<const float>> logits = {};  ///< to draw from, each [vocab_size]; none where nothing is drawn
  std::span<const int32_t> drafts = {};             ///< one fewer than logits
};

class Sequences {
 public:
  /// All that is referred to must outlive this. `cost` says how long computing again would take.
  Sequences(std::shared_ptr<BlockPool> pool, const EngineOptions& options, const CostModel& cost)
      : pool_(std::move(pool)), options_(options), cost_(cost), swapping_(options) {}

  // ---- Requests come and go

  /// Adds the samples of a request that is new. An error leaves none of them.
  Result<void> Add(RequestId id, const std::shared_ptr<const Request>& request, uint32_t capacity);

  /// Adds what was suspended, all or none. Errors: kInvalidArgument for a number that is in use; kDataLoss;
  /// kResourceExhausted.
  Result<void> Add(std::span<const SuspendedRequest> requests);

  /// Takes out all that are not finished and returns them as bytes, their caches in the store if there is one. An error
  /// leaves all as they were. `next_id` is the number of the engine's next request.
  Result<std::vector<std::byte>> Suspend(RequestId next_id);

  /// Ends the samples of a request as cancelled. Nothing happens if it is not there.
  void Cancel(RequestId id) noexcept;
  /// Pauses the samples of a request, or lets them go on. Nothing happens if it is not there.
  void Pause(RequestId id, bool is_paused) noexcept;

  /// Whether one is finished or not paused.
  bool has_work() const;
  /// Whether Report would add an event.
  bool has_news() const;

  /// Moves what is new to `events`, and removes those that are finished.
  void Report(std::vector<Event>& events, double now);

  /// Counts so far, and sequences by what they do now. O(sequences).
  EngineStats stats() const;

  // ---- A step

  /// Makes all ready for a step: ends those whose deadline is over at `now`, asks for masks of filters, and gives up
  /// waiting that took too long. Error: kResourceExhausted.
  Result<Candidates> PrepareStep(double now);

  /// Takes the caches of those that a schedule preempts, and gives one to those that it admits, with as much of it as
  /// is known. Draws where nothing is left to compute. Errors of one sequence's memory are told in what it returns.
  Result<Admitted> Apply(const Schedule& schedule, const Candidates& candidates, SamplerScratch& scratch);

  /// Draws from what a step computed, `rows` all in all, and lets others go on from there.
  void Take(std::span<const ComputedRows> computed, uint64_t rows, SamplerScratch& scratch);

  /// Has something give its memory away: first what only saves time, then the least urgent sequence, if there is one
  /// besides `keep`, or besides the only one that runs where that is null; then kept prompts. False where nothing is
  /// left.
  bool MakeRoom(const Sequence* keep = nullptr);

  /// See Sequence::BeginAnew.
  bool BeginAnew(Sequence& sequence) noexcept;

 private:
  // Whether one goes before the other.
  struct IsMoreUrgent {
    const Sequences& of;
    bool operator()(const Sequence& a, const Sequence& b) const;
  };

  // Coming and going: detail/sequences.h.

  /// Adds the samples of one request. An error leaves none of them.
  Result<void> AddOne(const SuspendedRequest& suspended, const std::shared_ptr<const Request>& request);

  /// Counts them, and takes over what was written of them. Error: kResourceExhausted; nothing is adopted then.
  Result<void> Adopt(std::list<Sequence>& added);

  std::vector<SuspendedRequest> WriteDown();

  /// Those that this step may have rows of. Error: kResourceExhausted.
  Result<std::vector<Sequence*>> Unfinished(double now);

  SequenceView ViewOf(const Sequence& sequence) const;

  /// Its cache stays in the store, if it was written there.
  void RemoveQuietly(std::list<Sequence>::iterator at) noexcept;

  void Remove(std::list<Sequence>::iterator at) noexcept;

  // Memory: detail/admission.h.

  /// Gives `sequence` a cache, if there is room. Error: kResourceExhausted; it waits on then.
  Result<void> Admit(Sequence& sequence, SamplerScratch& scratch);

  /// Finds the longest beginning that is known, or that another sequence is computing.
  Result<void> Begin(Sequence& sequence, std::vector<float>& logits);

  Result<void> BeginEmpty(Sequence& sequence);

  /// The other samples of a request go on from the end of the prompt: now, as far as there are places, else when they
  /// are admitted.
  void BeginSamples(Sequence& first, std::span<const float> logits, SamplerScratch& scratch);

  void CountBegun(Sequence& sequence) noexcept;

  void Draw(Sequence& sequence, std::span<const std::span<const float>> logits, std::span<const int32_t> drafts,
            SamplerScratch& scratch);

  /// Its cache has grown: others may go on from there, and prompt caches may want it.
  void Reached(Sequence& sequence);

  /// Offers what it has computed to the prompt cache, which may have no room for it.
  void Keep(const Sequence& sequence, std::span<const float> logits) noexcept;

  /// Takes its cache away. It is written to the store if that is quicker than computing it again.
  void Preempt(Sequence& sequence) noexcept;

  /// The sequence that gives its memory away next, except `keep`; null where none is left then, or where no other runs.
  Sequence* LeastUrgentHolder(const Sequence* keep = nullptr);

  /// Has something that only saves time make room. False if there is nothing of that kind.
  bool YieldSpare() noexcept;

  /// Lets kept prompts go. False if there were none.
  bool TrimPrompts() noexcept;

  uint64_t FreeBytes();

  std::shared_ptr<BlockPool> pool_;
  const EngineOptions& options_;
  const CostModel& cost_;
  Swapping swapping_;
  SequenceList sequences_;
  PromptEnds prompt_ends_;
  Tenants tenants_;
  uint64_t round_ = 0;  ///< of internal::GiveTurns
  uint64_t next_id_ = 1;
  EngineStats stats_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/running/detail/sequences.h"
#endif

#endif  // SKALD_ENGINE_RUNNING_SEQUENCES_H_
