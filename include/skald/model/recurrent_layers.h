// SPDX-License-Identifier: Apache-2.0
//
// The recurrent mixers: RG-LRU, Mamba and Mamba-2, each a fixed order of Operations. They take their sizes as a
// RecurrenceSpec, so they compile once whatever the number of Configs. Shapes: rows = tokens of the pass; see
// Activations.

#ifndef SKALD_MODEL_RECURRENT_LAYERS_H_
#define SKALD_MODEL_RECURRENT_LAYERS_H_

#include <algorithm>
#include <cstddef>
#include <span>

#include "skald/base/packed_layout.h"
#include "skald/cache/layout.h"
#include "skald/configs/recurrence.h"
#include "skald/kernels/args.h"
#include "skald/model/operations.h"
#include "skald/model/step_states.h"
#include "skald/model/workspace.h"
#include "skald/weights/model_weights.h"

namespace skald {

// What one recurrent layer needs of the cache.
struct LayerState {
  std::span<const RecurrentRun> runs;  // of the pass, all its rows in order
  size_t state_offset, conv_offset;    // bytes from the start of a block to this layer's state

  size_t rows() const { return runs.back().row_end; }
};

// Grows the workspace's buffers to what a layer like `spec` needs for `rows` rows.
inline void ReserveRecurrence(const RecurrenceSpec& spec, size_t rows, Activations& act) {
  Reserve(act.projected, rows * spec.projected_dim());
  Reserve(act.convolved, rows * spec.conv_channels());
  Reserve(act.mixed, rows * spec.width);
  if (spec.kind == LayerKind::kMamba) Reserve(act.selection, rows * (spec.time_step_rank + 2 * spec.state_dim));
  if (spec.kind != LayerKind::kMamba2) Reserve(act.gates, rows * 2 * spec.width);
}

// convolved = f(convolution of the columns of `projected` from `column` on), whose last inputs are kept.
inline void Convolve(const RecurrenceSpec& spec, const RecurrentWeights& weights, const LayerState& state,
                     size_t column, bool silu, Operations& ops, Activations& act) {
  const size_t stride = spec.projected_dim(), channels = spec.conv_channels(), taps = spec.conv_width;
  const float* const input = act.projected.data() + column;
  ops.Conv({.input = input,
            .input_stride = stride,
            .weights = weights.conv.data(),
            .bias = weights.conv_bias.data(),
            .output = act.convolved.data(),
            .channels = channels,
            .taps = taps,
            .silu = silu,
            .runs = state.runs.data(),
            .num_runs = state.runs.size(),
            .state_offset = state.conv_offset,
            .row_begin = 0,
            .row_end = 0},
           state.rows());
  StoreConvState(state.runs, input, stride, channels, taps, state.conv_offset);
}

// mixed = RG-LRU(convolution(x)) * GELU(gate); the projection is [gate, x].
inline void RgLruMixer(const RecurrenceSpec& spec, const RecurrentWeights& weights, const LayerState& state,
                       Operations& ops, Activations& act) {
  const size_t width = spec.width, lane_groups = RoundUp(width, kLanes) / kLanes;
  Convolve(spec, weights, state, width, /*silu=*/false, ops, act);
  ops.BlockMatMul(weights.gates, {act.convolved.data(), width}, width, state.rows(), weights.gate_bias,
                  {act.gates.data(), 2 * width});
  ops.RgLru({.input = act.convolved.data(),
             .gates = act.gates.data(),
             .gate = act.projected.data(),
             .gate_stride = 2 * width,
             .decay = weights.decay.data(),
             .output = act.mixed.data(),
             .width = width,
             .runs = state.runs.data(),
             .state_offset = state.state_offset,
             .unit_begin = 0,
             .unit_end = 0},
            state.runs.size() * lane_groups, kLanes * state.rows() / state.runs.size());
}

// mixed = selective scan of SiLU(convolution(x)), gated; the projection is [x, gate].
inline void MambaMixer(const RecurrenceSpec& spec, const RecurrentWeights& weights, const LayerState& state,
                       Operations& ops, Activations& act) {
  const size_t width = spec.width, states = spec.state_dim, rank = spec.time_step_rank;
  const size_t lane_groups = RoundUp(width, kLanes) / kLanes, selected = rank + 2 * states;
  Convolve(spec, weights, state, 0, /*silu=*/true, ops, act);
  float* const selection = act.selection.data();  // [time step's bottleneck, B, C]
  ops.MatMul(weights.selection, {act.convolved.data(), width}, state.rows(), {}, {selection, selected});
  ops.MatMul(weights.time_step, {selection, selected}, state.rows(), weights.time_step_bias,
             {act.gates.data(), width});
  ops.SelectiveScan({.input = act.convolved.data(),
                     .time_step = act.gates.data(),
                     .b = selection + rank,
                     .c = selection + rank + states,
                     .bc_stride = selected,
                     .gate = act.projected.data() + width,
                     .gate_stride = 2 * width,
                     .decay = weights.decay.data(),
                     .skip = weights.skip.data(),
                     .output = act.mixed.data(),
                     .width = width,
                     .state_dim = states,
                     .runs = state.runs.data(),
                     .state_offset = state.state_offset,
                     .unit_begin = 0,
                     .unit_end = 0},
                    state.runs.size() * lane_groups, kLanes * states * state.rows() / state.runs.size());
}

// mixed = norm(state-space recurrence of SiLU(convolution(x, B, C)), gated); the projection is [gate, x, B, C, time
// steps]. The norm is over each group of heads by itself, as the authors' code has it.
inline void Mamba2Mixer(const RecurrenceSpec& spec, const RecurrentWeights& weights, const LayerState& state,
                        float epsilon, Operations& ops, Activations& act) {
  const size_t width = spec.width, heads = spec.heads, groups = spec.groups, projected = spec.projected_dim();
  Convolve(spec, weights, state, width, /*silu=*/true, ops, act);
  ops.StateSpace({.input = act.convolved.data(),
                  .time_step = act.projected.data() + projected - heads,
                  .time_step_stride = projected,
                  .time_step_bias = weights.time_step_bias.data(),
                  .time_step_min = spec.time_step_min,
                  .time_step_max = spec.time_step_max,
                  .gate = act.projected.data(),
                  .gate_stride = projected,
                  .decay = weights.decay.data(),
                  .skip = weights.skip.data(),
                  .output = act.mixed.data(),
                  .heads = heads,
                  .head_dim = width / heads,
                  .groups = groups,
                  .state_dim = static_cast<size_t>(spec.state_dim),
                  .runs = state.runs.data(),
                  .state_offset = state.state_offset,
                  .unit_begin = 0,
                  .unit_end = 0},
                 state.runs.size() * heads, width / heads * spec.state_dim * state.rows() / state.runs.size());
  const size_t part = width / groups;
  for (size_t group = 0; group < groups; ++group) {
    const Rows columns{act.mixed.data() + group * part, width};
    ops.Norm(columns, state.rows(), std::span(weights.norm).subspan(group * part, part), epsilon, columns);
  }
}

// block_output = output projection of the mixer, whose state in the cache moves on by this pass's rows.
inline void RecurrentLayer(const RecurrenceSpec& spec, const RecurrentWeights& weights, const LayerState& state,
                           float epsilon, Operations& ops, Activations& act) {
  const size_t model_dim = weights.input.cols, rows = state.rows();
  ops.MatMul(weights.input, {act.normed.data(), model_dim}, rows, weights.input_bias,
             {act.projected.data(), static_cast<size_t>(spec.projected_dim())});
  if (spec.kind == LayerKind::kRgLru) RgLruMixer(spec, weights, state, ops, act);
  if (spec.kind == LayerKind::kMamba) MambaMixer(spec, weights, state, ops, act);
  if (spec.kind == LayerKind::kMamba2) Mamba2Mixer(spec, weights, state, epsilon, ops, act);
  ops.MatMul(weights.output, {act.mixed.data(), static_cast<size_t>(spec.width)}, rows, weights.output_bias,
             {act.block_output.data(), model_dim});
}

}  // namespace skald

#endif  // SKALD_MODEL_RECURRENT_LAYERS_H_
