// SPDX-License-Identifier: Apache-2.0
//
// Recurrent layers of real models, one sequence of 1 or 64 tokens, its state updated in place. The bytes are those of
// inputs, outputs and state; what bounds most of them is arithmetic on each element of the state, which no limit here
// counts.

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "benchmarks/kernels/kernel_benchmark.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/kernels.h"
#include "tests/reference/recurrent.h"
#include "tests/support/kernel_data.h"

namespace skald {
namespace {

using testing::RandomFloats;

// Of state that fades.
std::vector<float> Decays(size_t size) {
  std::vector<float> values = RandomFloats(9, size);
  for (float& value : values) value = 0.5f * value - 0.6f;
  return values;
}

// Runs a Layer over `rows` rows, which begin with no state. A Layer holds what its kernel reads besides the state; its
// FirstOutput(c) is the output of channel c in the first row.
template <class Layer>
class RecurrentKernel {
 public:
  explicit RecurrentKernel(size_t rows)
      : rows_(rows),
        layer_(rows),
        block_(Layer::kStateFloats * sizeof(float)),
        output_(rows * Layer::kWidth),
        state_{.row_end = rows, .block = block_.data()},
        run_{.row_begin = 0, .row_end = rows, .input = block_.data(), .outputs = &state_, .num_outputs = 1} {}

  void Run() { layer_.Run(&run_, output_.data()); }

  // After one Run.
  bool IsCorrect() const {
    for (const size_t c : {size_t{0}, Layer::kWidth / 2 + 1, Layer::kWidth - 1}) {
      const float expected = layer_.FirstOutput(c);
      if (!testing::Difference({&output_[c], 1}, {&expected, 1}, 1e-4).empty()) return false;
    }
    return true;
  }

  KernelWork work() const {
    const double state = 2.0 * static_cast<double>(block_.size());
    return {.bytes = state + static_cast<double>(rows_ * (layer_.InputFloats() + Layer::kWidth) * sizeof(float))};
  }

 private:
  size_t rows_;
  Layer layer_;
  AlignedBuffer<std::byte> block_;
  AlignedBuffer<float> output_;
  StateOutput state_;
  RecurrentRun run_;
};

// The convolution of Mamba-2.8B.
struct ConvLayer {
  static constexpr size_t kWidth = 5120, kTaps = 4, kStateFloats = (kTaps - 1) * kWidth;
  explicit ConvLayer(size_t rows) : rows(rows), input(RandomFloats(1, rows * 2 * kWidth)) {}

  void Run(const RecurrentRun* run, float* output) const {
    Kernels<>::Conv({.input = input.data(),
                     .input_stride = 2 * kWidth,
                     .weights = weights.data(),
                     .bias = bias.data(),
                     .output = output,
                     .channels = kWidth,
                     .taps = kTaps,
                     .silu = true,
                     .runs = run,
                     .num_runs = 1,
                     .state_offset = 0,
                     .row_begin = 0,
                     .row_end = rows});
  }
  float FirstOutput(size_t c) const {
    return reference::Silu(reference::ConvElement(kTaps, &weights[c], kWidth, bias[c],
                                                  [&](size_t k) { return k + 1 == kTaps ? input[c] : 0.0f; }));
  }
  size_t InputFloats() const { return kWidth; }

  size_t rows;
  std::vector<float> input, weights = RandomFloats(2, kTaps*kWidth), bias = RandomFloats(3, kWidth);
};

// RecurrentGemma-2B.
struct RgLruLayer {
  static constexpr size_t kWidth = 2560, kStateFloats = kWidth;
  explicit RgLruLayer(size_t rows)
      : input(RandomFloats(1, rows * kWidth)),
        gates(RandomFloats(2, rows * 2 * kWidth)),
        gate(RandomFloats(3, rows * 2 * kWidth)) {}

  void Run(const RecurrentRun* run, float* output) const {
    Kernels<>::RgLru({.input = input.data(),
                      .gates = gates.data(),
                      .gate = gate.data(),
                      .gate_stride = 2 * kWidth,
                      .decay = decay.data(),
                      .output = output,
                      .width = kWidth,
                      .runs = run,
                      .state_offset = 0,
                      .unit_begin = 0,
                      .unit_end = kWidth / kLanes});
  }
  float FirstOutput(size_t c) const {
    float state = 0.0f;
    return reference::RgLru({.first = false,
                             .x = input[c],
                             .input_gate = gates[c],
                             .recurrence_gate = gates[kWidth + c],
                             .gate = gate[c],
                             .decay = decay[c]},
                            state);
  }
  size_t InputFloats() const { return 4 * kWidth; }

  std::vector<float> input, gates, gate, decay = Decays(kWidth);
};

// Mamba-2.8B.
struct SelectiveScanLayer {
  static constexpr size_t kWidth = 5120, kStateDim = 16, kStride = 192, kStateFloats = kWidth * kStateDim;
  explicit SelectiveScanLayer(size_t rows)
      : input(RandomFloats(1, rows * kWidth)),
        time_step(RandomFloats(2, rows * kWidth)),
        bc(RandomFloats(3, rows * kStride)),
        gate(RandomFloats(4, rows * 2 * kWidth)) {}

  void Run(const RecurrentRun* run, float* output) const {
    Kernels<>::SelectiveScan({.input = input.data(),
                              .time_step = time_step.data(),
                              .b = bc.data(),
                              .c = bc.data() + kStateDim,
                              .bc_stride = kStride,
                              .gate = gate.data(),
                              .gate_stride = 2 * kWidth,
                              .decay = decay.data(),
                              .skip = skip.data(),
                              .output = output,
                              .width = kWidth,
                              .state_dim = kStateDim,
                              .runs = run,
                              .state_offset = 0,
                              .unit_begin = 0,
                              .unit_end = kWidth / kLanes});
  }
  float FirstOutput(size_t c) const {
    std::vector<float> state(kStateDim);
    return reference::Scan({.x = input[c],
                            .time_step = time_step[c],
                            .gate = gate[c],
                            .skip = skip[c],
                            .b = bc.data(),
                            .c = bc.data() + kStateDim,
                            .decay = &decay[c],
                            .decay_stride = kWidth,
                            .stride = 1,
                            .state_dim = kStateDim,
                            .time_step_min = 0.0f,
                            .time_step_max = HUGE_VALF},
                           state.data());
  }
  size_t InputFloats() const { return 3 * kWidth + 2 * kStateDim; }

  std::vector<float> input, time_step, bc, gate, decay = Decays(kStateDim * kWidth), skip = RandomFloats(5, kWidth);
};

// Mamba-2-2.7B.
struct StateSpaceLayer {
  static constexpr size_t kHeads = 80, kHeadDim = 64, kStateDim = 128, kWidth = kHeads * kHeadDim;
  static constexpr size_t kStateFloats = kWidth * kStateDim;
  explicit StateSpaceLayer(size_t rows)
      : input(RandomFloats(1, rows * (kWidth + 2 * kStateDim))), gate(RandomFloats(2, rows * (kWidth + kHeads))) {}

  void Run(const RecurrentRun* run, float* output) const {
    Kernels<>::StateSpace({.input = input.data(),
                           .time_step = gate.data() + kWidth,
                           .time_step_stride = kWidth + kHeads,
                           .time_step_bias = bias.data(),
                           .time_step_min = 0.0f,
                           .time_step_max = HUGE_VALF,
                           .gate = gate.data(),
                           .gate_stride = kWidth + kHeads,
                           .decay = decay.data(),
                           .skip = skip.data(),
                           .output = output,
                           .heads = kHeads,
                           .head_dim = kHeadDim,
                           .groups = 1,
                           .state_dim = kStateDim,
                           .runs = run,
                           .state_offset = 0,
                           .unit_begin = 0,
                           .unit_end = kHeads});
  }
  float FirstOutput(size_t c) const {
    const size_t head = c / kHeadDim;
    std::vector<float> state(kStateDim);
    return reference::Scan({.x = input[c],
                            .time_step = gate[kWidth + head] + bias[head],
                            .gate = gate[c],
                            .skip = skip[head],
                            .b = &input[kWidth],
                            .c = &input[kWidth + kStateDim],
                            .decay = &decay[head],
                            .decay_stride = 0,
                            .stride = 1,
                            .state_dim = kStateDim,
                            .time_step_min = 0.0f,
                            .time_step_max = HUGE_VALF},
                           state.data());
  }
  size_t InputFloats() const { return 2 * kWidth + 2 * kStateDim + kHeads; }

  std::vector<float> input, gate;
  std::vector<float> bias = RandomFloats(3, kHeads), decay = Decays(kHeads), skip = RandomFloats(4, kHeads);
};

template <class Layer>
void Register(const std::string& name) {
  for (const size_t rows : {size_t{1}, size_t{64}}) {
    RegisterKernel(name + "/" + std::to_string(rows), [rows] { return RecurrentKernel<Layer>(rows); });
  }
}

const bool kRegistered = [] {
  Register<ConvLayer>("Conv/Mamba-2.8B");
  Register<RgLruLayer>("RgLru/RecurrentGemma-2B");
  Register<SelectiveScanLayer>("SelectiveScan/Mamba-2.8B");
  Register<StateSpaceLayer>("StateSpace/Mamba-2-2.7B");
  return true;
}();

}  // namespace
}  // namespace skald
