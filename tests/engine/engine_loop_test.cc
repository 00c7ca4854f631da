// SPDX-License-Identifier: Apache-2.0
//
// The loop: callers on many threads get the answers of requests that run alone; a caller that does not read blocks no
// other; stopped requests continue elsewhere.

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/engine/engine.h"
#include "skald/engine/engine_loop.h"
#include "skald/store/backends/memory_store.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace engine_loop_test {

using std::chrono::seconds;

struct Served {
  RandomModel model{SmallModelNamed("one-layer"), 5};
  Workspace workspace = *CreateWorkspace({.threads = 1});
  std::shared_ptr<BlockPool> pool = NewPool(model.small(), {.max_tokens = 4096, .cache_bytes = 8 << 20});
  MemoryStore store{1 << 30};

  std::unique_ptr<Engine> NewEngine() {
    EngineOptions options;
    options.swap.emplace(store);
    auto engine = Engine::Create(model, pool, workspace, options);
    REQUIRE(engine);
    return std::move(*engine);
  }

  Request NewRequest(uint64_t seed, uint32_t max_tokens) const {
    Request request;
    request.prompt = RandomTokens(model.small(), seed, 5 + seed % 30);
    request.sampler.random.seed = seed;
    request.max_tokens = max_tokens;
    return request;
  }

  // The request's answer from an engine of its own.
  std::vector<int32_t> Alone(const Request& request) {
    auto engine = NewEngine();
    REQUIRE(engine->Submit(request));
    std::vector<int32_t> tokens;
    while (engine->has_work()) {
      const auto report = engine->Step();
      REQUIRE(report);
      for (const Event& event : report->events) {
        for (const SampledToken& token : event.tokens) tokens.push_back(token.id);
      }
    }
    return tokens;
  }
};

// Reads all that comes; waits at most so long for each event.
std::vector<int32_t> ReadAll(Inbox& inbox, std::optional<FinishReason>& finish) {
  std::vector<int32_t> tokens;
  while (const auto event = inbox.Next(seconds(60))) {
    for (const SampledToken& token : event->tokens) tokens.push_back(token.id);
    if (event->finish) finish = event->finish;
  }
  return tokens;
}

TEST_CASE("callers of many threads get what they would get alone") {
  Served served;
  std::vector<Request> requests;
  std::vector<std::vector<int32_t>> expected, got(12);
  for (uint64_t i = 0; i < got.size(); ++i) {
    requests.push_back(served.NewRequest(i, 20));
    expected.push_back(served.Alone(requests.back()));
  }
  const auto engine = served.NewEngine();
  EngineLoop loop(*engine);
  std::vector<std::thread> callers;
  for (size_t i = 0; i < got.size(); ++i) {
    callers.emplace_back([&, i] {
      auto ticket = loop.Submit(requests[i]);
      std::optional<FinishReason> finish;
      if (ticket) got[i] = ReadAll(*ticket->inbox, finish);
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(got == expected);
  CHECK(loop.Stop(StopMode::kFinish));
  CHECK(loop.Submit(requests[0]).error().code == ErrorCode::kFailedPrecondition);
}

TEST_CASE("who does not read pauses, and nobody else") {
  Served served;
  const Request slow = served.NewRequest(1, 400), quick = served.NewRequest(2, 50);
  const std::vector<int32_t> expected = served.Alone(slow);
  const auto engine = served.NewEngine();
  EngineLoop loop(*engine, {.inbox_events = 8});
  const auto unread = loop.Submit(slow);
  REQUIRE(unread);
  const auto read = loop.Submit(quick);
  REQUIRE(read);
  std::optional<FinishReason> finish;
  CHECK(ReadAll(*read->inbox, finish).size() == 50);
  while (loop.stats().generated_tokens < 58) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(loop.stats().generated_tokens == 58);
  CHECK(ReadAll(*unread->inbox, finish) == expected);
  CHECK(*finish == FinishReason::kMaxTokens);
}

TEST_CASE("cancelled requests end") {
  Served served;
  const auto engine = served.NewEngine();
  EngineLoop loop(*engine);
  Request request = served.NewRequest(3, 4000);
  request.samples = 3;
  const auto ticket = loop.Submit(request);
  REQUIRE(ticket);
  REQUIRE(ticket->inbox->Next(seconds(60)));
  REQUIRE(loop.Cancel(ticket->number));
  std::optional<FinishReason> finish;
  (void)ReadAll(*ticket->inbox, finish);
  CHECK(*finish == FinishReason::kCancelled);
  CHECK(ticket->inbox->is_finished());
}

TEST_CASE("what a loop was stopped in goes on in another") {
  Served served;
  const Request request = served.NewRequest(4, 300);
  const std::vector<int32_t> expected = served.Alone(request);
  std::vector<int32_t> got;
  std::vector<std::byte> suspended;
  {
    const auto engine = served.NewEngine();
    EngineLoop loop(*engine);
    const auto ticket = loop.Submit(request);
    REQUIRE(ticket);
    for (int i = 0; i < 10; ++i) {
      const auto event = ticket->inbox->Next(seconds(60));
      REQUIRE(event);
      for (const SampledToken& token : event->tokens) got.push_back(token.id);
    }
    auto stopped = loop.Stop(StopMode::kSuspend);
    REQUIRE(stopped);
    suspended = std::move(*stopped);
    std::optional<FinishReason> finish;
    const std::vector<int32_t> rest = ReadAll(*ticket->inbox, finish);
    got.insert(got.end(), rest.begin(), rest.end());
    CHECK(!finish);
  }
  const auto engine = served.NewEngine();
  REQUIRE(engine->Resume(suspended));
  while (engine->has_work()) {
    const auto report = engine->Step();
    REQUIRE(report);
    for (const Event& event : report->events) {
      for (const SampledToken& token : event.tokens) got.push_back(token.id);
    }
  }
  CHECK(got == expected);
}

}  // namespace engine_loop_test
}  // namespace skald::testing
