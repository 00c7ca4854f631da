// SPDX-License-Identifier: Apache-2.0
//
// The gain of heads that guess tokens beside plain decoding, on the shapes of published models: what a guess costs
// against a token, and how much faster texts are if so many guesses are right. Weights are random, so the head computes
// its guesses, and they are then replaced by right and wrong ones. A filter that allows nothing else gives the text.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/engine/one_text.h"
#include "skald/cache/create.h"
#include "skald/engine/engine.h"
#include "skald/engine/speculation/new_head_drafter.h"
#include "skald/families/config/model_config.h"
#include "skald/families/gemma4/gemma4.h"
#include "skald/families/llama/llama.h"
#include "skald/families/qwen3_next/qwen3_next.h"
#include "skald/layers/standard_layers.h"
#include "skald/model/any_model.h"
#include "skald/model/heads/assistant_head.h"
#include "skald/model/heads/draft_head.h"
#include "skald/model/load.h"

namespace skald {
namespace {

using benchmarks::OneText;
using benchmarks::Tokens;

constexpr size_t kPromptTokens = 100, kAnswerTokens = 40;
constexpr int32_t kVocabulary = 30000;  // tokens of the text

// Those of Gemma 4 E2B without inputs of each layer, which an embedding of 2.3 billion numbers gives.
ModelSpec Gemma4() {
  return Gemma4Spec({.model_dim = 1536,
                     .feed_forward_dim = 6144,
                     .slides = Gemma4Slides(35, 5),
                     .heads = 8,
                     .kv_heads = 1,
                     .full_kv_heads = 1,
                     .shared_layers = 20,
                     .wide_shared = true});
}

ModelSpec SpecOfShape(int64_t shape) {
  return shape == 0 ? SpecOf<Qwen3_5_0_8B>() : shape == 1 ? SpecOf<Llama3_2_1B>() : Gemma4();
}

// Guesses with a head, each of them right with a chance.
class Simulated : public Drafter {
 public:
  Simulated(Drafter& head, const Tokens& text, double chance) : head_(head), text_(text), chance_(chance) {}

  std::span<const size_t> Watches() const override { return head_.Watches(); }
  uint32_t MostDrafts() const override { return head_.MostDrafts(); }
  void Forget(uint64_t sequence) override { head_.Forget(sequence); }
  Result<void> Draft(std::span<DraftTask> tasks) override {
    const double begin = SteadySeconds();
    SKALD_TRY(head_.Draft(tasks));
    const double seconds = SteadySeconds() - begin;
    size_t guesses = 0;
    for (DraftTask& task : tasks) {
      guesses += task.drafts.size();
      for (size_t i = 0; i < task.drafts.size(); ++i) {
        const size_t at = task.tokens.size() + i;
        const bool is_right = std::bernoulli_distribution(chance_)(random_);
        task.drafts[i] = is_right && at < text_.size() ? text_[at] : kVocabulary + 1;
      }
    }
    if (guesses > 0) seconds_ += seconds;
    guesses_ += guesses;
    return {};
  }

  // Of those since the last call.
  double SecondsOfGuess() {
    const double mean = guesses_ == 0 ? 0.0 : seconds_ / static_cast<double>(guesses_);
    seconds_ = 0.0, guesses_ = 0;
    return mean;
  }

 private:
  Drafter& head_;
  const Tokens& text_;
  const double chance_;
  std::mt19937 random_{1};
  double seconds_ = 0.0;
  size_t guesses_ = 0;
};

struct Server {
  explicit Server(int64_t its_shape)
      : shape(its_shape), model("shape", RandomWeights(SpecOfShape(shape), 1).value(), StandardLayers::Functions()) {}

  int64_t shape;
  AnyModel model;
  DraftHead head =
      shape == 2 ? RandomAssistantHead(model, 2, DType::kBF16, 2048).value() : RandomPredictionHead(model, 2).value();
  Workspace workspace = CreateWorkspace({.threads = 2}).value();
  Workspace head_workspace = CreateWorkspace({.threads = 2}).value();

  std::unique_ptr<Drafter> NewDrafter() { return NewHeadDrafter(head, {}, head_workspace).value(); }
};

// One shape at a time has weights.
Server& ServerOf(int64_t shape) {
  static std::optional<Server> server;
  if (server && server->shape != shape) server.reset();
  if (!server) server.emplace(shape);
  return *server;
}

Tokens RandomText() {
  std::mt19937 random(3);
  Tokens text(kPromptTokens + kAnswerTokens);
  for (int32_t& id : text) id = static_cast<int32_t>(random() % kVocabulary);
  return text;
}

// Seconds from the first token of the answers to the last one.
double SecondsToWrite(Engine& engine, const Tokens& text, size_t vocab_size, int64_t texts, uint32_t max_drafts) {
  const auto answer = text.begin() + static_cast<std::ptrdiff_t>(kPromptTokens);
  for (int64_t i = 0; i < texts; ++i) {
    Request request;
    request.prompt.assign(text.begin(), answer);
    request.filter = std::make_shared<OneText>(std::make_shared<const Tokens>(answer, text.end()), vocab_size);
    request.max_tokens = static_cast<uint32_t>(kAnswerTokens);
    request.max_drafts = max_drafts;
    (void)engine.Submit(request).value();
  }
  double begin = 0.0, end = 0.0;
  while (engine.has_work()) {
    const StepReport report = engine.Step().value();
    for (const Event& event : report.events) {
      if (!event.usage.finished) continue;
      begin = std::max(begin, *event.usage.first_token);
      end = std::max(end, *event.usage.finished);
    }
  }
  return end - begin;
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Both ways in turns, with an engine that knows what steps cost; so many of a hundred guesses are right.
void Head(benchmark::State& state) {
  Server& server = ServerOf(state.range(0));
  const int64_t texts = state.range(1);
  const Tokens text = RandomText();
  const auto head = server.NewDrafter();
  Simulated drafter(*head, text, static_cast<double>(state.range(2)) / 100.0);
  EngineOptions options;
  options.drafter = &drafter;
  const auto pool = CreateBlockPool(server.model.layout(), {.rewind_tokens = 3}).value();
  const auto engine = Engine::Create(server.model, pool, server.workspace, options).value();
  const auto vocab = static_cast<size_t>(server.model.spec().vocab_size);
  (void)SecondsToWrite(*engine, text, vocab, texts, 3);
  (void)drafter.SecondsOfGuess();
  std::vector<double> gains, costs;
  for (auto _ : state) {
    const double plain = SecondsToWrite(*engine, text, vocab, texts, 0);
    gains.push_back(plain / SecondsToWrite(*engine, text, vocab, texts, 3));
    const double of_token = plain / static_cast<double>(kAnswerTokens - 1) / static_cast<double>(texts);
    costs.push_back(drafter.SecondsOfGuess() / of_token);
  }
  const EngineStats stats = engine->stats();
  state.counters["gain"] = Median(gains);
  state.counters["guess_of_token"] = Median(costs);
  state.counters["right"] = static_cast<double>(stats.accepted_tokens) / static_cast<double>(stats.drafted_tokens);
}
// Shapes: 0 Qwen3.5 0.8B and 1 Llama 3.2 1B with a layer for further tokens, 2 Gemma 4 E2B with a drafter that reads
// its cache. Weights of one are made when its first line runs.
BENCHMARK(Head)
    ->ArgNames({"shape", "texts", "right"})
    ->ArgsProduct({{0, 1, 2}, {1, 4}, {30, 50, 70, 90}})
    ->Iterations(5)
    ->Unit(benchmark::kSecond)
    ->UseRealTime();

}  // namespace
}  // namespace skald
