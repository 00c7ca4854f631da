// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/running/sequences.h: which sequence gets a cache, what it begins with, and which gives
// its memory away.

#ifndef SKALD_ENGINE_RUNNING_DETAIL_ADMISSION_H_
#define SKALD_ENGINE_RUNNING_DETAIL_ADMISSION_H_

#include <algorithm>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/cache/create.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/engine/requests/drafter.h"
#include "skald/engine/running/detail/shared_beginnings.h"
#include "skald/engine/running/sequences.h"
#include "skald/store/prompts/prompt_cache.h"

namespace skald {

SKALD_INLINE Result<Admitted> Sequences::Apply(const Schedule& schedule, const Candidates& candidates,
                                               SamplerScratch& scratch) {
  Admitted admitted;
  for (const uint32_t i : schedule.preempted) Preempt(*candidates.sequences[i]);
  for (const uint32_t i : schedule.admitted) {
    Sequence& sequence = *candidates.sequences[i];
    auto done = Admit(sequence, scratch);
    if (!done && done.error().code != ErrorCode::kResourceExhausted) return Failure(done.error());
    if (!done && !admitted.no_room) admitted.no_room = std::move(done.error());
    if (done && !sequence.is_running()) admitted.has_waiting = true;
  }
  return admitted;
}

SKALD_INLINE void Sequences::Take(std::span<const ComputedRows> computed, uint64_t rows, SamplerScratch& scratch) {
  ++stats_.steps;
  stats_.rows += rows;
  for (const ComputedRows& one : computed) {
    Sequence& sequence = *one.sequence;
    one.logits.empty() ? Reached(sequence) : Draw(sequence, one.logits, one.drafts, scratch);
    const uint32_t served = sequence.Serve(stats_.steps);
    if (served > 0) tenants_.Serve(sequence.request().tenant, served);
  }
}

SKALD_INLINE bool Sequences::MakeRoom(const Sequence* keep) {
  if (YieldSpare()) return true;
  if (Sequence* const holder = LeastUrgentHolder(keep)) {
    Preempt(*holder);
    return true;
  }
  return TrimPrompts();
}

SKALD_INLINE bool Sequences::BeginAnew(Sequence& sequence) noexcept {
  if (sequence.begins_anew()) return false;
  const bool had_any = sequence.BeginAnew();
  swapping_.Drop(sequence);
  return had_any;
}

SKALD_INLINE Result<void> Sequences::Admit(Sequence& sequence, SamplerScratch& scratch) {
  if (sequence.begins_anew()) swapping_.Drop(sequence);
  if (sequence.swapped()) {
    SKALD_TRY(swapping_.BringBack(sequence, pool_, LeastUrgentHolder() == nullptr));
    // Of an embedding nothing is read any more, if another engine wrote it down.
    if (sequence.has_unread_row()) sequence.Rewind();
    if (sequence.is_running() || sequence.swapped()) return {};
  }
  std::vector<float> logits;
  SKALD_TRY(Begin(sequence, logits));
  if (!sequence.is_running()) return {};
  CountBegun(sequence);
  if (!logits.empty()) {
    const std::span<const float> row(logits);
    Draw(sequence, {&row, 1}, {}, scratch);
    sequence.PrepareFilter(options_);  // it may draw again in this step
  }
  return {};
}

SKALD_INLINE Result<void> Sequences::Begin(Sequence& sequence, std::vector<float>& logits) {
  if (sequence.reads_prompt() || sequence.begins_anew()) return BeginEmpty(sequence);
  if (sequence.BeginAtPromptEnd(logits)) return {};
  std::optional<KVCache> known;
  if (PromptCache* const prompts = options_.PromptsOf(sequence.request().adapter)) {
    const double give_up = options_.clock() + options_.store_seconds;
    SKALD_ASSIGN(const bool is_answered, sequence.LookUp(*prompts, give_up, known, logits));
    if (!is_answered) return {};
  }
  const auto [leader, at] = logits.empty() ? internal::FindLeader(sequences_, sequence, known ? known->size() : 0,
                                                                  pool_->runtime().block_tokens)
                                           : internal::Leader{};
  if (leader != nullptr && leader->cache().size() < at) {
    sequence.Follow(*leader, at);
    return {};
  }
  if (leader != nullptr && sequence.ShareFrom(*leader, at)) return {};
  if (!known) return BeginEmpty(sequence);
  sequence.GoOnFrom(std::move(*known));
  return {};
}

SKALD_INLINE Result<void> Sequences::BeginEmpty(Sequence& sequence) {
  SKALD_ASSIGN(auto cache, CreateKVCache(pool_, sequence.request().adapter));
  sequence.GoOnFrom(std::move(cache));
  return {};
}

SKALD_INLINE void Sequences::BeginSamples(Sequence& first, std::span<const float> logits, SamplerScratch& scratch) {
  if (!first.has_followers()) return;
  const auto running = static_cast<size_t>(std::ranges::count_if(sequences_, &Sequence::is_running));
  size_t places = options_.max_running - std::min<size_t>(options_.max_running, running);
  std::shared_ptr<PromptEnd> end;
  sequences_.ForEachOf(first.request_id(), [&](Sequence& sample) {
    if (sample.leader() != &first || !sample.BeginsWith(first) || sample.is_finished()) return;
    sample.Unfollow();
    if (places == 0) {
      if (end == nullptr) end = prompt_ends_.Keep(first.cache(), logits);
      return sample.WaitAt(end);
    }
    if (!sample.ShareFrom(first, first.size())) return;
    --places;
    CountBegun(sample);
    stats_.generated_tokens += sample.Draw({&logits, 1}, {}, options_, scratch).tokens;
  });
}

SKALD_INLINE void Sequences::CountBegun(Sequence& sequence) noexcept {
  if (!sequence.CountBegun()) return;
  stats_.prompt_tokens += sequence.usage().prompt_tokens;
  stats_.cached_tokens += sequence.usage().cached_tokens;
}

SKALD_INLINE void Sequences::Draw(Sequence& sequence, std::span<const std::span<const float>> logits,
                                  std::span<const int32_t> drafts, SamplerScratch& scratch) {
  if (!sequence.has_drawn()) {
    Keep(sequence, logits.front());
    Reached(sequence);
    BeginSamples(sequence, logits.front(), scratch);
  }
  const Sequence::Drawn drawn = sequence.Draw(logits, drafts, options_, scratch);
  stats_.generated_tokens += drawn.tokens;
  stats_.drafted_tokens += drafts.size();
  stats_.accepted_tokens += drawn.accepted;
}

SKALD_INLINE void Sequences::Reached(Sequence& sequence) {
  if (!sequence.is_at_step_end()) return;
  const uint32_t at = sequence.cache().size();
  if (std::ranges::binary_search(sequence.request().branch_points, at)) Keep(sequence, {});
  sequence.ForEachFollower([&](Sequence& follower) {
    if (follower.share_at() != at || follower.BeginsWith(sequence)) return;
    if (follower.ShareFrom(sequence, at)) CountBegun(follower);
    follower.Unfollow();
  });
}

SKALD_INLINE void Sequences::Keep(const Sequence& sequence, std::span<const float> logits) noexcept {
  PromptCache* const prompts = options_.PromptsOf(sequence.request().adapter);
  if (prompts == nullptr) return;
  (void)NoThrow("keeping a prompt", [&]() -> Result<void> {
    return prompts->Insert(sequence.cache(), logits, SaltOf(sequence.request()));
  });
}

SKALD_INLINE void Sequences::Preempt(Sequence& sequence) noexcept {
  ++stats_.preemptions;
  if (swapping_.IsWorthWriting(sequence, cost_)) swapping_.WriteDown(sequence);
  if (options_.drafter != nullptr) options_.drafter->Forget(sequence.id());
  sequence.Preempt();
}

SKALD_INLINE Sequence* Sequences::LeastUrgentHolder(const Sequence* keep) {
  size_t holders = 0;
  const auto holds = [&](const Sequence& one) { return one.is_running() && &one != keep && ++holders > 0; };
  Sequence* const least = internal::LeastUrgent(sequences_, holds, IsMoreUrgent{*this});
  return holders > (keep == nullptr ? 1 : 0) ? least : nullptr;
}

SKALD_INLINE bool Sequences::YieldSpare() noexcept {
  return internal::YieldSpare(sequences_, prompt_ends_, IsMoreUrgent{*this});
}

SKALD_INLINE bool Sequences::TrimPrompts() noexcept {
  bool were_any = false;
  for (PromptCache* const prompts : options_.prompts) {
    were_any |= prompts->stats().entries > 0;
    prompts->Trim(0);
  }
  return were_any;
}

SKALD_INLINE uint64_t Sequences::FreeBytes() {
  uint64_t reclaimable = internal::SpareBytesOf(*pool_, sequences_, prompt_ends_);
  for (const PromptCache* const prompts : options_.prompts) reclaimable += prompts->stats().bytes;
  const uint64_t available = pool_->usage().available_bytes;
  return available + std::min(reclaimable, kUnlimited - available);
}

}  // namespace skald

#endif  // SKALD_ENGINE_RUNNING_DETAIL_ADMISSION_H_
