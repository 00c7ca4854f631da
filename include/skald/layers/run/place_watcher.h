// SPDX-License-Identifier: Apache-2.0
//
// PlaceWatcher: the hooks inside a layer, as the layer sees them: it shows them what it computes (HasPlaces).

#ifndef SKALD_LAYERS_RUN_PLACE_WATCHER_H_
#define SKALD_LAYERS_RUN_PLACE_WATCHER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "skald/layers/run/rows.h"

namespace skald {

/// Called by the thread that computes the layer, with names of places that the layer has.
class PlaceWatcher {
 public:
  virtual ~PlaceWatcher() = default;

  /// Whether a hook is at the place: for values that are made only then.
  virtual bool IsWatched(std::string_view place) const = 0;

  /// Shows the values of all rows of the pass, which may come back changed.
  virtual void Show(std::string_view place, Rows values) = 0;

  /// Shows those of `rows` rows from `first` on, of one sequence, with so many columns for each part: for places that
  /// do not know before how many those are.
  virtual void ShowSome(std::string_view place, Rows values, size_t first, size_t rows, size_t part_cols) = 0;

  /// Shows rows of experts: row i is of row rows[i] of the pass and of expert experts[i].
  virtual void ShowChoices(std::string_view place, Rows values, std::span<const uint32_t> rows,
                           std::span<const uint32_t> experts) = 0;
};

}  // namespace skald

#endif  // SKALD_LAYERS_RUN_PLACE_WATCHER_H_
