// SPDX-License-Identifier: Apache-2.0
//
// The gain of a head for further tokens beside plain decoding, on the shapes of a published model: what a guess costs
// against a token, and how much faster texts are if so many guesses are right. Weights are random, so the head computes
// its guesses, and they are then replaced by right and wrong ones. A filter that allows nothing else gives the text.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "benchmarks/engine/one_text.h"
#include "skald/cache/create.h"
#include "skald/engine/engine.h"
#include "skald/engine/speculation/head_drafter.h"
#include "skald/families/config/create.h"
#include "skald/families/qwen3_next/qwen3_next.h"
#include "skald/model/heads/draft_head.h"
#include "skald/model/load.h"
#include "skald/model/model.h"

namespace skald {
namespace {

using Config = Qwen3_5_0_8B;
using benchmarks::OneText;
using benchmarks::Tokens;

constexpr size_t kPromptTokens = 100, kAnswerTokens = 60;
constexpr int32_t kVocabulary = 30000;  // tokens of the text

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
    for (DraftTask& task : tasks) {
      if (!task.drafts.empty()) seconds_ += seconds;
      guesses_ += task.drafts.size();
      for (size_t i = 0; i < task.drafts.size(); ++i) {
        const size_t at = task.tokens.size() + i;
        const bool is_right = std::bernoulli_distribution(chance_)(random_);
        task.drafts[i] = is_right && at < text_.size() ? text_[at] : kVocabulary + 1;
      }
    }
    return {};
  }

  double seconds_of_guess() const { return seconds_ / static_cast<double>(guesses_); }

 private:
  Drafter& head_;
  const Tokens& text_;
  const double chance_;
  std::mt19937 random_{1};
  double seconds_ = 0.0;
  size_t guesses_ = 0;
};

struct Server {
  Model<Config> model{RandomWeights<Config>(1)};
  DraftHead head = RandomPredictionHead(model, 2).value();
  Workspace workspace = CreateWorkspace({.threads = 2}).value();
  Workspace head_workspace = CreateWorkspace({.threads = 2}).value();
};

Server& SharedServer() {
  static Server server;
  return server;
}

Tokens RandomText() {
  std::mt19937 random(3);
  Tokens text(kPromptTokens + kAnswerTokens);
  for (int32_t& id : text) id = static_cast<int32_t>(random() % kVocabulary);
  return text;
}

// Seconds from the first token of the answer to its last.
double SecondsToWrite(Engine& engine, const Tokens& text, uint32_t max_drafts) {
  const auto answer = text.begin() + static_cast<std::ptrdiff_t>(kPromptTokens);
  Request request;
  request.prompt.assign(text.begin(), answer);
  request.filter = std::make_shared<OneText>(std::make_shared<const Tokens>(answer, text.end()),
                                             static_cast<size_t>(SpecOf<Config>().vocab_size));
  request.max_tokens = static_cast<uint32_t>(kAnswerTokens);
  request.max_drafts = max_drafts;
  (void)engine.Submit(request).value();
  Usage usage;
  while (engine.has_work()) {
    const StepReport report = engine.Step().value();
    for (const Event& event : report.events) usage = event.usage;
  }
  return *usage.finished - *usage.first_token;
}

// Both ways in turns, with an engine that knows what steps cost; so many of a hundred guesses are right.
void Head(benchmark::State& state) {
  Server& server = SharedServer();
  const Tokens text = RandomText();
  HeadDrafter head(server.head, CreateBlockPool(server.head.body().layout()).value(), server.head_workspace);
  Simulated drafter(head, text, static_cast<double>(state.range(0)) / 100.0);
  EngineOptions options;
  options.drafter = &drafter;
  const auto pool = CreateBlockPool<Config>({.rewind_tokens = 3}).value();
  const auto engine = Engine::Create(server.model, pool, server.workspace, options).value();
  (void)SecondsToWrite(*engine, text, 3);
  double plain = 0.0, guessed = 0.0, tokens = 0.0;
  for (auto _ : state) {
    plain += SecondsToWrite(*engine, text, 0);
    guessed += SecondsToWrite(*engine, text, 3);
    tokens += static_cast<double>(kAnswerTokens - 1);
  }
  const EngineStats stats = engine->stats();
  state.counters["plain_tokens/s"] = tokens / plain;
  state.counters["tokens/s"] = tokens / guessed;
  state.counters["gain"] = plain / guessed;
  state.counters["guess_of_token"] = drafter.seconds_of_guess() * tokens / plain;
  state.counters["right"] = static_cast<double>(stats.accepted_tokens) / static_cast<double>(stats.drafted_tokens);
}
BENCHMARK(Head)->Arg(30)->Arg(50)->Arg(70)->Arg(90)->Iterations(2)->Unit(benchmark::kSecond)->UseRealTime();

}  // namespace
}  // namespace skald
