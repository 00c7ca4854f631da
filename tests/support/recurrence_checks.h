// SPDX-License-Identifier: Apache-2.0
//
// Checks of a recurrent kernel, the same for all. A Case owns the inputs of one kernel for `rows` rows, can run it,
// and can do one row by the reference: in the kernel's order if Real is float, by the definition if it is double.

#ifndef SKALD_TESTS_SUPPORT_RECURRENCE_CHECKS_H_
#define SKALD_TESTS_SUPPORT_RECURRENCE_CHECKS_H_

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "skald/kernels/args.h"
#include "tests/reference/recurrent.h"
#include "tests/support/kernel_data.h"
#include "tests/support/recurrent_runs.h"
#include "tests/support/saved_hashes.h"

namespace skald::testing {

// Decays, from -magnitude to about 0.
inline std::vector<float> NegativeFloats(uint32_t seed, size_t size, float magnitude) {
  std::vector<float> values = RandomFloats(seed, size);
  for (float& v : values) v = -magnitude * (0.55f + 0.5f * v);
  return values;
}

// Tolerance for rounding in these cases: sums of at most 256 terms of magnitude 1 or so.
inline constexpr double kRecurrenceTolerance = 5e-5;

// One channel of a state space by the reference: in the order of kernels, or by the definition.
template <class Real>
Real ScanStep(const reference::ScanTerms& terms, Real* state) {
  if constexpr (std::is_same_v<Real, float>) {
    return reference::Scan(terms, state);
  } else {
    return reference::ScanInDouble(terms, state);
  }
}

// Everything a kernel has written: its outputs, with a guard of NaN after them, and all blocks.
struct RecurrenceOutcome {
  std::vector<float> output, blocks;
};

template <class Case>
std::vector<float> PoisonedOutput(const Case& c, const RecurrentRuns& runs) {
  return std::vector<float>(runs.rows() * c.OutputWidth() + 5, kNaN);
}

template <class Case>
RecurrenceOutcome RunAtOnce(const Case& c) {
  RecurrentRuns runs(c.StateFloats());
  std::vector<float> output = PoisonedOutput(c, runs);
  c.Run(runs.runs().data(), 0, runs.runs().size() * c.UnitsPerRun(), output.data());
  return {output, runs.Blocks()};
}

template <class Real, class Case>
RecurrenceOutcome RunReference(const Case& c) {
  RecurrentRuns runs(c.StateFloats());
  const std::vector<Real> exact = runs.template Advance<Real>(
      c.OutputWidth(), [&](size_t row, bool first, Real* state, Real* output) { c.Step(row, first, state, output); });
  std::vector<float> output = PoisonedOutput(c, runs);
  for (size_t i = 0; i < exact.size(); ++i) output[i] = static_cast<float>(exact[i]);
  return {output, runs.Blocks()};
}

// The largest difference; NaN must meet NaN.
inline double Distance(const std::vector<float>& a, const std::vector<float>& b) {
  double distance = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i])) return kInfinity;
    if (!std::isnan(a[i])) distance = std::max(distance, std::abs(double{a[i]} - b[i]));
  }
  return distance;
}

inline constexpr size_t kRecurrentRows = 1 + 3 + 17 + 1 + 17;  // of RecurrentRuns

// The kernel equals its reference and writes nothing else.
template <class Case>
void CheckReference() {
  for (size_t variant = 0; variant < Case::kVariants; ++variant) {
    CAPTURE(variant);
    const Case c(kRecurrentRows, variant);
    const RecurrenceOutcome actual = RunAtOnce(c), expected = RunReference<float>(c), exact = RunReference<double>(c);
    CHECK(Difference(actual.output, expected.output, kRecurrenceTolerance) == "");
    CHECK(Difference(actual.blocks, expected.blocks, kRecurrenceTolerance) == "");
    CHECK(Distance(actual.output, exact.output) <= kRecurrenceTolerance);
    CHECK(Distance(actual.blocks, exact.blocks) <= kRecurrenceTolerance);
  }
}

// Units computed in pieces are the same.
template <class Case>
void CheckPieces() {
  for (size_t variant = 0; variant < Case::kVariants; ++variant) {
    CAPTURE(variant);
    const Case c(kRecurrentRows, variant);
    const RecurrenceOutcome whole = RunAtOnce(c);
    for (const size_t piece : {1, 2, 5}) {
      RecurrentRuns runs(c.StateFloats());
      std::vector<float> output = PoisonedOutput(c, runs);
      const size_t units = runs.runs().size() * c.UnitsPerRun();
      for (size_t end = units; end > 0; end -= std::min(piece, end)) {
        c.Run(runs.runs().data(), end - std::min(piece, end), end, output.data());
      }
      CHECK(BitDifference(output, whole.output) == "");
      CHECK(BitDifference(runs.Blocks(), whole.blocks) == "");
    }
  }
}

// The kernel goes token by token through its state.
template <class Case>
void CheckTokens() {
  for (size_t variant = 0; variant < Case::kVariants; ++variant) {
    CAPTURE(variant);
    const Case c(kRecurrentRows, variant);
    const RecurrenceOutcome whole = RunAtOnce(c);
    RecurrentRuns runs(c.StateFloats());
    std::vector<float> output = PoisonedOutput(c, runs);
    for (const RecurrentRun& run : runs.runs()) {
      const std::byte* input = run.input;
      size_t row = run.row_begin;
      for (size_t i = 0; i < run.num_outputs; ++i) {
        for (; row < run.outputs[i].row_end; ++row) {
          const StateOutput state = {.row_end = row + 1, .block = run.outputs[i].block};
          const RecurrentRun token = {
              .row_begin = row, .row_end = row + 1, .input = input, .outputs = &state, .num_outputs = 1};
          c.Run(&token, 0, c.UnitsPerRun(), output.data());
          input = state.block;
        }
      }
    }
    CHECK(BitDifference(output, whole.output) == "");
    CHECK(BitDifference(runs.Blocks(), whole.blocks) == "");
  }
}

// The results are those that were saved.
template <class Case>
void CheckSavedBits() {
  const RecurrenceOutcome outcome = RunAtOnce(Case(kRecurrentRows, 0));
  CHECK(SavedDifference({Case::kName, "outputs"}, outcome.output) == "");
  CHECK(SavedDifference({Case::kName, "states"}, outcome.blocks) == "");
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_RECURRENCE_CHECKS_H_
