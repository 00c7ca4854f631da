// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/running/sequences.h: requests come and go, and become ready for a step. The rest is in
// admission.h.

#ifndef SKALD_ENGINE_RUNNING_DETAIL_SEQUENCES_H_
#define SKALD_ENGINE_RUNNING_DETAIL_SEQUENCES_H_

#include "skald/engine/running/sequences.h"

#include <algorithm>
#include <string>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/engine/plan/policy.h"
#include "skald/engine/requests/drafter.h"
#include "skald/engine/running/detail/admission.h"
#include "skald/engine/running/detail/suspending.h"

namespace skald {

SKALD_INLINE Result<void> Sequences::Add(RequestId id, const std::shared_ptr<const Request>& request,
                                         uint32_t capacity) {
  const uint32_t room = capacity - static_cast<uint32_t>(request->prompt.size()) + 1;
  return AddOne(internal::NothingBegun(id, *request, room, options_.clock()), request);
}

SKALD_INLINE Result<void> Sequences::Add(std::span<const SuspendedRequest> requests) {
  for (size_t i = 0; i < requests.size(); ++i) {
    const SuspendedRequest& one = requests[i];
    const auto added = NoThrow("Engine::Resume", [&]() -> Result<void> {
      const std::string whose = "request " + std::to_string(one.id);
      if (sequences_.Contains(one.id)) return Fail(ErrorCode::kInvalidArgument, whose + " is there already");
      auto done = AddOne(one, std::make_shared<const Request>(one.request));
      return done ? done : Result<void>(Annotate(whose, done));
    });
    if (added) continue;
    for (const SuspendedRequest& before : requests.first(i)) {
      while (sequences_.Contains(before.id)) RemoveQuietly(sequences_.FirstOf(before.id));
    }
    return added;
  }
  return {};
}

SKALD_INLINE Result<std::vector<std::byte>> Sequences::Suspend(RequestId next_id) {
  auto bytes = NoThrow("Engine::Suspend", [&] {
    return EncodeSuspended({.next_id = next_id, .requests = WriteDown()}, options_.clock());
  });
  for (auto it = sequences_.begin(); it != sequences_.end();) {
    const auto at = it++;
    if (!bytes && at->is_running()) swapping_.Drop(*at);
    if (bytes && !at->is_finished()) RemoveQuietly(at);
  }
  return bytes;
}

SKALD_INLINE void Sequences::Cancel(RequestId id) noexcept {
  sequences_.ForEachOf(id, [](Sequence& sequence) { sequence.End(FinishReason::kCancelled); });
}

SKALD_INLINE void Sequences::Pause(RequestId id, bool is_paused) noexcept {
  sequences_.ForEachOf(id, [&](Sequence& sequence) { sequence.Pause(is_paused); });
}

SKALD_INLINE bool Sequences::has_work() const {
  return std::ranges::any_of(sequences_,
                             [](const Sequence& sequence) { return sequence.is_finished() || !sequence.is_paused(); });
}

SKALD_INLINE bool Sequences::has_news() const { return std::ranges::any_of(sequences_, &Sequence::has_news); }

SKALD_INLINE void Sequences::Report(std::vector<Event>& events, double now) {
  // An event leaves its sequence when it is told, so there must be room for it before.
  events.reserve(events.size() + static_cast<size_t>(std::ranges::count_if(sequences_, &Sequence::has_news)));
  for (auto it = sequences_.begin(); it != sequences_.end();) {
    const auto at = it++;
    if (!at->has_news()) continue;
    const bool is_finished = at->is_finished();
    events.push_back(at->TakeEvent(now));
    if (is_finished) Remove(at);
  }
}

SKALD_INLINE EngineStats Sequences::stats() const {
  EngineStats stats = stats_;
  swapping_.CountIn(stats);
  for (const Sequence& sequence : sequences_) {
    ++(sequence.is_running() ? stats.running : stats.waiting);
    stats.fetching += sequence.is_waiting();
  }
  return stats;
}

SKALD_INLINE Result<Candidates> Sequences::PrepareStep(double now) {
  Candidates candidates;
  const bool is_fair = options_.policy.policy == Policy::kFairShare;
  SKALD_ASSIGN(candidates.sequences, Unfinished(now));
  for (const Sequence* sequence : candidates.sequences) candidates.views.push_back(ViewOf(*sequence));
  candidates.free_bytes = FreeBytes();
  candidates.step = stats_.steps;
  if (is_fair) candidates.left_lately = tenants_.LeftLately(now);
  return candidates;
}

SKALD_INLINE bool Sequences::IsMoreUrgent::operator()(const Sequence& a, const Sequence& b) const {
  const SequenceView first = of.ViewOf(a), second = of.ViewOf(b);
  if (first.may_run != second.may_run) return first.may_run;
  return first.urgency < second.urgency;
}

SKALD_INLINE Result<void> Sequences::AddOne(const SuspendedRequest& suspended,
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
    tenants_.Leave(sequence.request().tenant, options_.clock());
  }
  return appended;
}

SKALD_INLINE Result<void> Sequences::Adopt(std::list<Sequence>& added) {
  if (added.empty()) return {};
  Result<void> done;
  for (Sequence& sequence : added) {
    if (done) {
      done = swapping_.Adopt(sequence);
    } else {
      (void)sequence.TakeSwapped();
    }
  }
  if (done) done = tenants_.Enter(added.front().request().tenant, added.size());
  if (done) return {};
  for (Sequence& sequence : added) swapping_.Disown(sequence);
  return done;
}

SKALD_INLINE std::vector<SuspendedRequest> Sequences::WriteDown() {
  std::vector<SuspendedRequest> suspended;
  swapping_.Settle();
  for (Sequence& sequence : sequences_) {
    if (sequence.is_finished()) continue;
    if (sequence.is_running()) swapping_.WriteThrough(sequence);
    if (suspended.empty() || suspended.back().id != sequence.request_id()) {
      suspended.push_back(internal::SuspendedOf(sequence));
    }
    suspended.back().samples.push_back(internal::SuspendedSampleOf(sequence));
  }
  return suspended;
}

SKALD_INLINE Result<std::vector<Sequence*>> Sequences::Unfinished(double now) {
  std::vector<Sequence*> unfinished;
  for (Sequence& sequence : sequences_) {
    const std::optional<double>& deadline = sequence.request().deadline;
    if (deadline && now > *deadline) sequence.End(FinishReason::kDeadline);
  }
  if (options_.policy.policy == Policy::kFairShare) internal::GiveTurns(sequences_, tenants_, ++round_);
  for (Sequence& sequence : sequences_) {
    if (sequence.is_finished()) continue;
    SKALD_TRY(sequence.Mend(options_));
    if (sequence.leader() == nullptr && !sequence.is_paused()) sequence.PrepareFilter(options_);
    if (sequence.is_finished()) continue;
    unfinished.push_back(&sequence);
    if (sequence.is_overdue(now)) {
      sequence.AbandonFetch();
      swapping_.Drop(sequence);
    }
    // Nor does it wait for a position that its leader passed in a step that failed.
    if (sequence.leader() != nullptr && sequence.leader()->computed() > sequence.share_at()) sequence.Unfollow();
    if (sequence.must_repeat()) sequence.Rewind();
  }
  return unfinished;
}

SKALD_INLINE SequenceView Sequences::ViewOf(const Sequence& sequence) const {
  SequenceView view = internal::ViewOf(sequence, tenants_, options_.policy);
  view.idle = static_cast<uint32_t>(std::min<uint64_t>(stats_.steps - sequence.last_step(), UINT32_MAX));
  return view;
}

SKALD_INLINE void Sequences::RemoveQuietly(std::list<Sequence>::iterator at) noexcept {
  swapping_.Disown(*at);
  Remove(at);
}

SKALD_INLINE void Sequences::Remove(std::list<Sequence>::iterator at) noexcept {
  Sequence& sequence = *at;
  if (sequence.is_running() && sequence.has_whole_answer()) Keep(sequence, {});
  swapping_.Drop(sequence);
  if (options_.drafter != nullptr) options_.drafter->Forget(sequence.id());
  sequence.Unfollow();
  sequence.ReleaseFollowers(/*with_samples=*/true);
  tenants_.Leave(sequence.request().tenant, options_.clock());
  sequences_.Erase(at);
}

}  // namespace skald

#endif  // SKALD_ENGINE_RUNNING_DETAIL_SEQUENCES_H_
