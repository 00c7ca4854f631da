// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/run/layer_run.h.

#ifndef SKALD_LAYERS_RUN_DETAIL_LAYER_RUN_H_
#define SKALD_LAYERS_RUN_DETAIL_LAYER_RUN_H_

#include "skald/layers/run/layer_run.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE void KeepLastRows(std::span<const RecurrentRun> runs, size_t offset, Rows input, size_t count,
                               size_t cols) {
  const auto keep = [&](const RecurrentRun& run, const StateOutput& saved) {
    const size_t rows = saved.row_end - run.row_begin;
    float* const target = reinterpret_cast<float*>(saved.block + offset);
    // Ascending, so that a block may be its own source: each row is read before it is overwritten.
    for (size_t i = 0; i < count; ++i) {
      const size_t age = count - i;  // 1: the last row
      if (age <= rows) {
        std::memcpy(target + i * cols, input.data + (saved.row_end - age) * input.stride, cols * sizeof(float));
      } else if (run.input == nullptr) {
        std::memset(target + i * cols, 0, cols * sizeof(float));
      } else {
        const float* const source = reinterpret_cast<const float*>(run.input + offset);
        std::memmove(target + i * cols, source + (i + rows) * cols, cols * sizeof(float));
      }
    }
  };
  for (const RecurrentRun& run : runs) {
    for (const StateOutput& saved : std::span(run.outputs, run.num_outputs)) keep(run, saved);
  }
}

SKALD_INLINE void KeepInputs(const LayerState& state, Rows rows, size_t cols, size_t first) {
  for (const InputRow& input : state.inputs) {
    std::byte* const target = input.block + state.input_offset + first * sizeof(float);
    std::memcpy(target, rows.data + input.row * rows.stride, cols * sizeof(float));
  }
}

SKALD_INLINE void TakeInputs(const LayerState& state, Rows rows, size_t cols, size_t first) {
  for (const InputRow& input : state.inputs) {
    const std::byte* const source = input.block + state.input_offset + first * sizeof(float);
    std::memcpy(rows.data + input.row * rows.stride, source, cols * sizeof(float));
  }
}

}  // namespace skald

#endif  // SKALD_LAYERS_RUN_DETAIL_LAYER_RUN_H_
