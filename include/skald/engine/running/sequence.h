// SPDX-License-Identifier: Apache-2.0
//
// Sequence: one answer and what the engine keeps for it. What it is, its tokens, is in the answer; a cache only spares
// computing them again, and may go at any time.

#ifndef SKALD_ENGINE_RUNNING_SEQUENCE_H_
#define SKALD_ENGINE_RUNNING_SEQUENCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "skald/cache/kv_cache.h"
#include "skald/constraints/token_filter.h"
#include "skald/engine/answers/answer.h"
#include "skald/engine/answers/prompt_reading.h"
#include "skald/engine/plan/policy.h"
#include "skald/engine/requests/request.h"
#include "skald/engine/running/prompt_ends.h"
#include "skald/engine/running/swap_space.h"
#include "skald/engine/running/swap_ticket.h"
#include "skald/engine/speculation/draft_length.h"
#include "skald/store/prompts/prompt_fetch.h"

namespace skald {

struct Sequence {
  uint64_t id;  ///< in the engine
  RequestId request_id;
  uint32_t sample;
  std::shared_ptr<const Request> request;
  Answer answer;
  PromptReading reading;  ///< of the first sample; the others read nothing
  Standing standing = {};
  Usage usage = {};

  std::optional<KVCache> cache = {};             ///< runs
  std::optional<SwappedCache> swapped = {};      ///< waits, and need not compute everything again
  std::shared_ptr<SwapTicket> swap_ticket = {};  ///< of `swapped`, where that is under way beside the engine
  std::shared_ptr<PromptEnd> prompt_end = {};    ///< waits, and goes on from there
  /// Of what it begins with, which is read from a store beside the engine.
  std::optional<PromptFetch> fetch = {};
  double wait_until = 0.0;  ///< how long such reading is waited for, on the engine's clock
  /// A cache that came from elsewhere (a store, another sequence) did not do; from then on all tokens are computed
  /// here.
  bool begins_anew = false;
  /// Computes what this one begins with; `share_at` tokens of it are waited for.
  Sequence* leader = nullptr;
  uint32_t share_at = 0;
  Sequence* first_follower = nullptr;                               ///< those that wait for this one
  Sequence *next_follower = nullptr, *previous_follower = nullptr;  ///< that wait for the same leader
  std::vector<uint32_t> step_ends = {};  ///< ascending; where steps end, for others to go on from
  uint32_t served = 0;                   ///< tokens that were computed for it at some time
  uint64_t last_step = 0;                ///< of the engine's, that had rows of it; 0 before the first
  bool has_begun = false;                ///< has had a cache
  bool is_paused = false;
  uint32_t torn = 0;  ///< draws in a row for which there was no memory: the answer has to be begun again

  std::shared_ptr<FilterWork> filter_work = {};  ///< before a token can be drawn; null: none
  bool awaits_filter = false;  ///< in this step, even if the work is done meanwhile: the answer may have to be settled
  std::vector<int32_t> drafts = {};  ///< for the next step
  DraftLength draft_length = {};
  Event event = {};  ///< what is not reported yet

  /// Goes on from `begun`, whose tokens its answer begins with. What was fetched for it, or kept for it to begin with,
  /// was for what it had to compute until now: it is let go.
  void GoOnFrom(KVCache begun) noexcept;

  /// Waits until `other` has computed `tokens` tokens. Neither moves in memory from then on.
  void Follow(Sequence& other, uint32_t tokens);

  /// Waits for nobody.
  void Unfollow() noexcept;

  /// Calls visit(follower) for all that wait for this one; it may have them wait no longer.
  template <class Visit>
  void ForEachFollower(Visit visit) {
    for (Sequence* follower = first_follower; follower != nullptr;) {
      Sequence& visited = *std::exchange(follower, follower->next_follower);
      visit(visited);
    }
  }

  /// Those who wait for this one wait no longer; those that begin with it do, unless `with_samples`.
  void ReleaseFollowers(bool with_samples) noexcept;

  /// Whether it draws its first token from the same logits as `other`: those of the prompt's end.
  bool BeginsWith(const Sequence& other) const {
    return request == other.request && answer.drawn() == 0 && other.answer.drawn() == 0;
  }
  bool is_running() const { return cache.has_value(); }
  /// Sits out steps, because somebody beside the engine is not done with what it needs.
  bool is_waiting() const;
  bool is_finished() const { return event.finish.has_value(); }
  bool has_news() const;
  /// Tokens that another holds anyway, and that it will share.
  uint32_t shared() const { return prompt_end && prompt_end->cache ? prompt_end->cache->size() : 0; }
  /// Pending tokens until a step must end; 0 if none must before they end.
  uint32_t step_end() const;
  /// Tokens that need not be computed again.
  uint32_t computed() const { return cache ? cache->size() : swapped ? swapped->tokens : shared(); }
  uint32_t pending() const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/running/detail/sequence.h"
#endif

#endif  // SKALD_ENGINE_RUNNING_SEQUENCE_H_
