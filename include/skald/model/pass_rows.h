// SPDX-License-Identifier: Apache-2.0
//
// PassRows: the rows that one pass computes, side by side whatever sequence they belong to, and which of them are
// wanted. Has memory for any pass of its step from the beginning.

#ifndef SKALD_MODEL_PASS_ROWS_H_
#define SKALD_MODEL_PASS_ROWS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/cache/step_plan.h"
#include "skald/model/batch.h"

namespace skald {

class PassRows {
 public:
  std::vector<int32_t> tokens;       // [rows]
  std::vector<uint32_t> positions;   // [rows], within the sequence
  std::vector<uint32_t> sequences;   // [rows], index into the step's sequences
  std::vector<uint32_t> logit_rows;  // rows that want logits, ascending
  std::vector<uint32_t> hidden_rows;  // rows that want the final hidden state, ascending
  size_t visible_tokens = 0;         // the longest past among the rows

  // For passes of at most `most` rows.
  explicit PassRows(size_t most) : most_(most) {
    tokens.reserve(most);
    for (std::vector<uint32_t>* const list : {&positions, &sequences, &logit_rows, &hidden_rows}) list->reserve(most);
  }

  void BeginPass(const Pass& pass, const StepPlan& plan, const Batch& batch) {
    tokens.clear();
    for (std::vector<uint32_t>* const list : {&positions, &sequences, &logit_rows, &hidden_rows}) list->clear();
    visible_tokens = 0;
    for (const PassSlice& slice : pass) {
      const std::span<const Want> wants = batch.wants(slice.sequence);
      for (uint32_t i = slice.begin; i < slice.end; ++i) {
        const auto row = static_cast<uint32_t>(tokens.size());
        const Want want = wants[i];
        if (want == Want::kLogits) logit_rows.push_back(row);
        if (want == Want::kHidden) hidden_rows.push_back(row);
        tokens.push_back(batch.requests()[slice.sequence].tokens[i]);
        positions.push_back(plan.sequences[slice.sequence].first_position + i);
        sequences.push_back(slice.sequence);
        visible_tokens = std::max<size_t>(visible_tokens, positions.back() + 1);
      }
    }
  }

  size_t size() const { return tokens.size(); }
  size_t most() const { return most_; }

 private:
  size_t most_;
};

}  // namespace skald

#endif  // SKALD_MODEL_PASS_ROWS_H_
