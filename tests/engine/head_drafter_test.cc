// SPDX-License-Identifier: Apache-2.0
//
// Heads that read the residual stream: a head that computes what the model does is right, one of random weights is
// wrong, and neither changes a text. (random_schedules_test.cc has them in random schedules.)

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/cache/create.h"
#include "skald/engine/engine.h"
#include "skald/engine/speculation/head_drafter.h"
#include "skald/engine/speculation/new_head_drafter.h"
#include "skald/families/config/usual_layer.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/model/heads/assistant_head.h"
#include "skald/model/heads/draft_head.h"
#include "skald/model/load.h"
#include "skald/weights/packing/pack.h"
#include "tests/engine/run_engine.h"
#include "tests/support/check_error.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace head_drafter_test {

constexpr size_t kDim = 32;

// Two layers that see five tokens back each, from normalised embeddings.
SmallModel ShortSighted() {
  SmallModel small = {.name = "short-sighted", .spec = {.model_dim = kDim, .vocab_size = 80}, .layout = CacheLayout()};
  small.spec.embedding_norm = RmsNorm();
  for (uint32_t i = 0; i < 2; ++i) {
    AddUsualLayer(small.spec, i, RmsNorm(),
                  Attention{.heads = 4,
                            .kv_heads = 2,
                            .head_dim = 8,
                            .rotary_dim = 8,
                            .window = 6,
                            .rope = {.base = 10000.0},
                            .query_pre_scale = 8.0},
                  GatedFeedForward{.width = 48});
  }
  small.layout = LayoutOf(small.spec);
  return small;
}

// The first `kDim` of twice as many columns.
Matrix LeftHalf() {
  std::vector<float> values(kDim * 2 * kDim);
  for (size_t i = 0; i < kDim; ++i) values[i * 2 * kDim + i] = 1.0f;
  ThreadPool pool(1);
  const PackSource source = {reinterpret_cast<const std::byte*>(values.data()), DType::kF32, kDim};
  return PackMatrix({&source, 1}, 2 * kDim, *FindType(WeightPackersOf<AllWeights>(), DType::kF32), ExecutorRef(pool));
}

// All layers of the model, after the embedding alone: right as soon as the text's first token is out of sight.
DraftHead PerfectHead(const SmallModel& small, const AnyModel& model, uint64_t seed) {
  ModelSpec spec = small.spec;
  spec.embedding_norm.reset();
  HeadWeights weights(spec, model);
  ModelWeights same = *RandomWeights(small.spec, seed, DType::kF32);
  weights.body.blocks = std::move(same.blocks);
  weights.body.final_norm = std::move(same.final_norm);
  weights.parts.embedding_norm = std::move(same.embedding_norm);
  weights.parts.hidden_norm = std::move(RandomWeights(small.spec, seed + 1, DType::kF32)->final_norm);
  weights.parts.projection = LeftHalf();
  return {model, std::move(weights)};
}

struct Drafted {
  Endings endings;
  EngineStats stats;
};

// Three texts, two of them side by side, at a temperature.
Drafted Write(const RandomModel& model, Drafter* drafter, float temperature) {
  Workspace workspace = *CreateWorkspace({.threads = 1});
  EngineOptions options;
  options.max_running = 2;
  options.step_tokens = 16;
  options.drafter = drafter;
  options.max_drafts = 3;
  options.clock = [] { return 0.0; };  // nothing is known of costs: as many guesses as are allowed
  const RuntimeConfig runtime = {.max_tokens = 256, .kv_type = DType::kF32, .rewind_tokens = 3};
  const auto engine = *Engine::Create(model, NewPool(model.small(), runtime), workspace, options);
  for (uint64_t i = 0; i < 3; ++i) {
    Request request = {.prompt = RandomTokens(model.small(), i, 20 + 9 * i), .max_tokens = 40};
    request.sampler.temperature = temperature;
    request.sampler.random.seed = i;
    REQUIRE(engine->Submit(request));
  }
  Drafted drafted;
  drafted.endings = RunToTheEnd(*engine);
  drafted.stats = engine->stats();
  return drafted;
}

void CheckSame(const Endings& a, const Endings& b) {
  REQUIRE(a.size() == b.size());
  for (const auto& [of, ended] : a) {
    CHECK(!ended.error);
    CHECK(ended.tokens == b.at(of).tokens);
  }
}

std::shared_ptr<BlockPool> PoolOf(const DraftHead& head) {
  return *CreateBlockPool(head.body().layout(), {.max_tokens = 256, .kv_type = DType::kF32, .rewind_tokens = 3});
}

TEST_CASE("a head that computes what the model does is right, and changes no text") {
  const SmallModel small = ShortSighted();
  const RandomModel model(small, 3, DType::kF32);
  const DraftHead head = PerfectHead(small, model.any(), 3);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  for (const float temperature : {0.0f, 0.8f, 1.5f}) {
    CAPTURE(temperature);
    HeadDrafter drafter(head, PoolOf(head), workspace);
    const Drafted plain = Write(model, nullptr, temperature), drafted = Write(model, &drafter, temperature);
    CheckSame(drafted.endings, plain.endings);
    REQUIRE(drafted.stats.drafted_tokens > 30);
    CHECK(drafted.stats.accepted_tokens * 10 >= drafted.stats.drafted_tokens * 9);
    CHECK(drafted.stats.steps < plain.stats.steps);
  }
}

SKALD_LAW("a head of random weights changes no text", small) {
  const RandomModel model(small, 3);
  const auto head = RandomPredictionHead(model.any(), 7);
  if (!head) {
    CHECK(head.error().code == ErrorCode::kUnsupported);
    return;
  }
  Workspace workspace = *CreateWorkspace({.threads = 1});
  HeadDrafter drafter(*head, PoolOf(*head), workspace);
  const Drafted plain = Write(model, nullptr, 0.8f), drafted = Write(model, &drafter, 0.8f);
  CheckSame(drafted.endings, plain.endings);
  CHECK(drafted.stats.drafted_tokens > 0);
}

SKALD_LAW("a head that reads the caches changes no text", small) {
  const RandomModel model(small, 3);
  const auto head = RandomAssistantHead(model.any(), 7);
  if (!head) {
    CHECK(head.error().code == ErrorCode::kUnsupported);
    return;
  }
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const auto drafter = *NewHeadDrafter(*head, {}, workspace);
  const Drafted plain = Write(model, nullptr, 0.8f), drafted = Write(model, drafter.get(), 0.8f);
  CheckSame(drafted.endings, plain.endings);
  CHECK(drafted.stats.drafted_tokens > 0);
}

TEST_CASE("a model with cross-attention is computed beside a cache that it can read, and not without") {
  const SmallModel small = ShortSighted();
  const RandomModel model(small, 3, DType::kF32), other(SmallModels().front(), 3);
  const DraftHead head = *RandomAssistantHead(model.any(), 7);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = NewCache(small), empty = NewCache(small), foreign = NewCache(other.small());
  REQUIRE(model.Forward(cache, RandomTokens(small, 1, 20), workspace));
  REQUIRE(other.Forward(foreign, RandomTokens(other.small(), 1, 20), workspace));
  const std::vector<int32_t> tokens = {1};
  const std::vector<Want> wants = {Want::kHidden};
  WholeText text = {.tokens = tokens, .wants = wants};
  const auto encode = [&](const KVCache* beside) {
    text.beside = beside;
    return head.body().Encode({&text, 1}, workspace);
  };
  CHECK(encode(&cache));
  CheckError(encode(nullptr), ErrorCode::kInvalidArgument, "there is none beside it");
  CheckError(encode(&empty), ErrorCode::kInvalidArgument, "has no tokens");
  CheckError(encode(&foreign), ErrorCode::kInvalidArgument, "no layer of the form");
  const std::vector<WholeText> both = {{.tokens = tokens, .wants = wants, .beside = &cache},
                                       {.tokens = tokens, .wants = wants, .beside = &foreign}};
  CheckError(head.body().Encode(both, workspace), ErrorCode::kInvalidArgument, "several pools");
  REQUIRE(cache.Erase(15, 16));
  CheckError(encode(&cache), ErrorCode::kFailedPrecondition, "was edited");
}

// Notes what it is told.
class Listener : public Drafter {
 public:
  explicit Listener(std::vector<size_t> watches) : watches_(std::move(watches)) {}
  std::span<const size_t> Watches() const override { return watches_; }
  Result<void> Draft(std::span<DraftTask> tasks) override {
    for (const DraftTask& task : tasks) {
      if (task.rows.values.empty()) continue;
      std::vector<float>& rows = told[task.sequence];
      CHECK(rows.size() == task.rows.begin * watches_.size() * kDim);
      rows.insert(rows.end(), task.rows.values.begin(), task.rows.values.end());
    }
    return {};
  }

  std::map<uint64_t, std::vector<float>> told;

 private:
  std::vector<size_t> watches_;
};

TEST_CASE("a drafter is told the rows of the places that it watches, each once") {
  const SmallModel small = ShortSighted();
  const RandomModel model(small, 3, DType::kF32);
  Listener listener({4, 1});
  const Drafted written = Write(model, &listener, 0.0f);
  REQUIRE(listener.told.size() == 3);
  // The rows of the first text, as a hook in it alone sees them.
  std::vector<int32_t> text = RandomTokens(small, 0, 20);
  const std::vector<int32_t>& answer = written.endings.begin()->second.tokens;
  text.insert(text.end(), answer.begin(), answer.end() - 1);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = NewCache(small, {.kv_type = DType::kF32});
  std::vector<float> expected(text.size() * 2 * kDim);
  const auto watch = [&](const HookRows& stream) {
    for (size_t i = 0; i < stream.rows(); ++i) {
      const size_t at = (2 * i + (stream.place.block == 1 ? 1 : 0)) * kDim;
      std::ranges::copy(stream.row(i), expected.begin() + static_cast<std::ptrdiff_t>(at));
    }
  };
  REQUIRE(model.Forward(cache, text, workspace, {.hooks = {{StreamBefore(1), watch}, {StreamBefore(4), watch}}}));
  std::vector<float> told = listener.told.begin()->second;
  // The last token ends the text before its row is told.
  REQUIRE(told.size() >= expected.size() - 4 * kDim);
  expected.resize(told.size());
  CHECK(told == expected);
}

}  // namespace head_drafter_test
}  // namespace skald::testing
