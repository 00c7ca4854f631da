// SPDX-License-Identifier: Apache-2.0
//
// Runs of several sequences for tests of recurrent kernels: of unequal lengths, with and without a state before them,
// with states asked for in their middle, and written in place. Blocks hold NaN wherever no kernel may write.

#ifndef SKALD_TESTS_SUPPORT_RECURRENT_RUNS_H_
#define SKALD_TESTS_SUPPORT_RECURRENT_RUNS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "skald/kernels/args.h"
#include "tests/support/kernel_data.h"

namespace skald::testing {

class RecurrentRuns {
 public:
  // Where a layer's state begins in a block; as many floats follow it.
  static constexpr size_t kGuard = 5;
  static constexpr size_t kStateOffset = kGuard * sizeof(float);

  // The same runs for every object of one size, states drawn from [-1, 1).
  explicit RecurrentRuns(size_t state_floats) : state_floats_(state_floats) {
    Add(1, {.has_state = true, .in_place = true}, {1});
    Add(3, {.has_state = false, .in_place = false}, {1, 3});
    Add(17, {.has_state = true, .in_place = true}, {5, 16, 17});
    Add(1, {.has_state = false, .in_place = false}, {1});
    Add(17, {.has_state = true, .in_place = false}, {17});
    for (Sequence& sequence : sequences_) runs_.push_back(sequence.View());
  }
  RecurrentRuns(const RecurrentRuns&) = delete;
  RecurrentRuns& operator=(const RecurrentRuns&) = delete;

  const std::vector<RecurrentRun>& runs() const { return runs_; }
  size_t rows() const { return runs_.back().row_end; }

  // All blocks, one after another.
  std::vector<float> Blocks() const {
    std::vector<float> all;
    for (const Sequence& sequence : sequences_) {
      all.insert(all.end(), sequence.input.begin(), sequence.input.end());
      for (const std::vector<float>& block : sequence.blocks) all.insert(all.end(), block.begin(), block.end());
    }
    return all;
  }

  // The state in a block.
  template <class Byte>
  static auto* State(Byte* block) {
    using Float = std::conditional_t<std::is_const_v<Byte>, const float, float>;
    return reinterpret_cast<Float*>(block + kStateOffset);
  }

  // Does what a kernel should: step(row, first, state, output) advances `state` by one row and writes the row's
  // outputs, [output_width]. Writes the states into the blocks and returns the outputs, [rows, output_width].
  template <class Real, class Step>
  std::vector<Real> Advance(size_t output_width, Step step) {
    std::vector<Real> outputs(rows() * output_width);
    for (const RecurrentRun& run : runs_) {
      std::vector<Real> state(state_floats_);
      if (run.input) std::copy_n(State(run.input), state_floats_, state.begin());
      size_t row = run.row_begin;
      for (size_t i = 0; i < run.num_outputs; ++i) {
        for (; row < run.outputs[i].row_end; ++row) {
          step(row, row == run.row_begin && !run.input, state.data(), outputs.data() + row * output_width);
        }
        float* target = State(run.outputs[i].block);
        for (size_t j = 0; j < state_floats_; ++j) target[j] = static_cast<float>(state[j]);
      }
    }
    return outputs;
  }

 private:
  struct Kind {
    bool has_state, in_place;
  };
  struct Sequence {
    size_t row_begin, row_end;
    Kind kind;
    std::vector<float> input;
    std::vector<std::vector<float>> blocks;  // of the outputs; in place, the last one is missing
    std::vector<StateOutput> outputs;

    RecurrentRun View() {
      for (size_t i = 0; i < outputs.size(); ++i) {
        outputs[i].block = reinterpret_cast<std::byte*>(i < blocks.size() ? blocks[i].data() : input.data());
      }
      return {.row_begin = row_begin,
              .row_end = row_end,
              .input = kind.has_state ? reinterpret_cast<const std::byte*>(input.data()) : nullptr,
              .outputs = outputs.data(),
              .num_outputs = outputs.size()};
    }
  };

  void Add(size_t length, Kind kind, std::vector<size_t> ends) {
    const size_t row_begin = sequences_.empty() ? 0 : sequences_.back().row_end;
    Sequence sequence = {
        .row_begin = row_begin, .row_end = row_begin + length, .kind = kind, .input = {}, .blocks = {}, .outputs = {}};
    const std::vector<float> poison(kGuard + state_floats_ + kGuard, kNaN);
    if (kind.has_state) {
      sequence.input = poison;
      const std::vector<float> state = RandomFloats(static_cast<uint32_t>(100 + row_begin), state_floats_);
      std::copy(state.begin(), state.end(), sequence.input.begin() + kGuard);
    }
    sequence.blocks.assign(ends.size() - (kind.in_place ? 1 : 0), poison);
    for (const size_t end : ends) sequence.outputs.push_back({.row_end = row_begin + end, .block = nullptr});
    sequences_.push_back(std::move(sequence));
  }

  size_t state_floats_;
  std::vector<Sequence> sequences_;
  std::vector<RecurrentRun> runs_;
};

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_RECURRENT_RUNS_H_
