// SPDX-License-Identifier: Apache-2.0
//
// Recurrences of channels by themselves (RG-LRU, selective scan of Mamba) against their scalar references.
#include <doctest/doctest.h>

#include <string_view>
#include <type_traits>
#include <vector>

#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/kernels.h"
#include "tests/reference/recurrent.h"
#include "tests/support/kernel_data.h"
#include "tests/support/recurrence_checks.h"
#include "tests/support/recurrent_runs.h"

namespace skald::testing {
namespace channel_recurrence_test {

struct RgLruCase {
  static constexpr std::string_view kName = "RG-LRU";
  static constexpr size_t kVariants = 4;

  RgLruCase(size_t rows, size_t variant)
      : width(std::vector<size_t>{72, 40, 130, 300}[variant]),
        input(RandomFloats(1, rows * width)),
        gates(RandomFloats(2, rows * 2 * width, 4.0f)),
        gate(RandomFloats(3, rows * (width + 3), 3.0f)),
        decay(NegativeFloats(4, width, 4.0f)) {}

  size_t StateFloats() const { return width; }
  size_t OutputWidth() const { return width; }
  size_t UnitsPerRun() const { return RoundUp(width, kLanes) / kLanes; }

  void Run(const RecurrentRun* runs, size_t unit_begin, size_t unit_end, float* output) const {
    Kernels<>::RgLru({.input = input.data(),
                      .gates = gates.data(),
                      .gate = gate.data(),
                      .gate_stride = width + 3,
                      .decay = decay.data(),
                      .output = output,
                      .width = width,
                      .runs = runs,
                      .state_offset = RecurrentRuns::kStateOffset,
                      .unit_begin = unit_begin,
                      .unit_end = unit_end});
  }

  template <class Real>
  void Step(size_t row, bool first, Real* state, Real* output) const {
    for (size_t c = 0; c < width; ++c) {
      const reference::RgLruTerms terms = {.first = first,
                                           .x = input[row * width + c],
                                           .input_gate = gates[row * 2 * width + c],
                                           .recurrence_gate = gates[row * 2 * width + width + c],
                                           .gate = gate[row * (width + 3) + c],
                                           .decay = decay[c]};
      if constexpr (std::is_same_v<Real, float>) {
        output[c] = reference::RgLru(terms, state[c]);
      } else {
        output[c] = reference::RgLruInDouble(terms, state[c]);
      }
    }
  }

  size_t width;
  std::vector<float> input, gates, gate, decay;
};

struct SelectiveScanCase {
  static constexpr std::string_view kName = "selective scan";
  static constexpr size_t kVariants = 4;

  SelectiveScanCase(size_t rows, size_t variant)
      : width(std::vector<size_t>{72, 40, 130, 17}[variant]),
        state_dim(std::vector<size_t>{16, 5, 16, kMaxStateDim}[variant]),
        bc_stride(2 * state_dim + 7),
        input(RandomFloats(1, rows * width)),
        time_step(RandomFloats(2, rows * width, 3.0f)),
        bc(RandomFloats(3, rows * bc_stride)),
        gate(RandomFloats(4, rows * (width + 3), 3.0f)),
        decay(NegativeFloats(5, state_dim * width, 2.0f)),
        skip(RandomFloats(6, width)) {}

  size_t StateFloats() const { return state_dim * width; }
  size_t OutputWidth() const { return width; }
  size_t UnitsPerRun() const { return RoundUp(width, kLanes) / kLanes; }

  void Run(const RecurrentRun* runs, size_t unit_begin, size_t unit_end, float* output) const {
    Kernels<>::SelectiveScan({.input = input.data(),
                              .time_step = time_step.data(),
                              .b = bc.data(),
                              .c = bc.data() + state_dim,
                              .bc_stride = bc_stride,
                              .gate = gate.data(),
                              .gate_stride = width + 3,
                              .decay = decay.data(),
                              .skip = skip.data(),
                              .output = output,
                              .width = width,
                              .state_dim = state_dim,
                              .runs = runs,
                              .state_offset = RecurrentRuns::kStateOffset,
                              .unit_begin = unit_begin,
                              .unit_end = unit_end});
  }

  template <class Real>
  void Step(size_t row, bool, Real* state, Real* output) const {
    for (size_t c = 0; c < width; ++c) {
      const float* b = bc.data() + row * bc_stride;
      output[c] = ScanStep({.x = input[row * width + c],
                            .time_step = time_step[row * width + c],
                            .gate = gate[row * (width + 3) + c],
                            .skip = skip[c],
                            .b = b,
                            .c = b + state_dim,
                            .decay = decay.data() + c,
                            .decay_stride = width,
                            .stride = width,
                            .state_dim = state_dim,
                            .time_step_min = 0.0f,
                            .time_step_max = kInfinity},
                           state + c);
    }
  }

  size_t width, state_dim, bc_stride;
  std::vector<float> input, time_step, bc, gate, decay, skip;
};

TEST_CASE_TEMPLATE("a recurrence equals its reference and writes nothing else", Case, RgLruCase, SelectiveScanCase) {
  CheckReference<Case>();
}

TEST_CASE_TEMPLATE("a recurrence computed in pieces is the same", Case, RgLruCase, SelectiveScanCase) {
  CheckPieces<Case>();
}

TEST_CASE_TEMPLATE("a recurrence goes token by token through its state", Case, RgLruCase, SelectiveScanCase) {
  CheckTokens<Case>();
}

TEST_CASE_TEMPLATE("a recurrence has the saved bits", Case, RgLruCase, SelectiveScanCase) { CheckSavedBits<Case>(); }

}  // namespace channel_recurrence_test
}  // namespace skald::testing
