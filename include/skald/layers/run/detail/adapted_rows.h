// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/run/adapted_rows.h.

#ifndef SKALD_LAYERS_RUN_DETAIL_ADAPTED_ROWS_H_
#define SKALD_LAYERS_RUN_DETAIL_ADAPTED_ROWS_H_

#include "skald/layers/run/adapted_rows.h"

#include <algorithm>
#include <functional>

#include "skald/base/inline.h"
#include "skald/kernels/kernels.h"

namespace skald {

SKALD_INLINE MatrixNumbers::MatrixNumbers(std::span<const Matrix* const> matrices) {
  for (size_t i = 0; i < matrices.size(); ++i) numbers_.emplace_back(matrices[i], i);
  std::ranges::sort(numbers_, std::less<>(), &Entry::first);
}

SKALD_INLINE size_t MatrixNumbers::Of(const Matrix& matrix) const {
  const auto found = std::ranges::lower_bound(numbers_, &matrix, std::less<>(), &Entry::first);
  return found != numbers_.end() && found->first == &matrix ? found->second : numbers_.size();
}

SKALD_INLINE AdaptedRows::AdaptedRows(const MatrixNumbers& numbers, std::span<const Adapter* const> of_sequences,
                                      size_t most_rows, AdapterScratch& scratch)
    : numbers_(numbers), most_rows_(most_rows), scratch_(scratch) {
  for (const Adapter* const adapter : of_sequences) groups_of_sequences_.push_back(GroupOf(adapter));
}

SKALD_INLINE void AdaptedRows::BeginPass(std::span<const uint32_t> sequences) {
  pass_rows_ = sequences.size();
  for (Group& group : groups_) group.rows.clear();
  for (size_t row = 0; row < sequences.size(); ++row) {
    const size_t group = groups_of_sequences_[sequences[row]];
    if (group != kNone) groups_[group].rows.push_back(static_cast<uint32_t>(row));
  }
}

SKALD_INLINE bool AdaptedRows::Change(const Matrix& weights) const {
  const size_t matrix = numbers_.Of(weights);
  return std::ranges::any_of(
      groups_, [matrix](const Group& group) { return !group.rows.empty() && group.adapter->Find(matrix) != nullptr; });
}

SKALD_INLINE size_t AdaptedRows::GroupOf(const Adapter* adapter) {
  if (adapter == nullptr) return kNone;
  const auto found = std::ranges::find(groups_, adapter, &Group::adapter);
  if (found != groups_.end()) return static_cast<size_t>(found - groups_.begin());
  groups_.push_back({adapter, {}});
  groups_.back().rows.reserve(most_rows_);
  return groups_.size() - 1;
}

template <class Operations>
Rows AdaptedRows::Gather(Operations& ops, const Group& group, Rows input, size_t cols) const {
  const std::vector<uint32_t>& rows = group.rows;
  if (rows.back() - rows.front() + 1 == rows.size()) return {input.data + rows.front() * input.stride, input.stride};
  const Rows gathered = {scratch_.gathered.data(), cols};
  ParallelFor(ops.executor(), rows.size(), cols, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      std::copy_n(input.data + rows[i] * input.stride, cols, gathered.data + i * cols);
    }
  });
  return gathered;
}

}  // namespace skald

#endif  // SKALD_LAYERS_RUN_DETAIL_ADAPTED_ROWS_H_
