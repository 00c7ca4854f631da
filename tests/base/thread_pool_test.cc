// SPDX-License-Identifier: Apache-2.0

#include "skald/base/threads/thread_pool.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "doctest/doctest.h"

namespace skald {
namespace thread_pool_test {

static_assert(Executor<ThreadPool>);

TEST_CASE("every task runs exactly once, whatever the numbers of tasks and workers") {
  for (const size_t workers : {0u, 1u, 2u, 3u, 8u}) {
    ThreadPool pool(workers);
    for (const size_t tasks : {0u, 1u, 2u, 7u, 100u}) {
      std::vector<std::atomic<int>> runs(tasks);
      auto task = [&runs](size_t i) { runs[i].fetch_add(1); };
      pool.Run(tasks, TaskRef(task));
      for (const auto& count : runs) CHECK(count.load() == 1);
    }
  }
}

TEST_CASE("what one run wrote, the next one sees on any thread") {
  ThreadPool pool(3);
  std::vector<int> values(64, 0);
  for (int round = 0; round < 20000; ++round) {
    auto task = [&values](size_t i) { values[(i * 37) % 64] += 1; };
    pool.Run(64, TaskRef(task));
  }
  CHECK(values == std::vector<int>(64, 20000));
}

TEST_CASE("workers that have gone to sleep wake up for the next run") {
  ThreadPool pool(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic<int> runs = 0;
    auto task = [&runs](size_t) { runs.fetch_add(1); };
    pool.Run(10, TaskRef(task));
    CHECK(runs.load() == 10);
  }
}

TEST_CASE("pools do not disturb each other") {
  std::vector<std::thread> owners;
  std::atomic<int> total = 0;
  for (int owner = 0; owner < 3; ++owner) {
    owners.emplace_back([&total] {
      ThreadPool pool(2);
      auto task = [&total](size_t) { total.fetch_add(1); };
      for (int round = 0; round < 200; ++round) pool.Run(5, TaskRef(task));
    });
  }
  for (std::thread& owner : owners) owner.join();
  CHECK(total.load() == 3 * 200 * 5);
}

}  // namespace thread_pool_test
}  // namespace skald
