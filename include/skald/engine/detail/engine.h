// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/engine.h.

#ifndef SKALD_ENGINE_DETAIL_ENGINE_H_
#define SKALD_ENGINE_DETAIL_ENGINE_H_

#include "skald/engine/engine.h"

#include <algorithm>
#include <string>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/engine/answers/answer.h"
#include "skald/engine/answers/prompt_reading.h"
#include "skald/engine/plan/fair_steps.h"
#include "skald/engine/plan/policy.h"
#include "skald/engine/plan/scheduler.h"
#include "skald/engine/requests/drafter.h"
#include "skald/engine/running/detail/drawing.h"
#include "skald/engine/running/detail/request_check.h"
#include "skald/engine/running/detail/suspending.h"
#include "skald/engine/speculation/draft_length.h"
#include "skald/model/forward_options.h"
#include "skald/store/prompts/prompt_cache.h"

namespace skald {

SKALD_INLINE Result<std::unique_ptr<Engine>> Engine::Create(ModelRef model, std::shared_ptr<BlockPool> pool,
                                                            Workspace& workspace, EngineOptions options) {
  return NoThrow("Engine::Create", [&]() -> Result<std::unique_ptr<Engine>> {
    SKALD_TRY(CheckOptions(pool, options));
    return std::unique_ptr<Engine>(new Engine(model, std::move(pool), workspace, std::move(options)));
  });
}

SKALD_INLINE Result<void> Engine::Check(const Request& request) const {
  return NoThrow("Engine::Check", [&] {
    return CheckRequest(request, {model_.vocab_size(), capacity_, options_.tokenizer != nullptr, options_.adapters});
  });
}

SKALD_INLINE Result<RequestId> Engine::Submit(Request request) {
  return NoThrow("Engine::Submit", [&]() -> Result<RequestId> {
    SKALD_TRY(Check(request));
    const RequestId id = next_request_;
    SKALD_TRY(sequences_.Add(id, std::make_shared<const Request>(std::move(request)), capacity_));
    ++next_request_;
    return id;
  });
}

SKALD_INLINE void Engine::Cancel(RequestId id) noexcept {
  sequences_.ForEachOf(id, [](Sequence& sequence) { End(sequence, FinishReason::kCancelled); });
}

SKALD_INLINE Result<StepReport> Engine::Step() {
  return NoThrow("Engine::Step", [&]() -> Result<StepReport> {
    StepReport report;
    sequences_.ExpireAt(options_.clock());
    auto computed = Advance();
    if (computed) report.rows = *computed;
    sequences_.Report(report.events, options_.clock());
    if (!computed && report.events.empty()) return Failure(computed.error());
    return report;
  });
}

SKALD_INLINE Result<std::vector<std::byte>> Engine::Suspend() {
  auto bytes = NoThrow("Engine::Suspend", [&] {
    return EncodeSuspended({.next_id = next_request_, .requests = sequences_.Suspend()}, options_.clock());
  });
  bytes ? sequences_.Leave() : sequences_.Stay();
  return bytes;
}

SKALD_INLINE Result<std::vector<RequestId>> Engine::Resume(std::span<const std::byte> bytes,
                                                           const FilterMaker& make_filter,
                                                           const SamplerMaker& make_sampler) {
  return NoThrow("Engine::Resume", [&]() -> Result<std::vector<RequestId>> {
    SKALD_ASSIGN(auto suspended, DecodeSuspended(bytes, options_.clock()));
    std::vector<RequestId> ids;
    ids.reserve(suspended.requests.size());
    for (SuspendedRequest& request : suspended.requests) {
      auto resumed = NoThrow("Engine::Resume", [&] { return ResumeOne(request, make_filter, make_sampler); });
      if (!resumed) {
        for (const RequestId id : ids) sequences_.Discard(id);
        return Failure(resumed.error());
      }
      ids.push_back(request.id);
    }
    next_request_ = std::max(next_request_, suspended.next_id);
    for (const RequestId id : ids) next_request_ = std::max(next_request_, id + 1);
    return ids;
  });
}

SKALD_INLINE Engine::Engine(ModelRef model, std::shared_ptr<BlockPool> pool, Workspace& workspace,
                            EngineOptions options)
    : model_(model),
      pool_(std::move(pool)),
      workspace_(&workspace),
      options_(std::move(options)),
      memory_(MemoryModel::Of(*pool_)),
      capacity_(CapacityOf(*pool_)),
      sequences_(pool_, options_) {}

SKALD_INLINE Result<void> Engine::CheckOptions(const std::shared_ptr<BlockPool>& pool, const EngineOptions& options) {
  const auto refuse = [](const char* what) { return Fail(ErrorCode::kInvalidArgument, what); };
  if (pool == nullptr) return refuse("Engine: the pool is null");
  if (!pool->has_bytes()) return BlockPool::FailNoBytes();
  if (options.max_running == 0) return refuse("EngineOptions::max_running is 0, expected at least 1");
  if (options.step_tokens == 0) return refuse("EngineOptions::step_tokens is 0, expected at least 1");
  if (options.step_seconds && !(*options.step_seconds > 0.0)) {
    return refuse("EngineOptions::step_seconds is not positive");
  }
  if (!options.clock) return refuse("EngineOptions::clock is empty");
  if (std::ranges::count(options.prompts, nullptr) > 0) return refuse("EngineOptions::prompts has a null pointer");
  return {};
}

SKALD_INLINE Result<void> Engine::ResumeOne(SuspendedRequest& suspended, const FilterMaker& make_filter,
                                            const SamplerMaker& make_sampler) {
  const std::string whose = "request " + std::to_string(suspended.id);
  if (sequences_.Contains(suspended.id)) {
    return Fail(ErrorCode::kInvalidArgument, whose + " is there already");
  }
  if (auto valid = Check(suspended.request); !valid) return Annotate(whose, valid);
  if (suspended.has_filter) {
    if (!make_filter) return Fail(ErrorCode::kInvalidArgument, whose + " has a filter; make_filter is empty");
    SKALD_ASSIGN(auto filter, make_filter(suspended.request));
    suspended.request.filter = std::move(filter);
  }
  if (suspended.has_sampler) {
    if (!make_sampler) {
      return Fail(ErrorCode::kInvalidArgument, whose + " has a sampler of its own; make_sampler is empty");
    }
    SKALD_ASSIGN(suspended.request.own_sampler, make_sampler(suspended.request));
  }
  auto added = sequences_.Add(suspended, std::make_shared<const Request>(suspended.request));
  return added ? added : Result<void>(Annotate(whose, added));
}

SKALD_INLINE Result<uint64_t> Engine::Advance() {
  for (size_t repeated = 0;;) {
    SKALD_ASSIGN(auto tried, TrySchedule());
    if (tried.in_the_way == nullptr || sequences_.has_news()) return tried.rows;
    if (tried.is_repeatable && ++repeated <= 2 * sequences_.size()) continue;
    const std::optional<Error>& no_room = tried.no_room;
    // No memory in the system is nobody's fault.
    if (no_room && !no_room->facts.needed_bytes) return Failure(*no_room);
    if (MakeRoom(*tried.in_the_way)) continue;
    EndWith(*tried.in_the_way, no_room.value_or(Error{ErrorCode::kResourceExhausted, "the request cannot get on"}));
  }
}

SKALD_INLINE bool Engine::MakeRoom(Sequence& sequence) {
  if (sequences_.YieldSpare()) return true;
  if (Sequence* const holder = sequences_.LeastUrgentHolder(&sequence)) {
    sequences_.Preempt(*holder, cost_);
    return true;
  }
  if (TrimPrompts()) return true;
  return sequences_.BeginAnew(sequence);
}

SKALD_INLINE bool Engine::TrimPrompts() noexcept {
  bool were_any = false;
  for (PromptCache* const prompts : options_.prompts) {
    were_any |= prompts->stats().entries > 0;
    prompts->Trim(0);
  }
  return were_any;
}

SKALD_INLINE Result<Engine::Attempt> Engine::TrySchedule() {
  SKALD_ASSIGN(const auto found, sequences_.Candidates());
  const std::vector<Sequence*>& candidates = found;
  DraftFor(candidates);
  std::vector<SequenceView> views;
  for (const Sequence* sequence : candidates) views.push_back(sequences_.ViewOf(*sequence));
  if (options_.policy.policy == Policy::kFairShare) {
    LimitToShares(views, {options_.step_tokens, sequences_.LeftLately(), sequences_.steps()}, cost_);
  }
  const StepLimits limits = {options_.max_running, options_.step_tokens, options_.step_seconds, FreeBytes()};
  const Schedule schedule = MakeSchedule(views, limits, memory_, cost_);
  Attempt attempt;
  if (schedule.rows.empty()) return attempt;
  for (const uint32_t i : schedule.preempted) sequences_.Preempt(*candidates[i], cost_);
  for (const uint32_t i : schedule.admitted) {
    auto admitted = sequences_.Admit(*candidates[i], scratch_);
    if (!admitted && admitted.error().code != ErrorCode::kResourceExhausted) return Failure(admitted.error());
    if (!admitted && !attempt.no_room) attempt.no_room = std::move(admitted.error());
    // It waits for another now, or for a store.
    if (admitted && !candidates[i]->is_running()) attempt.is_repeatable = true;
  }
  std::vector<Row> rows;
  for (const StepRows& row : schedule.rows) AddRow(*candidates[row.sequence], row.tokens, row.drafts, rows);
  const bool had_rows = !rows.empty();
  SKALD_ASSIGN(const auto computed, Compute(rows));
  attempt.rows = computed;
  if (computed > 0) return attempt;
  const auto is_ready = [&](const StepRows& row) {
    const Sequence& sequence = *candidates[row.sequence];
    return sequence.leader == nullptr && !sequence.is_waiting();
  };
  const auto first = std::ranges::find_if(schedule.rows, is_ready);
  attempt.in_the_way = candidates[first == schedule.rows.end() ? schedule.rows[0].sequence : first->sequence];
  if (had_rows) attempt.is_repeatable = true;  // they were given up for want of memory
  return attempt;
}

SKALD_INLINE uint64_t Engine::FreeBytes() {
  uint64_t reclaimable = sequences_.SpareBytesOf();
  for (const PromptCache* const prompts : options_.prompts) reclaimable += prompts->stats().bytes;
  const uint64_t available = pool_->usage().available_bytes;
  return available + std::min(reclaimable, kUnlimited - available);
}

SKALD_INLINE void Engine::DraftFor(std::span<Sequence* const> candidates) {
  if (options_.drafter == nullptr) return;
  StepWork work;
  for (const Sequence* sequence : candidates) {
    if (sequence->is_running() && sequence->pending() == 1) work = work.With(sequence->cache->size(), 1);
  }
  std::vector<DraftTask> tasks;
  std::vector<Sequence*> writers;
  for (Sequence* sequence : candidates) {
    sequence->drafts.clear();
    if (!sequence->is_running() || sequence->pending() != 1 || sequence->is_paused) continue;
    const uint32_t most = MostDrafts(*sequence);
    if (most == 0) continue;
    const StepWork others = {work.rows - 1, work.attended - sequence->cache->size() - 1};
    const uint32_t wanted = sequence->draft_length.Choose(most, others, sequence->cache->size(), cost_);
    if (wanted == 0) continue;
    tasks.push_back({sequence->id, sequence->answer.tokens(), &sequence->answer.sampler(), wanted});
    writers.push_back(sequence);
  }
  if (tasks.empty() || !options_.drafter->Draft(tasks)) return;
  for (size_t i = 0; i < tasks.size(); ++i) {
    std::vector<int32_t>& drafts = tasks[i].drafts;
    const auto is_foreign = [&](int32_t id) { return id < 0 || id >= model_.vocab_size(); };
    drafts.erase(std::ranges::find_if(drafts, is_foreign), drafts.end());
    if (drafts.size() > tasks[i].most) drafts.resize(tasks[i].most);
    writers[i]->drafts = std::move(drafts);
  }
}

SKALD_INLINE uint32_t Engine::MostDrafts(const Sequence& sequence) const {
  uint32_t most = std::min(sequence.request->max_drafts, options_.max_drafts);
  const auto keeps_all = [](const CacheGroup& group) { return !group.is_recurrent() && group.window == 0; };
  if (!std::ranges::all_of(pool_->layout().groups(), keeps_all)) {
    most = std::min(most, pool_->runtime().rewind_tokens);
  }
  return std::min(most, capacity_ - std::min(capacity_, sequence.answer.size()));
}

SKALD_INLINE void Engine::AddRow(Sequence& sequence, uint32_t tokens, uint32_t drafts, std::vector<Row>& rows) {
  if (!sequence.is_running() || sequence.is_finished()) return;  // it found no memory, or all was known
  // Since the schedule was made it may have found a beginning, or others that wait for a part of it.
  const uint32_t end = sequence.step_end();
  if (end > 0) tokens = std::min(tokens, end);
  // Where a prompt or a step must end, the cache is kept or shared as it stands: without guesses.
  if (end > 0 || sequence.answer.drawn() == 0) drafts = 0;
  Row row = {&sequence, std::min(tokens, sequence.pending()), drafts};
  // It does not come to where it draws.
  if (sequence.awaits_filter && row.tokens == sequence.pending()) --row.tokens;
  if (row.tokens == 0) return;
  if (row.tokens < sequence.pending()) row.drafts = 0;
  row.draws = row.tokens == sequence.pending() && !sequence.request->embedding;
  rows.push_back(std::move(row));
}

SKALD_INLINE Result<uint64_t> Engine::Compute(std::vector<Row>& rows) {
  while (!rows.empty()) {
    Batch batch;
    StepWork work;
    for (Row& row : rows) {
      AddTo(batch, row);
      work = work.With(row.sequence->cache->size(), row.ids.size());
    }
    const double begin = options_.clock();
    auto outputs = model_.Forward(batch, *workspace_,
                                  {.pass_tokens = std::max(options_.step_tokens, 1u), .adapters = options_.adapters});
    if (outputs) {
      sequences_.CountStep(work.rows);
      Take(rows, *outputs);
      cost_.Observe(work, options_.clock() - begin);  // with drawing, which costs as much where a model is small
      return work.rows;
    }
    if (!Yield(rows, outputs.error())) return Failure(outputs.error());
  }
  return 0;
}

SKALD_INLINE void Engine::AddTo(Batch& batch, Row& row) {
  const Sequence& sequence = *row.sequence;
  const std::span<const int32_t> pending = sequence.answer.tokens().subspan(sequence.cache->size(), row.tokens);
  row.ids.assign(pending.begin(), pending.end());
  row.ids.insert(row.ids.end(), sequence.drafts.begin(), sequence.drafts.begin() + row.drafts);
  row.begin = sequence.cache->size();
  row.wants.clear();
  for (uint32_t i = 0; i < row.ids.size(); ++i) row.wants.push_back(sequence.reading.WantOf(row.begin + i));
  if (row.draws) std::fill(row.wants.begin() + row.tokens - 1, row.wants.end(), Want::kLogits);
  batch.Add(*row.sequence->cache, row.ids, row.wants);
}

SKALD_INLINE bool Engine::Yield(std::vector<Row>& rows, const Error& error) {
  if (!error.facts.sequence || *error.facts.sequence >= rows.size()) return false;
  const size_t at = *error.facts.sequence;
  if (error.code != ErrorCode::kResourceExhausted) return GiveUp(rows, at, error);
  if (sequences_.YieldSpare()) return true;
  if (Sequence* const victim = sequences_.LeastUrgentHolder()) {
    sequences_.Preempt(*victim, cost_);
    std::erase_if(rows, [&](const Row& row) { return row.sequence == victim; });
    return true;
  }
  // It is alone. Prompts that were kept when the step was planned shared blocks with it, which it had to copy.
  if (TrimPrompts()) return true;
  Row& row = rows[at];
  // A shorter step needs less.
  if (row.drafts > 0) {
    row.drafts = 0;
  } else if (row.tokens > 1) {
    row.tokens /= 2;
    row.draws = false;
  } else {
    return GiveUp(rows, at, error);
  }
  return true;
}

SKALD_INLINE bool Engine::GiveUp(std::vector<Row>& rows, size_t at, const Error& error) {
  if (!sequences_.BeginAnew(*rows[at].sequence)) EndWith(*rows[at].sequence, error);
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

SKALD_INLINE void Engine::EndWith(Sequence& sequence, const Error& error) {
  sequence.event.error = error;
  End(sequence, FinishReason::kError);
}

SKALD_INLINE void Engine::End(Sequence& sequence, FinishReason reason) noexcept {
  if (!sequence.is_finished()) sequence.event.finish = reason;
}

SKALD_INLINE void Engine::Take(std::span<Row> rows, const Outputs& outputs) {
  size_t output = 0;
  for (Row& row : rows) {
    const size_t read = row.draws ? row.tokens - 1 : row.tokens;
    for (uint32_t i = 0; i < read; ++i) {
      if (row.wants[i] == Want::kNothing) continue;
      internal::ReadPrompt(*row.sequence, row.begin + i, outputs[output++], scratch_);
    }
    if (row.draws) {
      std::vector<std::span<const float>> logits;
      for (uint32_t i = 0; i <= row.drafts; ++i) logits.push_back(outputs[output++]);
      if (row.sequence->is_finished() || row.sequence->reading.is_wanted()) continue;  // it could not be read
      sequences_.Draw(*row.sequence, logits, std::span(row.ids).last(row.drafts), scratch_);
    } else {
      sequences_.Reached(*row.sequence);
    }
    sequences_.Serve(*row.sequence);
  }
}

}  // namespace skald

#endif  // SKALD_ENGINE_DETAIL_ENGINE_H_
