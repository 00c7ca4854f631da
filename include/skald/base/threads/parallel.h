// SPDX-License-Identifier: Apache-2.0
//
// Splits one operation among the workers of an Executor. The distribution never changes a result: every kernel computes
// each row, panel or unit by itself.

#ifndef SKALD_BASE_THREADS_PARALLEL_H_
#define SKALD_BASE_THREADS_PARALLEL_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <numeric>
#include <span>

#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/float_environment.h"

namespace skald {

/// Work, in elements touched, below which handing pieces to other threads costs more than it saves.
inline constexpr size_t kMinParallelWork = size_t{1} << 14;

/// More pieces than workers, so that a worker that the system delays does not delay the others.
inline constexpr size_t kPiecesPerWorker = 4;

/// Panels that kernels prefer to compute together: pieces begin at multiples of it.
inline constexpr size_t kPanelsTogether = 4;

/// Calls `function(begin, end)` for ranges that cover [0, count); `work_per_item` is about how many elements each item
/// touches.
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

/// The same for panels that each touch `work_per_panel` elements, in short pieces, so that no worker waits long for
/// another's last piece. Each worker takes consecutive pieces of its share, since a kernel prefetches what follows;
/// then it helps the others.
template <class Function>
void ParallelForPanels(const ExecutorRef& executor, size_t panels, size_t work_per_panel, Function function) {
  constexpr size_t kPieceWork = size_t{1} << 18, kMaxShares = 64;  // more workers than that share a share
  struct alignas(kAlignment) Share {
    std::atomic<size_t> next = 0;
    size_t end = 0;
  };
  const size_t workers = executor.num_workers(), num_shares = std::min(workers, kMaxShares);
  const size_t piece = RoundUp(std::max<size_t>(1, kPieceWork / work_per_panel), kPanelsTogether);
  const size_t pieces = (panels + piece - 1) / piece;
  std::array<Share, kMaxShares> shares;
  for (size_t i = 0; i < num_shares; ++i) {
    shares[i].next = pieces * i / num_shares * piece;
    shares[i].end = std::min(panels, pieces * (i + 1) / num_shares * piece);
  }
  const auto task = [&](size_t worker) {
    const FloatEnvironment contract;
    for (size_t i = 0; i < num_shares; ++i) {
      Share& share = shares[(worker + i) % num_shares];
      for (size_t begin; (begin = share.next.fetch_add(piece)) < share.end;) {
        function(begin, std::min(begin + piece, share.end));
      }
    }
  };
  executor.Run(workers, TaskRef(task));
}

/// The same for a matmul of [rows, panels]: calls `function(row_begin, row_end, panel_begin, panel_end)`. Rows are
/// split only into groups of at most `group`, a multiple of 2 * kRowBlock, whose activations fit a core's cache. Pieces
/// with the same panels are consecutive, so that weights are read from memory once. `work_per_panel` is about how many
/// elements one row touches in each.
template <class Function>
void ParallelForTiles(const ExecutorRef& executor, size_t rows, size_t group, size_t panels, size_t work_per_panel,
                      Function function) {
  const size_t groups = (rows + group - 1) / group;
  const size_t step = RoundUp((rows + groups - 1) / groups, 2 * kRowBlock);
  const size_t workers = executor.num_workers();
  const bool alone = workers == 1 || rows * panels * work_per_panel < kMinParallelWork;
  constexpr size_t kRowsBoundByMemory = 4;
  if (rows <= kRowsBoundByMemory && !alone) {
    const auto all_rows = [&](size_t begin, size_t end) { function(size_t{0}, rows, begin, end); };
    return ParallelForPanels(executor, panels, work_per_panel, all_rows);
  }
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

/// The same for several matmuls with the same number of panels each, of rows[i] rows in the i-th: calls `function(i,
/// panel_begin, panel_end)`. There is no barrier between them.
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
