// SPDX-License-Identifier: Apache-2.0
//
// Sequences: all answers that an engine works on, and what becomes of their caches: who begins, from whose memory or
// from which store, who shares a beginning with whom, who gives memory away, and what is told of each.

#ifndef SKALD_ENGINE_RUNNING_SEQUENCES_H_
#define SKALD_ENGINE_RUNNING_SEQUENCES_H_

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/create.h"
#include "skald/cache/kv_cache.h"
#include "skald/engine/form/engine_options.h"
#include "skald/engine/form/request.h"
#include "skald/engine/plan/cost_model.h"
#include "skald/engine/plan/scheduler.h"
#include "skald/engine/plan/tenants.h"
#include "skald/engine/running/drawing.h"
#include "skald/engine/running/memory_holders.h"
#include "skald/engine/running/prompt_ends.h"
#include "skald/engine/running/sequence.h"
#include "skald/engine/running/sequence_list.h"
#include "skald/engine/running/sequence_view.h"
#include "skald/engine/running/shared_beginnings.h"
#include "skald/engine/running/suspended.h"
#include "skald/engine/running/suspending.h"
#include "skald/engine/running/swapping.h"
#include "skald/store/prompts/prompt_cache.h"

namespace skald {

class Sequences {
 public:
  // `options` must outlive this.
  Sequences(std::shared_ptr<BlockPool> pool, const EngineOptions& options)
      : pool_(std::move(pool)), options_(options), swapping_(options) {}

  // Adds the samples of a request. An error leaves none of them.
  Result<void> Add(RequestId id, const std::shared_ptr<const Request>& request, uint32_t capacity) {
    const uint32_t room = capacity - static_cast<uint32_t>(request->prompt.size()) + 1;
    return Add(internal::NothingBegun(id, *request, room, options_.clock()), request);
  }

  // Adds what was suspended, as it stood. An error leaves none of it.
  Result<void> Add(const SuspendedRequest& suspended, const std::shared_ptr<const Request>& request) {
    auto added = internal::MakeSequences(suspended, request, next_id_, options_);
    if (!added) return Failure(added.error());
    if (auto adopted = Adopt(*added); !adopted) return adopted;
    next_id_ += added->size();
    auto appended = NoThrow("adding a request", [&]() -> Result<void> {
      sequences_.Append(*added);
      return {};
    });
    for (Sequence& sequence : *added) {  // none where they were appended
      swapping_.Disown(sequence);
      tenants_.Leave(sequence.request->tenant);
    }
    return appended;
  }

  // Writes all answers down that are not at their end, their caches where there is a store. They stay until Leave, or
  // go on after Stay.
  std::vector<SuspendedRequest> Suspend() {
    std::vector<SuspendedRequest> suspended;
    swapping_.Settle();
    for (Sequence& sequence : sequences_) {
      if (sequence.is_finished()) continue;
      if (sequence.is_running()) swapping_.WriteThrough(sequence);
      if (suspended.empty() || suspended.back().id != sequence.request_id) {
        suspended.push_back(internal::SuspendedOf(sequence));
      }
      suspended.back().samples.push_back(internal::SuspendedSampleOf(sequence));
    }
    return suspended;
  }

  // Takes out what Suspend wrote down; caches stay in the store.
  void Leave() noexcept {
    for (auto it = sequences_.begin(); it != sequences_.end();) {
      const auto at = it++;
      if (!at->is_finished()) RemoveQuietly(at);
    }
  }

  // As if Suspend had not been called.
  void Stay() noexcept {
    for (Sequence& sequence : sequences_) {
      if (sequence.is_running()) swapping_.Drop(sequence);
    }
  }

  size_t size() const { return sequences_.size(); }
  bool Contains(RequestId id) const { return sequences_.Contains(id); }

  // Removes a request without a word.
  void Discard(RequestId id) noexcept {
    while (Contains(id)) RemoveQuietly(sequences_.FirstOf(id));
  }

  template <class Visit>
  void ForEachOf(RequestId id, Visit visit) {
    sequences_.ForEachOf(id, visit);
  }

  // Nobody waits for one that is paused.
  void Pause(RequestId id, bool is_paused) noexcept {
    ForEachOf(id, [&](Sequence& sequence) {
      sequence.is_paused = is_paused;
      if (is_paused) sequence.ReleaseFollowers(/*with_samples=*/false);
    });
  }

  // Ends those whose time is over.
  void ExpireAt(double now) noexcept {
    for (Sequence& sequence : sequences_) {
      const std::optional<double>& deadline = sequence.request->deadline;
      if (deadline && now > *deadline && !sequence.is_finished()) sequence.event.finish = FinishReason::kDeadline;
    }
  }

  bool has_work() const {
    return std::ranges::any_of(sequences_,
                               [](const Sequence& sequence) { return sequence.is_finished() || !sequence.is_paused; });
  }

  // Those that a schedule is made of: all that are not at their end. Error: kResourceExhausted.
  Result<std::vector<Sequence*>> Candidates() {
    std::vector<Sequence*> candidates;
    if (options_.policy.policy == Policy::kFairShare) internal::GiveTurns(sequences_, tenants_, ++round_);
    for (Sequence& sequence : sequences_) {
      if (sequence.is_finished()) continue;
      if (auto mended = internal::Mend(sequence, options_.tokenizer); !mended) return Failure(mended.error());
      if (sequence.leader == nullptr && !sequence.is_paused) internal::PrepareFilter(sequence, options_.filter_workers);
      if (sequence.is_finished()) continue;
      candidates.push_back(&sequence);
      if (sequence.is_waiting() && options_.clock() >= sequence.wait_until) {
        if (sequence.fetch) sequence.fetch->Abandon();
        swapping_.Drop(sequence);
      }
      // Nor has anyone to wait for what went by in a step that failed.
      if (sequence.leader != nullptr && sequence.leader->computed() > sequence.share_at) sequence.Unfollow();
      // A step that failed after computing, and before it drew or read, is done again.
      if (sequence.is_running() && (sequence.pending() == 0 || sequence.reading.next() < sequence.cache->size())) {
        internal::ForgetWrong(sequence);
      }
    }
    return candidates;
  }

  SequenceView ViewOf(const Sequence& sequence) const { return internal::ViewOf(sequence, tenants_, options_.policy); }

  // Gives `sequence` a cache with as much of it as is known, if there is room. It does not run then where it waits for
  // another that is computing what it begins with, or for a store. Draws where nothing is left to compute. Error:
  // kResourceExhausted; it waits on then.
  Result<void> Admit(Sequence& sequence, SamplerScratch& scratch) {
    if (sequence.begins_anew) swapping_.Drop(sequence);
    if (sequence.swapped) {
      if (auto back = swapping_.BringBack(sequence, pool_, LeastUrgentHolder() == nullptr); !back) return back;
      // Of an embedding nothing is read any more, if another engine wrote it down.
      if (sequence.is_running() && sequence.reading.next() < sequence.cache->size()) internal::ForgetWrong(sequence);
      if (sequence.is_running() || sequence.swapped) return {};
    }
    std::vector<float> logits;
    if (auto begun = Begin(sequence, logits); !begun) return begun;
    if (!sequence.is_running()) return {};
    sequence.fetch.reset();
    sequence.prompt_end.reset();
    CountBegun(sequence);
    if (!logits.empty()) {
      const std::span<const float> row(logits);
      Draw(sequence, {&row, 1}, {}, scratch);
      internal::PrepareFilter(sequence, options_.filter_workers);  // it may draw again in this step
    }
    return {};
  }

  // Takes its memory away; what it has computed is written down where that is quicker than computing it again.
  void Preempt(Sequence& sequence, const CostModel& cost) noexcept {
    ++stats_.preemptions;
    ++sequence.usage.preemptions;
    if (swapping_.IsWorthWriting(sequence, cost)) swapping_.WriteDown(sequence);
    sequence.cache.reset();
    sequence.drafts.clear();
    if (options_.drafter != nullptr) options_.drafter->Forget(sequence.id);
    sequence.ReleaseFollowers(/*with_samples=*/false);
  }

  // Its cache came from elsewhere and does not do: it goes, and all of its tokens are computed here. False where there
  // is no such cache.
  bool BeginAnew(Sequence& sequence) noexcept {
    if (std::exchange(sequence.begins_anew, true)) return false;
    const bool had_any = sequence.computed() > 0;
    sequence.cache.reset();
    sequence.drafts.clear();
    sequence.prompt_end.reset();
    sequence.fetch.reset();
    swapping_.Drop(sequence);
    return had_any;
  }

  // Bytes of the pool that YieldSpare could free, all in all.
  uint64_t SpareBytesOf() { return internal::SpareBytesOf(*pool_, sequences_, prompt_ends_); }
  // Has something that only saves time make room. False where there is nothing of that kind.
  bool YieldSpare() noexcept { return internal::YieldSpare(sequences_, prompt_ends_, IsMoreUrgent{*this}); }

  // Returns who should give its memory away if someone must, and not for `other`'s sake if that is given; null where
  // nobody is left then.
  Sequence* LeastUrgentHolder(const Sequence* other = nullptr) {
    size_t holders = 0;
    const auto holds = [&](const Sequence& one) { return one.is_running() && &one != other && ++holders > 0; };
    Sequence* const least = internal::LeastUrgent(sequences_, holds, IsMoreUrgent{*this});
    return holders > (other == nullptr ? 1 : 0) ? least : nullptr;
  }

  // Its rows were computed. What had to be computed again, for others' sake, was no service.
  void Serve(Sequence& sequence) noexcept {
    const uint32_t computed = sequence.computed();
    if (computed <= sequence.served) return;
    tenants_.Serve(sequence.request->tenant, computed - sequence.served);
    sequence.served = computed;
  }
  void CountStep(uint64_t rows) noexcept {
    ++stats_.steps;
    stats_.rows += rows;
  }

  // Its cache has grown: others may go on from there, and prompt caches may want it.
  void Reached(Sequence& sequence) {
    const uint32_t at = sequence.cache->size();
    if (!std::ranges::binary_search(sequence.step_ends, at)) return;
    if (std::ranges::binary_search(sequence.request->branch_points, at)) Keep(sequence, {});
    sequence.ForEachFollower([&](Sequence& follower) {
      if (follower.share_at != at || follower.request == sequence.request) return;
      internal::ShareWith(follower, sequence, at);
      follower.Unfollow();
    });
  }

  // Draws a token from each of `logits`, as long as what was drawn is the draft whose logits come next.
  void Draw(Sequence& sequence, std::span<const std::span<const float>> logits, std::span<const int32_t> drafts,
            SamplerScratch& scratch) {
    if (sequence.answer.drawn() == 0) {
      Keep(sequence, logits.front());
      Reached(sequence);
      BeginSamples(sequence, logits.front(), scratch);
    }
    uint32_t right = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      const auto id = internal::DrawToken(sequence, logits[i], options_.clock, scratch);
      if (id) ++stats_.generated_tokens;
      if (!id || sequence.is_finished() || i == drafts.size() || *id != drafts[i]) break;
      ++right;
      internal::PrepareFilter(sequence, options_.filter_workers);
      if (sequence.is_finished() || sequence.awaits_filter) break;
    }
    const auto drafted = static_cast<uint32_t>(drafts.size());
    sequence.draft_length.Observe(drafted, right);
    sequence.usage.drafted_tokens += drafted;
    sequence.usage.accepted_tokens += right;
    stats_.drafted_tokens += drafted;
    stats_.accepted_tokens += right;
    internal::ForgetWrong(sequence);
  }

  // Moves what is new to `events`, and lets those go that are at their end.
  void Report(std::vector<Event>& events, double now) {
    // What has been told is not there any more, so there must be room for it.
    events.reserve(events.size() + static_cast<size_t>(std::ranges::count_if(sequences_, &Sequence::has_news)));
    for (auto it = sequences_.begin(); it != sequences_.end();) {
      Sequence& sequence = *it++;
      Event& event = sequence.event;
      if (!sequence.has_news()) continue;
      if (event.finish) sequence.usage.finished = now;
      event.request = sequence.request_id;
      event.sample = sequence.sample;
      event.usage = sequence.usage;
      const bool is_finished = event.finish.has_value();
      events.push_back(std::exchange(event, {}));
      if (is_finished) Remove(std::prev(it));
    }
  }

  bool has_news() const { return std::ranges::any_of(sequences_, &Sequence::has_news); }

  EngineStats stats() const {
    EngineStats stats = stats_;
    swapping_.CountIn(stats);
    for (const Sequence& sequence : sequences_) {
      ++(sequence.is_running() ? stats.running : stats.waiting);
      stats.fetching += sequence.is_waiting();
    }
    return stats;
  }

 private:
  // Whether one goes before the other.
  struct IsMoreUrgent {
    const Sequences& of;
    bool operator()(const Sequence& a, const Sequence& b) const {
      const SequenceView first = of.ViewOf(a), second = of.ViewOf(b);
      if (first.may_run != second.may_run) return first.may_run;
      return first.urgency < second.urgency;
    }
  };

  // Counts them, and takes over what was written down of them. Error: kResourceExhausted; nothing is adopted then.
  Result<void> Adopt(std::list<Sequence>& added) {
    if (added.empty()) return {};
    Result<void> done;
    for (Sequence& sequence : added) {
      if (done) {
        done = swapping_.Adopt(sequence);
      } else {
        sequence.swapped.reset();
      }
    }
    if (done) done = tenants_.Enter(added.front().request->tenant, added.size());
    if (done) return {};
    for (Sequence& sequence : added) swapping_.Disown(sequence);
    return done;
  }

  // Finds the longest beginning that someone knows, or that someone is computing.
  Result<void> Begin(Sequence& sequence, std::vector<float>& logits) {
    std::optional<KVCache> known;
    if (sequence.reading.is_wanted() || sequence.begins_anew) return BeginEmpty(sequence);
    if (BeginAtPromptEnd(sequence, logits)) return {};
    if (PromptCache* const prompts = options_.PromptsOf(sequence.request->adapter)) {
      const bool has_asked = sequence.fetch.has_value();
      auto prefix = prompts->LookupBeside(sequence.answer.tokens(), SaltOf(*sequence.request), sequence.fetch);
      if (!prefix && prefix.error().code == ErrorCode::kResourceExhausted) return Failure(prefix.error());
      if (!has_asked && sequence.fetch) {
        sequence.wait_until = options_.clock() + options_.store_seconds;
        return {};
      }
      // Whatever else is wrong with what was kept, it only saves time.
      if (prefix) {
        logits = std::move(prefix->logits);
        known = std::move(prefix->cache);
      }
    }
    const auto [leader, at] = logits.empty() ? internal::FindLeader(sequences_, sequence, known ? known->size() : 0,
                                                                    pool_->runtime().block_tokens)
                                             : internal::Leader{};
    if (leader != nullptr && leader->cache->size() < at) {
      sequence.Follow(*leader, at);
      return {};
    }
    if (leader != nullptr && internal::ShareWith(sequence, *leader, at)) return {};
    if (!known) return BeginEmpty(sequence);
    sequence.cache = std::move(*known);
    return {};
  }

  Result<void> BeginEmpty(Sequence& sequence) {
    auto cache = CreateKVCache(pool_, sequence.request->adapter);
    if (!cache) return Failure(cache.error());
    sequence.cache = std::move(*cache);
    return {};
  }

  // The other samples of a request go on from the end of the prompt: now, as far as there are places, and when they are
  // admitted else.
  void BeginSamples(Sequence& first, std::span<const float> logits, SamplerScratch& scratch) {
    if (first.first_follower == nullptr) return;
    const auto running = static_cast<size_t>(std::ranges::count_if(sequences_, &Sequence::is_running));
    size_t places = options_.max_running - std::min<size_t>(options_.max_running, running);
    std::shared_ptr<PromptEnd> end;
    ForEachOf(first.request_id, [&](Sequence& sample) {
      if (sample.leader != &first || sample.is_finished()) return;
      sample.Unfollow();
      if (places == 0) {
        if (end == nullptr) end = prompt_ends_.Keep(*first.cache, logits);
        sample.prompt_end = end;
        return;
      }
      if (!internal::ShareWith(sample, first, first.answer.size())) return;
      --places;
      CountBegun(sample);
      if (internal::DrawToken(sample, logits, options_.clock, scratch)) ++stats_.generated_tokens;
      internal::ForgetWrong(sample);
    });
  }

  // False where no end of its prompt is kept.
  bool BeginAtPromptEnd(Sequence& sequence, std::vector<float>& logits) {
    if (sequence.shared() == 0) return false;
    logits = sequence.prompt_end->logits;
    auto fork = sequence.prompt_end->cache->Fork();
    if (!fork) {
      logits.clear();
      return false;
    }
    sequence.cache = std::move(*fork);
    return true;
  }

  void CountBegun(Sequence& sequence) noexcept {
    if (std::exchange(sequence.has_begun, true)) return;
    sequence.usage.cached_tokens = std::min(sequence.cache->size(), sequence.usage.prompt_tokens);
    stats_.prompt_tokens += sequence.usage.prompt_tokens;
    stats_.cached_tokens += sequence.usage.cached_tokens;
  }

  // Offers what it has computed to the prompt cache, which may have no room for it.
  void Keep(const Sequence& sequence, std::span<const float> logits) noexcept {
    PromptCache* const prompts = options_.PromptsOf(sequence.request->adapter);
    if (prompts == nullptr) return;
    (void)NoThrow("keeping a prompt", [&]() -> Result<void> {
      return prompts->Insert(*sequence.cache, logits, SaltOf(*sequence.request));
    });
  }

  // What is in the store stays there.
  void RemoveQuietly(std::list<Sequence>::iterator at) noexcept {
    swapping_.Disown(*at);
    Remove(at);
  }

  void Remove(std::list<Sequence>::iterator at) noexcept {
    Sequence& sequence = *at;
    if (sequence.is_running() && sequence.answer.finish()) Keep(sequence, {});
    swapping_.Drop(sequence);
    if (options_.drafter != nullptr) options_.drafter->Forget(sequence.id);
    sequence.Unfollow();
    sequence.ReleaseFollowers(/*with_samples=*/true);
    tenants_.Leave(sequence.request->tenant);
    sequences_.Erase(at);
  }

  std::shared_ptr<BlockPool> pool_;
  const EngineOptions& options_;
  Swapping swapping_;
  SequenceList sequences_;
  PromptEnds prompt_ends_;
  Tenants tenants_;
  uint64_t round_ = 0;  // of internal::GiveTurns
  uint64_t next_id_ = 1;
  EngineStats stats_;
};

}  // namespace skald

#endif  // SKALD_ENGINE_RUNNING_SEQUENCES_H_
