// SPDX-License-Identifier: Apache-2.0
//
// Many requests, many samples, many tenants: the cost of a request does not depend on the number of others, no more run
// than may, and tenants that were served less take the places of those that were served more.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/engine/engine.h"
#include "skald/engine/engine_loop.h"
#include "tests/engine/alone.h"
#include "tests/engine/run_engine.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace many_requests_test {

struct Scene {
  RandomModel model{SmallModelNamed("one-layer"), 5};
  Workspace workspace = *CreateWorkspace({.threads = 1});
  std::shared_ptr<BlockPool> pool = NewPool(model.small(), {.max_tokens = 4096});
  double now = 0.0;
  EngineOptions options = {};

  std::unique_ptr<Engine> NewEngine() {
    options.clock = [this] { return now += 1e-6; };
    auto engine = Engine::Create(model, pool, workspace, options);
    REQUIRE(engine);
    return std::move(*engine);
  }

  Request NewRequest(uint64_t seed, uint32_t max_tokens, uint32_t samples = 1, std::string tenant = {}) const {
    Request request;
    request.prompt = RandomTokens(model.small(), seed, 4);
    request.sampler = {.temperature = 0.8f, .random = {.seed = seed}};
    request.max_tokens = max_tokens;
    request.samples = samples;
    request.tenant = std::move(tenant);
    return request;
  }
};

// A walk over all of them for each would be a thousand million visits.
TEST_CASE("thirty thousand requests come, are cancelled and end in one step") {
  constexpr uint32_t kRequests = 30000;
  Scene scene;
  const auto engine = scene.NewEngine();
  std::vector<RequestId> ids;
  for (uint32_t i = 0; i < kRequests; ++i) {
    ids.push_back(*engine->Submit(scene.NewRequest(1, 5, 1, std::to_string(i))));
  }
  for (const RequestId id : ids) engine->Cancel(id);
  const auto report = engine->Step();
  REQUIRE(report);
  CHECK(report->rows == 0);
  CHECK(report->events.size() == kRequests);
  CHECK(!engine->has_work());
}

TEST_CASE("a loop whose callers leave goes on at once") {
  constexpr uint32_t kRequests = 20000;
  Scene scene;
  const auto engine = scene.NewEngine();
  EngineLoop loop(*engine);
  std::vector<EngineLoop::Ticket> tickets;
  for (uint32_t i = 0; i < kRequests; ++i) tickets.push_back(*loop.Submit(scene.NewRequest(1, 4000)));
  for (const EngineLoop::Ticket& ticket : tickets) REQUIRE(loop.Cancel(ticket.number));
  for (const EngineLoop::Ticket& ticket : tickets) {
    std::optional<FinishReason> finish;
    while (const auto event = ticket.inbox->Next()) finish = event->finish;
    REQUIRE(*finish == FinishReason::kCancelled);
  }
}

TEST_CASE("cancelling a request ends its samples and no others") {
  Scene scene;
  const auto engine = scene.NewEngine();
  std::vector<RequestId> ids;
  for (uint32_t i = 0; i < 5; ++i) ids.push_back(*engine->Submit(scene.NewRequest(i, 6, 1 + i % 3)));
  Endings endings;
  StepOnce(*engine, endings);
  engine->Cancel(ids[0]);
  engine->Cancel(ids[2]);
  engine->Cancel(ids[2] + 1000);
  while (engine->has_work()) StepOnce(*engine, endings);
  for (const auto& [answer, ended] : endings) {
    const bool is_cancelled = answer.first == ids[0] || answer.first == ids[2];
    CHECK(*ended.finish == (is_cancelled ? FinishReason::kCancelled : FinishReason::kMaxTokens));
  }
  CHECK(endings.size() == 1 + 2 + 3 + 1 + 2);
}

SKALD_LAW("samples begin as there are places for them, and each has what it would have alone", small) {
  const RandomModel model(small, 5);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const auto pool = NewPool(small, {.max_tokens = kMaxContext, .kv_type = DType::kF32});
  auto engine = Engine::Create(model, pool, workspace, {.max_running = 3});
  REQUIRE(engine);
  Request request;
  request.prompt = RandomTokens(small, 7, 40);
  request.sampler = {.temperature = 0.9f, .random = {.seed = 7}};
  request.max_tokens = 4;
  request.samples = 10;
  const RequestId id = *(*engine)->Submit(request);
  Endings endings;
  uint64_t rows = 0;
  while ((*engine)->has_work()) {
    rows += StepOnce(**engine, endings).rows;
    CHECK((*engine)->stats().running <= 3);
  }
  for (uint32_t sample = 0; sample < request.samples; ++sample) {
    CAPTURE(sample);
    CHECK(endings.at({id, sample}).tokens == Alone(model, request, sample, 4, workspace).tokens);
  }
  // The prompt was computed once, and three tokens of each answer.
  CHECK(rows == 40 + 3 * request.samples);
  engine->reset();
  CHECK(pool->usage().used_bytes == 0);
}

TEST_CASE("the end of a prompt that samples wait for goes where memory is needed") {
  const SmallModel& small = SmallModelNamed("small-mamba2");
  const RandomModel model(small, 5);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  RuntimeConfig runtime = {.max_tokens = kMaxContext, .kv_type = DType::kF32};
  runtime.cache_bytes = MemoryModel::Of(*NewLedgerPool(small, runtime)).BytesToReach(60);
  auto engine = Engine::Create(model, NewPool(small, runtime), workspace, {.max_running = 1});
  REQUIRE(engine);
  Request request;
  request.prompt = RandomTokens(small, 7, 40);
  request.sampler = {.temperature = 0.9f, .random = {.seed = 7}};
  request.max_tokens = 4;
  request.samples = 4;
  const RequestId id = *(*engine)->Submit(request);
  const Endings endings = RunToTheEnd(**engine);
  for (uint32_t sample = 0; sample < request.samples; ++sample) {
    CHECK(endings.at({id, sample}).tokens == Alone(model, request, sample, 4, workspace).tokens);
  }
}

TEST_CASE("fair shares: who comes later has half of the places at once, and then as many tokens") {
  Scene scene;
  scene.options.policy = {.policy = Policy::kFairShare, .turn_tokens = 16.0};
  scene.options.max_running = 8;
  const auto engine = scene.NewEngine();
  std::map<RequestId, std::string> tenants;
  for (uint32_t i = 0; i < 30; ++i) tenants[*engine->Submit(scene.NewRequest(i, 2000, 1, "many"))] = "many";
  Endings endings;
  for (int step = 0; step < 50; ++step) StepOnce(*engine, endings);
  const RequestId one = *engine->Submit(scene.NewRequest(100, 2000, 1, "few"));
  const RequestId two = *engine->Submit(scene.NewRequest(101, 2000, 1, "few"));
  uint32_t steps = 0;
  while (!endings.contains({one, 0}) || !endings.contains({two, 0})) {
    REQUIRE(++steps < 400);
    StepOnce(*engine, endings);
  }
  // From here on no tenant has to give way: the places are partitioned.
  const uint64_t preempted = engine->stats().preemptions;
  CHECK(preempted >= 2);
  CHECK(preempted <= 4);
  const size_t begun = endings.at({one, 0}).tokens.size();
  for (int step = 0; step < 200; ++step) StepOnce(*engine, endings);
  CHECK(endings.at({one, 0}).tokens.size() >= begun + 200);
  CHECK(engine->stats().preemptions <= preempted + 8);
}

TEST_CASE("numbers of requests are never used again, whatever was suspended and resumed") {
  Scene scene;
  auto engine = scene.NewEngine();
  std::set<RequestId> used;
  for (uint32_t i = 0; i < 5; ++i) used.insert(*engine->Submit(scene.NewRequest(i, i == 0 ? 100 : 1)));
  Endings endings;
  while (engine->stats().waiting + engine->stats().running > 1) StepOnce(*engine, endings);
  const auto suspended = engine->Suspend();
  REQUIRE(suspended);
  engine = scene.NewEngine();
  REQUIRE(engine->Resume(*suspended));
  const RequestId next = *engine->Submit(scene.NewRequest(9, 1));
  CHECK(used.insert(next).second);
  CHECK(next > *std::prev(used.end(), 1) - 1);
  // An empty engine knows them too.
  for (const RequestId id : used) engine->Cancel(id);
  while (engine->has_work()) StepOnce(*engine, endings);
  const auto nothing = engine->Suspend();
  engine = scene.NewEngine();
  REQUIRE(engine->Resume(*nothing));
  CHECK(used.insert(*engine->Submit(scene.NewRequest(9, 1))).second);
}

}  // namespace many_requests_test
}  // namespace skald::testing
