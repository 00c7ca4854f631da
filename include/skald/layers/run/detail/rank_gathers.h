// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/run/rank_gathers.h.

#ifndef SKALD_LAYERS_RUN_DETAIL_RANK_GATHERS_H_
#define SKALD_LAYERS_RUN_DETAIL_RANK_GATHERS_H_

#include "skald/layers/run/rank_gathers.h"

#include "skald/base/inline.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/base/ranks/rank_share.h"

namespace skald {

SKALD_INLINE void ReserveGathers(const Matrix& weights, size_t rows, GatherScratch& scratch) {
  if (weights.division == nullptr) return;
  const size_t ranks = std::max(weights.division->output_begins.size(), weights.division->input_begins.size());
  const size_t widest = std::max(weights.outputs(), weights.cols + ranks * kActivationBlock);  // each rank's padded
  Reserve(scratch.exchanged, rows * widest * sizeof(float));
  if (weights.gathers_inputs()) Reserve(scratch.inputs, rows * weights.cols);
  scratch.begins.reserve(ranks);
}

SKALD_INLINE size_t RankGathers::rank() const { return ranks_->share().rank; }

SKALD_INLINE bool RankGathers::TravelPrepared(const Matrix& weights) {
  const auto begins = std::span(weights.division->input_begins);
  const size_t unit = PreparedUnit(weights.dtype);
  return weights.division->input_tiles == 1 && !weights.changes_inputs() && !weights.row_scale &&
         std::ranges::all_of(begins.first(begins.size() - 1), [=](size_t begin) { return begin % unit == 0; });
}

SKALD_INLINE void RankGathers::PlacePreparedInput(const Matrix& weights, size_t from, std::byte* prepared, size_t rows,
                                                  size_t row) const {
  const std::vector<size_t>& columns = weights.division->input_begins;
  for (size_t r = 0; r + 1 < columns.size(); ++r) {
    const size_t count = columns[r + 1] - columns[r], row_bytes = PreparedRowBytes(weights.dtype, count);
    PlacePrepared(weights.dtype, scratch_.exchanged.data() + scratch_.begins[r] + from * row_bytes, count, prepared,
                  rows, row, columns[r], weights.padded_cols);
  }
}

SKALD_INLINE Rows RankGathers::Inputs(const Matrix& weights, Rows here, size_t rows) {
  const size_t tiles = weights.division->input_tiles;
  const Rows all = Columns(weights.division->input_begins, {here.data, here.stride / tiles}, rows * tiles);
  return {all.data, weights.cols};
}

SKALD_INLINE Rows RankGathers::Columns(std::span<const size_t> begins, Rows here, size_t rows) {
  const size_t width = begins[rank() + 1] - begins[rank()];
  const Rows all = {scratch_.inputs.data(), begins.back()};
  float* const own = Own(begins, rows);
  ParallelFor(executor_, rows, width, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) std::copy_n(here.data + row * here.stride, width, own + row * width);
  });
  Gather(begins, rows);
  Place(begins, rows, all);
  return all;
}

SKALD_INLINE void RankGathers::Outputs(const Matrix& weights, size_t rows, Rows output) {
  const std::vector<size_t>& begins = weights.division->output_begins;
  Gather(begins, rows);
  Place(begins, rows, output);
}

SKALD_INLINE float* RankGathers::Own(std::span<const size_t> begins, size_t count) {
  return reinterpret_cast<float*>(scratch_.exchanged.data()) + begins[rank()] * count;
}

SKALD_INLINE void RankGathers::Gather(std::span<const size_t> begins, size_t count) {
  scratch_.begins.clear();
  for (const size_t begin : begins) scratch_.begins.push_back(begin * count * sizeof(float));
  Exchange();
}

SKALD_INLINE void RankGathers::Exchange() {
  if (!status_) return;
  status_ = ranks_->AllGather({scratch_.exchanged.data(), scratch_.begins.back()}, scratch_.begins);
}

SKALD_INLINE void RankGathers::Place(std::span<const size_t> begins, size_t rows, Rows output) {
  const auto* const all = reinterpret_cast<const float*>(scratch_.exchanged.data());
  ParallelFor(executor_, rows, begins.back(), [&](size_t row_begin, size_t row_end) {
    for (size_t r = 0; r + 1 < begins.size(); ++r) {
      const size_t width = begins[r + 1] - begins[r];
      for (size_t row = row_begin; row < row_end; ++row) {
        std::copy_n(all + begins[r] * rows + row * width, width, output.data + row * output.stride + begins[r]);
      }
    }
  });
}

}  // namespace skald

#endif  // SKALD_LAYERS_RUN_DETAIL_RANK_GATHERS_H_
