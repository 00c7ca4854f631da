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
#include "skald/engine/plan/fair_steps.h"
#include "skald/engine/plan/policy.h"
#include "skald/engine/plan/scheduler.h"
#include "skald/engine/requests/drafter.h"
#include "skald/engine/running/detail/request_check.h"
#include "skald/model/forward_options.h"

namespace skald {

SKALD_INLINE Result<std::unique_ptr<Engine>> Engine::Create(ModelRef model, std::shared_ptr<BlockPool> pool,
                                                            Workspace& workspace, EngineOptions options) {
  return NoThrow("Engine::Create", [&]() -> Result<std::unique_ptr<Engine>> {
    SKALD_TRY(CheckOptions(pool, options));
    if (auto fits = model.CheckPool(*pool); !fits) return Annotate("Engine", fits);
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

SKALD_INLINE Result<StepReport> Engine::Step() {
  return NoThrow("Engine::Step", [&]() -> Result<StepReport> {
    StepReport report;
    auto computed = Advance(options_.clock());
    if (computed) report.rows = *computed;
    sequences_.Report(report.events, options_.clock());
    if (!computed && report.events.empty()) return Failure(computed.error());
    return report;
  });
}

SKALD_INLINE Result<std::vector<std::byte>> Engine::Suspend() { return sequences_.Suspend(next_request_); }

SKALD_INLINE Result<std::vector<RequestId>> Engine::Resume(std::span<const std::byte> bytes,
                                                           const FilterMaker& make_filter,
                                                           const SamplerMaker& make_sampler) {
  return NoThrow("Engine::Resume", [&]() -> Result<std::vector<RequestId>> {
    SKALD_ASSIGN(auto suspended, DecodeSuspended(bytes, options_.clock()));
    std::vector<RequestId> ids;
    for (SuspendedRequest& one : suspended.requests) {
      const std::string whose = "request " + std::to_string(one.id);
      if (auto valid = Check(one.request); !valid) return Annotate(whose, valid);
      SKALD_TRY(Complete(one, make_filter, make_sampler));
      ids.push_back(one.id);
    }
    SKALD_TRY(sequences_.Add(suspended.requests));
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
      sequences_(pool_, options_, cost_) {}

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

SKALD_INLINE Result<void> Engine::Complete(SuspendedRequest& suspended, const FilterMaker& make_filter,
                                           const SamplerMaker& make_sampler) {
  const auto refuse = [&](const char* why) {
    return Fail(ErrorCode::kInvalidArgument, "request " + std::to_string(suspended.id) + why);
  };
  if (suspended.has_filter) {
    if (!make_filter) return refuse(" has a filter; make_filter is empty");
    SKALD_ASSIGN(suspended.request.filter, make_filter(suspended.request));
  }
  if (suspended.has_sampler) {
    if (!make_sampler) return refuse(" has a sampler of its own; make_sampler is empty");
    SKALD_ASSIGN(suspended.request.own_sampler, make_sampler(suspended.request));
    if (!suspended.request.own_sampler) return refuse(" has a sampler of its own; make_sampler made none");
  }
  return {};
}

SKALD_INLINE Result<uint64_t> Engine::Advance(double now) {
  for (size_t repeated = 0;;) {
    SKALD_ASSIGN(auto tried, TrySchedule(now));
    if (tried.in_the_way == nullptr || sequences_.has_news()) return tried.rows;
    if (tried.is_repeatable && ++repeated <= 2 * tried.candidates) continue;
    const std::optional<Error>& no_room = tried.no_room;
    // No memory in the system is the fault of no request.
    if (no_room && !no_room->facts.needed_bytes) return Failure(*no_room);
    Sequence& sequence = *tried.in_the_way;
    if (sequences_.MakeRoom(&sequence) || sequences_.BeginAnew(sequence)) continue;
    sequence.EndWith(no_room.value_or(Error{ErrorCode::kResourceExhausted, "the request cannot get on"}));
  }
}

SKALD_INLINE Result<Engine::Attempt> Engine::TrySchedule(double now) {
  SKALD_ASSIGN(auto candidates, sequences_.PrepareStep(now));
  Attempt attempt = {.candidates = candidates.sequences.size()};
  DraftFor(candidates);
  if (options_.policy.policy == Policy::kFairShare) {
    LimitToShares(candidates.views, {options_.step_tokens, candidates.left_lately, candidates.step}, cost_);
  }
  const StepLimits limits = {options_.max_running, options_.step_tokens, options_.step_seconds, candidates.free_bytes};
  const Schedule schedule = MakeSchedule(candidates.views, limits, memory_, cost_);
  if (schedule.rows.empty()) return attempt;
  SKALD_ASSIGN(auto admitted, sequences_.Apply(schedule, candidates, scratch_));
  std::vector<Row> rows;
  for (const StepRows& row : schedule.rows) AddRow(*candidates.sequences[row.sequence], row.tokens, row.drafts, rows);
  const bool had_rows = !rows.empty();
  SKALD_ASSIGN(attempt.rows, Compute(rows));
  if (attempt.rows > 0) return attempt;
  // Rows that there were have been given up for lack of memory.
  attempt.is_repeatable = admitted.has_waiting || had_rows;
  attempt.no_room = std::move(admitted.no_room);
  const auto is_ready = [&](const StepRows& row) {
    const Sequence& sequence = *candidates.sequences[row.sequence];
    return sequence.leader() == nullptr && !sequence.is_waiting();
  };
  const auto ready = std::ranges::find_if(schedule.rows, is_ready);
  const StepRows& first = ready == schedule.rows.end() ? schedule.rows.front() : *ready;
  attempt.in_the_way = candidates.sequences[first.sequence];
  return attempt;
}

SKALD_INLINE void Engine::DraftFor(Candidates& candidates) {
  if (options_.drafter == nullptr) return;
  StepWork work;
  for (const Sequence* sequence : candidates.sequences) {
    if (sequence->is_running() && sequence->pending() == 1) work = work.With(sequence->computed(), 1);
  }
  std::vector<DraftTask> tasks;
  std::vector<size_t> writers;  // of the candidates
  for (size_t i = 0; i < candidates.sequences.size(); ++i) {
    candidates.sequences[i]->SetDrafts({});
    candidates.views[i].drafts = 0;
    auto task = TaskFor(*candidates.sequences[i], work);
    if (!task) continue;
    tasks.push_back(*std::move(task));
    writers.push_back(i);
  }
  if (tasks.empty()) return;
  const double begin = options_.clock();
  if (!options_.drafter->Draft(tasks)) return;
  draft_cost_.Observe(tasks, options_.clock() - begin);
  for (size_t i = 0; i < tasks.size(); ++i) {
    std::vector<int32_t>& drafts = tasks[i].drafts;
    const auto is_foreign = [&](int32_t id) { return id < 0 || id >= model_.vocab_size(); };
    drafts.erase(std::ranges::find_if(drafts, is_foreign), drafts.end());
    if (drafts.size() > tasks[i].most) drafts.resize(tasks[i].most);
    candidates.views[writers[i]].drafts = static_cast<uint32_t>(drafts.size());
    candidates.sequences[writers[i]]->SetDrafts(std::move(drafts));
  }
}

SKALD_INLINE std::optional<DraftTask> Engine::TaskFor(Sequence& sequence, const StepWork& work) {
  if (!sequence.is_running() || sequence.is_paused()) return std::nullopt;
  uint32_t wanted = 0;
  if (const uint32_t most = MostDrafts(sequence); most > 0 && sequence.pending() == 1) {
    const StepWork others = {work.rows - 1, work.attended - sequence.computed() - 1};
    wanted = sequence.ChooseDrafts(most, others, cost_, draft_cost_);
  }
  const StreamRows rows = watched_.Of(sequence.id());
  if (wanted == 0 && rows.values.empty()) return std::nullopt;
  return DraftTask{sequence.id(), sequence.tokens(), &sequence.sampler(), wanted, rows, &sequence.cache()};
}

SKALD_INLINE uint32_t Engine::MostDrafts(const Sequence& sequence) const {
  if (options_.drafter == nullptr) return 0;
  uint32_t most = std::min({sequence.request().max_drafts, options_.max_drafts, options_.drafter->MostDrafts()});
  const auto keeps_all = [](const CacheGroup& group) { return !group.is_recurrent() && group.window == 0; };
  if (!std::ranges::all_of(pool_->layout().groups(), keeps_all)) {
    most = std::min(most, pool_->runtime().rewind_tokens);
  }
  return std::min(most, capacity_ - std::min(capacity_, sequence.size()));
}

SKALD_INLINE void Engine::AddRow(Sequence& sequence, uint32_t tokens, uint32_t drafts, std::vector<Row>& rows) {
  if (!sequence.is_running() || sequence.is_finished()) return;  // it found no memory, or all was known
  // Since the schedule was made it may have found a beginning, or others that wait for a part of it.
  const uint32_t end = sequence.step_end();
  if (end > 0) tokens = std::min(tokens, end);
  // Where a prompt or a step must end, the cache is kept or shared as it is then: without guesses.
  if (end > 0 || !sequence.has_drawn()) drafts = 0;
  Row row = {&sequence, std::min(tokens, sequence.pending()), drafts};
  // It does not come to where it draws.
  if (sequence.awaits_filter() && row.tokens == sequence.pending()) --row.tokens;
  if (row.tokens == 0) return;
  if (row.tokens < sequence.pending()) row.drafts = 0;
  row.draws = row.tokens == sequence.pending() && !sequence.request().embedding;
  rows.push_back(std::move(row));
}

SKALD_INLINE Result<uint64_t> Engine::Compute(std::vector<Row>& rows) {
  while (!rows.empty()) {
    Batch batch;
    StepWork work;
    watched_.Begin(options_.drafter);
    for (Row& row : rows) {
      AddTo(batch, row);
      work = work.With(row.begin, row.ids.size());
    }
    for (const Row& row : rows) {
      const bool is_read = MostDrafts(*row.sequence) > 0 && !row.sequence->request().embedding;
      watched_.Add(row.sequence->id(), row.begin, is_read ? row.ids.size() : 0);
    }
    ForwardOptions forward = {.pass_tokens = std::max(options_.step_tokens, 1u), .adapters = options_.adapters};
    watched_.AddHooks(forward.hooks);
    const double begin = options_.clock();
    auto outputs = model_.Forward(batch, *workspace_, forward);
    if (outputs) {
      Take(rows, *outputs, work.rows);
      cost_.Observe(work, options_.clock() - begin);  // with drawing, which costs as much where a model is small
      return work.rows;
    }
    if (!Yield(rows, outputs.error())) return Failure(outputs.error());
  }
  return 0;
}

SKALD_INLINE void Engine::AddTo(Batch& batch, Row& row) {
  Sequence& sequence = *row.sequence;
  row.begin = sequence.computed();
  const std::span<const int32_t> pending = sequence.tokens().subspan(row.begin, row.tokens);
  const std::span<const int32_t> drafts = sequence.drafts().first(row.drafts);
  row.ids.assign(pending.begin(), pending.end());
  row.ids.insert(row.ids.end(), drafts.begin(), drafts.end());
  row.wants.clear();
  for (uint32_t i = 0; i < row.ids.size(); ++i) row.wants.push_back(sequence.WantOf(row.begin + i));
  if (row.draws) std::fill(row.wants.begin() + row.tokens - 1, row.wants.end(), Want::kLogits);
  sequence.AddTo(batch, row.ids, row.wants);
}

SKALD_INLINE bool Engine::Yield(std::vector<Row>& rows, const Error& error) {
  if (!error.facts.sequence || *error.facts.sequence >= rows.size()) return false;
  const size_t at = *error.facts.sequence;
  if (error.code != ErrorCode::kResourceExhausted) {
    GiveUp(rows, at, error);
    return true;
  }
  // One that runs alone may still share blocks with prompts that were kept when the step was planned.
  if (sequences_.MakeRoom()) {
    std::erase_if(rows, [](const Row& row) { return !row.sequence->is_running(); });
    return true;
  }
  Row& row = rows[at];
  // A shorter step needs less.
  if (row.drafts > 0) {
    row.drafts = 0;
  } else if (row.tokens > 1) {
    row.tokens /= 2;
    row.draws = false;
  } else {
    GiveUp(rows, at, error);
  }
  return true;
}

SKALD_INLINE void Engine::GiveUp(std::vector<Row>& rows, size_t at, const Error& error) {
  if (!sequences_.BeginAnew(*rows[at].sequence)) rows[at].sequence->EndWith(error);
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(at));
}

SKALD_INLINE void Engine::Take(std::span<Row> rows, const Outputs& outputs, uint64_t computed_rows) {
  std::vector<ComputedRows> computed;
  size_t output = 0;
  for (Row& row : rows) {
    Sequence& sequence = *row.sequence;
    const size_t read = row.draws ? row.tokens - 1 : row.tokens;
    for (uint32_t i = 0; i < read; ++i) {
      if (row.wants[i] == Want::kNothing) continue;
      sequence.ReadPrompt(row.begin + i, outputs[output++], scratch_);
    }
    ComputedRows one = {&sequence};
    if (row.draws) {
      for (uint32_t i = 0; i <= row.drafts; ++i) one.logits.push_back(outputs[output++]);
      if (sequence.is_finished() || sequence.reads_prompt()) continue;  // it could not be read
      one.drafts = std::span(row.ids).last(row.drafts);
    }
    computed.push_back(std::move(one));
  }
  sequences_.Take(computed, computed_rows, scratch_);
  for (const Row& row : rows) {  // those of wrong guesses are of no use
    watched_.Keep(row.sequence->id(), row.sequence->is_running() ? row.sequence->computed() : 0);
  }
}

}  // namespace skald

#endif  // SKALD_ENGINE_DETAIL_ENGINE_H_
