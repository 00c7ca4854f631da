// SPDX-License-Identifier: Apache-2.0
//
// The queue of another thread: bounded, in order, and nothing of an owner is touched after it has withdrawn.

#include "skald/base/threads/background_queue.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "doctest/doctest.h"

namespace skald::testing {
namespace background_queue_test {

// Holds up the task that waits for it.
struct Gate {
  std::promise<void> opened, reached;
  std::shared_future<void> is_open = opened.get_future().share();

  std::function<void()> Task() {
    return [this] {
      reached.set_value();
      is_open.wait();
    };
  }
};

TEST_CASE("tasks are done in order, on another thread") {
  auto queue = BackgroundQueue::Start().value();
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) REQUIRE(queue->Post(nullptr, [&order, i] { order.push_back(i); }));
  REQUIRE(queue->WaitUntilDone(std::chrono::seconds(60)));
  REQUIRE(order.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(order[static_cast<size_t>(i)] == i);
  CHECK(queue->stats().done == 100);
  CHECK(queue->stats().dropped == 0);
}

TEST_CASE("what finds the queue full, by number or bytes, is not done") {
  auto queue = BackgroundQueue::Start({.tasks = 3, .bytes = 100}).value();
  Gate gate;
  std::atomic<int> done = 0;
  REQUIRE(queue->Post(nullptr, gate.Task(), 60));
  gate.reached.get_future().wait();
  CHECK_FALSE(queue->Post(
      nullptr, [&] { ++done; }, 41));
  CHECK(queue->Post(
      nullptr, [&] { ++done; }, 40));
  CHECK(queue->Post(nullptr, [&] { ++done; }));
  CHECK_FALSE(queue->Post(nullptr, [&] { ++done; }));
  CHECK(queue->stats().tasks == 3);
  CHECK(queue->stats().bytes == 100);
  CHECK_FALSE(queue->WaitUntilDone(std::chrono::milliseconds(1)));
  gate.opened.set_value();
  REQUIRE(queue->WaitUntilDone(std::chrono::seconds(60)));
  CHECK(done == 2);
  CHECK(queue->stats().dropped == 2);
  CHECK(queue->stats().bytes == 0);
  CHECK(queue->Post(
      nullptr, [] {}, 100));
}

TEST_CASE("an owner that withdraws waits for its running task, and for no other's") {
  auto queue = BackgroundQueue::Start().value();
  int one = 0, other = 0;
  Gate gate;
  const auto held = std::make_shared<int>(0);
  REQUIRE(queue->Post(&one, gate.Task()));
  REQUIRE(queue->Post(&other, [&other, held] { ++other; }));
  REQUIRE(queue->Post(&one, [&one] { ++one; }));
  gate.reached.get_future().wait();
  queue->Withdraw(&other);
  CHECK(held.use_count() == 1);
  std::thread opener([&] {
    while (queue->stats().tasks > 1) std::this_thread::yield();  // until what has not begun is withdrawn
    gate.opened.set_value();
  });
  queue->Withdraw(&one);
  opener.join();
  CHECK(queue->stats().tasks == 0);
  CHECK(queue->stats().dropped == 2);
  CHECK(one + other == 0);
}

TEST_CASE("a queue that ends drops what waits, and a task that throws ends nothing") {
  std::atomic<int> done = 0;
  Gate gate;
  auto queue = BackgroundQueue::Start().value();
  REQUIRE(queue->Post(nullptr, [] { throw std::runtime_error("no"); }));
  REQUIRE(queue->Post(nullptr, [&] { ++done; }));
  REQUIRE(queue->Post(nullptr, gate.Task()));
  REQUIRE(queue->Post(nullptr, [&] { done += 100; }));
  gate.reached.get_future().wait();
  std::thread opener([&] { gate.opened.set_value(); });
  queue.reset();
  opener.join();
  CHECK(done % 100 == 1);
}

}  // namespace background_queue_test
}  // namespace skald::testing
