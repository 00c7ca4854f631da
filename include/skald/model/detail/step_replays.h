// SPDX-License-Identifier: Apache-2.0
//
// StepReplays: the states that a step computes again before its first pass, from inputs that earlier steps kept, in the
// form in which layers read it: those of sequences that were rewound, and new bases for replays to come.

#ifndef SKALD_MODEL_DETAIL_STEP_REPLAYS_H_
#define SKALD_MODEL_DETAIL_STEP_REPLAYS_H_

#include <algorithm>
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
  StepReplays(const StepPlan& plan, const std::vector<BlockPool*>& pools) : plan_(plan), pools_(pools) {
    const std::span<const CacheGroup> groups = layout().layer_groups();
    replays_.resize(groups.size());
    for (uint32_t g = 0; g < groups.size(); ++g) {
      if (!groups[g].is_replayed()) continue;
      for (const SequencePlan& sequence : plan.sequences) {
        const size_t outputs = static_cast<size_t>(
            std::ranges::count_if(sequence.saves, [&](const StateSave& save) { return IsReplay(sequence, save, g); }));
        if (outputs == 0) continue;
        StateReplay& replay = replays_[g].emplace_back();
        replay.outputs.reserve(outputs);
        replay.inputs.reserve(sequence.groups[layout().InputsOf(g)].blocks.size());
        most_rows_ = std::max(most_rows_, replay.inputs.capacity());
      }
    }
  }

  // The most rows of one replay.
  size_t most_rows() const { return most_rows_; }

  // Finds the blocks; once, before the first pass.
  void Prepare() {
    for (uint32_t g = 0; g < replays_.size(); ++g) {
      auto replay = replays_[g].begin();
      for (size_t s = 0; replay != replays_[g].end(); ++s) {
        if (FindBlocks(s, g, *replay)) ++replay;
      }
    }
  }

  // One for each sequence that has any.
  std::span<const StateReplay> of_group(size_t group) const { return replays_[group]; }

 private:
  const CacheLayout& layout() const { return pools_.front()->layout(); }

  static bool IsReplay(const SequencePlan& sequence, const StateSave& save, uint32_t g) {
    return save.group == g && save.tokens <= sequence.first_position;
  }

  // False where the sequence replays nothing.
  bool FindBlocks(size_t s, uint32_t g, StateReplay& replay) const {
    const SequencePlan& sequence = plan_.sequences[s];
    const GroupTable& states = sequence.groups[g];
    const uint32_t group_of_inputs = layout().InputsOf(g);
    const GroupTable& inputs = sequence.groups[group_of_inputs];
    for (const StateSave& save : sequence.saves) {
      if (!IsReplay(sequence, save, g)) continue;
      replay.outputs.push_back({save.tokens - states.first_token, pools_[s]->ResolveOne(g, save.block)});
    }
    if (replay.outputs.empty()) return false;
    const size_t rows = replay.outputs.back().row_end;
    for (size_t row = 0; row < rows; ++row) {
      replay.inputs.push_back({row, pools_[s]->ResolveOne(group_of_inputs, inputs.blocks[row])});
    }
    replay.run = {.row_begin = 0,
                  .row_end = rows,
                  .input = states.first_token > 0 ? pools_[s]->ResolveOne(g, states.blocks.front()) : nullptr,
                  .outputs = replay.outputs.data(),
                  .num_outputs = replay.outputs.size()};
    return true;
  }

  const StepPlan& plan_;
  const std::vector<BlockPool*>& pools_;
  std::vector<std::vector<StateReplay>> replays_;  // [groups of layers]
  size_t most_rows_ = 0;
};

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_STEP_REPLAYS_H_
