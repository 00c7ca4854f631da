// SPDX-License-Identifier: Apache-2.0
//
// The cost of caches beside the arithmetic: forking and planning a step in time, a conversation in bytes, against its
// length. No token state is computed or read.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "skald/cache/steps/step.h"
#include "skald/families/config/create.h"
#include "skald/families/gemma2/gemma2.h"
#include "skald/families/llama/llama.h"
#include "skald/families/mamba/mamba.h"
#include "skald/families/mamba2/mamba2.h"
#include "skald/families/recurrent_gemma/recurrent_gemma.h"

namespace skald {
namespace {

// A conversation of `tokens` tokens whose blocks hold nothing: steps are planned and published, not computed.
template <ModelConfig C>
KVCache Grow(uint32_t tokens) {
  KVCache cache = CreateKVCache<C>({.max_tokens = tokens + 1}).value();
  const std::vector<int32_t> run(tokens, 1);
  Step::Begin(Batch().Add(cache, run), 512)->Commit();
  return cache;
}

template <ModelConfig C>
void Fork(benchmark::State& state) {
  const KVCache cache = Grow<C>(static_cast<uint32_t>(state.range(0)));
  for (auto _ : state) {
    KVCache fork = *cache.Fork();
    benchmark::DoNotOptimize(fork);
  }
}

// One token more: reserve, plan, and abandon.
template <ModelConfig C>
void PlanStep(benchmark::State& state) {
  KVCache cache = Grow<C>(static_cast<uint32_t>(state.range(0)));
  const int32_t token = 1;
  const Batch batch = Batch().Add(cache, {&token, 1});
  for (auto _ : state) {
    auto step = Step::Begin(batch, 512);
    benchmark::DoNotOptimize(step);
  }
}

// The counter `bytes` is what a conversation of range(0) tokens holds.
template <ModelConfig C>
void ConversationBytes(benchmark::State& state) {
  uint64_t bytes = 0;
  for (auto _ : state) {
    const CacheUsage usage = Grow<C>(static_cast<uint32_t>(state.range(0))).usage();
    bytes = usage.exclusive_bytes + usage.shared_bytes;
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}

BENCHMARK(Fork<Llama3_2_1B>)->Arg(128)->Arg(2048)->Arg(16384)->Unit(benchmark::kMicrosecond);
BENCHMARK(Fork<Gemma2_2B>)->Arg(128)->Arg(2048)->Arg(16384)->Unit(benchmark::kMicrosecond);
BENCHMARK(PlanStep<Llama3_2_1B>)->Arg(128)->Arg(2048)->Arg(16384)->Unit(benchmark::kMicrosecond);
BENCHMARK(PlanStep<Gemma2_2B>)->Arg(128)->Arg(2048)->Arg(16384)->Unit(benchmark::kMicrosecond);
BENCHMARK(ConversationBytes<Llama3_2_1B>)->Arg(128)->Arg(2048)->Arg(16384)->Iterations(1);
BENCHMARK(ConversationBytes<RecurrentGemma_2B>)->Arg(128)->Arg(2048)->Arg(16384)->Iterations(1);
BENCHMARK(ConversationBytes<Mamba_2_8B>)->Arg(128)->Arg(2048)->Arg(16384)->Iterations(1);
BENCHMARK(ConversationBytes<Mamba2_2_7B>)->Arg(128)->Arg(2048)->Arg(16384)->Iterations(1);

}  // namespace
}  // namespace skald
