// SPDX-License-Identifier: Apache-2.0
//
// WantedRows: the rows of a pass, and which of them the caller wants something of.

#ifndef SKALD_MODEL_WANTED_ROWS_H_
#define SKALD_MODEL_WANTED_ROWS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/cache/step.h"
#include "skald/cache/step_plan.h"
#include "skald/layers/layer_run.h"
#include "skald/model/batch.h"

namespace skald {

struct WantedRows {
  PassRows rows;
  std::vector<uint32_t> logit_rows;   // rows that want logits, ascending
  std::vector<uint32_t> hidden_rows;  // rows that want the final hidden state, ascending

  // `wants` is over all tokens of the step; `first_want[s]` is where sequence s begins in it.
  WantedRows(const Pass& pass, const StepPlan& plan, std::span<const StepRequest> requests, std::span<const Want> wants,
             const std::vector<size_t>& first_want) {
    for (const PassSlice& slice : pass) {
      for (uint32_t i = slice.begin; i < slice.end; ++i) {
        const auto row = static_cast<uint32_t>(rows.size());
        const Want want = wants[first_want[slice.sequence] + i];
        if (want == Want::kLogits) logit_rows.push_back(row);
        if (want == Want::kHidden) hidden_rows.push_back(row);
        rows.tokens.push_back(requests[slice.sequence].tokens[i]);
        rows.positions.push_back(plan.sequences[slice.sequence].first_position + i);
        rows.sequences.push_back(slice.sequence);
        rows.visible_tokens = std::max<size_t>(rows.visible_tokens, rows.positions.back() + 1);
      }
    }
  }
};

}  // namespace skald

#endif  // SKALD_MODEL_WANTED_ROWS_H_
