// SPDX-License-Identifier: Apache-2.0
//
// The computations of loading: tensors of a file brought into the order in which they are multiplied, and quantised if
// a type is requested that the file does not have. Bytes are those of the file, beside a plain copy of as many. One
// core.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "skald/base/threads/executor.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/weights/packing/pack.h"
#include "skald/weights/types/gguf_blocks.h"

namespace skald {
namespace {

constexpr size_t kRows = 2048, kCols = 2048;

// Numbers of either sign between 2^-31 and 2, whichever type of floats the bytes are read as.
const std::vector<std::byte>& RandomBytes() {
  static const std::vector<std::byte> bytes = [] {
    std::vector<std::byte> result(kRows * kCols * sizeof(float));
    std::mt19937 random(1);
    for (size_t i = 0; i < result.size(); i += 2) {
      const auto half = static_cast<uint16_t>((random() & 0x8FFF) | 0x3000);
      std::memcpy(result.data() + i, &half, sizeof(half));
    }
    return result;
  }();
  return bytes;
}

void Copy(benchmark::State& state) {
  std::vector<std::byte> target(RandomBytes().size());
  for ([[maybe_unused]] auto _ : state) std::memcpy(target.data(), RandomBytes().data(), target.size());
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(target.size()));
}

void Pack(benchmark::State& state, const PackSource& source, DType type) {
  ThreadPool pool(1);
  const WeightPacker& packer = *FindType(WeightPackersOf<AllWeights>(), type);
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(PackMatrix({&source, 1}, kCols, packer, ExecutorRef(pool)));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kRows * RowBytes(source, kCols)));
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kRows * kCols));
}

const bool kRegistered = [] {
  benchmark::RegisterBenchmark("copy", Copy);
  const std::byte* const bytes = RandomBytes().data();
  for (const DType from : {DType::kF32, DType::kF16, DType::kBF16}) {
    const std::string name(NameOf(from));
    benchmark::RegisterBenchmark((name + " as bf16").c_str(), Pack, PackSource{bytes, from, kRows}, DType::kBF16);
  }
  for (const char* const from : {"Q8_0", "Q4_0", "Q5_0", "MXFP4", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_XS"}) {
    const GroupFormat* const format = FindGroupFormat(from);
    const PackSource source = {bytes, DType::kF32, kRows, format};
    benchmark::RegisterBenchmark((std::string(from) + " as it is").c_str(), Pack, source, format->packed);
  }
  for (const DType to : {DType::kQ8_0, DType::kQ4_0, DType::kIQ4_NL, DType::kQ2_K, DType::kQ3_K, DType::kQ4_K,
                         DType::kQ5_K, DType::kQ6_K, DType::kIQ4_XS}) {
    const std::string name = std::string("bf16 quantised to ") + std::string(NameOf(to));
    benchmark::RegisterBenchmark(name.c_str(), Pack, PackSource{bytes, DType::kBF16, kRows}, to);
  }
  return true;
}();

}  // namespace
}  // namespace skald
