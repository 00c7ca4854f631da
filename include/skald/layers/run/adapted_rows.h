// SPDX-License-Identifier: Apache-2.0
//
// AdaptedRows: which rows of a pass have an adapter, and what adapters add to their products. Rows of one adapter are
// multiplied together, as those of one expert are; no row depends on what others have.

#ifndef SKALD_LAYERS_RUN_ADAPTED_ROWS_H_
#define SKALD_LAYERS_RUN_ADAPTED_ROWS_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/aligned_buffer.h"
#include "skald/base/threads/parallel.h"
#include "skald/layers/run/rows.h"
#include "skald/layers/run/scratch.h"
#include "skald/weights/adapters/adapter.h"
#include "skald/weights/types/matrix.h"

namespace skald {

/// The matrices of a model's layers, found by where they are.
class MatrixNumbers {
 public:
  MatrixNumbers() = default;

  /// `matrices`, in the order of their parameters, must stay where they are.
  explicit MatrixNumbers(std::span<const Matrix* const> matrices);

  /// Returns a number that no matrix has for one that is not among them.
  size_t Of(const Matrix& matrix) const;

 private:
  using Entry = std::pair<const Matrix*, size_t>;
  std::vector<Entry> numbers_;  ///< ascending by address
};

class AdaptedRows {
 public:
  /// `of_sequences[s]` is the adapter of sequence s, or null; passes have at most `most_rows` rows. All that is
  /// referred to must outlive this object. Throws std::bad_alloc, as Reserve does.
  AdaptedRows(const MatrixNumbers& numbers, std::span<const Adapter* const> of_sequences, size_t most_rows,
              AdapterScratch& scratch);
  AdaptedRows(const AdaptedRows&) = delete;
  AdaptedRows& operator=(const AdaptedRows&) = delete;

  /// Calls reserve(matrix) for every matrix that MatMul will be called with, and makes room for what lies between them.
  template <class ReserveMatMul>
  void Reserve(ReserveMatMul reserve) {
    for (const Group& group : groups_) {
      for (const auto* const embedding : {&group.adapter->tokens, &group.adapter->types}) {
        if (!*embedding) continue;
        reserve((*embedding)->b);
        skald::Reserve(scratch_.between, most_rows_ * (*embedding)->a.cols);
        skald::Reserve(scratch_.added, most_rows_ * (*embedding)->b.rows);
      }
      for (const LowRank& low : group.adapter->low_ranks) {
        reserve(low.a);
        reserve(low.b);
        skald::Reserve(scratch_.gathered, most_rows_ * low.a.cols);
        skald::Reserve(scratch_.between, most_rows_ * low.a.rows);
        skald::Reserve(scratch_.added, most_rows_ * low.b.rows);
      }
    }
  }

  /// `sequences` are those that the rows of the next pass belong to, [rows].
  void BeginPass(std::span<const uint32_t> sequences);

  /// Whether some of the pass's rows have an adapter that changes `weights`.
  bool Change(const Matrix& weights) const;

  /// output += b * (a * input) for the rows whose adapter changes `weights`, a matrix that all `rows` rows of the pass
  /// are multiplied by: those outputs that are here. (What a layer multiplies a choice of rows by has no adapter: see
  /// Part::expert.)
  template <class Operations>
  void AddTo(Operations& ops, const Matrix& weights, Rows input, size_t rows, Rows output) const {
    const size_t matrix = numbers_.Of(weights);
    for (const Group& group : groups_) {
      const LowRank* const low = group.rows.empty() ? nullptr : group.adapter->Find(matrix);
      if (low == nullptr || low->b.rows == 0) continue;
      assert(rows == pass_rows_);
      if (rows != pass_rows_) return;  // never reads beyond them
      const Rows between = {scratch_.between.data(), low->a.rows}, added = {scratch_.added.data(), low->b.rows};
      ops.MatMul(low->a, Gather(ops, group, input, low->a.cols), group.rows.size(), {}, between);
      ops.MatMul(low->b, between, group.rows.size(), {}, added);
      AddRows(ops, group, added, output);
    }
  }

  /// output += scale * b * a[numbers] for the rows whose adapter changes an embedding: Adapter::tokens or
  /// Adapter::types, of which a row has entry numbers[row].
  template <class Operations>
  void AddEmbedded(Operations& ops, std::optional<LowRankEmbedding> Adapter::*embedding,
                   std::span<const int32_t> numbers, float scale, Rows output) const {
    for (const Group& group : groups_) {
      const std::optional<LowRankEmbedding>& low = group.adapter->*embedding;
      if (!low || group.rows.empty()) continue;
      std::vector<int32_t> own;
      for (const uint32_t row : group.rows) own.push_back(numbers[row]);
      const Rows between = {scratch_.between.data(), low->a.cols}, added = {scratch_.added.data(), low->b.rows};
      ops.Embed(low->a, own, scale, between);
      ops.MatMul(low->b, between, own.size(), {}, added);
      AddRows(ops, group, added, output);
    }
  }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  struct Group {
    const Adapter* adapter;
    std::vector<uint32_t> rows;  ///< of the pass, ascending
  };

  size_t GroupOf(const Adapter* adapter);

  /// Adds to the rows of a group what was computed for them, one after the other.
  template <class Operations>
  static void AddRows(Operations& ops, const Group& group, Rows added, Rows output) {
    ParallelFor(ops.executor(), group.rows.size(), added.stride, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        float* const to = output.data + group.rows[i] * output.stride;
        const float* const from = added.data + i * added.stride;
        for (size_t k = 0; k < added.stride; ++k) to[k] += from[k];
      }
    });
  }

  /// The rows of a group, one after the other.
  template <class Operations>
  Rows Gather(Operations& ops, const Group& group, Rows input, size_t cols) const;

  const MatrixNumbers& numbers_;
  const size_t most_rows_;
  AdapterScratch& scratch_;
  std::vector<Group> groups_;                ///< one for each adapter
  std::vector<size_t> groups_of_sequences_;  ///< [sequences]
  size_t pass_rows_ = 0;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/run/detail/adapted_rows.h"
#endif

#endif  // SKALD_LAYERS_RUN_ADAPTED_ROWS_H_
