// SPDX-License-Identifier: Apache-2.0
//
// Engine: many requests on one model. A state machine without threads: Submit, Step, Cancel. Each step computes one
// batch in which every stream that writes has a row and prompts have what room is left; who comes may join at any step
// (continuous batching: Orca, Yu et al., OSDI 2022), prompts are computed in pieces (Sarathi, Agrawal et al.,
// arXiv:2308.16369), and who finds the pool full waits, in a store if there is one.
//
// One law: each request gets exactly what it would get alone, token for token and bit for bit, whatever is batched,
// shared, drafted, preempted, swapped or cancelled around it. It holds because a sequence is its tokens: what becomes
// of them depends on the request and the logits only (answers/answer.h), logits depend on the tokens only
// (kernels/ARITHMETIC.md), and everything else here decides when something is computed, never what.

#ifndef SKALD_ENGINE_ENGINE_H_
#define SKALD_ENGINE_ENGINE_H_

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/engine/form/engine_options.h"
#include "skald/engine/form/model_ref.h"
#include "skald/engine/form/request.h"
#include "skald/engine/plan/cost_model.h"
#include "skald/engine/plan/memory_model.h"
#include "skald/engine/plan/scheduler.h"
#include "skald/engine/running/drawing.h"
#include "skald/engine/running/request_check.h"
#include "skald/engine/running/sequence.h"
#include "skald/engine/running/sequences.h"
#include "skald/model/workspace.h"

namespace skald {

// Used by one thread at a time.
class Engine {
 public:
  // `model`, `workspace` and what `options` refers to must outlive the engine; the workspace is the engine's alone.
  // Caches come from `pool`, within whose limit all requests stay. Errors: kInvalidArgument, naming what cannot be;
  // kResourceExhausted.
  static Result<std::unique_ptr<Engine>> Create(ModelRef model, std::shared_ptr<BlockPool> pool, Workspace& workspace,
                                                EngineOptions options = {}) {
    return NoThrow("Engine::Create", [&]() -> Result<std::unique_ptr<Engine>> {
      if (auto valid = CheckOptions(pool, options); !valid) return Failure(valid.error());
      return std::unique_ptr<Engine>(new Engine(model, std::move(pool), workspace, std::move(options)));
    });
  }

  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Tokens that a conversation may have, prompt and answer, when it has the pool to itself. A promise: it is never told
  // in the middle of its answer that there is no room.
  uint32_t capacity() const { return capacity_; }

  // Whether Submit would take it. Any thread may ask at any time.
  Result<void> Check(const Request& request) const {
    return NoThrow("Engine::Check", [&] {
      return CheckRequest(request, {model_.vocab_size(), capacity_, options_.tokenizer != nullptr, options_.adapters});
    });
  }

  // Takes a request. Errors: kInvalidArgument, naming the member that cannot be; kOutOfRange for one that can never
  // fit, with the tokens that it needs and that there are; kResourceExhausted.
  Result<RequestId> Submit(Request request) {
    return NoThrow("Engine::Submit", [&]() -> Result<RequestId> {
      if (auto valid = Check(request); !valid) return Failure(valid.error());
      const RequestId id = next_request_;
      auto added = sequences_.Add(id, std::make_shared<const Request>(std::move(request)), capacity_);
      if (!added) return Failure(added.error());
      ++next_request_;
      return id;
    });
  }

  // Ends a request, if it is not at its end; its samples' last events come with the next step.
  void Cancel(RequestId id) noexcept {
    sequences_.ForEachOf(id, [](Sequence& sequence) { End(sequence, FinishReason::kCancelled); });
  }

  // A request that is paused computes nothing, and is the first to give its memory away, until it goes on.
  void Pause(RequestId id, bool is_paused = true) noexcept { sequences_.Pause(id, is_paused); }

  // Whether a step would do anything: some request is neither at its end nor paused.
  bool has_work() const { return sequences_.has_work(); }

  // Computes one step, and tells what is new: as long as a request may run, rows are computed or events are told. Where
  // no request can get on, because others than the engine hold the pool's memory, say, the one in the way ends with
  // that error. Errors of the call concern no request alone: no memory in the system, or an executor that threw.
  // Nothing is lost then, and the next step does what this one could not.
  Result<StepReport> Step() {
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

  // Takes everything out that is not at its end, and returns it as bytes, from which an engine on the same model, of
  // this process or another, goes on to the same answers. Caches are written to EngineOptions::swap where it is there;
  // without it they are computed again. Events that no step has reported yet are lost but for their tokens' effect:
  // call it between steps. Error: kResourceExhausted; nothing has been taken out then.
  Result<std::vector<std::byte>> Suspend() {
    auto bytes = NoThrow("Engine::Suspend", [&] {
      return EncodeSuspended({.next_id = next_request_, .requests = sequences_.Suspend()}, options_.clock());
    });
    bytes ? sequences_.Leave() : sequences_.Stay();
    return bytes;
  }

  // Takes what Suspend returned. Requests keep their numbers, which are those of no other request here or there, one
  // that is at its end included, and what their events told before is not told again.
  // `make_filter` makes the filters of those that had one. Errors: kDataLoss; kInvalidArgument where a request is not
  // for this engine, has a number that is in use, or needs a filter; what Submit would say. All are taken or none.
  Result<std::vector<RequestId>> Resume(std::span<const std::byte> bytes, const FilterMaker& make_filter = {}) {
    return NoThrow("Engine::Resume", [&]() -> Result<std::vector<RequestId>> {
      auto suspended = DecodeSuspended(bytes, options_.clock());
      if (!suspended) return Failure(suspended.error());
      std::vector<RequestId> ids;
      ids.reserve(suspended->requests.size());
      for (SuspendedRequest& request : suspended->requests) {
        auto resumed = NoThrow("Engine::Resume", [&] { return ResumeOne(request, make_filter); });
        if (!resumed) {
          for (const RequestId id : ids) sequences_.Discard(id);
          return Failure(resumed.error());
        }
        ids.push_back(request.id);
      }
      next_request_ = std::max(next_request_, suspended->next_id);
      for (const RequestId id : ids) next_request_ = std::max(next_request_, id + 1);
      return ids;
    });
  }

  EngineStats stats() const { return sequences_.stats(); }
  const CostModel& cost() const { return cost_; }

 private:
  // One sequence's part of a step.
  struct Row {
    Sequence* sequence;
    uint32_t tokens, drafts;
    std::vector<int32_t> ids = {};
    std::vector<Want> wants = {};  // of each of them
    uint32_t begin = 0;            // position of the first
    bool draws = false;            // its last pending token is computed, and a token follows
  };

  Engine(ModelRef model, std::shared_ptr<BlockPool> pool, Workspace& workspace, EngineOptions options)
      : model_(model),
        pool_(std::move(pool)),
        workspace_(&workspace),
        options_(std::move(options)),
        memory_(MemoryModel::Of(*pool_)),
        capacity_(CapacityOf(*pool_)),
        sequences_(pool_, options_) {}

  static Result<void> CheckOptions(const std::shared_ptr<BlockPool>& pool, const EngineOptions& options) {
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

  Result<void> ResumeOne(SuspendedRequest& suspended, const FilterMaker& make_filter) {
    const std::string whose = "request " + std::to_string(suspended.id);
    if (sequences_.Contains(suspended.id)) {
      return Fail(ErrorCode::kInvalidArgument, whose + " is there already");
    }
    if (auto valid = Check(suspended.request); !valid) return Annotate(whose, valid);
    if (suspended.has_filter) {
      if (!make_filter) return Fail(ErrorCode::kInvalidArgument, whose + " has a filter; make_filter is empty");
      auto filter = make_filter(suspended.request);
      if (!filter) return Failure(filter.error());
      suspended.request.filter = std::move(*filter);
    }
    auto added = sequences_.Add(suspended, std::make_shared<const Request>(suspended.request));
    return added ? added : Result<void>(Annotate(whose, added));
  }

  // What came of one schedule.
  struct Attempt {
    uint64_t rows = 0;                  // that were computed
    bool is_repeatable = false;         // none were, and the next schedule will be another
    Sequence* in_the_way = nullptr;     // none were, and this one should have had the first; else null
    std::optional<Error> no_room = {};  // why it has none
  };

  // Returns how many rows were computed. With nothing computed and nothing to tell, what holds memory gives it, one
  // after the other, until somebody gets on or the one in the way has its error.
  Result<uint64_t> Advance() {
    for (size_t repeated = 0;;) {
      auto tried = TrySchedule();
      if (!tried) return Failure(tried.error());
      if (tried->in_the_way == nullptr || sequences_.has_news()) return tried->rows;
      if (tried->is_repeatable && ++repeated <= 2 * sequences_.size()) continue;
      const std::optional<Error>& no_room = tried->no_room;
      // No memory in the system is nobody's fault.
      if (no_room && !no_room->facts.needed_bytes) return Failure(*no_room);
      if (MakeRoom(*tried->in_the_way)) continue;
      EndWith(*tried->in_the_way, no_room.value_or(Error{ErrorCode::kResourceExhausted, "the request cannot get on"}));
    }
  }

  // Has something besides `sequence` give its memory away, or what it was to begin with. False where nothing is left.
  bool MakeRoom(Sequence& sequence) {
    if (sequences_.YieldSpare()) return true;
    if (Sequence* const holder = sequences_.LeastUrgentHolder(&sequence)) {
      sequences_.Preempt(*holder, cost_);
      return true;
    }
    if (TrimPrompts()) return true;
    return sequences_.BeginAnew(sequence);
  }

  // Returns whether there were any.
  bool TrimPrompts() noexcept {
    bool were_any = false;
    for (PromptCache* const prompts : options_.prompts) {
      were_any |= prompts->stats().entries > 0;
      prompts->Trim(0);
    }
    return were_any;
  }

  Result<Attempt> TrySchedule() {
    const auto found = sequences_.Candidates();
    if (!found) return Failure(found.error());
    const std::vector<Sequence*>& candidates = *found;
    DraftFor(candidates);
    std::vector<SequenceView> views;
    for (const Sequence* sequence : candidates) views.push_back(sequences_.ViewOf(*sequence));
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
    const auto computed = Compute(rows);
    if (!computed) return Failure(computed.error());
    attempt.rows = *computed;
    if (*computed > 0) return attempt;
    const auto is_ready = [&](const StepRows& row) {
      const Sequence& sequence = *candidates[row.sequence];
      return sequence.leader == nullptr && !sequence.is_waiting();
    };
    const auto first = std::ranges::find_if(schedule.rows, is_ready);
    attempt.in_the_way = candidates[first == schedule.rows.end() ? schedule.rows[0].sequence : first->sequence];
    if (had_rows) attempt.is_repeatable = true;  // they were given up for want of memory
    return attempt;
  }

  // With what yields to tokens: prompts that are kept, and resume points.
  uint64_t FreeBytes() {
    uint64_t reclaimable = sequences_.SpareBytesOf();
    for (const PromptCache* const prompts : options_.prompts) reclaimable += prompts->stats().bytes;
    const uint64_t available = pool_->usage().available_bytes;
    return available + std::min(reclaimable, kUnlimited - available);
  }

  // Asks for guesses about the texts that are being written.
  void DraftFor(std::span<Sequence* const> candidates) {
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

  // As the request, the engine, the model's caches and the room behind the text allow.
  uint32_t MostDrafts(const Sequence& sequence) const {
    uint32_t most = std::min(sequence.request->max_drafts, options_.max_drafts);
    const auto keeps_all = [](const CacheGroup& group) { return !group.is_recurrent() && group.window == 0; };
    if (!std::ranges::all_of(pool_->layout().groups(), keeps_all)) {
      most = std::min(most, pool_->runtime().rewind_tokens);
    }
    return std::min(most, capacity_ - std::min(capacity_, sequence.answer.size()));
  }

  static void AddRow(Sequence& sequence, uint32_t tokens, uint32_t drafts, std::vector<Row>& rows) {
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

  // Computes the rows of a schedule. Whoever finds no memory after all makes less urgent ones wait, or waits.
  Result<uint64_t> Compute(std::vector<Row>& rows) {
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
        cost_.Observe(work, options_.clock() - begin);
        sequences_.CountStep(work.rows);
        Take(rows, *outputs);
        return work.rows;
      }
      if (!Yield(rows, outputs.error())) return Failure(outputs.error());
    }
    return 0;
  }

  static void AddTo(Batch& batch, Row& row) {
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

  // Makes room after `error`, or ends the sequence that it is about. False where it is nobody's.
  bool Yield(std::vector<Row>& rows, const Error& error) {
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

  // Its row cannot be computed. What came from elsewhere may be to blame, a cache that other options made, say; without
  // that it is tried once more.
  bool GiveUp(std::vector<Row>& rows, size_t at, const Error& error) {
    if (!sequences_.BeginAnew(*rows[at].sequence)) EndWith(*rows[at].sequence, error);
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
  }

  static void EndWith(Sequence& sequence, const Error& error) {
    sequence.event.error = error;
    End(sequence, FinishReason::kError);
  }
  static void End(Sequence& sequence, FinishReason reason) noexcept {
    if (!sequence.is_finished()) sequence.event.finish = reason;
  }

  // Reads what is told of prompts, and draws tokens where logits are there for it.
  void Take(std::span<Row> rows, const Outputs& outputs) {
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

  ModelRef model_;
  std::shared_ptr<BlockPool> pool_;
  Workspace* workspace_;
  EngineOptions options_;
  MemoryModel memory_;
  CostModel cost_;
  uint32_t capacity_;
  RequestId next_request_ = 1;
  SamplerScratch scratch_;
  Sequences sequences_;  // refers to options_
};

}  // namespace skald

#endif  // SKALD_ENGINE_ENGINE_H_
