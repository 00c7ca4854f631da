// SPDX-License-Identifier: Apache-2.0
//
// Places inside layers of which ranks compute a part each: what every rank has of a row there, and rows made whole for
// hooks and cut again.

#ifndef SKALD_MODEL_DETAIL_RANK_PLACES_H_
#define SKALD_MODEL_DETAIL_RANK_PLACES_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "skald/base/ranks/communicator.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/result.h"
#include "skald/cache/layout/layout.h"
#include "skald/layers/run/rows.h"
#include "skald/layers/spec/layer_spec.h"

namespace skald {

// [ranks]: what each has of a row, in the order in which it has it; in parts where a part has one float for each
// position, else in floats. Empty: every rank has whole rows.
using PartsOfRanks = std::vector<std::vector<PartitionedRange>>;

namespace internal {

// Of sizes that ranks have one after the other, or that several of them have alike, as heads that they share.
inline PartsOfRanks PartsOf(std::span<const size_t> sizes, size_t whole) {
  const size_t ranks = sizes.size();
  size_t sum = 0;
  for (const size_t size : sizes) sum += size;
  if (sum == ranks * whole) return {};
  PartsOfRanks parts;
  size_t begin = 0;
  for (size_t rank = 0; rank < ranks; ++rank) {
    if (sum != whole) begin = rank * (whole / sizes[rank]) / ranks * sizes[rank];
    parts.push_back({{begin, begin + sizes[rank]}});
    begin += sizes[rank];
  }
  return parts;
}

// Of the places of a layer, in their order.
inline std::vector<PartsOfRanks> PartsOfPlaces(const LayerSpec& layer, size_t ranks) {
  const auto size_of = [](const LayerPlace& place) { return place.parts * std::max<size_t>(place.part_cols, 1); };
  std::vector<std::vector<LayerPlace>> of_ranks;
  for (size_t rank = 0; rank < ranks; ++rank) of_ranks.push_back(layer.OfRank({rank, ranks}).Places());
  std::vector<PartsOfRanks> parts;
  const std::vector<LayerPlace> whole = layer.Places();
  for (size_t i = 0; i < whole.size(); ++i) {
    std::vector<size_t> sizes;
    for (const auto& places : of_ranks) sizes.push_back(size_of(places[i]));
    const bool is_whole = whole[i].part_cols == LayerPlace::kModelDim;
    parts.push_back(is_whole ? PartsOfRanks() : PartsOf(sizes, size_of(whole[i])));
  }
  return parts;
}

// Of the floats of a recurrent layer's state.
inline PartsOfRanks PartsOfState(const LayerSpec& layer, size_t ranks) {
  const StateAxes axes = layer.AxesOfState();
  if (!ArePartitioned(axes.state, ranks)) return {};
  PartsOfRanks parts;
  for (size_t rank = 0; rank < ranks; ++rank) parts.push_back(PartitionEach(axes.state, {rank, ranks}));
  return parts;
}

}  // namespace internal

// Rows of a place, whole.
class WholeRows {
 public:
  // `scale` floats are one item of the ranges. All that is referred to must outlive this.
  WholeRows(const CommunicatorRef& ranks, const PartsOfRanks& parts, size_t scale)
      : ranks_(ranks), parts_(parts), scale_(scale) {}

  // Gathers the parts of `count` rows of `cols` floats from all ranks, each of which calls this. Error: the exchange's.
  Result<void> Join(Rows own, size_t count, size_t cols) {
    cols_ = cols;
    whole_.resize(count * cols);
    if (parts_.empty()) {
      for (size_t row = 0; row < count; ++row) std::copy_n(own.data + row * own.stride, cols, Row(row));
      return {};
    }
    std::vector<size_t> begins = {0};  // in bytes
    for (const auto& part : parts_) begins.push_back(begins.back() + count * FloatsOf(part) * sizeof(float));
    std::vector<std::byte> all(begins.back());
    const size_t rank = ranks_.share().rank, floats = FloatsOf(parts_[rank]);
    for (size_t row = 0; row < count; ++row) {
      std::memcpy(all.data() + begins[rank] + row * floats * sizeof(float), own.data + row * own.stride,
                  floats * sizeof(float));
    }
    if (auto gathered = ranks_.AllGather(all, begins); !gathered) return gathered;
    for (size_t from = 0; from < parts_.size(); ++from) {
      const std::byte* next = all.data() + begins[from];
      for (size_t row = 0; row < count; ++row) {
        for (const PartitionedRange& range : parts_[from]) {
          std::memcpy(Row(row) + range.begin * scale_, next, range.size() * scale_ * sizeof(float));
          next += range.size() * scale_ * sizeof(float);
        }
      }
    }
    return {};
  }

  // Takes this rank's part back.
  void Cut(Rows own, size_t count) const {
    for (size_t row = 0; row < count; ++row) {
      const float* const whole = whole_.data() + row * cols_;
      float* to = own.data + row * own.stride;
      if (parts_.empty()) {
        std::copy_n(whole, cols_, to);
        continue;
      }
      for (const PartitionedRange& range : parts_[ranks_.share().rank]) {
        to = std::copy(whole + range.begin * scale_, whole + range.end * scale_, to);
      }
    }
  }

  Rows rows() { return {whole_.data(), cols_}; }

 private:
  float* Row(size_t row) { return whole_.data() + row * cols_; }
  size_t FloatsOf(const std::vector<PartitionedRange>& part) const {
    size_t items = 0;
    for (const PartitionedRange& range : part) items += range.size();
    return items * scale_;
  }

  const CommunicatorRef& ranks_;
  const PartsOfRanks& parts_;
  const size_t scale_;
  size_t cols_ = 0;
  std::vector<float> whole_;
};

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_RANK_PLACES_H_
