// SPDX-License-Identifier: Apache-2.0
//
// The cost of snapshots: saving and loading a conversation of TinyLlama's shape beside a plain copy of as many bytes,
// their size, and saving again after a turn. Keys and values are random numbers, which compress about as badly as real
// ones; nothing is computed.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <unordered_set>
#include <vector>

#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/cache/steps/step.h"
#include "skald/families/config/create.h"
#include "skald/families/llama/llama.h"
#include "skald/store/backends/memory_store.h"
#include "skald/store/snapshots/snapshot.h"

namespace skald {
namespace {

using C = TinyLlama_1_1B;
constexpr uint32_t kTokens = 2048;

// Appends tokens whose keys and values are normally distributed.
void Grow(KVCache& cache, uint32_t count) {
  static const std::vector<bf16> numbers = [] {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<bf16> values(1 << 16);
    for (bf16& value : values) value = FromFloat<bf16>(normal(random));
    return values;
  }();
  static std::minstd_rand pick(2);
  std::vector<int32_t> tokens(count);
  for (uint32_t i = 0; i < count; ++i) tokens[i] = static_cast<int32_t>(cache.size() + i);
  const uint32_t first_block = cache.size() / cache.pool()->runtime().block_tokens;
  Step::Begin(Batch().Add(cache, tokens), 512)->Commit();
  const std::vector<std::byte*> blocks = cache.pool()->Resolve(0, cache.table().groups[0].blocks);
  for (size_t b = first_block; b < blocks.size(); ++b) {
    bf16* const values = reinterpret_cast<bf16*>(blocks[b]);
    const size_t count_of_block = cache.pool()->geometry(0).block_bytes() / sizeof(bf16);
    for (size_t i = 0; i < count_of_block; ++i) values[i] = numbers[(pick() >> 8) % numbers.size()];
  }
}

KVCache Conversation(uint32_t tokens) {
  KVCache cache = CreateKVCache<C>({.max_tokens = 2 * tokens + 1000}).value();
  Grow(cache, tokens);
  return cache;
}

// Bytes of keys and values of so many tokens, without any padding.
uint64_t RawBytes(uint32_t tokens) {
  return uint64_t{tokens} * C::kLayers.size() * 2 * C::kKVHeads * C::kHeadDim * sizeof(bf16);
}

void ReportSpeed(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * RawBytes(kTokens)));
}

void CopyMemory(benchmark::State& state) {
  AlignedBuffer<std::byte> from(RawBytes(kTokens)), to(from.size());
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), to.size());
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
  ReportSpeed(state);
}

// On range(0) workers. The counter `size` is the snapshot's, relative to the raw bytes of keys and values.
void SaveToBuffer(benchmark::State& state, ChunkCodec codec) {
  const KVCache cache = Conversation(kTokens);
  ThreadPool threads(static_cast<size_t>(state.range(0)));
  const SnapshotOptions options{codec, ExecutorRef(threads)};
  AlignedBuffer<std::byte> buffer(*SnapshotBytes(cache, {}, {}, options));
  for (auto _ : state) {
    benchmark::DoNotOptimize(SaveSnapshot(cache, {}, {}, std::span<std::byte>(buffer), options).has_value());
  }
  ReportSpeed(state);
  state.counters["size"] = static_cast<double>(buffer.size()) / static_cast<double>(RawBytes(kTokens));
}

// On range(0) workers, into blocks that the pool has had from the system before, unless the pool is to be new each
// time.
void LoadFromBuffer(benchmark::State& state, ChunkCodec codec, bool new_pool) {
  const KVCache cache = Conversation(kTokens);
  AlignedBuffer<std::byte> buffer(*SnapshotBytes(cache, {}, {}, {codec}));
  if (!SaveSnapshot(cache, {}, {}, std::span<std::byte>(buffer), {codec})) return state.SkipWithError("not saved");
  ThreadPool threads(static_cast<size_t>(state.range(0)));
  const ExecutorRef executor(threads);
  auto pool = CreateBlockPool<C>().value();
  if (!new_pool && !LoadSnapshot(buffer, {}, pool)) return state.SkipWithError("not loaded");
  for (auto _ : state) {
    if (new_pool) pool = CreateBlockPool<C>().value();
    benchmark::DoNotOptimize(LoadSnapshot(buffer, {}, pool, executor).has_value());
  }
  ReportSpeed(state);
}

// A turn of 64 tokens, saved after range(0) tokens that the store has already.
void SaveTurn(benchmark::State& state) {
  const SnapshotOptions options{ChunkCodec::kNone};
  KVCache cache = Conversation(static_cast<uint32_t>(state.range(0)));
  MemoryStore store(kUnlimited);
  if (!SaveSnapshot(cache, {}, {}, store, options)) return state.SkipWithError("not saved");
  const std::vector<ChunkKey> before = store.List().value();
  Grow(cache, 64);
  for (auto _ : state) {
    if (!SaveSnapshot(cache, {}, {}, store, options)) return state.SkipWithError("not saved");
    state.PauseTiming();
    const std::unordered_set<ChunkKey> old(before.begin(), before.end());
    const auto keys = store.List().value();  // a loop over a temporary would outlive it
    for (const ChunkKey& key : keys) {
      if (!old.contains(key)) benchmark::DoNotOptimize(store.Drop(key).has_value());
    }
    state.ResumeTiming();
  }
}

BENCHMARK(CopyMemory)->UseRealTime();
BENCHMARK_CAPTURE(SaveToBuffer, none, ChunkCodec::kNone)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(SaveToBuffer, split_zstd, ChunkCodec::kSplitZstd)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(LoadFromBuffer, none, ChunkCodec::kNone, false)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(LoadFromBuffer, none_new_pool, ChunkCodec::kNone, true)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(LoadFromBuffer, split_zstd, ChunkCodec::kSplitZstd, false)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(SaveTurn)->RangeMultiplier(4)->Range(64, 16384)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace skald
