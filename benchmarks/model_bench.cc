// SPDX-License-Identifier: Apache-2.0
//
// Tokens per second of whole models of published shapes with random weights: prefill of one prompt, and decoding one
// token for each of several conversations. Decoding is bound by reading the weights: `bandwidth_share` is the weights'
// bytes per second over what all threads together read from memory, measured in the same run.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "benchmarks/memory_bandwidth.h"
#include "skald/cache/create.h"
#include "skald/configs/llama.h"
#include "skald/configs/mamba.h"
#include "skald/configs/recurrent_gemma.h"
#include "skald/model/model.h"
#include "skald/weights/random_weights.h"

namespace skald {
namespace {

template <ModelConfig C>
const Model<C>& SharedModel() {
  static const Model<C> model(RandomWeights<C>(1));
  return model;
}

template <ModelConfig C>
void Prefill(benchmark::State& state) {
  const Model<C>& model = SharedModel<C>();
  const std::vector<int32_t> prompt(static_cast<size_t>(state.range(0)), 1);
  KVCache cache = CreateKVCache<C>().value();
  Workspace workspace = CreateWorkspace().value();
  for (auto _ : state) {
    cache.Clear();
    if (!model.Forward(cache, prompt, workspace)) state.SkipWithError("Forward failed");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// One step for range(0) conversations of range(1) tokens each.
template <ModelConfig C>
void Decode(benchmark::State& state) {
  const Model<C>& model = SharedModel<C>();
  const auto depth = static_cast<uint32_t>(state.range(1));
  auto pool = CreateBlockPool<C>({.rewind_tokens = 1}).value();
  Workspace workspace = CreateWorkspace().value();
  std::vector<KVCache> caches;
  caches.push_back(CreateKVCache(pool).value());
  if (!model.Forward(caches[0], std::vector<int32_t>(depth, 1), workspace)) state.SkipWithError("Forward failed");
  while (caches.size() < static_cast<size_t>(state.range(0))) caches.push_back(caches[0].Fork());
  const int32_t token = 1;
  for (auto _ : state) {
    Batch batch;
    for (KVCache& cache : caches) batch.Add(cache, {&token, 1});
    if (!model.Forward(batch, workspace)) state.SkipWithError("Forward failed");
    state.PauseTiming();
    for (KVCache& cache : caches) (void)cache.Truncate(depth);
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  static const double bandwidth = MemoryBandwidth(workspace.executor());
  state.counters["bandwidth_share"] = benchmark::Counter(
      static_cast<double>(MemoryBytes(model.weights())) / bandwidth, benchmark::Counter::kIsIterationInvariantRate);
}

BENCHMARK(Prefill<TinyLlama_1_1B>)->Arg(64)->Arg(512)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(Decode<TinyLlama_1_1B>)
    ->Args({1, 16})->Args({1, 2048})->Args({4, 16})->Args({16, 16})
    ->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(Decode<RecurrentGemma_2B>)->Args({1, 16})->Args({4, 16})->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(Decode<Mamba_2_8B>)->Args({1, 16})->Args({4, 16})->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace skald
