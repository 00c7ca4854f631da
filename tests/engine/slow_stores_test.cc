// SPDX-License-Identifier: Apache-2.0
//
// No step waits for a store: while one blocks in a call, requests are computed and end; work that had no time for the
// store is left out; and everything under way ends properly when its owner is destroyed.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/threads/background_queue.h"
#include "skald/engine/engine.h"
#include "skald/engine/engine_loop.h"
#include "skald/engine/plan/memory_model.h"
#include "skald/store/backends/memory_store.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace slow_stores_test {

// A store that answers nothing while it is shut. Counts the calls that hang.
class GatedStore {
 public:
  Result<bool> Has(const ChunkKey& key) { return Pass(), store_.Has(key); }
  Result<ChunkBytes> Get(const ChunkKey& key) { return Pass(), store_.Get(key); }
  Result<void> Put(const ChunkKey& key, std::span<const std::byte> value) { return Pass(), store_.Put(key, value); }
  Result<void> Drop(const ChunkKey& key) { return Pass(), store_.Drop(key); }
  Result<std::vector<ChunkKey>> List() { return Pass(), store_.List(); }

  void Shut() {
    const std::lock_guard lock(mutex_);
    is_shut_ = true;
  }
  void Open() {
    {
      const std::lock_guard lock(mutex_);
      is_shut_ = false;
    }
    changed_.notify_all();
  }
  void WaitForHanging(int calls) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, std::chrono::seconds(60), [&] { return hanging_ >= calls; }));
  }

 private:
  void Pass() {
    std::unique_lock lock(mutex_);
    ++hanging_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !is_shut_; });
    --hanging_;
  }

  MemoryStore store_{1 << 30};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_shut_ = false;
  int hanging_ = 0;
};

// An engine of its own pool and prompt cache, on a store that it may share.
struct Site {
  explicit Site(GatedStore& store, double store_seconds = 1000.0) {
    const PromptCacheOptions beside = {.writer = writer.get(), .reader = reader.get()};
    prompts = PromptCache::Create(pool, {}, beside, {store}).value();
    EngineOptions options;
    options.prompts = {prompts.get()};
    options.store_seconds = store_seconds;
    options.clock = [this] { return now.load(); };
    engine = Engine::Create(model, pool, workspace, options).value();
  }

  Request NewRequest(uint64_t seed, uint32_t prompt_tokens, uint32_t max_tokens) const {
    Request request;
    request.prompt = RandomTokens(model.small(), seed, prompt_tokens);
    request.max_tokens = max_tokens;
    return request;
  }

  // Steps until the engine has no work, or `steps` times. Returns the events.
  std::vector<Event> Run(uint32_t steps = 100'000) {
    std::vector<Event> events;
    for (; engine->has_work() && steps > 0; --steps) {
      auto report = engine->Step();
      REQUIRE(report);
      if (report->rows == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
      for (Event& event : report->events) events.push_back(std::move(event));
    }
    return events;
  }

  RandomModel model{SmallModelNamed("one-layer"), 5};
  Workspace workspace = *CreateWorkspace({.threads = 1});
  std::shared_ptr<BlockPool> pool = NewPool(model.small(), {.max_tokens = 2048, .cache_bytes = 8 << 20});
  std::atomic<double> now = 0.0;
  std::unique_ptr<BackgroundQueue> writer = *BackgroundQueue::Start({.tasks = 8}), reader = *BackgroundQueue::Start();
  std::unique_ptr<PromptCache> prompts;
  std::unique_ptr<Engine> engine;
};

std::vector<int32_t> TokensOf(const std::vector<Event>& events, RequestId id) {
  std::vector<int32_t> tokens;
  for (const Event& event : events) {
    if (event.request != id) continue;
    for (const SampledToken& token : event.tokens) tokens.push_back(token.id);
  }
  return tokens;
}

TEST_CASE("requests are computed and end while a store hangs in a write") {
  GatedStore store;
  Site site(store, /*store_seconds=*/0.0);
  store.Shut();
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto id = site.engine->Submit(site.NewRequest(seed, 100, 5));
    REQUIRE(id);
    CHECK(TokensOf(site.Run(), *id).size() == 5);
  }
  store.WaitForHanging(1);
  CHECK(site.writer->stats().tasks == 8);
  CHECK(site.prompts->stats().unwritten > 0);
  store.Open();
  REQUIRE(site.writer->WaitUntilDone(std::chrono::seconds(60)));
  CHECK(site.prompts->stats().failed_writes == 0);
}

TEST_CASE("what one wrote beside, another finds beside") {
  GatedStore store;
  Site one(store), other(store);
  const Request request = one.NewRequest(1, 200, 8);
  const auto first = one.engine->Submit(request);
  REQUIRE(first);
  const std::vector<int32_t> expected = TokensOf(one.Run(), *first);
  REQUIRE(one.writer->WaitUntilDone(std::chrono::seconds(60)));
  const auto second = other.engine->Submit(request);
  REQUIRE(second);
  const std::vector<Event> events = other.Run();
  CHECK(TokensOf(events, *second) == expected);
  CHECK(events.back().usage.cached_tokens >= 192);
  CHECK(other.prompts->stats().store_hits == 1);
  CHECK(other.prompts->stats().lookups == 1);
}

TEST_CASE("a request that waits for a store sits out steps, and others do not") {
  GatedStore store;
  Site site(store, /*store_seconds=*/10.0);
  const auto writing = site.engine->Submit(site.NewRequest(1, 5, 500));
  REQUIRE(writing);
  std::vector<Event> events = site.Run(10);
  while (site.engine->stats().running == 0) site.Run(1);
  REQUIRE(site.writer->WaitUntilDone(std::chrono::seconds(60)));
  store.Shut();
  const auto waiting = site.engine->Submit(site.NewRequest(2, 100, 5));
  REQUIRE(waiting);
  const std::vector<Event> meanwhile = site.Run(50);
  store.WaitForHanging(1);  // the reader
  CHECK(TokensOf(meanwhile, *writing).size() >= 49);
  CHECK(TokensOf(meanwhile, *waiting).empty());
  CHECK(site.engine->stats().fetching == 1);
  site.now = 10.0;  // its time is over
  CHECK(TokensOf(site.Run(20), *waiting).size() == 5);
  // No other thread enters a store that blocks.
  const auto third = site.engine->Submit(site.NewRequest(3, 100, 5));
  REQUIRE(third);
  CHECK(TokensOf(site.Run(20), *third).size() == 5);
  store.Open();
}

TEST_CASE("whoever goes while a store hangs leaves nothing behind") {
  for (const bool cancels : {false, true}) {
    GatedStore store;
    auto site = std::make_unique<Site>(store);
    const auto before = site->engine->Submit(site->NewRequest(1, 100, 5));
    REQUIRE(before);
    site->Run();
    store.Shut();
    for (uint64_t seed = 2; seed < 5; ++seed) {
      const auto id = site->engine->Submit(site->NewRequest(seed, 100, 5));
      REQUIRE(id);
      site->Run(3);
      if (cancels) {
        site->engine->Cancel(*id);
        CHECK(site->Run(3).back().finish == FinishReason::kCancelled);
      }
    }
    CHECK(site->engine->Suspend());
    store.WaitForHanging(1);
    const std::shared_ptr<BlockPool> pool = site->pool;
    site->engine.reset();
    std::thread opener([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      store.Open();
    });
    site.reset();
    opener.join();
    CHECK(pool->usage().used_bytes == 0);
  }
}

TEST_CASE("a prompt gives its memory away before it is written, where others need it") {
  GatedStore store;
  Site site(store, /*store_seconds=*/0.0);
  store.Shut();
  const uint32_t capacity = site.engine->capacity();
  for (uint64_t seed = 0; seed < 4; ++seed) {  // each needs nearly the whole pool
    const auto id = site.engine->Submit(site.NewRequest(seed, capacity - 10, 5));
    REQUIRE(id);
    CHECK(TokensOf(site.Run(), *id).size() == 5);
  }
  store.Open();
}

// An engine whose conversations go to `store` when their memory is needed.
struct SwappingSite {
  explicit SwappingSite(GatedStore& store) {
    RuntimeConfig runtime = {.max_tokens = 1024};
    runtime.cache_bytes = MemoryModel::Of(*NewLedgerPool(model.small(), runtime)).BytesFor(400);
    pool = NewPool(model.small(), runtime);
    EngineOptions options;
    options.swap.emplace(store);
    options.swapper = swapper.get();
    options.store_seconds = 1000.0;
    engine = Engine::Create(model, pool, workspace, options).value();
  }

  // Steps until the last event of `id` came; adds its tokens to `tokens`.
  void RunToEndOf(RequestId id, std::vector<int32_t>& tokens) {
    for (int steps = 0; steps < 100'000; ++steps) {
      auto report = engine->Step();
      REQUIRE(report);
      if (report->rows == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
      for (const int32_t token : TokensOf(report->events, id)) tokens.push_back(token);
      for (const Event& event : report->events) {
        if (event.request == id && event.finish) return;
      }
    }
    FAIL("it does not end");
  }

  RandomModel model{SmallModelNamed("one-layer"), 5};
  Workspace workspace = *CreateWorkspace({.threads = 1});
  std::shared_ptr<BlockPool> pool;
  std::unique_ptr<BackgroundQueue> swapper = *BackgroundQueue::Start();
  std::unique_ptr<Engine> engine;
};

TEST_CASE("a conversation goes to a store beside the steps, and comes back, whether or not it has arrived") {
  Request request;
  {
    const RandomModel model(SmallModelNamed("one-layer"), 5);
    request.prompt = RandomTokens(model.small(), 1, 150);
    request.max_tokens = 40;
  }
  std::vector<int32_t> expected;
  {
    GatedStore store;
    SwappingSite site(store);
    site.RunToEndOf(site.engine->Submit(request).value(), expected);
  }
  for (const bool arrives : {false, true}) {
    CAPTURE(arrives);
    GatedStore store;
    SwappingSite site(store);
    const RequestId id = site.engine->Submit(request).value();
    std::vector<int32_t> tokens, others;
    while (tokens.size() < 20) {
      const auto report = site.engine->Step();
      REQUIRE(report);
      for (const int32_t token : TokensOf(report->events, id)) tokens.push_back(token);
    }
    store.Shut();
    site.engine->Pause(id);
    Request large = request;
    large.prompt = RandomTokens(site.model.small(), 2, site.engine->capacity() - 10);
    large.max_tokens = 5;
    site.RunToEndOf(site.engine->Submit(large).value(), others);
    REQUIRE(site.engine->stats().swapped_out == 1);
    store.WaitForHanging(1);
    if (arrives) {
      store.Open();
      REQUIRE(site.swapper->WaitUntilDone(std::chrono::seconds(60)));
    }
    site.engine->Pause(id, false);
    site.RunToEndOf(id, tokens);
    CHECK(tokens == expected);
    CHECK(site.engine->stats().swapped_in == 1);
    CHECK(site.engine->stats().failed_swaps == 0);
    store.Open();
    site.engine.reset();
    CHECK(store.List()->empty());
  }
}

// A model whose steps do not end while a gate is shut, or fail.
class StuckModel {
 public:
  explicit StuckModel(const RandomModel& model) : model_(model) {}

  Result<Outputs> Forward(const Batch& batch, Workspace& workspace, const ForwardOptions& options) const {
    is_inside = true;
    while (is_shut) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (fails) return Fail(ErrorCode::kFailedPrecondition, "rank 1 is lost");
    return model_.Forward(batch, workspace, options);
  }
  const ModelSpec& spec() const { return model_.spec(); }

  std::atomic<bool> is_shut = false, fails = false;
  mutable std::atomic<bool> is_inside = false;

 private:
  const RandomModel& model_;
};

TEST_CASE("a loop tells of a step that does not end, and of a lost rank") {
  const RandomModel model(SmallModelNamed("one-layer"), 5);
  const StuckModel* stuck = nullptr;
  StuckModel gated(model);
  stuck = &gated;
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const auto engine = Engine::Create(*stuck, NewPool(model.small(), {.max_tokens = 256}), workspace).value();
  EngineLoop loop(*engine);
  CHECK(loop.health().stalled_seconds == 0.0);
  Request request;
  request.prompt = RandomTokens(model.small(), 1, 5);
  request.max_tokens = 3;
  const auto finish = [&] {
    const auto ticket = loop.Submit(request);
    REQUIRE(ticket);
    std::optional<FinishReason> reason;
    while (const auto event = ticket->inbox->Next(std::chrono::seconds(60))) reason = event->finish;
    return reason;
  };
  gated.is_shut = true;
  std::thread opener([&] {
    while (!gated.is_inside) std::this_thread::yield();
    const double before = loop.health().stalled_seconds;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(loop.health().stalled_seconds >= before + 0.02);
    gated.is_shut = false;
  });
  CHECK(finish() == FinishReason::kMaxTokens);
  opener.join();
  CHECK_FALSE(loop.health().failure);
  gated.fails = true;
  CHECK(finish() == FinishReason::kError);
  REQUIRE(loop.health().failure);
  CHECK(loop.health().failure->message == "rank 1 is lost");
  gated.fails = false;
  CHECK(finish() == FinishReason::kMaxTokens);
  CHECK_FALSE(loop.health().failure);
}

}  // namespace slow_stores_test
}  // namespace skald::testing
