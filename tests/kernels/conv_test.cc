// SPDX-License-Identifier: Apache-2.0
//
// The causal depthwise convolution against its scalar reference.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "skald/kernels/kernels.h"
#include "tests/reference/recurrent.h"
#include "tests/support/kernel_data.h"
#include "tests/support/recurrent_runs.h"
#include "tests/support/saved_hashes.h"

namespace skald::testing {
namespace conv_test {

struct ConvCase {
  ConvCase(size_t channels, size_t taps, bool silu)
      : channels(channels),
        taps(taps),
        silu(silu),
        stride(channels + 3),
        runs((taps - 1) * channels),
        input(RandomFloats(1, runs.rows() * stride)),
        weights(RandomFloats(2, taps * channels)),
        bias(RandomFloats(3, channels)) {}

  // Rows [row_begin, row_end) of these runs, written to the same rows of `output`.
  void Run(const std::vector<RecurrentRun>& some_runs, size_t row_begin, size_t row_end, float* output) const {
    Kernels<>::Conv({.input = input.data(),
                     .input_stride = stride,
                     .weights = weights.data(),
                     .bias = bias.empty() ? nullptr : bias.data(),
                     .output = output,
                     .channels = channels,
                     .taps = taps,
                     .silu = silu,
                     .runs = some_runs.data(),
                     .num_runs = some_runs.size(),
                     .state_offset = RecurrentRuns::kStateOffset,
                     .row_begin = row_begin,
                     .row_end = row_end});
  }

  std::vector<float> RunAtOnce() const {
    std::vector<float> output = Poisoned();
    Run(runs.runs(), 0, runs.rows(), output.data());
    return output;
  }

  std::vector<float> Poisoned() const { return std::vector<float>(runs.rows() * channels + 5, kNaN); }

  // The content of the row `ago` rows before `row` of a run.
  float InputBefore(const RecurrentRun& run, size_t row, size_t ago, size_t channel) const {
    if (row >= run.row_begin + ago) return input[(row - ago) * stride + channel];
    if (!run.input) return 0.0f;
    return RecurrentRuns::State(run.input)[(row - run.row_begin + taps - 1 - ago) * channels + channel];
  }

  // Calls see(row, channel, weights, input), `input` giving what each tap multiplies.
  template <class See>
  void ForEachOutput(See see) const {
    for (const RecurrentRun& run : runs.runs()) {
      for (size_t row = run.row_begin; row < run.row_end; ++row) {
        for (size_t c = 0; c < channels; ++c) {
          see(row, c, [&](size_t k) { return InputBefore(run, row, taps - 1 - k, c); });
        }
      }
    }
  }

  size_t channels, taps;
  bool silu;
  size_t stride;
  RecurrentRuns runs;
  std::vector<float> input, weights, bias;
};

template <class Test>
void ForEachCase(Test test) {
  for (const size_t channels : {72, 40, 130, 1031}) {
    for (const size_t taps : {2, 4}) {
      for (const bool silu : {false, true}) {
        CAPTURE(channels);
        CAPTURE(taps);
        CAPTURE(silu);
        test(ConvCase(channels, taps, silu));
      }
    }
  }
}

TEST_CASE("a convolution without a bias is one with a bias of zeros") {
  ConvCase zeros(37, 3, false), none(37, 3, false);
  std::ranges::fill(zeros.bias, 0.0f);
  none.bias.clear();
  CHECK(BitDifference(none.RunAtOnce(), zeros.RunAtOnce()) == "");
}

TEST_CASE("a convolution equals its reference and writes nothing else") {
  ForEachCase([](const ConvCase& c) {
    const std::vector<float> blocks = c.runs.Blocks(), actual = c.RunAtOnce();
    std::vector<float> expected = c.Poisoned();
    double error = 0;
    c.ForEachOutput([&](size_t row, size_t channel, auto input) {
      const float* weights = c.weights.data() + channel;
      const float bias = c.bias[channel];
      const float sum = reference::ConvElement(c.taps, weights, c.channels, bias, input);
      const double exact = reference::ConvElementInDouble(c.taps, weights, c.channels, bias, input);
      const size_t i = row * c.channels + channel;
      expected[i] = c.silu ? reference::Silu(sum) : sum;
      error = std::max(error, std::abs(actual[i] - (c.silu ? reference::SiluInDouble(exact) : exact)));
    });
    CHECK(Difference(actual, expected, 16 * kEpsilon) == "");
    CHECK(error <= 16 * kEpsilon);
    CHECK(Difference(c.runs.Blocks(), blocks, 0) == "");
  });
}

TEST_CASE("a convolution computed in pieces is the same") {
  ForEachCase([](const ConvCase& c) {
    const std::vector<float> whole = c.RunAtOnce();
    for (const size_t piece : {1, 2, 7}) {
      std::vector<float> output = c.Poisoned();
      for (size_t begin = 0; begin < c.runs.rows(); begin += piece) {
        c.Run(c.runs.runs(), begin, std::min(begin + piece, c.runs.rows()), output.data());
      }
      CHECK(BitDifference(output, whole) == "");
    }
  });
}

TEST_CASE("a convolution goes token by token through the last inputs") {
  ForEachCase([](const ConvCase& c) {
    const std::vector<float> whole = c.RunAtOnce();
    std::vector<float> output = c.Poisoned();
    for (const RecurrentRun& run : c.runs.runs()) {
      for (size_t row = run.row_begin; row < run.row_end; ++row) {
        std::vector<float> block(RecurrentRuns::kGuard, kNaN);
        for (size_t ago = c.taps - 1; ago > 0; --ago) {
          for (size_t channel = 0; channel < c.channels; ++channel) {
            block.push_back(c.InputBefore(run, row, ago, channel));
          }
        }
        const std::byte* state = reinterpret_cast<const std::byte*>(block.data());
        c.Run({{.row_begin = row, .row_end = row + 1, .input = state, .outputs = nullptr, .num_outputs = 0}}, row,
              row + 1, output.data());
      }
    }
    CHECK(BitDifference(output, whole) == "");
  });
}

TEST_CASE("a convolution has the saved bits") {
  CHECK(SavedDifference({"convolution"}, ConvCase(130, 4, true).RunAtOnce()) == "");
}

}  // namespace conv_test
}  // namespace skald::testing
