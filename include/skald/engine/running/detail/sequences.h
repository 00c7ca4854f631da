// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/running/sequences.h.

#ifndef SKALD_ENGINE_RUNNING_DETAIL_SEQUENCES_H_
#define SKALD_ENGINE_RUNNING_DETAIL_SEQUENCES_H_

#include "skald/engine/running/sequences.h"

#include <algorithm>
#include <optional>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/cache/create.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/engine/answers/answer.h"
#include "skald/engine/answers/prompt_reading.h"
#include "skald/engine/plan/policy.h"
#include "skald/engine/requests/drafter.h"
#include "skald/engine/running/detail/drawing.h"
#include "skald/engine/running/detail/shared_beginnings.h"
#include "skald/engine/running/detail/suspending.h"
#include "skald/engine/speculation/draft_length.h"
#include "skald/store/prompts/prompt_cache.h"
#include "skald/store/prompts/prompt_fetch.h"
#include "skald/store/prompts/stored_prompts.h"

namespace skald {

SKALD_INLINE Result<void> Sequences::Add(RequestId id, const std::shared_ptr<const Request>& request,
                                         uint32_t capacity) {
  const uint32_t room = capacity - static_cast<uint32_t>(request->prompt.size()) + 1;
  return Add(internal::NothingBegun(id, *request, room, options_.clock()), request);
}

SKALD_INLINE Result<void> Sequences::Add(const SuspendedRequest& suspended,
                                         const std::shared_ptr<const Request>& request) {
  SKALD_ASSIGN(auto added, internal::MakeSequences(suspended, request, next_id_, options_));
  SKALD_TRY(Adopt(added));
  next_id_ += added.size();
  auto appended = NoThrow("adding a request", [&]() -> Result<void> {
    sequences_.Append(added);
    return {};
  });
  for (Sequence& sequence : added) {  // none where they were appended
    swapping_.Disown(sequence);
    tenants_.Leave(sequence.request->tenant, options_.clock());
  }
  return appended;
}

SKALD_INLINE std::vector<SuspendedRequest> Sequences::Suspend() {
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

SKALD_INLINE void Sequences::Leave() noexcept {
  for (auto it = sequences_.begin(); it != sequences_.end();) {
    const auto at = it++;
    if (!at->is_finished()) RemoveQuietly(at);
  }
}

SKALD_INLINE void Sequences::Stay() noexcept {
  for (Sequence& sequence : sequences_) {
    if (sequence.is_running()) swapping_.Drop(sequence);
  }
}

SKALD_INLINE void Sequences::Discard(RequestId id) noexcept {
  while (Contains(id)) RemoveQuietly(sequences_.FirstOf(id));
}

SKALD_INLINE void Sequences::Pause(RequestId id, bool is_paused) noexcept {
  ForEachOf(id, [&](Sequence& sequence) {
    sequence.is_paused = is_paused;
    if (is_paused) sequence.ReleaseFollowers(/*with_samples=*/false);
  });
}

SKALD_INLINE void Sequences::ExpireAt(double now) noexcept {
  for (Sequence& sequence : sequences_) {
    const std::optional<double>& deadline = sequence.request->deadline;
    if (deadline && now > *deadline && !sequence.is_finished()) sequence.event.finish = FinishReason::kDeadline;
  }
}

SKALD_INLINE bool Sequences::has_work() const {
  return std::ranges::any_of(sequences_,
                             [](const Sequence& sequence) { return sequence.is_finished() || !sequence.is_paused; });
}

SKALD_INLINE Result<std::vector<Sequence*>> Sequences::Candidates() {
  std::vector<Sequence*> candidates;
  if (options_.policy.policy == Policy::kFairShare) internal::GiveTurns(sequences_, tenants_, ++round_);
  for (Sequence& sequence : sequences_) {
    if (sequence.is_finished()) continue;
    SKALD_TRY(internal::Mend(sequence, options_.tokenizer));
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

SKALD_INLINE SequenceView Sequences::ViewOf(const Sequence& sequence) const {
  SequenceView view = internal::ViewOf(sequence, tenants_, options_.policy);
  view.idle = static_cast<uint32_t>(std::min<uint64_t>(stats_.steps - sequence.last_step, UINT32_MAX));
  return view;
}

SKALD_INLINE Result<void> Sequences::Admit(Sequence& sequence, SamplerScratch& scratch) {
  if (sequence.begins_anew) swapping_.Drop(sequence);
  if (sequence.swapped) {
    SKALD_TRY(swapping_.BringBack(sequence, pool_, LeastUrgentHolder() == nullptr));
    // Of an embedding nothing is read any more, if another engine wrote it down.
    if (sequence.is_running() && sequence.reading.next() < sequence.cache->size()) internal::ForgetWrong(sequence);
    if (sequence.is_running() || sequence.swapped) return {};
  }
  std::vector<float> logits;
  SKALD_TRY(Begin(sequence, logits));
  if (!sequence.is_running()) return {};
  CountBegun(sequence);
  if (!logits.empty()) {
    const std::span<const float> row(logits);
    Draw(sequence, {&row, 1}, {}, scratch);
    internal::PrepareFilter(sequence, options_.filter_workers);  // it may draw again in this step
  }
  return {};
}

SKALD_INLINE void Sequences::Preempt(Sequence& sequence, const CostModel& cost) noexcept {
  ++stats_.preemptions;
  ++sequence.usage.preemptions;
  if (swapping_.IsWorthWriting(sequence, cost)) swapping_.WriteDown(sequence);
  sequence.cache.reset();
  sequence.drafts.clear();
  if (options_.drafter != nullptr) options_.drafter->Forget(sequence.id);
  sequence.ReleaseFollowers(/*with_samples=*/false);
}

SKALD_INLINE bool Sequences::BeginAnew(Sequence& sequence) noexcept {
  if (std::exchange(sequence.begins_anew, true)) return false;
  const bool had_any = sequence.computed() > 0;
  sequence.cache.reset();
  sequence.drafts.clear();
  sequence.prompt_end.reset();
  sequence.fetch.reset();
  swapping_.Drop(sequence);
  return had_any;
}

SKALD_INLINE uint64_t Sequences::SpareBytesOf() { return internal::SpareBytesOf(*pool_, sequences_, prompt_ends_); }

SKALD_INLINE bool Sequences::YieldSpare() noexcept {
  return internal::YieldSpare(sequences_, prompt_ends_, IsMoreUrgent{*this});
}

SKALD_INLINE Sequence* Sequences::LeastUrgentHolder(const Sequence* other) {
  size_t holders = 0;
  const auto holds = [&](const Sequence& one) { return one.is_running() && &one != other && ++holders > 0; };
  Sequence* const least = internal::LeastUrgent(sequences_, holds, IsMoreUrgent{*this});
  return holders > (other == nullptr ? 1 : 0) ? least : nullptr;
}

SKALD_INLINE void Sequences::Serve(Sequence& sequence) noexcept {
  sequence.last_step = stats_.steps;
  const uint32_t computed = sequence.computed();
  if (computed <= sequence.served) return;
  tenants_.Serve(sequence.request->tenant, computed - sequence.served);
  sequence.served = computed;
}

SKALD_INLINE void Sequences::CountStep(uint64_t rows) noexcept {
  ++stats_.steps;
  stats_.rows += rows;
}

SKALD_INLINE void Sequences::Reached(Sequence& sequence) {
  const uint32_t at = sequence.cache->size();
  if (!std::ranges::binary_search(sequence.step_ends, at)) return;
  if (std::ranges::binary_search(sequence.request->branch_points, at)) Keep(sequence, {});
  sequence.ForEachFollower([&](Sequence& follower) {
    if (follower.share_at != at || follower.BeginsWith(sequence)) return;
    internal::ShareWith(follower, sequence, at);
    follower.Unfollow();
  });
}

SKALD_INLINE void Sequences::Draw(Sequence& sequence, std::span<const std::span<const float>> logits,
                                  std::span<const int32_t> drafts, SamplerScratch& scratch) {
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

SKALD_INLINE void Sequences::Report(std::vector<Event>& events, double now) {
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

SKALD_INLINE bool Sequences::has_news() const { return std::ranges::any_of(sequences_, &Sequence::has_news); }

SKALD_INLINE EngineStats Sequences::stats() const {
  EngineStats stats = stats_;
  swapping_.CountIn(stats);
  for (const Sequence& sequence : sequences_) {
    ++(sequence.is_running() ? stats.running : stats.waiting);
    stats.fetching += sequence.is_waiting();
  }
  return stats;
}

SKALD_INLINE bool Sequences::IsMoreUrgent::operator()(const Sequence& a, const Sequence& b) const {
  const SequenceView first = of.ViewOf(a), second = of.ViewOf(b);
  if (first.may_run != second.may_run) return first.may_run;
  return first.urgency < second.urgency;
}

SKALD_INLINE Result<void> Sequences::Adopt(std::list<Sequence>& added) {
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

SKALD_INLINE Result<void> Sequences::Begin(Sequence& sequence, std::vector<float>& logits) {
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
  sequence.GoOnFrom(std::move(*known));
  return {};
}

SKALD_INLINE Result<void> Sequences::BeginEmpty(Sequence& sequence) {
  SKALD_ASSIGN(auto cache, CreateKVCache(pool_, sequence.request->adapter));
  sequence.GoOnFrom(std::move(cache));
  return {};
}

SKALD_INLINE void Sequences::BeginSamples(Sequence& first, std::span<const float> logits, SamplerScratch& scratch) {
  if (first.first_follower == nullptr) return;
  const auto running = static_cast<size_t>(std::ranges::count_if(sequences_, &Sequence::is_running));
  size_t places = options_.max_running - std::min<size_t>(options_.max_running, running);
  std::shared_ptr<PromptEnd> end;
  ForEachOf(first.request_id, [&](Sequence& sample) {
    if (sample.leader != &first || !sample.BeginsWith(first) || sample.is_finished()) return;
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

SKALD_INLINE bool Sequences::BeginAtPromptEnd(Sequence& sequence, std::vector<float>& logits) {
  if (sequence.shared() == 0) return false;
  logits = sequence.prompt_end->logits;
  auto fork = sequence.prompt_end->cache->Fork();
  if (!fork) {
    logits.clear();
    return false;
  }
  sequence.GoOnFrom(std::move(*fork));
  return true;
}

SKALD_INLINE void Sequences::CountBegun(Sequence& sequence) noexcept {
  if (std::exchange(sequence.has_begun, true)) return;
  sequence.usage.cached_tokens = std::min(sequence.cache->size(), sequence.usage.prompt_tokens);
  stats_.prompt_tokens += sequence.usage.prompt_tokens;
  stats_.cached_tokens += sequence.usage.cached_tokens;
}

SKALD_INLINE void Sequences::Keep(const Sequence& sequence, std::span<const float> logits) noexcept {
  PromptCache* const prompts = options_.PromptsOf(sequence.request->adapter);
  if (prompts == nullptr) return;
  (void)NoThrow("keeping a prompt",
                [&]() -> Result<void> { return prompts->Insert(*sequence.cache, logits, SaltOf(*sequence.request)); });
}

SKALD_INLINE void Sequences::RemoveQuietly(std::list<Sequence>::iterator at) noexcept {
  swapping_.Disown(*at);
  Remove(at);
}

SKALD_INLINE void Sequences::Remove(std::list<Sequence>::iterator at) noexcept {
  Sequence& sequence = *at;
  if (sequence.is_running() && sequence.answer.finish()) Keep(sequence, {});
  swapping_.Drop(sequence);
  if (options_.drafter != nullptr) options_.drafter->Forget(sequence.id);
  sequence.Unfollow();
  sequence.ReleaseFollowers(/*with_samples=*/true);
  tenants_.Leave(sequence.request->tenant, options_.clock());
  sequences_.Erase(at);
}

}  // namespace skald

#endif  // SKALD_ENGINE_RUNNING_DETAIL_SEQUENCES_H_
