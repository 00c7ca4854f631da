// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/dealt_parameters.h.

#ifndef SKALD_WEIGHTS_DETAIL_DEALT_PARAMETERS_H_
#define SKALD_WEIGHTS_DETAIL_DEALT_PARAMETERS_H_

#include "skald/weights/dealt_parameters.h"

#include <algorithm>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/numbers/packed_layout.h"

namespace skald {

namespace internal {

SKALD_INLINE size_t DealtRows::size() const {
  size_t sum = 0;
  for (const DealtRange& range : ranges) sum += range.size();
  return sum;
}

// Returns where each rank's share of a section begins, and the section's size.
inline std::vector<size_t> SharesOf(const DealtSection& section, size_t ranks) {
  std::vector<size_t> begins;
  for (size_t rank = 0; rank < ranks; ++rank) begins.push_back(Deal(section, {rank, ranks}).begin);
  begins.push_back(section.size);
  return begins;
}

SKALD_INLINE std::vector<DealtSection> SectionsOf(const MatrixParameter& matrix) {
  std::vector<DealtSection> sections = matrix.dealing.sections;
  if (!sections.empty()) return sections;
  for (const Part& part : matrix.parts) sections.push_back({part.rows, matrix.dealing.output_units});
  return sections;
}

SKALD_INLINE DealtRows RowsHere(const MatrixParameter& matrix, const RankShare& share) {
  const size_t rows = matrix.rows();
  if (share.ranks == 1 || matrix.dtype) return {{{0, rows}}};
  const Dealing& dealing = matrix.dealing;
  DealtRows here;
  Division division;
  const DealtSection inputs = {matrix.cols / dealing.input_tiles, dealing.input_units, dealing.input_sharers};
  if (AreDealt(inputs, share.ranks)) {
    division.input_begins = SharesOf(inputs, share.ranks);
    division.input_tiles = dealing.input_tiles;
  }
  if (const auto sections = SectionsOf(matrix); AreDealt(sections, share.ranks)) {
    here.ranges = DealEach(sections, share);
  } else {
    for (size_t rank = 0; rank <= share.ranks; ++rank) {
      const size_t panels = RoundUp(rows, kLanes) / kLanes;
      division.output_begins.push_back(std::min(Deal(panels, {rank, share.ranks}).begin * kLanes, rows));
    }
    here.ranges.push_back({division.output_begins[share.rank], division.output_begins[share.rank + 1]});
  }
  here.division = std::make_shared<Division>(std::move(division));
  size_t first = 0;
  for (const Part& part : matrix.parts) {
    here.first.push_back({first, first + 1});
    first += part.rows;
  }
  return here;
}

SKALD_INLINE void KeepDealt(const VectorParameter& vector, const RankShare& share) {
  if (!AreDealt(vector.sections, share.ranks)) return;
  std::vector<float> kept;
  for (const auto& [begin, end] : DealEach(vector.sections, share)) {
    kept.insert(kept.end(), vector.target->begin() + static_cast<ptrdiff_t>(begin),
                vector.target->begin() + static_cast<ptrdiff_t>(end));
  }
  *vector.target = std::move(kept);
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_WEIGHTS_DETAIL_DEALT_PARAMETERS_H_
