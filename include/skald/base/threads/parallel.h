// SPDX-License-Identifier: Apache-2.0
//
// Splits one operation among the workers of an Executor. Which worker does what never changes a result: every
// kernel computes each row, panel or unit by itself.

#ifndef SKALD_BASE_THREADS_PARALLEL_H_
#define SKALD_BASE_THREADS_PARALLEL_H_

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>

#include "skald/base/numbers/packed_layout.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/float_environment.h"

namespace skald {

// Work, in elements touched, below which handing pieces to other threads costs more than it saves.
inline constexpr size_t kMinParallelWork = size_t{1} << 14;

// More pieces than workers, so that a worker that the system holds up does not hold up the others.
inline constexpr size_t kPiecesPerWorker = 4;

// Panels that kernels like to compute together: pieces begin at multiples of it.
inline constexpr size_t kPanelsTogether = 4;

// Calls `function(begin, end)` for ranges that cover [0, count); `work_per_item` is about how many elements each item
// touches.
template <class Function>
void ParallelFor(const ExecutorRef& executor, size_t count, size_t work_per_item, Function function) {
  const size_t workers = executor.num_workers();
  if (workers == 1 || count * work_per_item < kMinParallelWork) {
    const FloatEnvironment contract;
    function(size_t{0}, count);
    return;
  }
  const size_t pieces = std::min(count, workers * kPiecesPerWorker);
  const auto task = [&](size_t piece) {
    const FloatEnvironment contract;
    function(count * piece / pieces, count * (piece + 1) / pieces);
  };
  executor.Run(pieces, TaskRef(task));
}

// The same for a matmul of [rows, panels]: calls `function(row_begin, row_end, panel_begin, panel_end)`. Rows are split
// only into groups of at most `group`, a multiple of 2 * kRowBlock, whose activations a core's cache holds; pieces that
// share panels are handed out one after the other, so that weights come from memory once. `work_per_panel` is about how
// many elements one row touches in each.
template <class Function>
void ParallelForTiles(const ExecutorRef& executor, size_t rows, size_t group, size_t panels, size_t work_per_panel,
                      Function function) {
  const size_t groups = (rows + group - 1) / group;
  const size_t step = RoundUp((rows + groups - 1) / groups, 2 * kRowBlock);
  const size_t workers = executor.num_workers();
  const bool alone = workers == 1 || rows * panels * work_per_panel < kMinParallelWork;
  const size_t quads = (panels + kPanelsTogether - 1) / kPanelsTogether;
  const size_t pieces = alone ? 1 : std::min(quads, std::max<size_t>(1, workers * kPiecesPerWorker / groups));
  const auto first_panel = [&](size_t piece) { return std::min(panels, quads * piece / pieces * kPanelsTogether); };
  const auto task = [&](size_t i) {
    const FloatEnvironment contract;
    const size_t piece = i / groups, row = std::min(rows, i % groups * step);
    function(row, std::min(rows, row + step), first_panel(piece), first_panel(piece + 1));
  };
  if (alone) {
    for (size_t i = 0; i < groups * pieces; ++i) task(i);
  } else {
    executor.Run(groups * pieces, TaskRef(task));
  }
}

// The same for several matmuls of as many panels each, of rows[i] rows in the i-th: calls `function(i, panel_begin,
// panel_end)`. Nobody waits between them.
template <class Function>
void ParallelForEach(const ExecutorRef& executor, std::span<const size_t> rows, size_t panels, size_t work_per_panel,
                     Function function) {
  const size_t quads = (panels + kPanelsTogether - 1) / kPanelsTogether;
  const size_t work = quads * std::accumulate(rows.begin(), rows.end(), size_t{0});  // in rows of a quad
  const size_t workers = executor.num_workers();
  const bool alone = workers == 1 || work * kPanelsTogether * work_per_panel < kMinParallelWork;
  const size_t pieces = alone ? 1 : std::min(work, workers * kPiecesPerWorker);
  const auto task = [&](size_t piece) {
    const FloatEnvironment contract;
    const size_t begin = work * piece / pieces, end = work * (piece + 1) / pieces;
    for (size_t i = 0, first = 0; i < rows.size(); first += quads * rows[i++]) {
      // A quad is in the piece in which its first row is.
      const auto quad_from = [&](size_t at) {
        return at <= first ? 0 : std::min(quads, (at - first + rows[i] - 1) / rows[i]);
      };
      const size_t panel = quad_from(begin) * kPanelsTogether;
      const size_t panel_end = std::min(panels, quad_from(end) * kPanelsTogether);
      if (panel < panel_end) function(i, panel, panel_end);
    }
  };
  if (alone) return task(0);
  executor.Run(pieces, TaskRef(task));
}

}  // namespace skald

#endif  // SKALD_BASE_THREADS_PARALLEL_H_
