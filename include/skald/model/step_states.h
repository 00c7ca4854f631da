// SPDX-License-Identifier: Apache-2.0
//
// StepStates: where the state of recurrent layers comes from and goes to in each pass of a step, in the form in which
// kernels read it, and which rows' inputs are kept.

#ifndef SKALD_MODEL_STEP_STATES_H_
#define SKALD_MODEL_STEP_STATES_H_

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

class StepStates {
 public:
  // `pools[s]` holds the blocks of sequence s; `plan` and the pools must outlive this. The plan's blocks need not be
  // there yet; memory for all that is said of them is.
  StepStates(const StepPlan& plan, const std::vector<BlockPool*>& pools);

  // Finds the blocks; once, before the first pass.
  void Prepare();

  // Makes the runs of the next pass; once for each pass, in order.
  void BeginPass(const Pass& pass);

  // Runs of the present pass, one for each of its sequences.
  std::span<const RecurrentRun> runs(size_t group) const { return groups_[group].runs; }

  // The rows of the present pass that a group of inputs keeps.
  std::span<const InputRow> kept(size_t group) const { return groups_[group].kept; }

 private:
  struct SavedState {
    uint32_t tokens;
    std::byte* block;
  };
  struct Group {
    std::vector<std::vector<SavedState>> saves;  // [sequence], ascending
    std::vector<std::byte*> present;             // [sequence], what the next run begins with; null: nothing yet
    std::vector<RecurrentRun> runs;
    std::vector<StateOutput> outputs;  // of all runs
    std::vector<InputRow> kept;
  };

  const CacheGroup& kind(size_t g) const { return pools_.front()->layout().groups()[g]; }

  // The state that sequence s begins with, or null; after a rewind where replay writes it.
  std::byte* Beginning(size_t s, uint32_t g) const;

  void AddKept(Group& group, const PassSlice& slice, size_t row);

  void AddRun(Group& group, const PassSlice& slice, size_t row);

  const StepPlan& plan_;
  const std::vector<BlockPool*>& pools_;
  std::vector<Group> groups_;  // [groups of the layout]
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/detail/step_states.h"
#endif

#endif  // SKALD_MODEL_STEP_STATES_H_
