// SPDX-License-Identifier: Apache-2.0
//
// Engine: many requests on one model. A state machine without threads: Submit, Step, Cancel. Each step computes one
// batch. Every stream that writes has a row in it, and prompts have the rows that are left. A request may join at any
// step (continuous batching: Orca, Yu et al., OSDI 2022). Prompts are computed in pieces (Sarathi, Agrawal et al.,
// arXiv:2308.16369). When the pool is full, a request waits; if a store is configured, its cache is swapped out.
//
// One law: each request gets exactly what it would get alone, token for token and bit for bit, whatever is batched,
// shared, drafted, preempted, swapped or cancelled around it. It holds for two reasons. Tokens depend on the request
// and the logits only (answers/answer.h), and logits depend on the tokens only (kernels/ARITHMETIC.md). All else here
// decides when something is computed, never what.
//
// The engine plans a step, computes it and reports it. Sequences (running/sequences.h) are what it plans for: they
// share, keep and give away memory. Each Sequence changes its own state.

#ifndef SKALD_ENGINE_ENGINE_H_
#define SKALD_ENGINE_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/steps/batch.h"
#include "skald/cache/steps/step_plan.h"
#include "skald/engine/plan/cost_model.h"
#include "skald/engine/plan/memory_model.h"
#include "skald/engine/requests/drafter.h"
#include "skald/engine/requests/engine_options.h"
#include "skald/engine/requests/model_ref.h"
#include "skald/engine/requests/request.h"
#include "skald/engine/running/sequence.h"
#include "skald/engine/running/sequences.h"
#include "skald/engine/speculation/draft_length.h"
#include "skald/engine/speculation/watched_rows.h"
#include "skald/engine/suspension/suspended.h"
#include "skald/model/outputs.h"
#include "skald/model/workspace.h"
#include "skald/sampling/sampler.h"

namespace skald {

/// Used by one thread at a time.
class Engine {
 public:
  /// `model`, `workspace` and what `options` refers to must outlive the engine; the workspace is the engine's alone.
  /// Caches come from `pool`, within whose limit all requests stay. Errors: kInvalidArgument, naming what cannot be,
  /// such as a pool of another model; kResourceExhausted.
  static Result<std::unique_ptr<Engine>> Create(ModelRef model, std::shared_ptr<BlockPool> pool, Workspace& workspace,
                                                EngineOptions options = {});

  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Tokens that a conversation may have, prompt and answer, when it has the pool to itself. A promise: it is never
  /// told in the middle of its answer that there is no room.
  uint32_t capacity() const { return capacity_; }

  /// Whether Submit would take it. Any thread may ask at any time.
  Result<void> Check(const Request& request) const;

  /// Takes a request. Errors: kInvalidArgument, naming the member that cannot be; kOutOfRange for one that can never
  /// fit, with the tokens that it needs and that there are; kResourceExhausted.
  Result<RequestId> Submit(Request request);

  /// Ends a request, if it is not at its end; its samples' last events come with the next step.
  void Cancel(RequestId id) noexcept { sequences_.Cancel(id); }

  /// A request that is paused computes nothing, and is the first to give its memory away, until it goes on.
  void Pause(RequestId id, bool is_paused = true) noexcept { sequences_.Pause(id, is_paused); }

  /// Whether a step would do anything: some request is neither at its end nor paused.
  bool has_work() const { return sequences_.has_work(); }

  /// Computes one step, and tells what is new: as long as a request may run, rows are computed or events are told.
  /// Where no request can get on, because others than the engine hold the pool's memory, say, the one in the way ends
  /// with that error. Errors of the call concern no request alone: no memory in the system, or an executor that threw.
  /// Nothing is lost then, and the next step does what this one could not.
  Result<StepReport> Step();

  /// Takes everything out that is not at its end, and returns it as bytes, from which an engine on the same model, of
  /// this process or another, goes on to the same answers. Caches are written to EngineOptions::swap where it is there;
  /// without it they are computed again. Events that no step has reported yet are lost but for their tokens' effect:
  /// call it between steps. Error: kResourceExhausted; nothing has been taken out then.
  Result<std::vector<std::byte>> Suspend();

  /// Takes what Suspend returned. Requests keep their numbers, which are those of no other request here or there, one
  /// that is at its end included, and what their events told before is not told again.
  /// `make_filter` and `make_sampler` make the filters and the samplers of those that had one of their own. Errors:
  /// kDataLoss; kInvalidArgument where a request is not for this engine, has a number that is in use, or needs a filter
  /// or a sampler that no maker makes; what Submit would say. All are taken or none.
  Result<std::vector<RequestId>> Resume(std::span<const std::byte> bytes, const FilterMaker& make_filter = {},
                                        const SamplerMaker& make_sampler = {});

  /// Counts since the engine was made, and requests that it has now. O(sequences).
  EngineStats stats() const { return sequences_.stats(); }
  /// The cost model, as this engine has learnt it from the times of its steps.
  const CostModel& cost() const { return cost_; }

 private:
  // One sequence's part of a step.
  struct Row {
    Sequence* sequence;
    uint32_t tokens, drafts;
    std::vector<int32_t> ids = {};
    std::vector<Want> wants = {};  ///< of each of them
    uint32_t begin = 0;            ///< position of the first
    bool draws = false;            ///< its last pending token is computed, and a token follows
  };

  Engine(ModelRef model, std::shared_ptr<BlockPool> pool, Workspace& workspace, EngineOptions options);

  static Result<void> CheckOptions(const std::shared_ptr<BlockPool>& pool, const EngineOptions& options);

  /// Makes what could not be written of a request.
  static Result<void> Complete(SuspendedRequest& suspended, const FilterMaker& make_filter,
                               const SamplerMaker& make_sampler);

  /// The result of one schedule.
  struct Attempt {
    size_t candidates = 0;              ///< sequences that are not finished
    uint64_t rows = 0;                  ///< that were computed
    bool is_repeatable = false;         ///< none were, and the next schedule will be another
    Sequence* in_the_way = nullptr;     ///< none were, and this one should have had the first; else null
    std::optional<Error> no_room = {};  ///< why it has none
  };

  /// Returns how many rows were computed. With nothing computed and nothing to tell, sequences give their memory away,
  /// one after the other, until another gets on or the one in the way has its error.
  Result<uint64_t> Advance(double now);

  Result<Attempt> TrySchedule(double now);

  /// Asks for guesses about the texts that are being written.
  void DraftFor(Candidates& candidates);

  /// Returns how many guesses a text is worth and which rows its drafter is to read; nothing if there are neither.
  std::optional<DraftTask> TaskFor(Sequence& sequence, const StepWork& work);

  /// As the request, the engine, the model's caches and the room after the text allow.
  uint32_t MostDrafts(const Sequence& sequence) const;

  static void AddRow(Sequence& sequence, uint32_t tokens, uint32_t drafts, std::vector<Row>& rows);

  /// Computes the rows of a schedule. A sequence that finds no memory after all makes less urgent ones wait, or waits.
  Result<uint64_t> Compute(std::vector<Row>& rows);

  static void AddTo(Batch& batch, Row& row);

  /// Makes room after `error`, or ends the sequence that it is about. False where it is about none.
  bool Yield(std::vector<Row>& rows, const Error& error);

  /// Takes a row out that cannot be computed. The cause may be what its sequence took from elsewhere, such as a cache
  /// that other options made: without that it is tried once more.
  void GiveUp(std::vector<Row>& rows, size_t at, const Error& error);

  /// Reads what is told of prompts, and has tokens drawn from the logits that are for that.
  void Take(std::span<Row> rows, const Outputs& outputs, uint64_t computed_rows);

  ModelRef model_;
  std::shared_ptr<BlockPool> pool_;
  Workspace* workspace_;
  EngineOptions options_;
  MemoryModel memory_;
  CostModel cost_;
  uint32_t capacity_;
  RequestId next_request_ = 1;
  SamplerScratch scratch_;
  Sequences sequences_;  ///< refers to options_ and cost_
  WatchedRows watched_;
  DraftCost draft_cost_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/detail/engine.h"
#endif

#endif  // SKALD_ENGINE_ENGINE_H_
