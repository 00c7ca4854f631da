// SPDX-License-Identifier: Apache-2.0
//
// RankGathers: what ranks exchange around the multiplications by matrices that are divided among them. What travels are
// inputs and outputs, never parts of sums, so the bits do not depend on how many ranks there are.

#ifndef SKALD_LAYERS_RUN_RANK_GATHERS_H_
#define SKALD_LAYERS_RUN_RANK_GATHERS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "hwy/base.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/ranks/communicator.h"
#include "skald/base/result.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/parallel.h"
#include "skald/layers/run/rows.h"
#include "skald/layers/run/scratch.h"
#include "skald/weights/types/division.h"
#include "skald/weights/types/matrix.h"

namespace skald {

// Grows `scratch` to what multiplications of up to `rows` rows by `weights` exchange.
inline void ReserveGathers(const Matrix& weights, size_t rows, GatherScratch& scratch) {
  if (weights.division == nullptr) return;
  Reserve(scratch.exchanged, rows * std::max(weights.outputs(), weights.cols) * sizeof(float));
  if (weights.gathers_inputs()) Reserve(scratch.inputs, rows * weights.cols);
  scratch.begins.reserve(std::max(weights.division->output_begins.size(), weights.division->input_begins.size()));
}

class RankGathers {
 public:
  // `ranks` may be null where no matrix is divided. Everything must outlive this.
  RankGathers(const CommunicatorRef* ranks, GatherScratch& scratch, const ExecutorRef& executor)
      : ranks_(ranks), scratch_(scratch), executor_(executor) {}

  // The first error of an exchange. What is computed behind that is of no use.
  const Result<void>& status() const { return status_; }

  // Returns the rows [rows, weights.cols], of which this rank has the columns `here`, until the next call; of several
  // tiles they lie without gaps. They travel as what they are multiplied as, where that is bf16.
  Rows Inputs(const Matrix& weights, Rows here, size_t rows) {
    return weights.dtype == DType::kBF16 ? AllInputs<bf16>(weights, here, rows) : ExactInputs(weights, here, rows);
  }

  // The same as they are, to be changed before they are multiplied.
  Rows ExactInputs(const Matrix& weights, Rows here, size_t rows) { return AllInputs<float>(weights, here, rows); }

  // The number of this rank's first output.
  size_t FirstOutput(const Matrix& weights) const { return weights.division->output_begins[rank()]; }

  // Where this rank's outputs go, [rows, those of this rank] one behind the other,
  float* OwnOutputs(const Matrix& weights, size_t rows) { return Own<float>(weights.division->output_begins, rows); }
  // and from where all of them go to `output` [rows, weights.outputs()].
  void Outputs(const Matrix& weights, size_t rows, Rows output) {
    const std::vector<size_t>& begins = weights.division->output_begins;
    Gather<float>(begins, rows);
    Place<float>(begins, rows, output);
  }

  // output[i, :] = row tokens[i] of an embedding, which `embed(tokens, to)` looks up: for tokens counted from the first
  // that this rank has, into rows of weights.cols floats, one behind the other.
  template <class Embed>
  void Embeddings(const Matrix& weights, std::span<const int32_t> tokens, Rows output, Embed embed) {
    const std::vector<size_t>& begins = weights.division->output_begins;
    const auto owner = [&](int32_t token) {
      return static_cast<size_t>(std::ranges::upper_bound(begins, static_cast<size_t>(token)) - begins.begin()) - 1;
    };
    std::vector<int32_t> own;
    std::vector<size_t> next(begins.size(), 0);  // row of `exchanged` that has the next token of each rank
    for (const int32_t token : tokens) {
      ++next[owner(token) + 1];
      if (owner(token) == rank()) own.push_back(token - static_cast<int32_t>(begins[rank()]));
    }
    for (size_t r = 1; r < next.size(); ++r) next[r] += next[r - 1];
    embed(own, Own<float>(next, weights.cols));
    Gather<float>(next, weights.cols);
    const auto* const all = reinterpret_cast<const float*>(scratch_.exchanged.data());
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::copy_n(all + next[owner(tokens[i])]++ * weights.cols, weights.cols, output.data + i * output.stride);
    }
  }

 private:
  size_t rank() const { return ranks_->share().rank; }

  // Elements of rank r begin at begins[r] * count, in what is exchanged.
  template <class T>
  T* Own(std::span<const size_t> begins, size_t count) {
    return reinterpret_cast<T*>(scratch_.exchanged.data()) + begins[rank()] * count;
  }

  template <class T>
  void Gather(std::span<const size_t> begins, size_t count) {
    if (!status_) return;
    scratch_.begins.clear();
    for (const size_t begin : begins) scratch_.begins.push_back(begin * count * sizeof(T));
    status_ = ranks_->AllGather({scratch_.exchanged.data(), scratch_.begins.back()}, scratch_.begins);
  }

  // Puts columns together to rows.
  template <class T>
  void Place(std::span<const size_t> begins, size_t rows, Rows output) {
    const auto* const all = reinterpret_cast<const T*>(scratch_.exchanged.data());
    ParallelFor(executor_, rows, begins.back(), [&](size_t row_begin, size_t row_end) {
      for (size_t r = 0; r + 1 < begins.size(); ++r) {
        const size_t width = begins[r + 1] - begins[r];
        for (size_t row = row_begin; row < row_end; ++row) {
          const T* const from = all + begins[r] * rows + row * width;
          Convert(from, width, output.data + row * output.stride + begins[r]);
        }
      }
    });
  }

  // Each tile of a row is exchanged as a row.
  template <class T>
  Rows AllInputs(const Matrix& weights, Rows here, size_t rows) {
    const size_t tiles = weights.division->input_tiles;
    const Rows all = {scratch_.inputs.data(), weights.cols};
    Exchange<T>(weights.division->input_begins, {here.data, here.stride / tiles}, rows * tiles,
                {all.data, all.stride / tiles});
    return all;
  }

  template <class T>
  void Exchange(std::span<const size_t> begins, Rows here, size_t rows, Rows output) {
    const size_t width = begins[rank() + 1] - begins[rank()];
    T* const own = Own<T>(begins, rows);
    ParallelFor(executor_, rows, width, [&](size_t row_begin, size_t row_end) {
      for (size_t row = row_begin; row < row_end; ++row) {
        Convert(here.data + row * here.stride, width, own + row * width);
      }
    });
    Gather<T>(begins, rows);
    Place<T>(begins, rows, output);
  }

  template <class From, class To>
  static void Convert(const From* HWY_RESTRICT from, size_t count, To* HWY_RESTRICT to) {
    if constexpr (std::is_same_v<From, To>) {
      std::copy_n(from, count, to);
    } else if constexpr (std::is_same_v<To, float>) {
      for (size_t i = 0; i < count; ++i) to[i] = ToFloat(from[i]);
    } else {
      for (size_t i = 0; i < count; ++i) to[i] = FromFloat<To>(from[i]);
    }
  }

  const CommunicatorRef* const ranks_;
  GatherScratch& scratch_;
  const ExecutorRef& executor_;
  Result<void> status_;
};

}  // namespace skald

#endif  // SKALD_LAYERS_RUN_RANK_GATHERS_H_
