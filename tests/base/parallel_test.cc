// SPDX-License-Identifier: Apache-2.0
#include "skald/base/threads/parallel.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <random>
#include <vector>

#include "skald/base/numbers/packed_layout.h"
#include "skald/base/threads/executor.h"

namespace skald::testing {
namespace parallel_test {

// Says that it has some workers, and does everything itself.
struct OneThread {
  size_t workers;

  size_t num_workers() const { return workers; }
  void Run(size_t num_tasks, TaskRef task) {
    for (size_t i = 0; i < num_tasks; ++i) task(i);
  }
};

TEST_CASE("pieces of a matmul cover every row and panel once and begin where kernels want them") {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    OneThread thread = {1 + random() % 9};
    const size_t rows = 1 + random() % 700, panels = 1 + random() % 100, group = 2 * kRowBlock * (1 + random() % 8);
    CAPTURE(thread.workers);
    CAPTURE(rows);
    CAPTURE(panels);
    CAPTURE(group);
    std::vector<int> times(rows * panels);
    const auto count = [&](size_t row, size_t row_end, size_t panel, size_t panel_end) {
      CHECK((row % (2 * kRowBlock) == 0 || row == rows));
      CHECK((panel % kPanelsTogether == 0 || panel == panels));
      CHECK(row_end - row <= group);
      for (size_t r = row; r < row_end; ++r) {
        for (size_t p = panel; p < panel_end; ++p) ++times[r * panels + p];
      }
    };
    ParallelForTiles(ExecutorRef(thread), rows, group, panels, 1 << (random() % 12), count);
    CHECK(times == std::vector<int>(rows * panels, 1));
  }
}

TEST_CASE("pieces of several matmuls cover every panel of each once and begin where kernels want them") {
  std::mt19937 random(2);
  for (int i = 0; i < 500; ++i) {
    OneThread thread = {1 + random() % 9};
    const size_t panels = 1 + random() % 100;
    std::vector<size_t> rows(1 + random() % 8);
    for (size_t& count : rows) count = 1 + random() % (1 + random() % 300);
    CAPTURE(thread.workers);
    CAPTURE(panels);
    std::vector<int> times(rows.size() * panels);
    const auto count = [&](size_t matmul, size_t panel, size_t panel_end) {
      CHECK(panel % kPanelsTogether == 0);
      CHECK(panel < panel_end);
      for (size_t p = panel; p < panel_end; ++p) ++times[matmul * panels + p];
    };
    ParallelForEach(ExecutorRef(thread), rows, panels, 1 << (random() % 12), count);
    CHECK(times == std::vector<int>(rows.size() * panels, 1));
  }
}

}  // namespace parallel_test
}  // namespace skald::testing
