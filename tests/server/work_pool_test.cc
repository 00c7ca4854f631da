// SPDX-License-Identifier: Apache-2.0

#include "server/service/work_pool.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"

namespace skald::serve {
namespace work_pool_test {

using namespace std::chrono_literals;
using Size = WorkPool::Size;

// Work that runs until it is let go.
class Gate {
 public:
  void Wait() const {
    while (!is_open_) std::this_thread::sleep_for(1ms);
  }
  void Open() { is_open_ = true; }

 private:
  std::atomic<bool> is_open_ = false;
};

void WaitUntilIdle(const WorkPool& pool) {
  while (pool.size() > 0) std::this_thread::sleep_for(1ms);
}

TEST_CASE("small work goes on while large work takes all the threads that it may") {
  WorkPool pool({.threads = 2, .most_waiting = 100});
  Gate gate;
  for (int i = 0; i < 20; ++i) REQUIRE(pool.Add("a", Size::kLarge, [&] { gate.Wait(); }));
  std::atomic<int> done = 0;
  for (int i = 0; i < 20; ++i) REQUIRE(pool.Add("b", Size::kSmall, [&] { ++done; }));
  while (done < 20) std::this_thread::sleep_for(1ms);
  CHECK(pool.size() == 20);
  gate.Open();
  WaitUntilIdle(pool);
}

TEST_CASE("work that was taken before is taken again, however much waits") {
  WorkPool pool({.threads = 2, .most_waiting = 1});
  Gate gate;
  std::atomic<int> done = 0, running = 0;
  const auto wait = [&] {
    ++running;
    gate.Wait();
    ++done;
  };
  for (int i = 0; i < 2; ++i) {
    REQUIRE(pool.Add("a", Size::kSmall, wait));
    while (running <= i) std::this_thread::sleep_for(1ms);
  }
  REQUIRE(pool.Add("a", Size::kSmall, wait));
  CHECK_FALSE(pool.Add("a", Size::kSmall, wait));
  CHECK(pool.AddAgain("a", Size::kSmall, wait));
  gate.Open();
  WaitUntilIdle(pool);
  CHECK(done == 4);
  (void)pool.Stop(0ms);
  CHECK_FALSE(pool.AddAgain("a", Size::kSmall, wait));
}

TEST_CASE("tenants take turns, and each one's work keeps its order") {
  WorkPool pool({.threads = 2, .most_waiting = 100});
  Gate gate;
  std::mutex mutex;
  std::string order;
  const auto note = [&](char c) {
    return [&, c] {
      const std::lock_guard lock(mutex);
      order += c;
    };
  };
  // Large work has one of the two threads.
  REQUIRE(pool.Add("", Size::kLarge, [&] { gate.Wait(); }));
  for (const char c : {'1', '2', '3', '4'}) REQUIRE(pool.Add("busy", Size::kLarge, note(c)));
  for (const char c : {'a', 'b'}) REQUIRE(pool.Add("quiet", Size::kLarge, note(c)));
  gate.Open();
  WaitUntilIdle(pool);
  CHECK(order == "1a2b34");
}

TEST_CASE("a full queue refuses work, and a pool that stops drops what waits") {
  Gate gate;
  std::atomic<int> begun = 0, done = 0;
  {
    WorkPool pool({.threads = 2, .most_waiting = 3});
    for (int i = 0; i < 2; ++i) {
      REQUIRE(pool.Add("", Size::kLarge, [&] {
        ++begun;
        gate.Wait();
      }));
    }
    while (begun == 0) std::this_thread::sleep_for(1ms);  // large work has one of the two threads
    bool is_full = false;
    for (int i = 0; i < 5; ++i) is_full = !pool.Add("", Size::kLarge, [&] { ++done; });
    CHECK(is_full);
    CHECK_FALSE(pool.Stop(1ms));
    CHECK_FALSE(pool.Add("", Size::kSmall, [&] { ++done; }));
    gate.Open();
    CHECK(pool.Stop(60s));
  }
  CHECK(done == 0);
}

}  // namespace work_pool_test
}  // namespace skald::serve
