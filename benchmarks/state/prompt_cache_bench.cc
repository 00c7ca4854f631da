// SPDX-License-Identifier: Apache-2.0
//
// Time to the first token of a prompt of 2,000 tokens: computed, known in memory, in a folder, in a Redis server (where
// one answers on its usual port). A TinyLlama-shaped model with random weights.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skald/families/config/create.h"
#include "skald/families/llama/llama.h"
#include "skald/model/load.h"
#include "skald/model/model.h"
#include "skald/sampling/sampler.h"
#include "skald/store/backends/directory_store.h"
#include "skald/store/prompts/prompt_cache.h"
#ifdef SKALD_HAS_REDIS
#include "skald/store/backends/redis_store.h"
#endif

namespace skald {
namespace {

using Config = TinyLlama_1_1B;
constexpr size_t kPromptTokens = 2000;

// The model, and a conversation that holds the prompt.
struct Server {
  Model<Config> model{RandomWeights<Config>(1)};
  std::shared_ptr<BlockPool> pool = CreateBlockPool<Config>().value();
  Workspace workspace = CreateWorkspace().value();
  std::vector<int32_t> prompt;
  KVCache cache = CreateKVCache(pool).value();
  std::vector<float> logits;

  Server() {
    for (size_t i = 0; i < kPromptTokens; ++i) prompt.push_back(static_cast<int32_t>(i * 7919 % Config::kVocabSize));
    const auto computed = model.Forward(cache, prompt, workspace).value();
    logits.assign(computed.begin(), computed.end());
  }
};

Server& SharedServer() {
  static Server server;
  return server;
}

void Cold(benchmark::State& state) {
  Server& server = SharedServer();
  KVCache cache = CreateKVCache(server.pool).value();
  for (auto _ : state) {
    cache.Clear();
    const auto logits = server.model.Forward(cache, server.prompt, server.workspace).value();
    benchmark::DoNotOptimize(Sample(logits, {}, {}, cache.size())->id);
  }
}
BENCHMARK(Cold)->Iterations(1)->Unit(benchmark::kMillisecond)->UseRealTime();

// Looks the prompt up and samples. Unless `in_memory`, memory forgets it before each look-up.
void Hit(benchmark::State& state, const std::vector<ChunkStoreRef>& stores, ChunkCodec codec, bool in_memory) {
  Server& server = SharedServer();
  const auto prompts = PromptCache::Create(server.pool, {}, {.codec = codec}, stores).value();
  if (!prompts->Insert(server.cache, server.logits)) return state.SkipWithError("Insert failed");
  for (auto _ : state) {
    if (!in_memory) prompts->Trim(0);
    const auto prefix = prompts->Lookup(server.prompt);
    if (!prefix || prefix->logits.empty()) return state.SkipWithError("the prompt is not known");
    benchmark::DoNotOptimize(Sample(prefix->logits, {}, {}, prefix->cache.size())->id);
  }
}

void MemoryHit(benchmark::State& state) { Hit(state, {}, ChunkCodec::kNone, /*in_memory=*/true); }
BENCHMARK(MemoryHit)->Unit(benchmark::kMillisecond)->UseRealTime();

void FolderHit(benchmark::State& state, ChunkCodec codec) {
  const auto folder = std::filesystem::temp_directory_path() / ("skald-bench-" + std::to_string(::getpid()));
  {
    auto store = DirectoryStore::Open(folder);
    if (!store) return state.SkipWithError(store.error().message.c_str());
    Hit(state, {**store}, codec, /*in_memory=*/false);
  }
  std::filesystem::remove_all(folder);
}
BENCHMARK_CAPTURE(FolderHit, uncompressed, ChunkCodec::kNone)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(FolderHit, zstd, ChunkCodec::kSplitZstd)->Unit(benchmark::kMillisecond)->UseRealTime();

#ifdef SKALD_HAS_REDIS
void RedisHit(benchmark::State& state) {
  auto store = RedisStore::Connect();
  if (!store) return state.SkipWithError(store.error().message.c_str());
  Hit(state, {*store}, ChunkCodec::kNone, /*in_memory=*/false);
}
BENCHMARK(RedisHit)->Unit(benchmark::kMillisecond)->UseRealTime();
#endif

}  // namespace
}  // namespace skald
