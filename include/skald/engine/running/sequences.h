// SPDX-License-Identifier: Apache-2.0
//
// Sequences: all answers that an engine works on, and what becomes of their caches: who begins, from whose memory or
// from which store, who shares a beginning with whom, who gives memory away, and what is told of each.

#ifndef SKALD_ENGINE_RUNNING_SEQUENCES_H_
#define SKALD_ENGINE_RUNNING_SEQUENCES_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
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
#include "skald/engine/running/suspended.h"
#include "skald/engine/running/swapping.h"
#include "skald/sampling/sampler.h"

namespace skald {

class Sequences {
 public:
  // `options` must outlive this.
  Sequences(std::shared_ptr<BlockPool> pool, const EngineOptions& options)
      : pool_(std::move(pool)), options_(options), swapping_(options) {}

  /// Adds the samples of a request. An error leaves none of them.
  Result<void> Add(RequestId id, const std::shared_ptr<const Request>& request, uint32_t capacity);

  /// Adds what was suspended, as it stood. An error leaves none of it.
  Result<void> Add(const SuspendedRequest& suspended, const std::shared_ptr<const Request>& request);

  /// Writes all answers down that are not at their end, their caches where there is a store. They stay until Leave, or
  /// go on after Stay.
  std::vector<SuspendedRequest> Suspend();

  /// Takes out what Suspend wrote down; caches stay in the store.
  void Leave() noexcept;

  /// As if Suspend had not been called.
  void Stay() noexcept;

  size_t size() const { return sequences_.size(); }
  bool Contains(RequestId id) const { return sequences_.Contains(id); }

  /// Removes a request without a word.
  void Discard(RequestId id) noexcept;

  template <class Visit>
  void ForEachOf(RequestId id, Visit visit) {
    sequences_.ForEachOf(id, visit);
  }

  /// Nobody waits for one that is paused.
  void Pause(RequestId id, bool is_paused) noexcept;

  /// Of tenants that have nothing here.
  size_t LeftLately() noexcept { return tenants_.LeftLately(options_.clock()); }

  /// Ends those whose time is over.
  void ExpireAt(double now) noexcept;

  bool has_work() const;

  /// Those that a schedule is made of: all that are not at their end. Error: kResourceExhausted.
  Result<std::vector<Sequence*>> Candidates();

  SequenceView ViewOf(const Sequence& sequence) const;

  /// Gives `sequence` a cache with as much of it as is known, if there is room. It does not run then where it waits for
  /// another that is computing what it begins with, or for a store. Draws where nothing is left to compute. Error:
  /// kResourceExhausted; it waits on then.
  Result<void> Admit(Sequence& sequence, SamplerScratch& scratch);

  /// Takes its memory away; what it has computed is written down where that is quicker than computing it again.
  void Preempt(Sequence& sequence, const CostModel& cost) noexcept;

  /// Its cache came from elsewhere and does not do: it goes, and all of its tokens are computed here. False where there
  /// is no such cache.
  bool BeginAnew(Sequence& sequence) noexcept;

  /// Bytes of the pool that YieldSpare could free, all in all.
  uint64_t SpareBytesOf();
  /// Has something that only saves time make room. False where there is nothing of that kind.
  bool YieldSpare() noexcept;

  /// Returns who should give its memory away if someone must, and not for `other`'s sake if that is given; null where
  /// nobody is left then.
  Sequence* LeastUrgentHolder(const Sequence* other = nullptr);

  /// Its rows were computed, in the step that was counted last. What had to be computed again, for others' sake, was no
  /// service.
  void Serve(Sequence& sequence) noexcept;
  void CountStep(uint64_t rows) noexcept;
  uint64_t steps() const { return stats_.steps; }  // that were counted

  /// Its cache has grown: others may go on from there, and prompt caches may want it.
  void Reached(Sequence& sequence);

  /// Draws a token from each of `logits`, as long as what was drawn is the draft whose logits come next.
  void Draw(Sequence& sequence, std::span<const std::span<const float>> logits, std::span<const int32_t> drafts,
            SamplerScratch& scratch);

  /// Moves what is new to `events`, and lets those go that are at their end.
  void Report(std::vector<Event>& events, double now);

  bool has_news() const;

  EngineStats stats() const;

 private:
  // Whether one goes before the other.
  struct IsMoreUrgent {
    const Sequences& of;
    bool operator()(const Sequence& a, const Sequence& b) const;
  };

  /// Counts them, and takes over what was written down of them. Error: kResourceExhausted; nothing is adopted then.
  Result<void> Adopt(std::list<Sequence>& added);

  /// Finds the longest beginning that someone knows, or that someone is computing.
  Result<void> Begin(Sequence& sequence, std::vector<float>& logits);

  Result<void> BeginEmpty(Sequence& sequence);

  /// The other samples of a request go on from the end of the prompt: now, as far as there are places, and when they
  /// are admitted else.
  void BeginSamples(Sequence& first, std::span<const float> logits, SamplerScratch& scratch);

  /// False where no end of its prompt is kept.
  bool BeginAtPromptEnd(Sequence& sequence, std::vector<float>& logits);

  void CountBegun(Sequence& sequence) noexcept;

  /// Offers what it has computed to the prompt cache, which may have no room for it.
  void Keep(const Sequence& sequence, std::span<const float> logits) noexcept;

  /// What is in the store stays there.
  void RemoveQuietly(std::list<Sequence>::iterator at) noexcept;

  void Remove(std::list<Sequence>::iterator at) noexcept;

  std::shared_ptr<BlockPool> pool_;
  const EngineOptions& options_;
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
