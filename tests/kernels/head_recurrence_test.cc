// SPDX-License-Identifier: Apache-2.0
//
// Recurrences of heads, whose state is a matrix (state space of Mamba-2, delta net, Kimi delta attention, time mixes of
// RWKV), against their scalar references.
#include <doctest/doctest.h>

#include <string_view>
#include <type_traits>
#include <vector>

#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/kernels.h"
#include "tests/reference/recurrent.h"
#include "tests/reference/time_mix.h"
#include "tests/support/kernel_data.h"
#include "tests/support/recurrence_checks.h"
#include "tests/support/recurrent_runs.h"

namespace skald::testing {
namespace head_recurrence_test {

struct StateSpaceCase {
  static constexpr std::string_view kName = "state space";
  static constexpr size_t kVariants = 4;

  StateSpaceCase(size_t rows, size_t variant)
      : heads(std::vector<size_t>{4, 1, 6, 2}[variant]),
        head_dim(std::vector<size_t>{18, 40, 64, 130}[variant]),
        groups(std::vector<size_t>{2, 1, 3, 1}[variant]),
        state_dim(std::vector<size_t>{16, 128, 5, 16}[variant]),
        width(heads * head_dim),
        channels(width + 2 * groups * state_dim),
        input(RandomFloats(1, rows * channels)),
        time_step(RandomFloats(2, rows * (heads + 3), 3.0f)),
        bias(RandomFloats(3, heads)),
        gate(RandomFloats(4, rows * (width + 3), 3.0f)),
        decay(NegativeFloats(5, heads, 2.0f)),
        skip(RandomFloats(6, heads)) {}

  size_t StateFloats() const { return state_dim * width; }
  size_t OutputWidth() const { return width; }
  size_t UnitsPerRun() const { return heads; }

  void Run(const RecurrentRun* runs, size_t unit_begin, size_t unit_end, float* output) const {
    Kernels<>::StateSpace({.input = input.data(),
                           .time_step = time_step.data(),
                           .time_step_stride = heads + 3,
                           .time_step_bias = bias.data(),
                           .time_step_min = kMin,
                           .time_step_max = kMax,
                           .gate = gate.data(),
                           .gate_stride = width + 3,
                           .decay = decay.data(),
                           .skip = skip.data(),
                           .output = output,
                           .heads = heads,
                           .head_dim = head_dim,
                           .groups = groups,
                           .state_dim = state_dim,
                           .runs = runs,
                           .state_offset = RecurrentRuns::kStateOffset,
                           .unit_begin = unit_begin,
                           .unit_end = unit_end});
  }

  template <class Real>
  void Step(size_t row, bool, Real* state, Real* output) const {
    for (size_t i = 0; i < width; ++i) {
      const size_t head = i / head_dim;
      const float* b = input.data() + row * channels + width + head * groups / heads * state_dim;
      const float dt = time_step[row * (heads + 3) + head] + bias[head];
      output[i] = ScanStep({.x = input[row * channels + i],
                            .time_step = dt,
                            .gate = gate[row * (width + 3) + i],
                            .skip = skip[head],
                            .b = b,
                            .c = b + groups * state_dim,
                            .decay = decay.data() + head,
                            .decay_stride = 0,
                            .stride = head_dim,
                            .state_dim = state_dim,
                            .time_step_min = kMin,
                            .time_step_max = kMax},
                           state + head * state_dim * head_dim + i % head_dim);
    }
  }

  static constexpr float kMin = 0.1f, kMax = 2.5f;  // both within what the time steps take
  size_t heads, head_dim, groups, state_dim, width, channels;
  std::vector<float> input, time_step, bias, gate, decay, skip;
};

struct DeltaNetCase {
  static constexpr std::string_view kName = "delta net";
  static constexpr size_t kVariants = 4;

  DeltaNetCase(size_t rows, size_t variant)
      : key_heads(std::vector<size_t>{2, 1, 3, 1}[variant]),
        value_heads(std::vector<size_t>{4, 1, 6, 2}[variant]),
        key_dim(std::vector<size_t>{16, 24, 5, 9}[variant]),
        value_dim(std::vector<size_t>{18, 40, 64, 130}[variant]),
        tiled(variant == 2),
        channels(2 * key_heads * key_dim + value_heads * value_dim),
        input(RandomFloats(1, rows * channels, 0.3f)),
        rates(RandomFloats(2, rows * 2 * value_heads, 3.0f)),
        bias(RandomFloats(3, value_heads)),
        decay(NegativeFloats(4, value_heads, 2.0f)) {}

  size_t StateFloats() const { return value_heads * key_dim * value_dim; }
  size_t OutputWidth() const { return value_heads * value_dim; }
  size_t UnitsPerRun() const { return value_heads; }

  void Run(const RecurrentRun* runs, size_t unit_begin, size_t unit_end, float* output) const {
    Kernels<>::DeltaNet({.input = input.data(),
                         .rates = rates.data(),
                         .time_step_bias = bias.data(),
                         .decay = decay.data(),
                         .output = output,
                         .key_heads = key_heads,
                         .value_heads = value_heads,
                         .key_dim = key_dim,
                         .value_dim = value_dim,
                         .tiled = tiled,
                         .runs = runs,
                         .state_offset = RecurrentRuns::kStateOffset,
                         .unit_begin = unit_begin,
                         .unit_end = unit_end});
  }

  template <class Real>
  void Step(size_t row, bool, Real* state, Real* output) const {
    for (size_t i = 0; i < OutputWidth(); ++i) {
      const size_t head = i / value_dim;
      const size_t key_head = tiled ? head % key_heads : head / (value_heads / key_heads);
      const float* query = input.data() + row * channels + key_head * key_dim;
      const float* of_head = rates.data() + row * 2 * value_heads + head;
      const reference::DeltaTerms terms = {.query = query,
                                           .key = query + key_heads * key_dim,
                                           .value = input[row * channels + 2 * key_heads * key_dim + i],
                                           .beta = of_head[0],
                                           .time_step = of_head[value_heads] + bias[head],
                                           .decay = decay[head],
                                           .stride = value_dim,
                                           .key_dim = key_dim};
      Real* const h = state + head * key_dim * value_dim + i % value_dim;
      if constexpr (std::is_same_v<Real, float>) {
        output[i] = reference::Delta(terms, h);
      } else {
        output[i] = reference::DeltaInDouble(terms, h);
      }
    }
  }

  size_t key_heads, value_heads, key_dim, value_dim;
  bool tiled;
  size_t channels;
  std::vector<float> input, rates, bias, decay;
};

struct KimiDeltaCase {
  static constexpr std::string_view kName = "Kimi delta attention";
  static constexpr size_t kVariants = 3;

  KimiDeltaCase(size_t rows, size_t variant)
      : heads(std::vector<size_t>{3, 1, 2}[variant]),
        dim(std::vector<size_t>{18, 40, 130}[variant]),
        width(heads * dim),
        input(RandomFloats(1, rows * 3 * width, 0.3f)),
        steps(RandomFloats(2, rows * width, 2.0f)),
        rates(RandomFloats(3, rows * heads, 3.0f)),
        bias(RandomFloats(4, width)),
        decay(NegativeFloats(5, heads, 2.0f)) {}

  size_t StateFloats() const { return width * dim; }
  size_t OutputWidth() const { return width; }
  size_t UnitsPerRun() const { return heads; }

  void Run(const RecurrentRun* runs, size_t unit_begin, size_t unit_end, float* output) const {
    Kernels<>::KimiDelta({.input = input.data(),
                          .decay_input = steps.data(),
                          .rates = rates.data(),
                          .time_step_bias = bias.data(),
                          .decay = decay.data(),
                          .output = output,
                          .heads = heads,
                          .head_dim = dim,
                          .runs = runs,
                          .state_offset = RecurrentRuns::kStateOffset,
                          .unit_begin = unit_begin,
                          .unit_end = unit_end});
  }

  template <class Real>
  void Step(size_t row, bool, Real* state, Real* output) const {
    for (size_t i = 0; i < width; ++i) {
      const size_t head = i / dim, begin = head * dim;
      std::vector<float> with_bias(dim);
      for (size_t n = 0; n < dim; ++n) with_bias[n] = steps[row * width + begin + n] + bias[begin + n];
      const float* const query = input.data() + row * 3 * width + begin;
      const reference::KimiTerms terms = {.query = query,
                                          .key = query + width,
                                          .time_step = with_bias.data(),
                                          .value = input[row * 3 * width + 2 * width + i],
                                          .rate = rates[row * heads + head],
                                          .decay = decay[head],
                                          .stride = dim,
                                          .size = dim};
      Real* const h = state + begin * dim + i % dim;
      if constexpr (std::is_same_v<Real, float>) {
        output[i] = reference::KimiDelta(terms, h);
      } else {
        output[i] = reference::KimiDeltaInDouble(terms, h);
      }
    }
  }

  size_t heads, dim, width;
  std::vector<float> input, steps, rates, bias, decay;
};

struct DecayedSumCase {
  static constexpr std::string_view kName = "decayed sum";
  static constexpr size_t kVariants = 3;

  DecayedSumCase(size_t rows, size_t variant)
      : heads(std::vector<size_t>{3, 1, 2}[variant]),
        dim(std::vector<size_t>{18, 40, 130}[variant]),
        width(heads * dim),
        input(RandomFloats(1, rows * 4 * width)),
        bonus(RandomFloats(2, width)) {}

  size_t StateFloats() const { return width * dim; }
  size_t OutputWidth() const { return width; }
  size_t UnitsPerRun() const { return heads; }

  void Run(const RecurrentRun* runs, size_t unit_begin, size_t unit_end, float* output) const {
    Kernels<>::DecayedSum({.input = input.data(),
                           .bonus = bonus.data(),
                           .output = output,
                           .heads = heads,
                           .head_dim = dim,
                           .runs = runs,
                           .state_offset = RecurrentRuns::kStateOffset,
                           .unit_begin = unit_begin,
                           .unit_end = unit_end});
  }

  template <class Real>
  void Step(size_t row, bool, Real* state, Real* output) const {
    for (size_t i = 0; i < width; ++i) {
      const size_t begin = i / dim * dim;
      const float* const receptance = input.data() + row * 4 * width + begin;
      const reference::DecayedSumTerms terms = {.receptance = receptance,
                                                .exponent = receptance + width,
                                                .key = receptance + 2 * width,
                                                .bonus = bonus.data() + begin,
                                                .value = input[row * 4 * width + 3 * width + i],
                                                .stride = dim,
                                                .size = dim};
      Real* const h = state + begin * dim + i % dim;
      if constexpr (std::is_same_v<Real, float>) {
        output[i] = reference::DecayedSum(terms, h);
      } else {
        output[i] = reference::DecayedSumInDouble(terms, h);
      }
    }
  }

  size_t heads, dim, width;
  std::vector<float> input, bonus;
};

struct TimeMixCase {
  static constexpr std::string_view kName = "time mix";
  static constexpr size_t kVariants = 4;

  TimeMixCase(size_t rows, size_t variant)
      : heads(std::vector<size_t>{2, 1, 3, 2}[variant]),
        head_dim(std::vector<size_t>{18, 40, 64, 130}[variant]),
        width(heads * head_dim),
        blends(variant != 1),
        input(RandomFloats(1, rows * 6 * width)),
        first_values(RandomFloats(2, rows * (width + 3))),
        blend(RandomFloats(3, rows * width, 3.0f)),
        scales(RandomFloats(4, 5 * width)) {}

  size_t StateFloats() const { return width * head_dim; }
  size_t OutputWidth() const { return width; }
  size_t UnitsPerRun() const { return heads; }

  void Run(const RecurrentRun* runs, size_t unit_begin, size_t unit_end, float* output) const {
    Kernels<>::TimeMix({.input = input.data(),
                        .first_values = blends ? first_values.data() : nullptr,
                        .first_stride = width + 3,
                        .blend = blends ? blend.data() : nullptr,
                        .key_scale = scales.data(),
                        .rate_scale = scales.data() + width,
                        .bonus = scales.data() + 2 * width,
                        .norm_weight = scales.data() + 3 * width,
                        .norm_bias = scales.data() + 4 * width,
                        .norm_epsilon = kNormEpsilon,
                        .output = output,
                        .heads = heads,
                        .head_dim = head_dim,
                        .runs = runs,
                        .state_offset = RecurrentRuns::kStateOffset,
                        .unit_begin = unit_begin,
                        .unit_end = unit_end});
  }

  template <class Real>
  void Step(size_t row, bool, Real* state, Real* output) const {
    for (size_t head = 0; head < heads; ++head) {
      const size_t begin = head * head_dim;
      const float* of_row = input.data() + row * 6 * width + begin;
      const float* of_head = scales.data() + begin;
      const reference::TimeMixTerms terms = {
          .receptance = of_row,
          .decay = of_row + width,
          .key = of_row + 2 * width,
          .value = of_row + 3 * width,
          .rate = of_row + 4 * width,
          .gate = of_row + 5 * width,
          .first = blends ? first_values.data() + row * (width + 3) + begin : nullptr,
          .blend = blends ? blend.data() + row * width + begin : nullptr,
          .key_scale = of_head,
          .rate_scale = of_head + width,
          .bonus = of_head + 2 * width,
          .norm_weight = of_head + 3 * width,
          .norm_bias = of_head + 4 * width,
          .epsilon = kNormEpsilon,
          .size = head_dim};
      if constexpr (std::is_same_v<Real, float>) {
        reference::TimeMix(terms, state + begin * head_dim, output + begin);
      } else {
        reference::TimeMixInDouble(terms, state + begin * head_dim, output + begin);
      }
    }
  }

  static constexpr float kNormEpsilon = 64e-5f;
  size_t heads, head_dim, width;
  bool blends;
  std::vector<float> input, first_values, blend, scales;
};

TEST_CASE_TEMPLATE("a recurrence equals its reference and writes nothing else", Case, StateSpaceCase, DeltaNetCase,
                   KimiDeltaCase, DecayedSumCase, TimeMixCase) {
  CheckReference<Case>();
}

TEST_CASE_TEMPLATE("a recurrence computed in pieces is the same", Case, StateSpaceCase, DeltaNetCase, KimiDeltaCase,
                   DecayedSumCase, TimeMixCase) {
  CheckPieces<Case>();
}

TEST_CASE_TEMPLATE("a recurrence goes token by token through its state", Case, StateSpaceCase, DeltaNetCase,
                   KimiDeltaCase, DecayedSumCase, TimeMixCase) {
  CheckTokens<Case>();
}

TEST_CASE_TEMPLATE("a recurrence has the saved bits", Case, StateSpaceCase, DeltaNetCase, KimiDeltaCase, DecayedSumCase,
                   TimeMixCase) {
  CheckSavedBits<Case>();
}

}  // namespace head_recurrence_test
}  // namespace skald::testing
