// SPDX-License-Identifier: Apache-2.0
//
// StepReplays: the states that a step computes again before its first pass, from inputs that earlier steps kept, in the
// form in which layers read it: those of sequences that were rewound, and new bases for replays to come.

#ifndef SKALD_MODEL_STEP_REPLAYS_H_
#define SKALD_MODEL_STEP_REPLAYS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/steps/step_plan.h"
#include "skald/kernels/args.h"
#include "skald/layers/run/layer_run.h"

namespace skald {

// Of one group of one sequence; its rows are the tokens from the base on.
struct StateReplay {
  RecurrentRun run;
  std::vector<StateOutput> outputs;
  std::vector<InputRow> inputs;
};

class StepReplays {
 public:
  // `pools[s]` holds the blocks of sequence s; `plan` and the pools must outlive this. The plan's blocks need not be
  // there yet; memory for all that is said of them is.
  StepReplays(const StepPlan& plan, const std::vector<BlockPool*>& pools);

  // The most rows of one replay.
  size_t most_rows() const { return most_rows_; }

  // Finds the blocks; once, before the first pass.
  void Prepare();

  // One for each sequence that has any.
  std::span<const StateReplay> of_group(size_t group) const { return replays_[group]; }

 private:
  const CacheLayout& layout() const { return pools_.front()->layout(); }

  static bool IsReplay(const SequencePlan& sequence, const StateSave& save, uint32_t g);

  // False where the sequence replays nothing.
  bool FindBlocks(size_t s, uint32_t g, StateReplay& replay) const;

  const StepPlan& plan_;
  const std::vector<BlockPool*>& pools_;
  std::vector<std::vector<StateReplay>> replays_;  // [groups of layers]
  size_t most_rows_ = 0;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/detail/step_replays.h"
#endif

#endif  // SKALD_MODEL_STEP_REPLAYS_H_
