// SPDX-License-Identifier: Apache-2.0
//
// 64 users for a long time on a pool that holds a few of their conversations: never more than the byte limit, no growth
// of memory, everything given back, and answers that are those of computing alone. 500 steps as a rule;
// SKALD_SOAK_SECONDS in the environment asks for more, and tells each minute what there is.

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/engine/engine.h"
#include "skald/engine/speculation/prompt_lookup.h"
#include "skald/store/backends/memory_store.h"
#include "tests/engine/alone.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace soak_test {

uint64_t ResidentBytes() {
  uint64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Users who write, read the answer, and continue or start again; some leave before the answer is complete.
class Users {
 public:
  static constexpr uint32_t kUsers = 64;

  explicit Users(const SmallModel& small) : small_(small) {
    EngineOptions options;
    options.max_running = 16;
    options.step_tokens = 64;
    options.policy.policy = Policy::kFairShare;
    options.identity.weights[0] = std::byte{1};
    prompts_ = PromptCache::Create(pool_, options.identity).value();
    options.prompts = {prompts_.get()};
    options.drafter = &lookup_;
    options.swap.emplace(store_);
    engine_ = Engine::Create(model_, pool_, workspace_, options).value();
    for (uint32_t user = 0; user < kUsers; ++user) Write(user);
  }

  void Step() {
    const auto report = engine_->Step();
    REQUIRE(report);
    for (const Event& event : report->events) Note(event);
    REQUIRE(pool_->usage().used_bytes <= pool_->usage().limit_bytes);
    if (random_() % 50 == 0) engine_->Cancel(std::next(answers_.begin(), random_() % answers_.size())->first);
  }

  // All users leave, and all memory is free.
  void Leave() {
    for (const auto& [id, answer] : answers_) engine_->Cancel(id);
    while (engine_->has_work()) REQUIRE(engine_->Step());
    engine_.reset();
    prompts_.reset();
    CHECK(pool_->usage().used_bytes == 0);
    CHECK(store_.used_bytes() == 0);
  }

  uint64_t answers() const { return whole_; }
  EngineStats stats() const { return engine_->stats(); }

 private:
  struct Answer {
    uint32_t user;
    Request request;
    std::vector<int32_t> tokens;
  };

  // The user's earlier text and one more sentence.
  void Write(uint32_t user) {
    std::vector<int32_t>& said = said_[user];
    if (said.size() > kMaxContext - 80) said.clear();
    if (said.empty()) said = RandomTokens(small_, user % 4, 60);  // what a system tells a model
    const std::vector<int32_t> more = RandomTokens(small_, random_(), 1 + random_() % 20);
    said.insert(said.end(), more.begin(), more.end());
    Request request;
    request.prompt = said;
    request.sampler = {.temperature = 0.7f, .random = {.seed = random_()}};
    request.max_tokens = 1 + random_() % 30;
    request.tenant = user % 3 == 0 ? "one" : "";
    const auto id = engine_->Submit(request);
    REQUIRE(id);
    answers_[*id] = {user, std::move(request), {}};
  }

  void Note(const Event& event) {
    Answer& answer = answers_.at(event.request);
    for (const SampledToken& token : event.tokens) answer.tokens.push_back(token.id);
    REQUIRE(!event.error);
    if (!event.finish) return;
    const auto ended = answers_.extract(event.request);
    const Answer& last = ended.mapped();
    if (*event.finish == FinishReason::kCancelled) {
      said_[last.user].clear();
    } else {
      if (++whole_ % 16 == 0)
        CHECK(last.tokens == Alone(model_, last.request, 0, *last.request.max_tokens, alone_).tokens);
      said_[last.user].insert(said_[last.user].end(), last.tokens.begin(), last.tokens.end());
    }
    Write(last.user);
  }

  // For about three of the longest conversations.
  std::shared_ptr<BlockPool> SmallPool() const {
    RuntimeConfig runtime = {.max_tokens = kMaxContext, .kv_type = DType::kF32, .block_tokens = 32};
    runtime.cache_bytes = MemoryModel::Of(*NewLedgerPool(small_, runtime)).BytesFor(kMaxContext) * 3;
    return NewPool(small_, runtime);
  }

  const SmallModel& small_;
  const RandomModel model_{small_, 3};
  std::minstd_rand random_{1};
  Workspace workspace_ = *CreateWorkspace({.threads = 1}), alone_ = *CreateWorkspace({.threads = 1});
  std::shared_ptr<BlockPool> pool_ = SmallPool();
  MemoryStore store_{uint64_t{1} << 26};
  PromptLookup lookup_{{.longest = 3, .shortest = 1}};
  std::unique_ptr<PromptCache> prompts_;
  std::unique_ptr<Engine> engine_;
  std::map<RequestId, Answer> answers_;
  std::map<uint32_t, std::vector<int32_t>> said_;
  uint64_t whole_ = 0;
};

TEST_CASE("64 users for a long time: no more than the limit, no growth, every answer as alone") {
  const char* const wanted = std::getenv("SKALD_SOAK_SECONDS");
  const double seconds = wanted != nullptr ? std::atof(wanted) : 0.0;
  Users users(SmallModelNamed("hybrid"));
  for (int step = 0; step < 500; ++step) users.Step();
  uint64_t halves[2] = {0, 0};  // most resident bytes of each half of the time
  const double begin = SteadySeconds();
  double told = begin;
  for (double now = begin; now < begin + seconds; now = SteadySeconds()) {
    for (int step = 0; step < 100; ++step) users.Step();
    uint64_t& most = halves[now - begin < seconds / 2 ? 0 : 1];
    most = std::max(most, ResidentBytes());
    if (now < told + 60.0) continue;
    told = now;
    const EngineStats stats = users.stats();
    std::cout << static_cast<int>(now - begin) << " s: " << users.answers() << " answers, " << stats.steps << " steps, "
              << stats.preemptions << " preemptions, " << stats.swapped_in << " swapped in, " << stats.accepted_tokens
              << " guesses taken, " << ResidentBytes() / 1024 << " KiB resident" << std::endl;
  }
  CHECK(users.answers() > 0);
  CHECK(users.stats().preemptions > 0);
  // The allocator's own steps are a few hundred KiB; a few hundred bytes lost with each answer would be more.
  constexpr uint64_t kSteps = uint64_t{1} << 20;
  if (seconds >= 600.0) CHECK(halves[1] <= halves[0] + kSteps);
  users.Leave();
}

}  // namespace soak_test
}  // namespace skald::testing
