// SPDX-License-Identifier: Apache-2.0
//
// Engines when memory runs out: whichever allocation of Submit, Step, Suspend or Resume fails, no request is lost or
// ended by it, and every answer is what it is where there always was memory.

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/engine/engine.h"
#include "skald/engine/speculation/prompt_lookup.h"
#include "skald/store/backends/memory_store.h"
#include "tests/allocation/fail_each.h"
#include "tests/allocation/the_model.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace engine_test {

// An engine with too little memory for all of its requests, and what they got so far.
class Serving {
 public:
  Serving(const SmallModel& of, uint32_t steps) : small_(of) {
    engine = MakeEngine();
    spare = {RequestOf(1), RequestOf(1)};
    for (uint32_t i = 0; i < 5; ++i) REQUIRE(engine->Submit(RequestOf(i)));
    for (uint32_t step = 0; step < steps && engine->has_work(); ++step) Note(engine->Step().value());
  }

  std::unique_ptr<Engine> MakeEngine() {
    prompts_ = PromptCache::Create(pool_, options_.identity).value();
    options_.prompts = {prompts_.get()};
    options_.drafter = &lookup_;
    options_.step_tokens = 24;
    options_.max_running = 4;
    options_.clock = [this] { return now_ += 1e-3; };
    options_.policy.policy = Policy::kPriority;
    options_.swap.emplace(store_);
    return Engine::Create(TheModel(small_), pool_, workspace_, options_).value();
  }

  // Of different kinds, the later ones the more urgent.
  Request RequestOf(uint32_t i) const {
    Request request;
    request.prompt = RandomTokens(small_, i / 2, 40);
    request.sampler = {.temperature = 0.8f, .presence_penalty = 0.5f, .random = {.seed = i}, .num_logprobs = 2};
    request.max_tokens = 8;
    request.priority = static_cast<int32_t>(i);
    request.samples = i == 1 ? 2 : 1;
    request.tenant = i % 2 == 0 ? "a tenant with a name of more than a few letters" : "";
    if (i == 2) request.branch_points = {20};
    if (i == 3) request.prompt_logprobs = 1;
    if (i == 4) request.embedding = PromptEmbedding::kMean;
    request.digest_logits = true;
    return request;
  }

  void Note(const StepReport& report) {
    for (const Event& event : report.events) {
      std::string& got = got_[{event.request, event.sample}];
      for (const std::vector<SampledToken>* tokens : {&event.prompt_tokens, &event.tokens}) {
        for (const SampledToken& token : *tokens) {
          got += std::to_string(token.id) + " " + std::to_string(*token.logprob) + ", ";
        }
      }
      got += BytesIn(event.embedding);
      if (event.error) got += event.error->message;
      if (event.finish) got += "end " + std::to_string(static_cast<int>(*event.finish));
      if (event.finish) got += " digest " + std::to_string(event.usage.logits_digest);
    }
  }

  // The answers of all requests when they are at their ends, and the state that is left.
  std::string GoOn() {
    for (uint32_t steps = 0; engine->has_work(); ++steps) {
      REQUIRE(steps < 1000);
      Note(engine->Step().value());
    }
    std::string text;
    for (const auto& [who, got] : got_) {
      text += std::to_string(who.first) + "." + std::to_string(who.second) + ": " + got + "\n";
    }
    engine.reset();
    prompts_.reset();
    return text + std::to_string(pool_->usage().used_bytes) + " bytes, " + std::to_string(store_.used_bytes());
  }

  std::unique_ptr<Engine> engine;
  std::vector<std::byte> suspended;
  std::vector<Request> spare;  // not submitted yet

 private:
  std::shared_ptr<BlockPool> MakePool() const {
    RuntimeConfig runtime = kRuntime;
    runtime.cache_bytes = MemoryModel::Of(*NewLedgerPool(small_, runtime)).BytesFor(60) * 2;
    return NewPool(small_, runtime);
  }

  const SmallModel& small_;
  std::shared_ptr<BlockPool> pool_ = MakePool();
  Workspace workspace_ = *CreateWorkspace({.threads = 1});
  MemoryStore store_{uint64_t{1} << 28};
  std::unique_ptr<PromptCache> prompts_;
  PromptLookup lookup_{{.longest = 2, .shortest = 1}};
  EngineOptions options_;
  double now_ = 0.0;
  std::map<std::pair<RequestId, uint32_t>, std::string> got_;
};

const std::vector<const SmallModel*>& Some() {
  static const std::vector<const SmallModel*> some = {&SmallModelNamed("one-layer"), &SmallModels()[0],
                                                      &SmallModels()[1]};
  return some;
}

TEST_CASE("Engine::Submit") {
  for (const SmallModel* const small : Some()) {
    FailEachAllocation(
        small->name + ": Submit", [&] { return std::make_unique<Serving>(*small, 3); },
        [](Serving& scene) {
          Request request = std::move(scene.spare.back());
          scene.spare.pop_back();
          return scene.engine->Submit(std::move(request));
        },
        [](Serving& scene, const auto&) { return scene.GoOn(); });
  }
}

TEST_CASE("Engine::Step") {
  for (const SmallModel* const small : Some()) {
    for (const uint32_t steps : {0, 1, 4, 9}) {
      FailEachAllocation(
          small->name + ": Step after " + std::to_string(steps),
          [&] { return std::make_unique<Serving>(*small, steps); }, [](Serving& scene) { return scene.engine->Step(); },
          [](Serving& scene, const Result<StepReport>& report) {
            scene.Note(*report);
            return scene.GoOn();
          });
    }
  }
}

TEST_CASE("Engine::Suspend and Resume") {
  for (const SmallModel* const small : Some()) {
    for (const uint32_t steps : {1, 5}) {
      FailEachAllocation(
          small->name + ": Suspend", [&] { return std::make_unique<Serving>(*small, steps); },
          [](Serving& scene) { return scene.engine->Suspend(); },
          [](Serving& scene, const auto& suspended) {
            if (scene.engine->has_work()) scene.Note(scene.engine->Step().value());  // what was at its end
            scene.engine = scene.MakeEngine();
            REQUIRE(scene.engine->Resume(*suspended));
            return scene.GoOn();
          });
      FailEachAllocation(
          small->name + ": Resume",
          [&] {
            auto scene = std::make_unique<Serving>(*small, steps);
            scene->suspended = scene->engine->Suspend().value();
            if (scene->engine->has_work()) scene->Note(scene->engine->Step().value());
            scene->engine = scene->MakeEngine();
            return scene;
          },
          [](Serving& scene) { return scene.engine->Resume(scene.suspended); },
          [](Serving& scene, const auto&) { return scene.GoOn(); });
    }
  }
}

}  // namespace engine_test
}  // namespace skald::testing
