// SPDX-License-Identifier: Apache-2.0
//
// StepStates: where the state of recurrent layers comes from and goes to in each pass of a step, in the form in which
// kernels read it, and which rows' inputs are kept.

#ifndef SKALD_MODEL_DETAIL_STEP_STATES_H_
#define SKALD_MODEL_DETAIL_STEP_STATES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
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
  StepStates(const StepPlan& plan, const std::vector<BlockPool*>& pools) : plan_(plan), pools_(pools) {
    const size_t num_sequences = plan.sequences.size();
    groups_.resize(plan.sequences.front().groups.size());
    for (Group& group : groups_) {
      group.saves.resize(num_sequences);
      group.present.resize(num_sequences);
      group.runs.reserve(num_sequences);
      size_t most = num_sequences;
      for (size_t s = 0; s < num_sequences; ++s) {
        group.saves[s].reserve(plan.sequences[s].saves.size());
        most += plan.sequences[s].saves.size();
      }
      group.outputs.reserve(most);  // runs point into it
      group.kept.reserve(most);
    }
  }

  // Finds the blocks; once, before the first pass.
  void Prepare() {
    for (size_t s = 0; s < plan_.sequences.size(); ++s) {
      for (size_t g = 0; g < groups_.size(); ++g) {
        if (kind(g).is_recurrent()) groups_[g].present[s] = Beginning(s, static_cast<uint32_t>(g));
      }
      for (const StateSave& save : plan_.sequences[s].saves) {
        groups_[save.group].saves[s].push_back({save.tokens, pools_[s]->ResolveOne(save.group, save.block)});
      }
    }
  }

  // Makes the runs of the next pass; once for each pass, in order.
  void BeginPass(const Pass& pass) {
    for (size_t g = 0; g < groups_.size(); ++g) {
      Group& group = groups_[g];
      group.runs.clear();
      group.outputs.clear();
      group.kept.clear();
      if (kind(g).is_attention()) continue;
      for (size_t row = 0; const PassSlice& slice : pass) {
        kind(g).is_inputs() ? AddKept(group, slice, row) : AddRun(group, slice, row);
        row += slice.end - slice.begin;
      }
    }
  }

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
  std::byte* Beginning(size_t s, uint32_t g) const {
    const SequencePlan& sequence = plan_.sequences[s];
    const GroupTable& states = sequence.groups[g];
    if (kind(g).is_replayed() && !HasPresentState(states, sequence.first_position)) {
      for (const StateSave& save : sequence.saves) {
        if (save.group == g && save.tokens == sequence.first_position) return pools_[s]->ResolveOne(g, save.block);
      }
    }
    return states.blocks.empty() ? nullptr : pools_[s]->ResolveOne(g, states.blocks.back());
  }

  void AddKept(Group& group, const PassSlice& slice, size_t row) {
    const uint32_t begin = plan_.sequences[slice.sequence].first_position + slice.begin;
    for (const SavedState& save : group.saves[slice.sequence]) {
      if (save.tokens <= begin || save.tokens > begin + (slice.end - slice.begin)) continue;
      group.kept.push_back({row + (save.tokens - begin) - 1, save.block});
    }
  }

  void AddRun(Group& group, const PassSlice& slice, size_t row) {
    const uint32_t first = plan_.sequences[slice.sequence].first_position;
    const std::vector<SavedState>& saves = group.saves[slice.sequence];
    const size_t first_output = group.outputs.size(), row_end = row + (slice.end - slice.begin);
    for (const SavedState& save : saves) {
      if (save.tokens <= first + slice.begin || save.tokens > first + slice.end) continue;
      group.outputs.push_back({row + (save.tokens - first - slice.begin), save.block});
    }
    if (group.outputs.size() == first_output || group.outputs.back().row_end != row_end) {
      group.outputs.push_back({row_end, saves.back().block});
    }
    std::byte*& present = group.present[slice.sequence];
    group.runs.push_back({.row_begin = row,
                          .row_end = row_end,
                          .input = present,
                          .outputs = group.outputs.data() + first_output,
                          .num_outputs = group.outputs.size() - first_output});
    present = group.outputs.back().block;
  }

  const StepPlan& plan_;
  const std::vector<BlockPool*>& pools_;
  std::vector<Group> groups_;  // [groups of the layout]
};

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_STEP_STATES_H_
