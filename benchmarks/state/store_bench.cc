// SPDX-License-Identifier: Apache-2.0
//
// The cost of keeping state: chunks encoded and decoded, beside a plain copy of the same bytes, and put into and read
// from a folder, beside the disk's own speed. Every rate is of content, not of stored bytes.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/sha256.h"
#include "skald/store/backends/directory_store.h"
#include "skald/store/chunks/chunk_codec.h"

namespace skald {
namespace {

ChunkKey KeyOf(uint64_t number) { return ChunkKey{Sha256().Update(std::to_string(number)).Finish().value()}; }

// Keys and values of attention are about Gaussian.
ChunkBytes GaussianState(size_t bytes) {
  std::mt19937 random(1);
  std::normal_distribution<float> gaussian;
  ChunkBytes state(bytes);
  for (size_t i = 0; i < bytes; i += sizeof(bf16)) {
    const bf16 value = RoundToBF16(gaussian(random));
    std::memcpy(state.data() + i, &value, sizeof value);
  }
  return state;
}

ChunkFormat FormatOf(ChunkCodec codec) { return {ChunkKind::kTokens, ChunkElement::kBF16, codec}; }

void SetRate(benchmark::State& state, size_t bytes) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes));
}

// Into memory that is allocated each time, as EncodeChunk and DecodeChunk do.
void Memcpy(benchmark::State& state) {
  const ChunkBytes content = GaussianState(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    ChunkBytes copy(content);
    benchmark::DoNotOptimize(copy.data());
  }
  SetRate(state, content.size());
}

// The counter `stored` is the stored size as a part of the content's.
template <ChunkCodec kCodec>
void Encode(benchmark::State& state) {
  const ChunkBytes content = GaussianState(static_cast<size_t>(state.range(0)));
  size_t stored = 0;
  for (auto _ : state) {
    const auto chunk = EncodeChunk(KeyOf(0), FormatOf(kCodec), content);
    stored = chunk->size();
  }
  SetRate(state, content.size());
  state.counters["stored"] = static_cast<double>(stored) / static_cast<double>(content.size());
}

template <ChunkCodec kCodec>
void Decode(benchmark::State& state) {
  const ChunkBytes content = GaussianState(static_cast<size_t>(state.range(0)));
  const auto chunk = EncodeChunk(KeyOf(0), FormatOf(kCodec), content);
  for (auto _ : state) {
    const auto decoded = DecodeChunk(KeyOf(0), *chunk);
    if (!decoded) state.SkipWithError(decoded.error().message.c_str());
  }
  SetRate(state, content.size());
}

// A store in a new folder below the system's one for temporary files (TMPDIR picks another disk). range(0) is the size
// of a value.
class StoreOnDisk {
 public:
  explicit StoreOnDisk(SyncPolicy sync)
      : path_(std::filesystem::temp_directory_path() / ("skald-bench-" + std::to_string(std::random_device{}()))),
        store_(DirectoryStore::Open(path_, {.sync = sync}).value()) {}
  StoreOnDisk(const StoreOnDisk&) = delete;
  StoreOnDisk& operator=(const StoreOnDisk&) = delete;
  ~StoreOnDisk() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  DirectoryStore& operator*() const { return *store_; }
  DirectoryStore* operator->() const { return store_.get(); }

 private:
  std::filesystem::path path_;
  std::unique_ptr<DirectoryStore> store_;
};

template <SyncPolicy kSync>
void Put(benchmark::State& state) {
  const StoreOnDisk store(kSync);
  const ChunkBytes value = GaussianState(static_cast<size_t>(state.range(0)));
  uint64_t number = 0;
  for (auto _ : state) {
    const auto put = store->Put(KeyOf(number++), value);
    if (!put) state.SkipWithError(put.error().message.c_str());
  }
  SetRate(state, value.size());
}

// A value that is there already.
void PutAgain(benchmark::State& state) {
  const StoreOnDisk store(SyncPolicy::kNone);
  const ChunkBytes value = GaussianState(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    const auto put = store->Put(KeyOf(0), value);
    if (!put) state.SkipWithError(put.error().message.c_str());
  }
}

// A new value into a store that is full of such values: a sixteenth of them goes at a time.
void PutFull(benchmark::State& state) {
  const ChunkBytes value = GaussianState(static_cast<size_t>(state.range(0)));
  const StoreOnDisk folder(SyncPolicy::kNone);
  const auto store = DirectoryStore::Open(folder->path(), {.max_bytes = 512 * value.size(), .sync = SyncPolicy::kNone});
  uint64_t number = 0;
  while (number < 512) (void)!(*store)->Put(KeyOf(number++), value);
  for (auto _ : state) {
    const auto put = (*store)->Put(KeyOf(number++), value);
    if (!put) state.SkipWithError(put.error().message.c_str());
  }
  SetRate(state, value.size());
}

// From the system's memory, where what was put lately still is.
void Get(benchmark::State& state) {
  const StoreOnDisk store(SyncPolicy::kNone);
  const ChunkBytes value = GaussianState(static_cast<size_t>(state.range(0)));
  for (uint64_t i = 0; i < 16; ++i) (void)!store->Put(KeyOf(i), value);
  uint64_t number = 0;
  for (auto _ : state) {
    const auto got = store->Get(KeyOf(number++ % 16));
    if (!got) state.SkipWithError(got.error().message.c_str());
  }
  SetRate(state, value.size());
}

constexpr int64_t kMiB = 1 << 20;

BENCHMARK(Memcpy)->Arg(kMiB)->Arg(16 * kMiB);
BENCHMARK(Encode<ChunkCodec::kNone>)->Arg(kMiB)->Arg(16 * kMiB);
BENCHMARK(Decode<ChunkCodec::kNone>)->Arg(kMiB)->Arg(16 * kMiB);
BENCHMARK(Encode<ChunkCodec::kSplitZstd>)->Arg(kMiB)->Arg(16 * kMiB);
BENCHMARK(Decode<ChunkCodec::kSplitZstd>)->Arg(kMiB)->Arg(16 * kMiB);
// The disk works while the processor waits, so what counts is the clock.
BENCHMARK(Put<SyncPolicy::kNone>)->Arg(kMiB)->Iterations(100)->UseRealTime();
BENCHMARK(Put<SyncPolicy::kData>)->Arg(kMiB)->Iterations(100)->UseRealTime();
BENCHMARK(Put<SyncPolicy::kDataAndFolder>)->Arg(kMiB)->Iterations(100)->UseRealTime();
BENCHMARK(PutAgain)->Arg(kMiB)->UseRealTime();
BENCHMARK(PutFull)->Arg(kMiB)->Iterations(500)->UseRealTime();
BENCHMARK(Get)->Arg(kMiB)->UseRealTime();

}  // namespace
}  // namespace skald
