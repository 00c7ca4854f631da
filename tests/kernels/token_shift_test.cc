// SPDX-License-Identifier: Apache-2.0
//
// The token shift of RWKV against its formula.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "skald/kernels/kernels.h"
#include "tests/support/kernel_data.h"
#include "tests/support/recurrent_runs.h"

namespace skald::testing {
namespace token_shift_test {

struct ShiftCase {
  ShiftCase(size_t channels, size_t mixes, bool has_row_mixes)
      : channels(channels),
        mixes(mixes),
        stride(channels + 3),
        runs(channels),
        input(RandomFloats(1, runs.rows() * stride)),
        mix(RandomFloats(2, mixes * channels)),
        row_mixes(RandomFloats(3, has_row_mixes ? runs.rows() * mixes * channels : 0)) {}

  void Run(size_t row_begin, size_t row_end, float* output) const {
    Kernels<>::TokenShift({.input = input.data(),
                           .input_stride = stride,
                           .mix = mix.data(),
                           .row_mixes = row_mixes.empty() ? nullptr : row_mixes.data(),
                           .output = output,
                           .channels = channels,
                           .mixes = mixes,
                           .runs = runs.runs().data(),
                           .num_runs = runs.runs().size(),
                           .state_offset = RecurrentRuns::kStateOffset,
                           .row_begin = row_begin,
                           .row_end = row_end});
  }

  std::vector<float> Poisoned() const { return std::vector<float>(runs.rows() * mixes * channels + 5, kNaN); }

  std::vector<float> Expected() const {
    std::vector<float> expected = Poisoned();
    for (const RecurrentRun& run : runs.runs()) {
      for (size_t row = run.row_begin; row < run.row_end; ++row) {
        for (size_t i = 0; i < mixes * channels; ++i) {
          const size_t c = i % channels;
          const float x = input[row * stride + c];
          const float state = run.input ? RecurrentRuns::State(run.input)[c] : 0.0f;
          const float previous = row > run.row_begin ? input[(row - 1) * stride + c] : state;
          const size_t at = row * mixes * channels + i;
          expected[at] = std::fma(previous - x, row_mixes.empty() ? mix[i] : mix[i] + row_mixes[at], x);
        }
      }
    }
    return expected;
  }

  size_t channels, mixes, stride;
  RecurrentRuns runs;
  std::vector<float> input, mix, row_mixes;
};

TEST_CASE("a token shift equals its formula, computed at once and in pieces, and writes nothing else") {
  for (const size_t channels : {1, 17, 72, 1031}) {
    for (const size_t mixes : {1, 6}) {
      CAPTURE(channels);
      CAPTURE(mixes);
      const ShiftCase c(channels, mixes, /*has_row_mixes=*/channels % 2 == 1);
      const std::vector<float> blocks = c.runs.Blocks(), expected = c.Expected();
      for (const size_t piece : {c.runs.rows(), size_t{1}, size_t{4}}) {
        std::vector<float> output = c.Poisoned();
        for (size_t row = 0; row < c.runs.rows(); row += piece) {
          c.Run(row, std::min(row + piece, c.runs.rows()), output.data());
        }
        CHECK(Difference(output, expected, 4 * kEpsilon) == "");
      }
      CHECK(BitDifference(c.runs.Blocks(), blocks) == "");
    }
  }
}

}  // namespace token_shift_test
}  // namespace skald::testing
