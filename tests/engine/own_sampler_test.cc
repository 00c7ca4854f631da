// SPDX-License-Identifier: Apache-2.0
//
// Samplers of the caller's own: an answer is the same alone, in batches, with drafts, and after its engine was
// suspended. An error of such a sampler ends its own request.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/engine/engine.h"
#include "skald/engine/speculation/prompt_lookup.h"
#include "skald/sampling/token_sampler.h"
#include "tests/engine/alone.h"
#include "tests/engine/own_sampler.h"
#include "tests/engine/run_engine.h"
#include "tests/support/check_error.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace own_sampler_test {

static_assert(TokenSampler<NoTokenTwice>);
static_assert(TokenSampler<AnySampler>);
static_assert(!TokenSampler<int>);

// Draws the same token always, right or wrong.
struct Always {
  int32_t id;

  Result<SampledToken> Draw(std::span<const float>, const DrawContext&, SamplerScratch&) const {
    SampledToken token;
    token.id = id;
    return token;
  }
};

struct Refuses {
  ErrorCode code;

  Result<SampledToken> Draw(std::span<const float>, const DrawContext&, SamplerScratch&) const {
    return Fail(code, "it does not want to");
  }
};

class Bench {
 public:
  std::unique_ptr<Engine> NewEngine(bool drafts = false) {
    EngineOptions options;
    options.step_tokens = 16;
    if (drafts) options.drafter = &lookup_;
    auto engine = Engine::Create(model_, pool_, workspace_, options);
    REQUIRE(engine);
    return std::move(*engine);
  }

  Request RequestOf(uint32_t seed, AnySampler sampler) const {
    Request request;
    request.prompt = RandomTokens(small_, seed, 20 + seed);
    request.max_tokens = 10;
    request.sampler.temperature = 0.9f;
    request.sampler.random.seed = seed;
    request.sampler.num_logprobs = 0;
    request.own_sampler = std::move(sampler);
    return request;
  }

  std::vector<int32_t> AloneOf(const Request& request, uint32_t sample = 0) {
    return Alone(model_, request, sample, *request.max_tokens, workspace_).tokens;
  }

  // The answer to one request on an engine of its own.
  Ended Run(AnySampler sampler, std::shared_ptr<const TokenFilter> filter = {}) {
    const auto engine = NewEngine();
    Request request = RequestOf(1, std::move(sampler));
    request.filter = std::move(filter);
    const auto id = engine->Submit(std::move(request));
    REQUIRE(id);
    return RunToTheEnd(*engine)[{*id, 0}];
  }

  int32_t vocab_size() const { return small_.spec.vocab_size; }

 private:
  const SmallModel& small_ = SmallModelNamed("one-layer");
  const RandomModel model_{small_, 5};
  std::shared_ptr<BlockPool> pool_ = NewPool(small_, {.max_tokens = kMaxContext, .kv_type = DType::kF32});
  Workspace workspace_ = *CreateWorkspace({.threads = 1});
  PromptLookup lookup_{{.longest = 2, .shortest = 1}};
};

TEST_CASE("an answer is the same alone and beside others, with guesses and without") {
  Bench bench;
  for (const bool drafts : {false, true}) {
    const auto engine = bench.NewEngine(drafts);
    std::vector<Request> requests;
    for (uint32_t seed = 1; seed <= 4; ++seed) {
      requests.push_back(bench.RequestOf(seed, seed % 2 == 0 ? AnySampler() : AnySampler(NoTokenTwice())));
    }
    requests[0].samples = 3;
    std::vector<RequestId> ids;
    for (const Request& request : requests) ids.push_back(*engine->Submit(request));
    Endings endings = RunToTheEnd(*engine);
    for (size_t i = 0; i < requests.size(); ++i) {
      for (uint32_t sample = 0; sample < requests[i].samples; ++sample) {
        CHECK(endings[{ids[i], sample}].tokens == bench.AloneOf(requests[i], sample));
      }
    }
    // It does what it is for.
    std::vector<int32_t> sorted = endings[{ids[0], 0}].tokens;
    std::ranges::sort(sorted);
    CHECK(std::ranges::adjacent_find(sorted) == sorted.end());
  }
}

TEST_CASE("a suspended request goes on with a sampler that is made again, or is refused") {
  Bench bench;
  const Request request = bench.RequestOf(1, NoTokenTwice());
  auto engine = bench.NewEngine();
  const RequestId id = *engine->Submit(request);
  Endings endings;
  for (int i = 0; i < 5; ++i) StepOnce(*engine, endings);
  const auto bytes = engine->Suspend();
  REQUIRE(bytes);
  engine = bench.NewEngine();
  CheckError(engine->Resume(*bytes), ErrorCode::kInvalidArgument,
             "request 1 has a sampler of its own; make_sampler is empty");
  CHECK(!engine->has_work());
  REQUIRE(engine->Resume(*bytes, {}, [](const Request&) -> Result<AnySampler> { return AnySampler(NoTokenTwice()); }));
  while (engine->has_work()) StepOnce(*engine, endings);
  CHECK(endings[{id, 0}].tokens == bench.AloneOf(request));
}

TEST_CASE("what a sampler draws is checked, and its errors end its request") {
  Bench bench;
  for (const int32_t id : {-1, bench.vocab_size()}) {
    const Ended ended = bench.Run(Always{id});
    CHECK(ended.finish == FinishReason::kError);
    REQUIRE(ended.error);
    CHECK(ended.error->message == "the caller's own sampler drew the token " + std::to_string(id) + ", expected 0 to " +
                                      std::to_string(bench.vocab_size() - 1));
  }
  const Ended banned = bench.Run(Always{1}, std::make_shared<EveryThird>(bench.vocab_size()));
  REQUIRE(banned.error);
  CHECK(banned.error->message == "the caller's own sampler drew the token 1, which is not allowed");
  const Ended refused = bench.Run(Refuses{ErrorCode::kOutOfRange});
  REQUIRE(refused.error);
  CHECK(refused.error->code == ErrorCode::kOutOfRange);
  const Ended starved = bench.Run(Refuses{ErrorCode::kResourceExhausted});  // repeated, but not for ever
  REQUIRE(starved.error);
  CHECK(starved.error->code == ErrorCode::kResourceExhausted);
  CHECK(bench.Run(Always{1}).tokens == std::vector<int32_t>(10, 1));
}

#if defined(__cpp_exceptions)
TEST_CASE("a sampler that throws ends its request") {
  struct Throws {
    Result<SampledToken> Draw(std::span<const float>, const DrawContext&, SamplerScratch&) const {
      throw std::runtime_error("it throws");
    }
  };
  const Ended ended = Bench().Run(Throws());
  REQUIRE(ended.error);
  CHECK(ended.error->message == "the caller's own sampler: it throws");
}
#endif

}  // namespace own_sampler_test
}  // namespace skald::testing
