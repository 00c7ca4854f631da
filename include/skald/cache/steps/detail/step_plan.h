// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/cache/steps/step_plan.h.

#ifndef SKALD_CACHE_STEPS_DETAIL_STEP_PLAN_H_
#define SKALD_CACHE_STEPS_DETAIL_STEP_PLAN_H_

#include "skald/cache/steps/step_plan.h"

#include <algorithm>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE size_t LargestPass(const StepPlan& plan) {
  size_t most = 0;
  for (const Pass& pass : plan.passes) {
    size_t tokens = 0;
    for (const PassSlice& slice : pass) tokens += slice.end - slice.begin;
    most = std::max(most, tokens);
  }
  return most;
}

SKALD_INLINE std::vector<Pass> SplitIntoPasses(const std::vector<SequencePlan>& sequences, uint32_t pass_tokens) {
  std::vector<Pass> passes;
  uint32_t room = 0;
  for (uint32_t s = 0; s < sequences.size(); ++s) {
    for (uint32_t begin = 0; begin < sequences[s].num_tokens;) {
      if (room == 0) {
        passes.emplace_back();
        room = pass_tokens;
      }
      const uint32_t end = begin + std::min(room, sequences[s].num_tokens - begin);
      passes.back().push_back({s, begin, end});
      room -= end - begin;
      begin = end;
    }
  }
  return passes;
}

}  // namespace skald

#endif  // SKALD_CACHE_STEPS_DETAIL_STEP_PLAN_H_
