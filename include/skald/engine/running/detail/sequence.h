// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/running/sequence.h, except for what happens to its answer (drawing.h).

#ifndef SKALD_ENGINE_RUNNING_DETAIL_SEQUENCE_H_
#define SKALD_ENGINE_RUNNING_DETAIL_SEQUENCE_H_

#include "skald/engine/running/sequence.h"

#include <algorithm>

#include "skald/base/inline.h"
#include "skald/engine/running/detail/drawing.h"
#include "skald/store/prompts/stored_prompts.h"

namespace skald {

SKALD_INLINE Sequence::Sequence(uint64_t id, RequestId request_id, std::shared_ptr<const Request> request,
                                Answer answer, const SuspendedSample& sample, double now)
    : id_(id),
      request_id_(request_id),
      sample_(sample.sample),
      request_(std::move(request)),
      answer_(std::move(answer)),
      reading_(request_, sample.sample, sample.scored),
      standing_{now, request_->priority, uint64_t{request_->prompt.size()} + answer_.max_tokens()},
      usage_(sample.usage),
      swapped_(sample.swapped),
      has_begun_(!sample.drawn.empty()),
      step_ends_(request_->branch_points) {
  usage_.prompt_tokens = static_cast<uint32_t>(request_->prompt.size());
  usage_.generated_tokens = static_cast<uint32_t>(sample.drawn.size());
}

SKALD_INLINE bool Sequence::has_news() const {
  return !event_.tokens.empty() || !event_.text.empty() || !event_.prompt_tokens.empty() || event_.finish;
}

SKALD_INLINE bool Sequence::is_waiting() const {
  return (fetch_ && !fetch_->is_done()) || (swap_ticket_ != nullptr && swap_ticket_->is_reading());
}

SKALD_INLINE uint32_t Sequence::pending() const { return size() - std::min(size(), computed()); }

SKALD_INLINE uint32_t Sequence::step_end() const {
  const auto end = std::ranges::upper_bound(step_ends_, computed());
  return end == step_ends_.end() ? 0 : *end - computed();
}

SKALD_INLINE bool Sequence::is_at_step_end() const { return std::ranges::binary_search(step_ends_, cache_->size()); }

SKALD_INLINE Standing Sequence::standing() const {
  Standing standing = standing_;
  if (is_running()) standing.held = cache_->size();
  standing.deadline = request_->deadline;
  standing.tenant = request_->tenant;
  return standing;
}

SKALD_INLINE void Sequence::GoOnFrom(KVCache begun) noexcept {
  cache_ = std::move(begun);
  fetch_.reset();
  prompt_end_.reset();
}

SKALD_INLINE bool Sequence::ShareFrom(const Sequence& other, uint32_t tokens) {
  auto fork = other.cache_->Fork();
  if (!fork || (fork->size() > tokens && !fork->Truncate(tokens))) return false;
  GoOnFrom(std::move(*fork));
  return true;
}

SKALD_INLINE bool Sequence::BeginAtPromptEnd(std::vector<float>& logits) {
  if (shared() == 0) return false;
  std::vector<float> kept = prompt_end_->logits;
  auto fork = prompt_end_->cache->Fork();
  if (!fork) return false;
  logits = std::move(kept);
  GoOnFrom(std::move(*fork));
  return true;
}

SKALD_INLINE Result<bool> Sequence::LookUp(PromptCache& prompts, double give_up, std::optional<KVCache>& known,
                                           std::vector<float>& logits) {
  const bool has_asked = fetch_.has_value();
  auto prefix = prompts.LookupBeside(tokens(), SaltOf(*request_), fetch_);
  if (!prefix && prefix.error().code == ErrorCode::kResourceExhausted) return Failure(prefix.error());
  if (!has_asked && fetch_) {
    wait_until_ = give_up;
    return false;
  }
  // Other errors cost only time: kept prompts are not needed.
  if (prefix) {
    logits = std::move(prefix->logits);
    known = std::move(prefix->cache);
  }
  return true;
}

SKALD_INLINE bool Sequence::CountBegun() noexcept {
  if (std::exchange(has_begun_, true)) return false;
  usage_.cached_tokens = std::min(cache_->size(), usage_.prompt_tokens);
  return true;
}

SKALD_INLINE void Sequence::Preempt() noexcept {
  ++usage_.preemptions;
  cache_.reset();
  drafts_.clear();
  ReleaseFollowers(/*with_samples=*/false);
}

SKALD_INLINE bool Sequence::BeginAnew() noexcept {
  if (std::exchange(begins_anew_, true)) return false;
  const bool had_any = computed() > 0;
  cache_.reset();
  drafts_.clear();
  prompt_end_.reset();
  fetch_.reset();
  return had_any;
}

SKALD_INLINE void Sequence::Rewind() {
  uint32_t right = internal::CommonPrefix(tokens(), cache_->tokens());
  if (!is_finished()) right = std::min({right, size() - 1, reading_.next()});
  if (cache_->size() > right && !cache_->Truncate(right)) cache_.reset();
}

SKALD_INLINE void Sequence::Pause(bool is_paused) noexcept {
  is_paused_ = is_paused;
  if (is_paused) ReleaseFollowers(/*with_samples=*/false);
}

SKALD_INLINE void Sequence::Follow(Sequence& other, uint32_t tokens) {
  const auto place = std::ranges::lower_bound(other.step_ends_, tokens);
  if (place == other.step_ends_.end() || *place != tokens) other.step_ends_.insert(place, tokens);
  Unfollow();
  leader_ = &other;
  share_at_ = tokens;
  next_follower_ = other.first_follower_;
  if (next_follower_ != nullptr) next_follower_->previous_follower_ = this;
  other.first_follower_ = this;
}

SKALD_INLINE void Sequence::Unfollow() noexcept {
  if (leader_ == nullptr) return;
  (previous_follower_ != nullptr ? previous_follower_->next_follower_ : leader_->first_follower_) = next_follower_;
  if (next_follower_ != nullptr) next_follower_->previous_follower_ = previous_follower_;
  leader_ = next_follower_ = previous_follower_ = nullptr;
}

SKALD_INLINE void Sequence::ReleaseFollowers(bool with_samples) noexcept {
  ForEachFollower([&](Sequence& follower) {
    if (with_samples || !follower.BeginsWith(*this)) follower.Unfollow();
  });
}

SKALD_INLINE void Sequence::SwapOut(SwappedCache swapped, std::shared_ptr<SwapTicket> ticket) noexcept {
  swapped_ = std::move(swapped);
  swap_ticket_ = std::move(ticket);
}

SKALD_INLINE std::pair<std::optional<SwappedCache>, std::shared_ptr<SwapTicket>> Sequence::TakeSwapped() noexcept {
  return {std::exchange(swapped_, {}), std::exchange(swap_ticket_, {})};
}

SKALD_INLINE void Sequence::AbandonFetch() noexcept {
  if (fetch_) fetch_->Abandon();
}

SKALD_INLINE void Sequence::AddTo(Batch& batch, std::span<const int32_t> ids, std::span<const Want> wants) {
  batch.Add(*cache_, ids, wants);
}

SKALD_INLINE uint32_t Sequence::ChooseDrafts(uint32_t most, const StepWork& others, const CostModel& cost,
                                             const DraftCost& draft_cost) {
  return draft_length_.Choose(most, others, cache_->size(), cost, draft_cost);
}

SKALD_INLINE uint32_t Sequence::Serve(uint64_t step) noexcept {
  last_step_ = step;
  const uint32_t before = std::exchange(served_, std::max(served_, computed()));
  return served_ - before;
}

SKALD_INLINE void Sequence::End(FinishReason reason) noexcept {
  if (!is_finished()) event_.finish = reason;
}

SKALD_INLINE void Sequence::EndWith(Error error) noexcept {
  if (is_finished()) return;
  event_.error = std::move(error);
  event_.finish = FinishReason::kError;
}

SKALD_INLINE Event Sequence::TakeEvent(double now) {
  if (event_.finish) usage_.finished = now;
  event_.request = request_id_;
  event_.sample = sample_;
  event_.usage = usage_;
  return std::exchange(event_, {});
}

}  // namespace skald

#endif  // SKALD_ENGINE_RUNNING_DETAIL_SEQUENCE_H_
