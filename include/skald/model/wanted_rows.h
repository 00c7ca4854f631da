// SPDX-License-Identifier: Apache-2.0
//
// WantedRows: the rows of a pass, and which of them the caller wants something of. Has memory for any pass of its step
// from the beginning.

#ifndef SKALD_MODEL_WANTED_ROWS_H_
#define SKALD_MODEL_WANTED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/cache/steps/step_plan.h"
#include "skald/layers/run/layer_run.h"

namespace skald {

class WantedRows {
 public:
  PassRows rows;
  std::vector<uint32_t> logit_rows;   // rows that want logits, ascending
  std::vector<uint32_t> hidden_rows;  // rows that want the final hidden state, ascending

  // For passes of at most `most` rows.
  explicit WantedRows(size_t most);

  // `tokens[s]` are those of sequence s.
  void BeginPass(const Pass& pass, const StepPlan& plan, std::span<const std::span<const int32_t>> tokens);

  size_t most() const { return most_; }

 private:
  size_t most_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/detail/wanted_rows.h"
#endif

#endif  // SKALD_MODEL_WANTED_ROWS_H_
