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
#include "skald/engine/answers/answer.h"
#include "skald/engine/form/engine_options.h"
#include "skald/engine/form/request.h"
#include "skald/engine/plan/cost_model.h"
#include "skald/engine/plan/scheduler.h"
#include "skald/engine/plan/tenants.h"
#include "skald/engine/running/drawing.h"
#include "skald/engine/running/sequence.h"
#include "skald/engine/running/shared_beginnings.h"
#include "skald/engine/running/suspended.h"
#include "skald/engine/running/swapping.h"
#include "skald/store/prompts/prompt_cache.h"

namespace skald {

class Sequences {
 public:
  // `options` must outlive this.
  Sequences(std::shared_ptr<BlockPool> pool, const EngineOptions& options)
      : pool_(std::move(pool)), options_(options), swapping_(options) {}

  // Adds the samples of a request. An error leaves none of them.
  Result<void> Add(RequestId id, std::shared_ptr<const Request> request, uint32_t capacity) {
    const uint32_t room = capacity - static_cast<uint32_t>(request->prompt.size()) + 1;
    SuspendedRequest begun = {.id = id, .max_tokens = std::min(room, request->max_tokens.value_or(room))};
    for (uint32_t sample = 0; sample < request->samples; ++sample) {
      begun.samples.push_back({.sample = sample, .usage = {.submitted = options_.clock()}});
    }
    return Add(begun, std::move(request));
  }

  // Adds what was suspended, as it stood. An error leaves none of it.
  Result<void> Add(const SuspendedRequest& suspended, std::shared_ptr<const Request> request) {
    std::list<Sequence> added;
    const double now = options_.clock();
    const auto prompt_tokens = static_cast<uint32_t>(request->prompt.size());
    for (const SuspendedSample& sample : suspended.samples) {
      auto answer = Answer::Begin(request, sample.sample, suspended.max_tokens, options_.tokenizer, sample.drawn,
                                  /*defers_filter=*/options_.filter_workers != nullptr);
      if (!answer) return Failure(answer.error());
      if (answer->finish()) return Fail(ErrorCode::kDataLoss, "a suspended answer is at its end");
      Sequence& sequence =
          added.emplace_back(Sequence{.id = next_id_ + added.size(),
                                      .request_id = suspended.id,
                                      .sample = sample.sample,
                                      .request = request,
                                      .answer = std::move(*answer),
                                      .reading = PromptReading(request, sample.sample, sample.scored)});
      sequence.standing = {now, request->priority, uint64_t{prompt_tokens} + suspended.max_tokens};
      sequence.usage = sample.usage;
      sequence.usage.prompt_tokens = prompt_tokens;
      sequence.usage.generated_tokens = static_cast<uint32_t>(sample.drawn.size());
      sequence.step_ends = request->branch_points;
      sequence.has_begun = !sample.drawn.empty();
      sequence.swapped = sample.swapped;
      Sequence& first = added.front();
      if (&sequence != &first && sample.drawn.empty() && first.answer.drawn() == 0)
        sequence.Follow(first, prompt_tokens);
    }
    if (auto adopted = Adopt(added); !adopted) return adopted;
    next_id_ += added.size();
    sequences_.splice(sequences_.end(), added);
    return {};
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
        suspended.push_back({sequence.request_id, *sequence.request, sequence.request->filter != nullptr,
                             sequence.answer.max_tokens()});
      }
      const std::span<const int32_t> drawn =
          sequence.answer.tokens().subspan(sequence.request->prompt.size(), sequence.usage.generated_tokens);
      suspended.back().samples.push_back({sequence.sample,
                                          {drawn.begin(), drawn.end()},
                                          sequence.reading.scored(),
                                          sequence.usage,
                                          Swapping::Written(sequence)});
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

  bool Contains(RequestId id) const {
    return std::ranges::any_of(sequences_, [&](const Sequence& sequence) { return sequence.request_id == id; });
  }

  // Removes a request without a word.
  void Discard(RequestId id) noexcept {
    for (auto it = sequences_.begin(); it != sequences_.end();) {
      const auto at = it++;
      if (at->request_id == id) RemoveQuietly(at);
    }
  }

  template <class Visit>
  void ForEachOf(RequestId id, Visit visit) noexcept {
    for (Sequence& sequence : sequences_) {
      if (sequence.request_id == id) visit(sequence);
    }
  }

  // Nobody waits for one that is paused.
  void Pause(RequestId id, bool is_paused) noexcept {
    ForEachOf(id, [&](Sequence& sequence) {
      sequence.is_paused = is_paused;
      if (is_paused) internal::ReleaseFollowers(sequences_, sequence, /*with_samples=*/false);
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
      if (sequence.leader != nullptr && sequence.leader->computed() > sequence.share_at) sequence.leader = nullptr;
      // A step that failed after computing, and before it drew or read, is done again.
      if (sequence.is_running() && (sequence.pending() == 0 || sequence.reading.next() < sequence.cache->size())) {
        internal::ForgetWrong(sequence);
      }
    }
    return candidates;
  }

  SequenceView ViewOf(const Sequence& sequence) const {
    Standing standing = sequence.standing;
    standing.served = tenants_.served(sequence.request->tenant);
    SequenceView view = {UrgencyOf(standing, options_.policy)};
    const bool draws = !sequence.is_running() || sequence.pending() <= 1;
    view.may_run = !sequence.is_paused && !sequence.is_waiting() && sequence.leader == nullptr &&
                   !(draws && sequence.awaits_filter);
    view.is_running = sequence.is_running();
    view.cached = sequence.computed();
    view.pending = std::max(1u, sequence.pending());
    view.drafts = static_cast<uint32_t>(sequence.drafts.size());
    view.step_end = sequence.step_end();
    // Logits are much larger than what else is computed of a row.
    if (sequence.reading.wants_logits())
      view.step_end = std::min(kReadRows, view.step_end > 0 ? view.step_end : kReadRows);
    return view;
  }

  // Gives `sequence` a cache with as much of it as is known, if there is room; it may also wait for another that is
  // computing what it begins with. Draws where nothing is left to compute.
  Result<void> Admit(Sequence& sequence, SamplerScratch& scratch) {
    if (sequence.swapped && swapping_.BringBack(sequence, pool_, LeastUrgentHolder() == nullptr)) {
      // Of an embedding nothing is read any more, if another engine wrote it down.
      if (sequence.reading.next() < sequence.cache->size()) internal::ForgetWrong(sequence);
      return {};
    }
    if (sequence.swapped) return {};  // no room yet
    std::vector<float> logits;
    if (auto begun = Begin(sequence, logits); !begun) {
      return begun.error().code == ErrorCode::kResourceExhausted ? Result<void>() : begun;
    }
    if (!sequence.is_running()) return {};
    sequence.fetch.reset();
    if (!sequence.has_begun) {
      sequence.has_begun = true;
      sequence.usage.cached_tokens = std::min(sequence.cache->size(), sequence.usage.prompt_tokens);
      stats_.prompt_tokens += sequence.usage.prompt_tokens;
      stats_.cached_tokens += sequence.usage.cached_tokens;
    }
    if (!logits.empty()) {
      const std::span<const float> row(logits);
      Draw(sequence, {&row, 1}, {}, scratch);
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
    internal::ReleaseFollowers(sequences_, sequence, /*with_samples=*/false);
  }

  // Returns who should give its memory away if someone must; null where no more than one has any.
  Sequence* LeastUrgentHolder() {
    Sequence* least = nullptr;
    size_t holders = 0;
    for (Sequence& sequence : sequences_) {
      if (!sequence.is_running()) continue;
      ++holders;
      if (least == nullptr || !IsMoreUrgent(sequence, *least)) least = &sequence;
    }
    return holders > 1 ? least : nullptr;
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
    for (Sequence& follower : sequences_) {
      if (follower.leader != &sequence || follower.share_at != at || follower.request == sequence.request) continue;
      internal::ShareWith(follower, sequence, at);
      follower.leader = nullptr;
    }
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
    events.reserve(events.size() + sequences_.size());  // what has been told is not there any more
    for (auto it = sequences_.begin(); it != sequences_.end();) {
      Sequence& sequence = *it++;
      Event& event = sequence.event;
      if (event.tokens.empty() && event.text.empty() && event.prompt_tokens.empty() && !event.finish) continue;
      if (event.finish) sequence.usage.finished = now;
      event.request = sequence.request_id;
      event.sample = sequence.sample;
      event.usage = sequence.usage;
      const bool is_finished = event.finish.has_value();
      events.push_back(std::exchange(event, {}));
      if (is_finished) Remove(std::prev(it));
    }
  }

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
  static constexpr uint32_t kReadRows = 64;

  bool IsMoreUrgent(const Sequence& a, const Sequence& b) const {
    const SequenceView first = ViewOf(a), second = ViewOf(b);
    if (first.may_run != second.may_run) return first.may_run;
    return first.urgency < second.urgency;
  }

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
    if (sequence.reading.is_wanted()) return BeginAnew(sequence);
    if (PromptCache* const prompts = options_.PromptsOf(sequence.request->adapter)) {
      const bool has_asked = sequence.fetch.has_value();
      auto prefix = prompts->LookupBeside(sequence.answer.tokens(), SaltOf(sequence), sequence.fetch);
      if (!prefix) return Failure(prefix.error());
      if (!has_asked && sequence.fetch) {
        sequence.wait_until = options_.clock() + options_.store_seconds;
        return {};
      }
      logits = std::move(prefix->logits);
      known = std::move(prefix->cache);
    }
    const auto [leader, at] = logits.empty() ? internal::FindLeader(sequences_, sequence, known ? known->size() : 0,
                                                                    pool_->runtime().block_tokens)
                                             : internal::Leader{};
    if (leader != nullptr && leader->cache->size() < at) {
      sequence.Follow(*leader, at);
      return {};
    }
    if (leader != nullptr && internal::ShareWith(sequence, *leader, at)) return {};
    if (!known) return BeginAnew(sequence);
    sequence.cache = std::move(*known);
    return {};
  }

  Result<void> BeginAnew(Sequence& sequence) {
    auto cache = CreateKVCache(pool_, sequence.request->adapter);
    if (!cache) return Failure(cache.error());
    sequence.cache = std::move(*cache);
    return {};
  }

  // The other samples of a request go on from the end of the prompt.
  void BeginSamples(Sequence& first, std::span<const float> logits, SamplerScratch& scratch) {
    for (Sequence& sample : sequences_) {
      if (sample.leader != &first || sample.request != first.request || sample.is_finished()) continue;
      sample.leader = nullptr;
      if (!internal::ShareWith(sample, first, first.answer.size())) continue;
      sample.has_begun = true;
      sample.usage.cached_tokens = sample.usage.prompt_tokens;
      stats_.prompt_tokens += sample.usage.prompt_tokens;
      stats_.cached_tokens += sample.usage.prompt_tokens;
      if (internal::DrawToken(sample, logits, options_.clock, scratch)) ++stats_.generated_tokens;
      internal::ForgetWrong(sample);
    }
  }

  // Offers what it has computed to the prompt cache, which may have no room for it.
  void Keep(const Sequence& sequence, std::span<const float> logits) noexcept {
    PromptCache* const prompts = options_.PromptsOf(sequence.request->adapter);
    if (prompts == nullptr) return;
    (void)NoThrow("keeping a prompt",
                  [&]() -> Result<void> { return prompts->Insert(*sequence.cache, logits, SaltOf(sequence)); });
  }

  static std::optional<std::string> SaltOf(const Sequence& sequence) {
    if (sequence.request->tenant.empty()) return std::nullopt;
    return sequence.request->tenant;
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
    internal::ReleaseFollowers(sequences_, sequence, /*with_samples=*/true);
    tenants_.Leave(sequence.request->tenant);
    sequences_.erase(at);
  }

  std::shared_ptr<BlockPool> pool_;
  const EngineOptions& options_;
  Swapping swapping_;
  std::list<Sequence> sequences_;  // in the order in which they came
  Tenants tenants_;
  uint64_t next_id_ = 1;
  EngineStats stats_;
};

}  // namespace skald

#endif  // SKALD_ENGINE_RUNNING_SEQUENCES_H_
