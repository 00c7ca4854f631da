// SPDX-License-Identifier: Apache-2.0
//
// Mamba, a selective state space, Gu and Dao 2023 (arXiv:2312.00752).

#ifndef SKALD_LAYERS_KINDS_RECURRENT_MAMBA_H_
#define SKALD_LAYERS_KINDS_RECURRENT_MAMBA_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "skald/base/numbers/packed_layout.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/cache/form/layout.h"
#include "skald/layers/kinds/dealt_columns.h"
#include "skald/layers/kinds/recurrent/causal_conv.h"
#include "skald/layers/run/layer_run.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/weights/packing/recurrent_transforms.h"
#include "skald/weights/parameters.h"

namespace skald {

struct Mamba {
  static constexpr std::string_view kName = "Mamba";

  int inner_dim = 0;       // channels
  int state_dim = 0;       // state variables per channel
  int time_step_rank = 0;  // width of the bottleneck in front of the time step
  int conv_width = 0;      // taps, the token itself included

  friend constexpr bool operator==(const Mamba&, const Mamba&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("inner_dim", self.inner_dim);
    visit("state_dim", self.state_dim);
    visit("time_step_rank", self.time_step_rank);
    visit("conv_width", self.conv_width);
  }

  constexpr const char* WhyImpossible() const {
    if (inner_dim <= 0 || state_dim <= 0 || time_step_rank <= 0) {
      return "kInnerDim, kStateDim and kTimeStepRank must be positive.";
    }
    if (state_dim > static_cast<int>(kMaxStateDim))
      return "kStateDim is larger than the buffers of the selective scan.";
    return CausalConv::WhyImpossible(conv_width);
  }

  constexpr CacheGroup State() const {
    return {.state_floats = static_cast<uint32_t>(scan_floats() + conv().state_floats())};
  }

  struct Weights {
    Matrix input;  // in_proj [2 * inner_dim, model_dim]: the recurrence, then its gate
    CausalConv::Weights conv;
    Matrix output;                      // [model_dim, inner_dim]
    std::vector<float> decay;           // [state_dim, inner_dim], -exp(A_log)
    std::vector<float> time_step_bias;  // [inner_dim]
    std::vector<float> skip;            // D [inner_dim]
    Matrix selection;                   // x_proj [time_step_rank + 2 * state_dim, inner_dim]
    Matrix time_step;                   // dt_proj [inner_dim, time_step_rank]
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
    const size_t w = channels(), states = static_cast<size_t>(state_dim), rank = static_cast<size_t>(time_step_rank);
    const size_t units = ColumnUnits(w);
    list.AddMatrix(weights.input, model_dim, {{"mixer.in_proj.weight", 2 * w}}, {.sections = Repeated(Sections(), 2)});
    conv().ListParameters(weights.conv, "mixer.conv1d", list, Sections());
    list.AddMatrix(weights.output, w, {{"mixer.out_proj.weight", model_dim}}, {.input_units = units});
    // The state is multiplied by exp(decay * softplus(time step)) at each token; the softplus of these random biases
    // lies between 0.01 and 0.1.
    list.AddArray(weights.decay, {{"mixer.A_log", {w, states}}}, {-8.5f, 7.5f}, [=](std::vector<float>& values) {
      internal::DecayFromLogarithm(values);
      internal::Transpose(values, w, states);
    });
    list.DealVector(Repeated(Sections(), states));
    list.AddDealtVector(weights.time_step_bias, {{"mixer.dt_proj.bias", w}}, units, {-3.43f, 1.15f});
    list.AddDealtVector(weights.skip, {{"mixer.D", w}}, units, {.center = 1.0f});
    list.AddMatrix(weights.selection, w, {{"mixer.x_proj.weight", rank + 2 * states}}, {.input_units = units});
    list.AddMatrix(weights.time_step, rank, {{"mixer.dt_proj.weight", w}}, {.output_units = units});
  }

  // Channels; what is selected for all of them, every rank is given.
  constexpr Mamba OfRank(const RankShare& share) const {
    Mamba part = *this;
    part.inner_dim = DealtWidth(inner_dim, share);
    return part;
  }
  constexpr StateSections DealState() const {
    return {.state = Repeated(Sections(), static_cast<size_t>(state_dim + conv_width - 1))};
  }

  // Both projections; the convolution's outputs; time step's bottleneck, B and C; time steps; the scan's outputs.
  std::array<size_t, 5> ScratchFloats(size_t rows, size_t /*model_dim*/) const {
    const size_t w = channels(), selected = static_cast<size_t>(time_step_rank + 2 * state_dim);
    return {rows * 2 * w, rows * w, rows * selected, rows * w, rows * w};
  }

  void Run(const Weights& weights, const LayerRun& run) const {
    const size_t w = channels(), states = static_cast<size_t>(state_dim), rank = static_cast<size_t>(time_step_rank);
    const size_t rows = run.state.rows(), selected = rank + 2 * states, lane_groups = RoundUp(w, kLanes) / kLanes;
    float* const projected = run.scratch[0];
    float* const convolved = run.scratch[1];
    float* const selection = run.scratch[2];
    float* const time_steps = run.scratch[3];
    float* const mixed = run.scratch[4];
    run.ops.MatMul(weights.input, run.input, rows, {}, {projected, 2 * w});
    conv().Run(weights.conv, run, {projected, 2 * w}, run.state.offset + scan_floats() * sizeof(float), convolved);
    run.ops.MatMul(weights.selection, {convolved, w}, rows, {}, {selection, selected});
    run.ops.MatMul(weights.time_step, {selection, selected}, rows, weights.time_step_bias, {time_steps, w});
    run.ops.SelectiveScan({.input = convolved,
                           .time_step = time_steps,
                           .b = selection + rank,
                           .c = selection + rank + states,
                           .bc_stride = selected,
                           .gate = projected + w,
                           .gate_stride = 2 * w,
                           .decay = weights.decay.data(),
                           .skip = weights.skip.data(),
                           .output = mixed,
                           .width = w,
                           .state_dim = states,
                           .runs = run.state.runs.data(),
                           .state_offset = run.state.offset,
                           .unit_begin = 0,
                           .unit_end = 0},
                          run.state.runs.size() * lane_groups, kLanes * states * rows / run.state.runs.size());
    run.ops.MatMul(weights.output, {mixed, w}, rows, {}, run.output);
  }

 private:
  constexpr size_t channels() const { return static_cast<size_t>(inner_dim); }
  constexpr std::vector<DealtSection> Sections() const { return {{channels(), ColumnUnits(channels())}}; }
  constexpr size_t scan_floats() const { return channels() * static_cast<size_t>(state_dim); }
  constexpr CausalConv conv() const { return {channels(), static_cast<size_t>(conv_width), /*silu=*/true}; }
};

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_RECURRENT_MAMBA_H_
