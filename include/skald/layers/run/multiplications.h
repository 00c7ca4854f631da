// SPDX-License-Identifier: Apache-2.0
//
// Multiplications by weights, each shared among the threads of one caller, and among ranks where matrices are divided.
// Chooses the kernel by the type of the weights; knows nothing of models.

#ifndef SKALD_LAYERS_RUN_MULTIPLICATIONS_H_
#define SKALD_LAYERS_RUN_MULTIPLICATIONS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "skald/base/numbers/activation.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/ranks/communicator.h"
#include "skald/base/result.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/parallel.h"
#include "skald/layers/run/adapted_rows.h"
#include "skald/layers/run/matrix_inputs.h"
#include "skald/layers/run/rank_gathers.h"
#include "skald/layers/run/rows.h"
#include "skald/layers/run/scratch.h"
#include "skald/layers/run/weight_kernels.h"
#include "skald/weights/types/division.h"
#include "skald/weights/types/matrix.h"

namespace skald {

/// Returns the floats for partial sums that a multiplication by `weights` needs.
size_t PartialSumsSize(const Matrix& weights, size_t rows);

/// Grows `scratch` to what Operations::MatMul by `weights` needs for up to `rows` rows.
void ReserveMatMul(const Matrix& weights, size_t rows, MatMulScratch& scratch);

/// The same for BlockMatMul, of `cols` columns.
void ReserveBlockMatMul(const std::vector<Matrix>& blocks, size_t cols, size_t rows, MatMulScratch& scratch);

/// Rows [row_begin, row_end) and the matrix that multiplies them, with its bias or an empty one.
struct RowsOfMatrix {
  const Matrix* weights;           ///< not owned
  const std::vector<float>* bias;  ///< not owned; [weights.rows] or empty
  /// Rows of the input and of the output.
  size_t row_begin, row_end;

  /// Rows that are multiplied.
  size_t rows() const { return row_end - row_begin; }
};

class Multiplications {
 public:
  /// Matrices that MatMulEach multiplies by at most.
  static constexpr size_t kMostTogether = 8;
  /// Rows that MatMulEach multiplies at most, unless a pass has more.
  static constexpr size_t kMostRowsTogether = 32;

  /// `scratch` must have been reserved for every multiplication, and `kernels` have a set for the type of every matrix.
  /// `adapted` are the rows that have adapters, or null where none has; `ranks` may be null where no matrix is divided.
  /// `observer`, if there is one, sees the rows that matrices multiply, of those that are whole.
  Multiplications(const ExecutorRef& executor, MatMulScratch& scratch, std::span<const WeightKernels> kernels,
                  const AdaptedRows* adapted = nullptr, const CommunicatorRef* ranks = nullptr,
                  const MatrixObserver* observer = nullptr);

  /// The threads.
  const ExecutorRef& executor() const { return executor_; }

  /// The first error of an exchange with other ranks; what was computed since then is of no use.
  const Result<void>& status() const { return gathers_.status(); }

  /// output[rows, weights.outputs()] = input[rows, weights.cols] * weights^T + bias; no bias if that is empty. Rows
  /// with an adapter get what it adds; their output must not be their input. Of a matrix that is divided among ranks,
  /// the input has the columns and the output the rows that are here, unless they are gathered (Division); the bias is
  /// as long as the output.
  void MatMul(const Matrix& weights, Rows input, size_t rows, const std::vector<float>& bias, Rows output);

  /// The same where the input has all columns.
  void MatMulWhole(const Matrix& weights, Rows input, size_t rows, const std::vector<float>& bias, Rows output);

  /// Calls change(rows) with all columns of rows of which this rank has some, and keeps these as they are then: ranks
  /// have one for each `of` inputs of `weights`.
  template <class Change>
  void ChangeWhole(const Matrix& weights, size_t of, Rows here, size_t rows, Change change) {
    if (!weights.gathers_inputs()) return change(here);
    std::vector<size_t> begins = weights.division->input_begins;
    for (size_t& begin : begins) begin /= of;
    const Rows all = gathers_.Columns(begins, here, rows);
    change(all);
    const size_t first = begins[gathers_.rank()], width = begins[gathers_.rank() + 1] - first;
    ParallelFor(executor_, rows, width, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        std::copy_n(all.data + row * all.stride + first, width, here.data + row * here.stride);
      }
    });
  }

  /// MatMul for each part's rows of input and output, the work of all parts shared among the threads at once; with a
  /// gate, outputs are half as wide, as in FeedForward, and not gathered. The matrices are of one shape and have no
  /// adapters; there are
  /// kMostTogether of them at most, and more than one only where none needs partial sums. `memory` holds
  /// EachFloats(number of rows, cols).
  void MatMulEach(std::span<const RowsOfMatrix> parts, Rows input, Rows output, std::optional<Activation> gate,
                  float* memory);

  /// Returns the memory, in floats, that MatMulEach needs for matrices of any type.
  static constexpr size_t EachFloats(size_t rows, size_t cols) {
    return (rows + kMostTogether * (kRowBlock - 1)) * RoundUp(cols, kActivationBlock);
  }

  /// MatMul by a block-diagonal matrix, of several outputs for each input: block i, a matrix [n, k], multiplies part
  /// i % (cols / k) of the input's `cols` columns, and its outputs begin at output[:, i * step]. The bias is [blocks *
  /// n].
  void BlockMatMul(const std::vector<Matrix>& blocks, Rows input, size_t cols, size_t rows,
                   const std::vector<float>& bias, Rows output, size_t step);

  /// output[r, :] = scale * embedding[tokens[r], :].
  void Embed(const Matrix& embedding, std::span<const int32_t> tokens, float scale, Rows output);

 protected:
  /// Returns the rows that MatMul by `weights` multiplies, all columns of them, to be changed before: `input` itself,
  /// or what was gathered, until the next call.
  Rows WholeRows(const Matrix& weights, Rows input, size_t rows);

  /// The values, or null if there are none: a bias may be missing.
  static const float* PointerTo(const std::vector<float>& values) { return values.empty() ? nullptr : values.data(); }

  /// Returns the rows as `weights` are multiplied by, until the next call.
  const std::byte* PrepareRows(const Matrix& weights, Rows input, size_t rows);

  /// Where the outputs of a multiplication go; with a gate, perhaps prepared for the next one.
  struct Outputs {
    Rows output;                          ///< [rows, outputs]
    std::optional<Activation> gate = {};  ///< unset: the sums themselves
    bf16* prepared = nullptr;             ///< MatMulArgs::prepared_output
  };

  /// Multiplies rows that PrepareRows made; `bias` may be null.
  void MultiplyPrepared(const Matrix& weights, const std::byte* prepared, size_t rows, const float* bias,
                        const Outputs& to);

  const ExecutorRef& executor_;           ///< the threads
  const AdaptedRows* const adapted_;      ///< null where no row has an adapter
  const MatrixObserver* const observer_;  ///< null if there is none

 private:
  void Show(const Matrix& weights, Rows input, size_t rows) const {
    if (observer_ != nullptr && weights.division == nullptr) (*observer_)({weights, input, rows});
  }

  const WeightKernels& KernelsFor(const Matrix& weights) const;

  /// Prepares rows [begin, end) of `rows`. Where columns have ColumnInputs, rows are first changed in scratch, from its
  /// row `first` on.
  void Prepare(const Matrix& weights, Rows input, size_t rows, size_t begin, size_t end, size_t first,
               std::byte* prepared) const;

  /// The rest of MatMulEach, once the rows of each part are prepared.
  void MultiplyEach(std::span<const RowsOfMatrix> parts, std::span<std::byte* const> prepared,
                    std::span<const size_t> rows, std::optional<Activation> gate, Rows output);

  const float* BiasHere(const RowsOfMatrix& part) const;

  void MultiplyTile(const Matrix& weights, const std::byte* prepared, size_t rows, const float* bias, const Outputs& to,
                    size_t row_begin, size_t row_end, size_t panel_begin, size_t panel_end);

  /// MatMul of rows that are `prepared`. Adapters multiply them as they were: `input`, or nothing where none does.
  void MultiplyAll(const Matrix& weights, const std::byte* prepared, Rows input, size_t rows,
                   const std::vector<float>& bias, Rows output);

  /// Exchanges rows of which this rank has some columns as `weights` are multiplied by them.
  void ExchangePrepared(const Matrix& weights, Rows input, size_t rows);

  /// Puts rows [row_begin, row_end) of `rows` together, the first of which is row `first` of what was exchanged.
  void PlacePrepared(const Matrix& weights, size_t first, size_t row_begin, size_t row_end, size_t rows,
                     std::byte* prepared);

  /// Returns all columns of rows as `weights` are multiplied by, until the next call.
  const std::byte* GatherPrepared(const Matrix& weights, Rows input, size_t rows);

  /// output[r, :] = scale * row tokens[r] of what is here.
  void EmbedHere(const Matrix& embedding, std::span<const int32_t> tokens, float scale, Rows output);

  MatMulScratch& scratch_;
  const std::span<const WeightKernels> kernels_;
  RankGathers gathers_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/run/detail/multiplications.h"
#endif

#endif  // SKALD_LAYERS_RUN_MULTIPLICATIONS_H_
