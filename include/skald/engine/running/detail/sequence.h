// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/running/sequence.h.

#ifndef SKALD_ENGINE_RUNNING_DETAIL_SEQUENCE_H_
#define SKALD_ENGINE_RUNNING_DETAIL_SEQUENCE_H_

#include "skald/engine/running/sequence.h"

#include <algorithm>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE void Sequence::GoOnFrom(KVCache begun) noexcept {
  cache = std::move(begun);
  fetch.reset();
  prompt_end.reset();
}

SKALD_INLINE void Sequence::Follow(Sequence& other, uint32_t tokens) {
  const auto place = std::ranges::lower_bound(other.step_ends, tokens);
  if (place == other.step_ends.end() || *place != tokens) other.step_ends.insert(place, tokens);
  Unfollow();
  leader = &other;
  share_at = tokens;
  next_follower = other.first_follower;
  if (next_follower != nullptr) next_follower->previous_follower = this;
  other.first_follower = this;
}

SKALD_INLINE void Sequence::Unfollow() noexcept {
  if (leader == nullptr) return;
  (previous_follower != nullptr ? previous_follower->next_follower : leader->first_follower) = next_follower;
  if (next_follower != nullptr) next_follower->previous_follower = previous_follower;
  leader = next_follower = previous_follower = nullptr;
}

SKALD_INLINE void Sequence::ReleaseFollowers(bool with_samples) noexcept {
  ForEachFollower([&](Sequence& follower) {
    if (with_samples || !follower.BeginsWith(*this)) follower.Unfollow();
  });
}

SKALD_INLINE bool Sequence::is_waiting() const {
  return (fetch && !fetch->is_done()) || (swap_ticket != nullptr && swap_ticket->is_reading());
}

SKALD_INLINE bool Sequence::has_news() const {
  return !event.tokens.empty() || !event.text.empty() || !event.prompt_tokens.empty() || event.finish;
}

SKALD_INLINE uint32_t Sequence::step_end() const {
  const auto end = std::ranges::upper_bound(step_ends, computed());
  return end == step_ends.end() ? 0 : *end - computed();
}

SKALD_INLINE uint32_t Sequence::pending() const { return answer.size() - std::min(answer.size(), computed()); }

}  // namespace skald

#endif  // SKALD_ENGINE_RUNNING_DETAIL_SEQUENCE_H_
