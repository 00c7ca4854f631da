// SPDX-License-Identifier: Apache-2.0
//
// The functions of math-inl.h, seen through the kernels that use them: gates, the soft cap and recurrences.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/kernels.h"
#include "tests/reference/math.h"
#include "tests/support/kernel_data.h"
#include "tests/support/saved_hashes.h"

namespace skald::testing {
namespace math_test {

// A dense sample of all finite floats of both signs, and what is special.
std::vector<float> AllKindsOfFloats(uint32_t step) {
  std::vector<float> values = {0.0f,
                               -0.0f,
                               kInfinity,
                               -kInfinity,
                               kNaN,
                               0.625f,
                               0.9f,
                               4.0f,
                               -87.3365402f,
                               -87.3365479f,
                               88.7228317f,
                               88.7228394f,
                               std::numeric_limits<float>::max()};
  for (uint32_t bits = 0x00800000u; bits < 0x7F800000u; bits += step) {
    values.push_back(std::bit_cast<float>(bits));
    values.push_back(std::bit_cast<float>(bits | 0x80000000u));
  }
  return values;
}

// The distance from `actual` to `exact` in units of the last place of the float next to `exact`.
double UlpError(float actual, double exact) {
  const double smallest = std::numeric_limits<float>::min();
  const int exponent = std::ilogb(std::max(std::abs(exact), smallest));
  return std::abs(actual - exact) / std::ldexp(1.0, exponent - 23);
}

std::vector<float> RunGate(Activation gate, const std::vector<float>& x, const std::vector<float>& up) {
  std::vector<float> gate_up = x, output(x.size() + 3, kNaN);
  gate_up.insert(gate_up.end(), up.begin(), up.end());
  Kernels<>::Gate({.gate = gate,
                   .gate_up = gate_up.data(),
                   .output = output.data(),
                   .cols = x.size(),
                   .row_begin = 0,
                   .row_end = 1});
  for (size_t i = x.size(); i < output.size(); ++i) CHECK(std::isnan(output[i]));
  output.resize(x.size());
  return output;
}

// Compares a gate with its activation, written as a scalar function, for every kind of number.
void CheckGate(Activation gate, float (*activation)(float)) {
  const std::vector<float> x = AllKindsOfFloats(7919);
  std::vector<float> expected;
  for (const float v : x) expected.push_back(activation(v) * 1.0f);
  const std::vector<float> actual = RunGate(gate, x, std::vector<float>(x.size(), 1.0f));
  if (TargetHasFma()) {
    CHECK(Difference(actual, expected, 0) == "");
    return;
  }
  size_t wrong = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    // Without FMA a rounding of exp's argument, at most 88, is amplified by it; and 1 + tanh may cancel.
    const double tolerance = kEpsilon * (128 * std::abs(double{expected[i]}) + 4 * std::abs(double{x[i]})) + 2e-38;
    const bool close =
        std::isfinite(expected[i]) ? std::abs(double{actual[i]} - expected[i]) <= tolerance : !std::isfinite(actual[i]);
    wrong += !close;
  }
  CHECK(wrong == 0);
}

TEST_CASE("gates equal their scalar forms for every kind of number") {
  CheckGate(Activation::kSilu, reference::Silu);
  CheckGate(Activation::kGeluTanh, reference::GeluTanh);
  CheckGate(Activation::kGeluErf, reference::GeluErf);
  CheckGate(Activation::kReluSquared, reference::ReluSquared);
  CheckGate(Activation::kRelu, reference::Relu);
}

TEST_CASE("the clamped gate equals its scalar form for every kind of number, on either side") {
  for (const float other : {0.5f, -3.0f, 7.5f, -7.5f}) {
    const std::vector<float> x = AllKindsOfFloats(7919), others(x.size(), other);
    std::vector<float> as_gate, as_up;
    for (const float v : x) {
      as_gate.push_back(reference::ClampedSwiglu(v, other));
      as_up.push_back(reference::ClampedSwiglu(other, v));
    }
    // Without FMA an error of exp's argument, at most 88, is amplified by it; a gate times one plus up is at most 56.
    const double tolerance = TargetHasFma() ? 0 : kEpsilon * 128 * 56;
    CHECK(Difference(RunGate(Activation::kClampedSwiglu, x, others), as_gate, tolerance) == "");
    CHECK(Difference(RunGate(Activation::kClampedSwiglu, others, x), as_up, tolerance) == "");
  }
}

TEST_CASE("gates have the saved bits") {
  const std::vector<float> x = AllKindsOfFloats(99991), ones(x.size(), 1.0f);
  CHECK(SavedDifference({"SiLU"}, RunGate(Activation::kSilu, x, ones)) == "");
  CHECK(SavedDifference({"GELU by tanh"}, RunGate(Activation::kGeluTanh, x, ones)) == "");
  CHECK(SavedDifference({"GELU by erf"}, RunGate(Activation::kGeluErf, x, ones)) == "");
  CHECK(SavedDifference({"ReLU squared"}, RunGate(Activation::kReluSquared, x, ones)) == "");
  CHECK(SavedDifference({"clamped SwiGLU"}, RunGate(Activation::kClampedSwiglu, x, ones)) == "");
}

TEST_CASE("activations are gates of ones, on exactly their range") {
  const std::vector<float> x = RandomFloats(6, 80, 4.0f), ones(x.size(), 1.0f);
  for (const Activation activation :
       {Activation::kSilu, Activation::kGeluTanh, Activation::kGeluErf, Activation::kReluSquared, Activation::kRelu}) {
    const std::vector<float> gated = RunGate(activation, x, ones);
    for (const size_t begin : {0, 1, 5}) {
      for (const size_t end : {5, 6, 20, 21, 22, 37, 80}) {
        std::vector<float> actual = x, expected = x;
        for (size_t i = begin; i < end; ++i) expected[i] = gated[i];
        Kernels<>::Activate({.activation = activation, .values = actual.data(), .begin = begin, .end = end});
        CHECK(BitDifference(actual, expected) == "");
      }
    }
  }
}

TEST_CASE("gates multiply by the second half of each row, for every length") {
  for (const size_t cols : {0, 1, 3, 4, 7, 8, 15, 16, 17, 35, 100}) {
    const std::vector<float> data = RandomFloats(5, 3 * 2 * cols, 4.0f);
    std::vector<float> output(3 * cols + 1, kNaN), expected;
    for (size_t row = 0; row < 3; ++row) {
      const float* gate = data.data() + row * 2 * cols;
      for (size_t i = 0; i < cols; ++i) expected.push_back(reference::GeluTanh(gate[i]) * gate[cols + i]);
    }
    expected.push_back(kNaN);
    GateArgs args = {.gate = Activation::kGeluTanh,
                     .gate_up = data.data(),
                     .output = output.data(),
                     .cols = cols,
                     .row_begin = 0,
                     .row_end = 1};
    Kernels<>::Gate(args);
    args.row_begin = 1;
    args.row_end = 3;
    Kernels<>::Gate(args);
    CHECK(Difference(output, expected, 16 * 4 * kEpsilon) == "");
  }
}

TEST_CASE("the soft cap equals its scalar form, in pieces and at any offset") {
  const std::vector<float> values = AllKindsOfFloats(99991);
  for (const float cap : {1.0f, 30.0f, 50.0f}) {
    std::vector<float> actual = values, expected = values;
    for (size_t i = 3; i + 2 < values.size(); ++i) expected[i] = reference::Capped(values[i], cap);
    for (const size_t begin : {size_t{3}, size_t{20}, size_t{77}}) {
      const size_t end = begin == 3 ? 20 : begin == 20 ? 77 : values.size() - 2;
      Kernels<>::Softcap({.values = actual.data(), .cap = cap, .begin = begin, .end = end});
    }
    CHECK(Difference(actual, expected, 16 * kEpsilon * cap) == "");
  }
}

// The state of the RG-LRU after a first token is Sigmoid(input gate) * x.
TEST_CASE("sigmoid equals its scalar form for every kind of number") {
  const std::vector<float> x = AllKindsOfFloats(7919), ones(x.size(), 1.0f);
  std::vector<float> gates = x, output(x.size()), actual(x.size()), expected;
  gates.insert(gates.end(), x.begin(), x.end());
  const StateOutput state = {.row_end = 1, .block = reinterpret_cast<std::byte*>(actual.data())};
  const RecurrentRun run = {.row_begin = 0, .row_end = 1, .input = nullptr, .outputs = &state, .num_outputs = 1};
  Kernels<>::RgLru({.input = ones.data(),
                    .gates = gates.data(),
                    .gate = ones.data(),
                    .gate_stride = x.size(),
                    .decay = ones.data(),
                    .output = output.data(),
                    .width = x.size(),
                    .runs = &run,
                    .state_offset = 0,
                    .unit_begin = 0,
                    .unit_end = RoundUp(x.size(), kLanes) / kLanes});
  for (const float v : x) expected.push_back(reference::Sigmoid(v));
  CHECK(Difference(actual, expected, 128 * kEpsilon) == "");
}

// The state of a selective scan after a first token is Softplus(time step) * x * B.
TEST_CASE("softplus equals its scalar form for every kind of number") {
  const std::vector<float> x = AllKindsOfFloats(7919), ones(x.size(), 1.0f), decay(x.size(), -1.0f);
  std::vector<float> output(x.size()), actual(x.size()), expected;
  const StateOutput state = {.row_end = 1, .block = reinterpret_cast<std::byte*>(actual.data())};
  const RecurrentRun run = {.row_begin = 0, .row_end = 1, .input = nullptr, .outputs = &state, .num_outputs = 1};
  Kernels<>::SelectiveScan({.input = ones.data(),
                            .time_step = x.data(),
                            .b = ones.data(),
                            .c = ones.data(),
                            .bc_stride = 1,
                            .gate = ones.data(),
                            .gate_stride = x.size(),
                            .decay = decay.data(),
                            .skip = ones.data(),
                            .output = output.data(),
                            .width = x.size(),
                            .state_dim = 1,
                            .runs = &run,
                            .state_offset = 0,
                            .unit_begin = 0,
                            .unit_end = RoundUp(x.size(), kLanes) / kLanes});
  for (const float v : x) expected.push_back(reference::Softplus(v));
  CHECK(Difference(actual, expected, 128 * kEpsilon) == "");
}

TEST_CASE("exp, tanh and erf are as accurate as stated") {
  double exp_error = 0, tanh_error = 0, erf_error = 0;
  for (const float x : AllKindsOfFloats(1511)) {
    if (!std::isfinite(x)) continue;
    const double exact = std::exp(double{x});
    if (exact < std::numeric_limits<float>::min()) {
      CHECK(reference::Exp(x) == 0.0f);
    } else if (exact < std::numeric_limits<float>::max()) {
      exp_error = std::max(exp_error, UlpError(reference::Exp(x), exact));
    }
    tanh_error = std::max(tanh_error, UlpError(reference::Tanh(x), std::tanh(double{x})));
    erf_error = std::max(erf_error, UlpError(reference::Erf(x), std::erf(double{x})));
  }
  MESSAGE("largest errors in ulp: exp " << exp_error << ", tanh " << tanh_error << ", erf " << erf_error);
  CHECK(exp_error <= 1.0);
  CHECK(tanh_error <= 1.5);
  CHECK(erf_error <= 1.0);
}

TEST_CASE("sigmoid and softplus are as accurate as stated") {
  double sigmoid_error = 0, softplus_error = 0;
  for (const float x : AllKindsOfFloats(1511)) {
    if (!std::isfinite(x)) continue;
    if (std::exp(double{x}) < std::numeric_limits<float>::min()) {
      CHECK(reference::Sigmoid(x) <= 2 * std::numeric_limits<float>::min());
      CHECK(reference::Softplus(x) == 0.0f);
      continue;
    }
    sigmoid_error = std::max(sigmoid_error, UlpError(reference::Sigmoid(x), reference::SigmoidInDouble(x)));
    softplus_error = std::max(softplus_error, UlpError(reference::Softplus(x), reference::SoftplusInDouble(x)));
  }
  MESSAGE("largest errors in ulp: sigmoid " << sigmoid_error << ", softplus " << softplus_error);
  CHECK(sigmoid_error <= 2.5);
  CHECK(softplus_error <= 2.0);
}

TEST_CASE("exp, tanh and softplus keep their limits") {
  CHECK(reference::Exp(-kInfinity) == 0.0f);
  CHECK(reference::Exp(kInfinity) == kInfinity);
  CHECK(reference::Exp(1000.0f) == kInfinity);
  CHECK(reference::Exp(0.0f) == 1.0f);
  CHECK(std::isnan(reference::Exp(kNaN)));
  CHECK(reference::Tanh(kInfinity) == 1.0f);
  CHECK(reference::Tanh(-kInfinity) == -1.0f);
  CHECK(std::isnan(reference::Tanh(kNaN)));
  CHECK(reference::Softplus(kInfinity) == kInfinity);
  CHECK(reference::Softplus(-kInfinity) == 0.0f);
  CHECK(std::isnan(reference::Softplus(kNaN)));
}

}  // namespace math_test
}  // namespace skald::testing
