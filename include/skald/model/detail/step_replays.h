// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/step_replays.h.

#ifndef SKALD_MODEL_DETAIL_STEP_REPLAYS_H_
#define SKALD_MODEL_DETAIL_STEP_REPLAYS_H_

#include "skald/model/step_replays.h"

#include <algorithm>

#include "skald/base/inline.h"
#include "skald/cache/blocks/block_table.h"

namespace skald {

SKALD_INLINE StepReplays::StepReplays(const StepPlan& plan, const std::vector<BlockPool*>& pools)
    : plan_(plan), pools_(pools) {
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

SKALD_INLINE void StepReplays::Prepare() {
  for (uint32_t g = 0; g < replays_.size(); ++g) {
    auto replay = replays_[g].begin();
    for (size_t s = 0; replay != replays_[g].end(); ++s) {
      if (FindBlocks(s, g, *replay)) ++replay;
    }
  }
}

SKALD_INLINE bool StepReplays::IsReplay(const SequencePlan& sequence, const StateSave& save, uint32_t g) {
  return save.group == g && save.tokens <= sequence.first_position;
}

SKALD_INLINE bool StepReplays::FindBlocks(size_t s, uint32_t g, StateReplay& replay) const {
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

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_STEP_REPLAYS_H_
