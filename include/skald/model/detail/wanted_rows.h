// SPDX-License-Identifier: Apache-2.0
//
// WantedRows: the rows of a pass, and which of them the caller wants something of. Has memory for any pass of its step
// from the beginning.

#ifndef SKALD_MODEL_DETAIL_WANTED_ROWS_H_
#define SKALD_MODEL_DETAIL_WANTED_ROWS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/cache/steps/step.h"
#include "skald/cache/steps/step_plan.h"
#include "skald/layers/run/layer_run.h"

namespace skald {

class WantedRows {
 public:
  PassRows rows;
  std::vector<uint32_t> logit_rows;   // rows that want logits, ascending
  std::vector<uint32_t> hidden_rows;  // rows that want the final hidden state, ascending

  // For passes of at most `most` rows.
  explicit WantedRows(size_t most) : most_(most) {
    rows.tokens.reserve(most);
    for (std::vector<uint32_t>* const list : {&rows.positions, &rows.sequences, &logit_rows, &hidden_rows}) {
      list->reserve(most);
    }
    rows.types.reserve(most);
  }

  // `tokens[s]` are those of sequence s.
  void BeginPass(const Pass& pass, const StepPlan& plan, std::span<const std::span<const int32_t>> tokens) {
    rows.tokens.clear();
    for (std::vector<uint32_t>* const list : {&rows.positions, &rows.sequences, &logit_rows, &hidden_rows}) {
      list->clear();
    }
    rows.visible_tokens = 0;
    for (const PassSlice& slice : pass) {
      const SequencePlan& sequence = plan.sequences[slice.sequence];
      for (uint32_t i = slice.begin; i < slice.end; ++i) {
        const auto row = static_cast<uint32_t>(rows.size());
        const Want want = sequence.wants[i];
        if (want == Want::kLogits) logit_rows.push_back(row);
        if (want == Want::kHidden) hidden_rows.push_back(row);
        rows.tokens.push_back(tokens[slice.sequence][i]);
        rows.positions.push_back(sequence.first_position + i);
        rows.sequences.push_back(slice.sequence);
        rows.visible_tokens = std::max<size_t>(rows.visible_tokens, rows.positions.back() + 1);
      }
    }
  }

  // The types of the tokens: those of sequence s in types[s], 0 if that is empty.
  void TakeTypes(const Pass& pass, std::span<const std::span<const int32_t>> types) {
    rows.types.clear();
    for (const PassSlice& slice : pass) {
      const bool has_types = !types.empty() && !types[slice.sequence].empty();
      for (uint32_t i = slice.begin; i < slice.end; ++i) {
        rows.types.push_back(has_types ? types[slice.sequence][i] : 0);
      }
    }
  }

  size_t most() const { return most_; }

 private:
  size_t most_;
};

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_WANTED_ROWS_H_
