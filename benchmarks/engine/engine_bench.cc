// SPDX-License-Identifier: Apache-2.0
//
// The gain of an engine's two speculations: guesses from the prompt (PromptLookup) beside plain decoding, and a
// conversation loaded from a store beside its prompt computed again. A TinyLlama-shaped model with random weights would
// write no sense. So a filter that allows nothing else gives the text, token by token: guesses are then as right and as
// wrong as for a model that writes that text, and every row is computed.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "benchmarks/engine/one_text.h"
#include "skald/engine/engine.h"
#include "skald/engine/speculation/prompt_lookup.h"
#include "skald/families/config/create.h"
#include "skald/families/llama/llama.h"
#include "skald/model/load.h"
#include "skald/model/model.h"
#include "skald/store/backends/memory_store.h"

namespace skald {
namespace {

using Config = TinyLlama_1_1B;
using benchmarks::OneText;
using benchmarks::Tokens;

// The prompt, and the model's answer.
struct Task {
  Tokens prompt, answer;
};

constexpr size_t kPromptTokens = 400, kAnswerTokens = 300;

// Tokens as common as words are: the n-th of the vocabulary comes with a chance of about 1 / n.
Tokens Prose(size_t count, uint32_t seed, double vocabulary) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  Tokens tokens;
  for (size_t i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>(std::pow(vocabulary, uniform(random))));
  return tokens;
}

// The prompt again, with a change at about every 20th token: another one, one more, or one less.
Task Editing() {
  Task task{Prose(kPromptTokens, 1, 30000.0), {}};
  std::mt19937 random(2);
  for (const int32_t token : task.prompt) {
    const uint32_t change = random() % 60;
    if (change < 2) task.answer.push_back(static_cast<int32_t>(random() % 30000));
    if (change != 1 && change != 2) task.answer.push_back(token);
  }
  task.answer.resize(kAnswerTokens);
  return task;
}

// A text of its own that quotes six tokens of the prompt now and then.
Task Quoting() {
  Task task{Prose(kPromptTokens, 7, 30000.0), Prose(kAnswerTokens, 8, 30000.0)};
  for (size_t at = 20; at + 6 <= kAnswerTokens; at += 30) {
    std::copy_n(task.prompt.begin() + static_cast<std::ptrdiff_t>(at), 6,
                task.answer.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return task;
}

// A text that has nothing of the prompt but the words.
Task Writing() { return {Prose(kPromptTokens, 3, 30000.0), Prose(kAnswerTokens, 4, 30000.0)}; }

// A text of few words in no order: the earlier words after them are never a good guess.
Task Misleading() { return {Prose(kPromptTokens, 5, 12.0), Prose(kAnswerTokens, 6, 12.0)}; }

struct Server {
  Model<Config> model{RandomWeights<Config>(1)};
  Workspace workspace = CreateWorkspace({.threads = 2}).value();
};

Server& SharedServer() {
  static Server server;
  return server;
}

// Seconds from the first token of the answer to its last.
double SecondsToWrite(Engine& engine, const Task& task, uint32_t max_drafts) {
  Request request;
  request.prompt = task.prompt;
  request.filter = std::make_shared<OneText>(std::make_shared<const Tokens>(task.answer), Config::kVocabSize);
  request.max_tokens = static_cast<uint32_t>(task.answer.size());
  request.max_drafts = max_drafts;
  (void)engine.Submit(request).value();
  Usage usage;
  while (engine.has_work()) {
    const StepReport report = engine.Step().value();
    for (const Event& event : report.events) usage = event.usage;
  }
  return *usage.finished - *usage.first_token;
}

// Both ways in turns, with an engine that knows what steps cost.
void Lookup(benchmark::State& state, Task (*make_task)()) {
  Server& server = SharedServer();
  PromptLookup lookup;
  EngineOptions options;
  options.drafter = &lookup;
  const auto engine =
      Engine::Create(server.model, CreateBlockPool<Config>().value(), server.workspace, options).value();
  const Task task = make_task();
  (void)SecondsToWrite(*engine, task, 8);
  double plain = 0.0, guessed = 0.0, tokens = 0.0;
  for (auto _ : state) {
    plain += SecondsToWrite(*engine, task, 0);
    guessed += SecondsToWrite(*engine, task, 8);
    tokens += static_cast<double>(task.answer.size() - 1);
  }
  state.counters["plain_tokens/s"] = tokens / plain;
  state.counters["tokens/s"] = tokens / guessed;
  state.counters["gain"] = plain / guessed;
}
BENCHMARK_CAPTURE(Lookup, editing, Editing)->Iterations(3)->Unit(benchmark::kSecond)->UseRealTime();
BENCHMARK_CAPTURE(Lookup, quoting, Quoting)->Iterations(3)->Unit(benchmark::kSecond)->UseRealTime();
BENCHMARK_CAPTURE(Lookup, writing, Writing)->Iterations(3)->Unit(benchmark::kSecond)->UseRealTime();
BENCHMARK_CAPTURE(Lookup, misleading, Misleading)->Iterations(3)->Unit(benchmark::kSecond)->UseRealTime();

// Steps until something is told of `request`, and returns the seconds that it took.
double SecondsToNews(Engine& engine, RequestId request) {
  const double begin = SteadySeconds();
  for (bool told = false; !told && engine.has_work();) {
    const StepReport report = engine.Step().value();
    for (const Event& event : report.events) told |= event.request == request && !event.tokens.empty();
  }
  return SteadySeconds() - begin;
}

// A conversation of 2,000 tokens gives its memory to a more urgent one, and comes back when that is cancelled.
void Swap(benchmark::State& state) {
  Server& server = SharedServer();
  constexpr uint32_t kTokens = 2000;
  const uint64_t bytes = MemoryModel::Of(*CreateBlockPool<Config>().value()).BytesFor(kTokens + 200);
  auto pool = CreateBlockPool<Config>({.cache_bytes = bytes}).value();
  MemoryStore store(uint64_t{1} << 30);
  EngineOptions options;
  options.policy.policy = Policy::kPriority;
  options.swap.emplace(store);
  const auto engine = Engine::Create(server.model, pool, server.workspace, options).value();
  Request sleeper, urgent;
  sleeper.prompt = Prose(kTokens, 1, 30000.0);
  urgent.prompt = Prose(kTokens, 2, 30000.0);
  urgent.priority = 10;
  double prefill = 0.0, back = 0.0;
  for (auto _ : state) {
    const RequestId id = engine->Submit(sleeper).value();
    prefill += SecondsToNews(*engine, id);
    const RequestId other = engine->Submit(urgent).value();
    (void)engine->Step().value();
    engine->Cancel(other);
    (void)engine->Step().value();  // `other` lets its memory go
    back += SecondsToNews(*engine, id);
    engine->Cancel(id);
    (void)engine->Step().value();
  }
  if (engine->stats().swapped_in == 0) return state.SkipWithError("it was not swapped");
  state.counters["prefill_s"] = prefill / static_cast<double>(state.iterations());
  state.counters["back_s"] = back / static_cast<double>(state.iterations());
  state.counters["back/prefill"] = back / prefill;
}
BENCHMARK(Swap)->Iterations(3)->Unit(benchmark::kSecond)->UseRealTime();

}  // namespace
}  // namespace skald
