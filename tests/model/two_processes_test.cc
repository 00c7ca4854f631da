// SPDX-License-Identifier: Apache-2.0
//
// Steps planned in one process, which has no bytes of any block, and carried out in another: the logits are those of
// Forward alone.

#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/cache/steps/step.h"
#include "skald/cache/steps/step_plan_bytes.h"
#include "tests/support/child_process.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace two_processes_test {

constexpr RuntimeConfig kRuntime = {
    .max_tokens = 400, .cache_bytes = 64 << 20, .block_tokens = 32, .resume_point_every = 50, .rewind_tokens = 3};

// One end of a socket pair, over which lists go with their length before them.
class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}

  template <class T>
  bool Send(std::span<const T> list) {
    const uint64_t size = list.size();
    return Write(std::as_bytes(std::span(&size, 1))) && Write(std::as_bytes(list));
  }
  // Empty where the other end is closed.
  template <class T>
  std::vector<T> Receive() {
    uint64_t size = 0;
    if (!Read(std::as_writable_bytes(std::span(&size, 1)))) return {};
    std::vector<T> list(size);
    return Read(std::as_writable_bytes(std::span(list))) ? list : std::vector<T>();
  }
  void Close() { ::close(fd_); }

 private:
  bool Write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
      if (count <= 0) return false;
      bytes = bytes.subspan(static_cast<size_t>(count));
    }
    return true;
  }
  bool Read(std::span<std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::read(fd_, bytes.data(), bytes.size());
      if (count <= 0) return false;
      bytes = bytes.subspan(static_cast<size_t>(count));
    }
    return true;
  }

  int fd_;
};

std::vector<float> Flat(const Outputs& outputs) {
  std::vector<float> all;
  for (size_t i = 0; i < outputs.size(); ++i) all.insert(all.end(), outputs[i].begin(), outputs[i].end());
  return all;
}

// Carries out what comes over `channel` until that is closed, with a model and blocks of its own.
bool ExecutePlans(const SmallModel& small, Channel channel) {
  const RandomModel model(small, 5);
  const auto pool = NewPool(small, kRuntime);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  for (;;) {
    const std::vector<std::byte> bytes = channel.Receive<std::byte>();
    if (bytes.empty()) return true;
    const std::vector<int32_t> tokens = channel.Receive<int32_t>();
    const auto plan = StepPlanFromBytes(bytes, *pool);
    if (!plan) return false;
    const auto outputs = model.Execute(*plan, tokens, *pool, workspace);
    if (!outputs || !channel.Send(std::span<const float>(Flat(*outputs)))) return false;
  }
}

// Plans here and gets outputs from there, and from Forward.
struct Planner {
  Planner(const SmallModel& small, Channel to)
      : channel(to), model(small, 5), ledger(NewLedgerPool(small, kRuntime)), pool(NewPool(small, kRuntime)) {}

  // Two caches that are the same conversation: one without bytes, one with.
  struct Conversation {
    KVCache planned, computed;
  };

  Conversation Begin() { return {*CreateKVCache(ledger), *CreateKVCache(pool)}; }

  void Step(std::vector<std::pair<Conversation*, std::vector<int32_t>>> runs, Want want, uint32_t pass_tokens) {
    Batch planned, computed;
    std::vector<int32_t> tokens;
    for (auto& [conversation, run] : runs) {
      planned.Add(conversation->planned, run, want);
      computed.Add(conversation->computed, run, want);
      tokens.insert(tokens.end(), run.begin(), run.end());
    }
    auto step = skald::Step::Begin(planned, pass_tokens);
    REQUIRE(step);
    REQUIRE(channel.Send(std::span<const std::byte>(*StepPlanToBytes(step->plan()))));
    REQUIRE(channel.Send(std::span<const int32_t>(tokens)));
    const std::vector<float> there = channel.Receive<float>();
    step->Commit();
    const auto here = model.Forward(computed, workspace);
    REQUIRE(here);
    const std::vector<float> expected = Flat(*here);
    REQUIRE(there.size() == expected.size());
    CHECK(std::memcmp(there.data(), expected.data(), expected.size() * sizeof(float)) == 0);
  }

  Channel channel;
  RandomModel model;
  std::shared_ptr<BlockPool> ledger, pool;
  Workspace workspace = *CreateWorkspace({.threads = 1});
};

SKALD_LAW("planned in one process and executed in another, steps give the bits of Forward alone", small) {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  ChildProcess worker([&] {
    ::close(ends[0]);
    return ExecutePlans(small, Channel(ends[1]));
  });
  ::close(ends[1]);
  Planner planner(small, Channel(ends[0]));
  auto a = planner.Begin(), b = planner.Begin();
  const std::vector<int32_t> tokens = RandomTokens(small, 1, 300);
  const auto piece = [&](size_t begin, size_t count) {
    return std::vector<int32_t>(tokens.begin() + static_cast<ptrdiff_t>(begin),
                                tokens.begin() + static_cast<ptrdiff_t>(begin + count));
  };
  planner.Step({{&a, piece(0, 130)}}, Want::kLogits, 33);  // prefill in chunks
  planner.Step({{&a, piece(130, 1)}, {&b, piece(7, 40)}}, Want::kHidden, 512);
  Planner::Conversation fork = {*a.planned.Fork(), *a.computed.Fork()};
  planner.Step({{&a, piece(140, 2)}, {&fork, piece(150, 20)}, {&b, piece(1, 1)}}, Want::kLogits, 8);
  for (const uint32_t position : {131u, 50u}) {
    REQUIRE(a.planned.Truncate(position));
    REQUIRE(a.computed.Truncate(position));
    planner.Step({{&a, piece(200, 9)}, {&fork, piece(3, 1)}}, Want::kLogits, 512);
  }
  if (small.layout.moves_tokens()) {
    REQUIRE(fork.planned.Erase(2, 40));
    REQUIRE(fork.computed.Erase(2, 40));
  }
  b.planned.Clear();
  b.computed.Clear();
  for (size_t i = 0; i < 3; ++i) {
    planner.Step({{&b, piece(i, 35)}, {&fork, piece(60 + i, 1)}, {&a, piece(30 + i, 2)}}, Want::kLogits, 20);
  }
  planner.channel.Close();
  CHECK(worker.Wait());
}

// Two steps of two conversations that have been through something, and their tokens.
std::vector<std::pair<StepPlan, std::vector<int32_t>>> SomePlans(const SmallModel& small,
                                                                 const std::shared_ptr<BlockPool>& ledger) {
  KVCache a = *CreateKVCache(ledger);
  const std::vector<int32_t> prompt = RandomTokens(small, 1, 90), tokens = RandomTokens(small, 2, 8);
  Step::Begin(Batch().Add(a, prompt), 64)->Commit();
  KVCache b = *a.Fork();
  if (small.layout.moves_tokens()) REQUIRE(b.Erase(60, 70));
  const Batch batch = Batch().Add(a, std::span(tokens).first(3)).Add(b, std::span(tokens).subspan(3));
  std::vector<std::pair<StepPlan, std::vector<int32_t>>> plans;
  for (const uint32_t pass_tokens : {4u, 64u}) {
    auto step = Step::Begin(batch, pass_tokens);
    REQUIRE(step);
    plans.push_back({step->plan(), tokens});
  }
  return plans;
}

SKALD_LAW("a damaged plan is refused, or executed without harm to anything but what is computed", small) {
  const RandomModel model(small, 5);
  RuntimeConfig runtime = kRuntime;
  runtime.cache_bytes = 4 << 20;
  const auto pool = NewPool(small, runtime);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  std::mt19937 random(7);
  size_t executed = 0;
  for (const auto& [plan, tokens] : SomePlans(small, NewLedgerPool(small, runtime))) {
    const std::vector<std::byte> bytes = *StepPlanToBytes(plan);
    REQUIRE(model.Execute(plan, tokens, *pool, workspace));
    for (int i = 0; i < 400; ++i) {
      std::vector<std::byte> damaged = bytes;
      damaged[random() % damaged.size()] ^= static_cast<std::byte>(1u << random() % 8);
      const auto read = StepPlanFromBytes(damaged, *pool);
      if (read && model.Execute(*read, tokens, *pool, workspace)) ++executed;
    }
  }
  CHECK(executed > 0);  // other blocks than those that were meant, other wishes
}

TEST_CASE("what cannot be executed is refused by name, and a pool without bytes cannot compute") {
  const RandomModel model(SmallModelNamed("one-layer"), 1);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const auto pool = NewPool(SmallModelNamed("one-layer")), other = NewPool(SmallModelNamed("all-features"));
  const auto ledger = NewLedgerPool(SmallModelNamed("one-layer"));
  KVCache cache = *CreateKVCache(ledger);
  const std::vector<int32_t> tokens = {1, 2, 3}, bad = {1, 2, 300};
  const auto step = Step::Begin(Batch().Add(cache, tokens), 8);
  REQUIRE(step);
  const auto refused = [](const auto& result, ErrorCode code, const std::string& text) {
    REQUIRE_FALSE(result);
    CHECK(result.error().code == code);
    CHECK(result.error().message.find(text) != std::string::npos);
  };
  const auto execute = [&](const StepPlan& plan, std::span<const int32_t> run, BlockPool& in) {
    return model.Execute(plan, run, in, workspace);
  };
  refused(execute(step->plan(), std::span(tokens).first(2), *pool), ErrorCode::kInvalidArgument, "for 3 tokens");
  refused(model.Execute(step->plan(), tokens, *pool, workspace, {.pass_tokens = 2}), ErrorCode::kInvalidArgument,
          "passes of up to 3 tokens");
  refused(execute(step->plan(), bad, *pool), ErrorCode::kInvalidArgument, "token 2 has the id 300");
  refused(execute(step->plan(), tokens, *other), ErrorCode::kInvalidArgument, "another layout");
  refused(execute(step->plan(), tokens, *ledger), ErrorCode::kFailedPrecondition, "CreateLedgerPool");
  refused(model.Forward(cache, tokens, workspace), ErrorCode::kFailedPrecondition, "CreateLedgerPool");
  refused(execute(Step::Plan(Batch().Add(cache, tokens), 8)->plan(), tokens, *pool), ErrorCode::kDataLoss,
          "names a block that the pool cannot have");  // no blocks were taken for it
  CHECK(execute(step->plan(), tokens, *pool));
}

}  // namespace two_processes_test
}  // namespace skald::testing
