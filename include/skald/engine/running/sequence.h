// SPDX-License-Identifier: Apache-2.0
//
// Sequence: one sample of a request, from its arrival to its last event. Its tokens are in its answer. A cache only
// saves computing them again, and may be taken away at any time. Nothing but its member functions changes it:
//
//   waits: GoOnFrom, ShareFrom, BeginAtPromptEnd -> runs: Draw, End -> is finished: TakeEvent -> is removed
//   runs: Preempt, BeginAnew -> waits
//
// One that waits for more than memory sits out steps: Follow (another computes its beginning), LookUp (a store reads
// it), SwapOut (a store reads its cache), PrepareFilter (a worker computes its mask), Pause (its caller).

#ifndef SKALD_ENGINE_RUNNING_SEQUENCE_H_
#define SKALD_ENGINE_RUNNING_SEQUENCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/steps/batch.h"
#include "skald/cache/steps/step_plan.h"
#include "skald/constraints/token_filter.h"
#include "skald/engine/answers/answer.h"
#include "skald/engine/answers/prompt_reading.h"
#include "skald/engine/plan/cost_model.h"
#include "skald/engine/plan/policy.h"
#include "skald/engine/requests/engine_options.h"
#include "skald/engine/requests/request.h"
#include "skald/engine/running/prompt_ends.h"
#include "skald/engine/speculation/draft_length.h"
#include "skald/engine/suspension/suspended.h"
#include "skald/engine/suspension/swap_space.h"
#include "skald/engine/suspension/swap_ticket.h"
#include "skald/sampling/sampler.h"
#include "skald/store/prompts/prompt_cache.h"
#include "skald/store/prompts/prompt_fetch.h"

namespace skald {

/// Stays where it is in memory: others refer to it.
class Sequence {
 public:
  /// `sample` is how it was suspended, or one that is new. `answer` is of that sample, with the tokens that it drew.
  /// `now` is when it arrived, on the engine's clock.
  Sequence(uint64_t id, RequestId request_id, std::shared_ptr<const Request> request, Answer answer,
           const SuspendedSample& sample, double now);
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  // ---- What it is

  /// In the engine; of one sample, and never used again.
  uint64_t id() const { return id_; }
  RequestId request_id() const { return request_id_; }  ///< of the request; shared by its samples
  uint32_t sample() const { return sample_; }           ///< index among Request::samples
  const Request& request() const { return *request_; }  ///< valid as long as the sequence
  const Usage& usage() const { return usage_; }         ///< so far

  /// Prompt and answer.
  std::span<const int32_t> tokens() const { return answer_.tokens(); }
  uint32_t size() const { return answer_.size(); }
  uint32_t max_tokens() const { return answer_.max_tokens(); }  ///< of the answer; at least 1
  /// Those of the request, with the sample's own stream of draws.
  const SamplerSettings& sampler() const { return answer_.sampler(); }
  bool has_drawn() const { return answer_.drawn() > 0; }  ///< whether its answer has a token
  /// The tokens that were drawn and counted. They are written when it is suspended.
  std::span<const int32_t> drawn() const { return tokens().subspan(request_->prompt.size(), usage_.generated_tokens); }
  /// Tokens of the prompt whose log-probabilities were told.
  uint32_t scored() const { return reading_.scored(); }

  bool is_running() const { return cache_.has_value(); }          ///< whether it has a cache
  bool is_paused() const { return is_paused_; }                   ///< by Pause
  bool is_finished() const { return event_.finish.has_value(); }  ///< whether its last event is made; TakeEvent has it
  /// Whether it came to an end of its answer's own, and not by an error or by its caller.
  bool has_whole_answer() const { return answer_.finish().has_value(); }
  /// Whether there is something to report: tokens, text, log-probabilities of the prompt, or an end.
  bool has_news() const;
  /// Sits out steps, because a thread beside the engine reads what it needs.
  bool is_waiting() const;
  /// In this step, even if the work is done meanwhile: the answer may have to be settled.
  bool awaits_filter() const { return awaits_filter_; }
  /// Whether it must compute all of its tokens here (BeginAnew).
  bool begins_anew() const { return begins_anew_; }

  /// It runs.
  const KVCache& cache() const { return *cache_; }
  /// Tokens that need not be computed again.
  uint32_t computed() const { return cache_ ? cache_->size() : swapped_ ? swapped_->tokens : shared(); }
  /// Tokens to compute until one can be drawn.
  uint32_t pending() const;
  /// Tokens that another holds anyway, and that it will share.
  uint32_t shared() const { return prompt_end_ && prompt_end_->cache ? prompt_end_->cache->size() : 0; }
  /// Pending tokens until a step must end, for others to go on from there; 0 if none must before they end.
  uint32_t step_end() const;
  /// Whether a step must end where its cache ends.
  bool is_at_step_end() const;

  /// The output that is wanted of the row at a position of the prompt.
  Want WantOf(uint32_t position) const { return reading_.WantOf(position); }
  /// Whether rows of the prompt are still to be read. A known beginning cannot replace them.
  bool reads_prompt() const { return reading_.is_wanted(); }
  /// Whether rows of the prompt are still to be read as logits, for log-probabilities.
  bool reads_logits() const { return reading_.wants_logits(); }
  /// Whether its cache has tokens that must be computed once more: a step failed after they were computed, and before
  /// they were read or drawn from.
  bool must_repeat() const { return is_running() && (pending() == 0 || reading_.next() < cache_->size()); }
  /// Whether its cache has the token of the row that is read next: the row must be computed again.
  bool has_unread_row() const { return is_running() && reading_.next() < cache_->size(); }

  /// The facts that a policy is told of it, except for the tokens that its tenant was served.
  Standing standing() const;
  /// Of the engine's, the last that had rows of it; 0 before the first.
  uint64_t last_step() const { return last_step_; }

  // ---- It begins to run, and stops

  /// Goes on from `begun`, whose tokens its answer begins with. A beginning that was fetched or kept for it is
  /// released: it was for the tokens that had to be computed until now.
  void GoOnFrom(KVCache begun) noexcept;

  /// Goes on from the first `tokens` tokens of the other's cache. False, and nothing has changed, where that cannot be.
  bool ShareFrom(const Sequence& other, uint32_t tokens);

  /// Waits for a place, and goes on from the end of its prompt then. `end` may be null: it computes the prompt then.
  void WaitAt(std::shared_ptr<PromptEnd> end) noexcept { prompt_end_ = std::move(end); }
  /// Goes on from there, with the logits [vocab_size] of the prompt's last token. False where no end is kept.
  bool BeginAtPromptEnd(std::vector<float>& logits);

  /// Looks up the beginning that `prompts` knows of it: `known` is a cache with that, and `logits` [vocab_size] are of
  /// its last token where nothing is left to compute. Both stay empty where nothing is known. False where a store is
  /// asked beside the engine: it waits for that, until `give_up` on the engine's clock. Error: kResourceExhausted.
  Result<bool> LookUp(PromptCache& prompts, double give_up, std::optional<KVCache>& known, std::vector<float>& logits);

  /// Notes that it runs. Returns whether that is for the first time.
  bool CountBegun() noexcept;

  /// Gives its cache away. Those that wait for it to compute their beginning wait no longer, except its own samples.
  void Preempt() noexcept;

  /// The cache that came from elsewhere (a store, another sequence) cannot be used: it is released, and from now on all
  /// tokens are computed here. False if that is so already, or if it had no tokens.
  bool BeginAnew() noexcept;

  /// Rewinds the cache to what the answer says and what of the prompt was read, or lets it go where it cannot. At least
  /// one of the answer's tokens stays to be computed, unless it is finished.
  void Rewind();

  /// Frees the states that it could be rewound to. It runs.
  void DropResumePoints() noexcept { cache_->DropResumePoints(); }

  /// A paused one computes nothing, and no sequence waits for it.
  void Pause(bool is_paused) noexcept;

  // ---- It waits for another to compute its beginning

  /// Waits until `other` has computed `tokens` tokens.
  void Follow(Sequence& other, uint32_t tokens);

  /// Waits for no sequence.
  void Unfollow() noexcept;

  /// The one that it waits for, or null, and how many tokens of it.
  const Sequence* leader() const { return leader_; }
  /// Tokens of leader() that it waits for; 0 without a leader.
  uint32_t share_at() const { return share_at_; }
  /// Whether a sequence waits for this one.
  bool has_followers() const { return first_follower_ != nullptr; }

  /// Calls visit(follower) for all that wait for this one; it may have them wait no longer.
  template <class Visit>
  void ForEachFollower(Visit visit) {
    for (Sequence* follower = first_follower_; follower != nullptr;) {
      Sequence& visited = *std::exchange(follower, follower->next_follower_);
      visit(visited);
    }
  }

  /// Those that wait for this one wait no longer; those that begin with it do, unless `with_samples`.
  void ReleaseFollowers(bool with_samples) noexcept;

  /// Whether it draws its first token from the same logits as `other`: those of the prompt's end.
  bool BeginsWith(const Sequence& other) const {
    return request_ == other.request_ && !has_drawn() && !other.has_drawn();
  }

  // ---- Its cache is in a store (Swapping)

  /// Its cache was written to the store. With a `ticket` a thread beside the engine is still writing it.
  void SwapOut(SwappedCache swapped, std::shared_ptr<SwapTicket> ticket = {}) noexcept;
  /// Follows what another engine wrote down, from now on by a ticket.
  void SetTicket(std::shared_ptr<SwapTicket> ticket) noexcept { swap_ticket_ = std::move(ticket); }
  /// Where its cache is written down; there is a ticket where that is under way beside the engine.
  const std::optional<SwappedCache>& swapped() const { return swapped_; }
  /// Null unless its cache is being written or read beside the engine.
  const std::shared_ptr<SwapTicket>& swap_ticket() const { return swap_ticket_; }
  /// It is written down no longer. Returns where it was.
  std::pair<std::optional<SwappedCache>, std::shared_ptr<SwapTicket>> TakeSwapped() noexcept;

  /// Until then it waits for a store that is read beside the engine.
  void WaitUntil(double time) noexcept { wait_until_ = time; }
  /// Whether it has waited for a store for longer than it may.
  bool is_overdue(double now) const { return is_waiting() && now >= wait_until_; }
  /// Waits for the store no longer; what it would have read is computed.
  void AbandonFetch() noexcept;

  // ---- Its rows are computed

  /// Adds `ids` to a batch, to be appended to its cache; `wants` has the wanted output of each. It runs.
  void AddTo(Batch& batch, std::span<const int32_t> ids, std::span<const Want> wants);

  /// Guesses for the next step, how many are worth their rows beside `others`, and which they are.
  uint32_t ChooseDrafts(uint32_t most, const StepWork& others, const CostModel& cost, const DraftCost& draft_cost);
  /// Sets the guesses [at most ChooseDrafts] for the tokens after its last one.
  void SetDrafts(std::vector<int32_t> drafts) noexcept { drafts_ = std::move(drafts); }
  std::span<const int32_t> drafts() const { return drafts_; }  ///< guesses for the next step; may be empty

  /// Reads a row of the prompt that is wanted, if it is the next: logits [vocab_size] or a hidden state [model_dim].
  void ReadPrompt(uint32_t position, std::span<const float> row, SamplerScratch& scratch);

  /// The result of Draw.
  struct Drawn {
    uint32_t tokens = 0, accepted = 0;  ///< all; those that were drafts
  };
  /// Draws a token from each of `logits` [vocab_size], as long as what was drawn is the draft whose logits come next.
  /// Without memory for it nothing is lost: the row is computed and drawn from again.
  Drawn Draw(std::span<const std::span<const float>> logits, std::span<const int32_t> drafts,
             const EngineOptions& options, SamplerScratch& scratch);

  /// Has the long work of the filter done by EngineOptions::filter_workers, if there are any, before a token is drawn,
  /// or before it can be told whether the answer is at its end.
  void PrepareFilter(const EngineOptions& options);

  /// Begins its answer again where it was before a draw for which there was no memory. Error: kResourceExhausted.
  Result<void> Mend(const EngineOptions& options);

  /// Its rows were computed in the step of that number. Returns how many tokens are new: those that had to be computed
  /// again, for others' sake, were no service.
  uint32_t Serve(uint64_t step) noexcept;

  /// Its place in the line of its tenant's sequences (Standing::before).
  void TakeTurn(uint64_t before) noexcept { standing_.before = before; }

  // ---- It ends

  /// Nothing happens to one that is finished.
  void End(FinishReason reason) noexcept;
  /// Ends it as FinishReason::kError. Nothing happens to one that is finished.
  void EndWith(Error error) noexcept;

  /// Returns the news since the last call, as of `now`.
  Event TakeEvent(double now);

 private:
  std::optional<int32_t> DrawOne(std::span<const float> logits, const EngineOptions& options, SamplerScratch& scratch);

  /// Counts a draw for which there was no memory. False after too many in a row: the answer ends then.
  bool MayRetry(const Error& error) noexcept;

  const uint64_t id_;
  const RequestId request_id_;
  const uint32_t sample_;
  const std::shared_ptr<const Request> request_;
  Answer answer_;
  PromptReading reading_;  ///< of the first sample; the others read nothing
  Standing standing_;
  Usage usage_;
  Event event_ = {};  ///< what is not reported yet

  std::optional<KVCache> cache_ = {};         ///< runs
  std::optional<SwappedCache> swapped_ = {};  ///< waits, and need not compute everything again
  std::shared_ptr<SwapTicket> swap_ticket_ = {};
  std::shared_ptr<PromptEnd> prompt_end_ = {};
  std::optional<PromptFetch> fetch_ = {};  ///< of what it begins with
  double wait_until_ = 0.0;
  bool begins_anew_ = false;
  bool has_begun_;  ///< has had a cache
  bool is_paused_ = false;

  Sequence* leader_ = nullptr;
  uint32_t share_at_ = 0;
  Sequence* first_follower_ = nullptr;
  Sequence *next_follower_ = nullptr, *previous_follower_ = nullptr;  ///< that wait for the same leader
  std::vector<uint32_t> step_ends_;                                   ///< ascending; where steps end

  uint32_t served_ = 0;  ///< tokens that were computed for it at some time
  uint64_t last_step_ = 0;
  uint32_t torn_ = 0;  ///< draws in a row for which there was no memory: the answer has to be begun again
  std::shared_ptr<FilterWork> filter_work_ = {};  ///< before a token can be drawn; null: none
  bool awaits_filter_ = false;
  std::vector<int32_t> drafts_ = {};  ///< for the next step
  DraftLength draft_length_ = {};
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/running/detail/sequence.h"
#endif

#endif  // SKALD_ENGINE_RUNNING_SEQUENCE_H_
