// SPDX-License-Identifier: Apache-2.0
//
// RankGathers: the exchanges of ranks around the multiplications by matrices that are divided among them. They exchange
// inputs and outputs, never parts of sums, so the bits do not depend on the number of ranks.

#ifndef SKALD_LAYERS_RUN_RANK_GATHERS_H_
#define SKALD_LAYERS_RUN_RANK_GATHERS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/base/aligned_buffer.h"
#include "skald/base/ranks/communicator.h"
#include "skald/base/result.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/parallel.h"
#include "skald/layers/run/prepared_rows.h"
#include "skald/layers/run/rows.h"
#include "skald/layers/run/scratch.h"
#include "skald/weights/types/division.h"
#include "skald/weights/types/matrix.h"

namespace skald {

/// Grows `scratch` to what multiplications of up to `rows` rows by `weights` exchange.
void ReserveGathers(const Matrix& weights, size_t rows, GatherScratch& scratch);

class RankGathers {
 public:
  /// `ranks` may be null where no matrix is divided. Everything must outlive this.
  RankGathers(const CommunicatorRef* ranks, GatherScratch& scratch, const ExecutorRef& executor)
      : ranks_(ranks), scratch_(scratch), executor_(executor) {}

  /// The first error of an exchange. Results computed after it are not used.
  const Result<void>& status() const { return status_; }

  /// Number of this rank; there must be ranks.
  size_t rank() const;

  /// Whether inputs can travel as what they are multiplied by: in fewer bytes, and prepared once instead of on each
  /// rank.
  static bool TravelPrepared(const Matrix& weights);

  /// Exchanges rows of which this rank has some columns, prepared by prepare(row, number of those, to).
  template <class Prepare>
  void PreparedInputs(const Matrix& weights, size_t rows, Prepare prepare) {
    const std::vector<size_t>& columns = weights.division->input_begins;
    scratch_.begins.assign(1, 0);
    for (size_t r = 0; r + 1 < columns.size(); ++r) {
      const size_t row_bytes = PreparedRowBytes(weights.dtype, columns[r + 1] - columns[r]);
      scratch_.begins.push_back(scratch_.begins.back() + rows * row_bytes);
    }
    const size_t own = columns[rank() + 1] - columns[rank()], row_bytes = PreparedRowBytes(weights.dtype, own);
    std::byte* const here = scratch_.exchanged.data() + scratch_.begins[rank()];
    ParallelFor(executor_, rows, own, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) prepare(row, own, here + row * row_bytes);
    });
    Exchange();
  }
  /// Puts row `from` of those where row `row` of `rows` prepared ones is, of all columns.
  void PlacePreparedInput(const Matrix& weights, size_t from, std::byte* prepared, size_t rows, size_t row) const;

  /// Returns the rows [rows, weights.cols], of which this rank has the columns `here`, as they are, until the next
  /// call; of several tiles, each of which is exchanged as a row, they lie without gaps.
  Rows Inputs(const Matrix& weights, Rows here, size_t rows);

  /// Returns all columns of rows, of which ranks have those from begins[rank] on, until the next call: not more than a
  /// matrix has whose inputs are gathered.
  Rows Columns(std::span<const size_t> begins, Rows here, size_t rows);

  /// The number of this rank's first output.
  size_t FirstOutput(const Matrix& weights) const { return weights.division->output_begins[rank()]; }

  /// Where this rank's outputs go, [rows, those of this rank] one after the other,
  float* OwnOutputs(const Matrix& weights, size_t rows) { return Own(weights.division->output_begins, rows); }
  /// and from where all of them go to `output` [rows, weights.outputs()].
  void Outputs(const Matrix& weights, size_t rows, Rows output);

  /// output[i, :] = row tokens[i] of an embedding, which `embed(tokens, to)` looks up: for tokens counted from the
  /// first that this rank has, into rows of weights.cols floats, one after the other.
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
    embed(own, Own(next, weights.cols));
    Gather(next, weights.cols);
    const auto* const all = reinterpret_cast<const float*>(scratch_.exchanged.data());
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::copy_n(all + next[owner(tokens[i])]++ * weights.cols, weights.cols, output.data + i * output.stride);
    }
  }

 private:
  // Floats of rank r begin at begins[r] * count, in what is exchanged.
  float* Own(std::span<const size_t> begins, size_t count);

  void Gather(std::span<const size_t> begins, size_t count);

  void Exchange();

  /// Puts columns together to rows.
  void Place(std::span<const size_t> begins, size_t rows, Rows output);

  const CommunicatorRef* const ranks_;
  GatherScratch& scratch_;
  const ExecutorRef& executor_;
  Result<void> status_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/run/detail/rank_gathers.h"
#endif

#endif  // SKALD_LAYERS_RUN_RANK_GATHERS_H_
