// SPDX-License-Identifier: Apache-2.0
//
// Speed of the kernels on one core, beside the limit that bounds them. For decode (one row) that is reading the
// weights from memory: compare the bytes per second of MatMulOneRow with those of ReadMemory over the same number
// of bytes. For prefill it is arithmetic: MatMulManyRows reports floating-point operations per second.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <type_traits>
#include <vector>

#include "benchmarks/memory_bandwidth.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/group_layout.h"
#include "skald/base/numeric.h"
#include "skald/base/packed_layout.h"
#include "skald/kernels/kernels.h"

namespace skald {
namespace {

// Far more than any private cache; a large shared one may still hold it, then both sides profit alike.
constexpr size_t kWeightBytes = size_t{256} << 20;
constexpr size_t kModelDim = 2048;

// Numbers in [-1, 1) with short mantissas, equal in every element type.
template <class T>
void FillRandom(T* data, size_t size) {
  std::minstd_rand generator(1);
  for (size_t i = 0; i < size; ++i) data[i] = FromFloat<T>(static_cast<float>(generator() % 256) / 128.0f - 1.0f);
}

void ReadMemory(benchmark::State& state) {
  const AlignedBuffer<uint64_t> buffer(kWeightBytes / sizeof(uint64_t));
  for (auto _ : state) benchmark::DoNotOptimize(ReadAll(buffer.data(), buffer.size()));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * kWeightBytes));
}
BENCHMARK(ReadMemory)->Unit(benchmark::kMillisecond);

// Random codes, with scales that keep the weights below 1.
template <class T>
void FillRandomWeights(AlignedBuffer<T>& weights) {
  if constexpr (kIsGrouped<T>) {
    std::minstd_rand generator(1);
    for (T& pack : std::span(weights.data(), weights.size())) {
      for (std::byte& byte : std::as_writable_bytes(std::span(&pack, 1))) byte = static_cast<std::byte>(generator());
      if constexpr (std::is_same_v<T, Q8A>) {
        for (auto& scales : pack.scales) std::ranges::fill(scales, 0.005f);
        for (auto& offsets : pack.offsets) std::ranges::fill(offsets, 0.25f);
      } else {
        for (auto& scales : pack.scales) std::ranges::fill(scales, ToHalf(0.005f));
      }
    }
  } else {
    FillRandom(weights.data(), weights.size());
  }
}

template <class T>
float ActivationAt(const T* input, size_t rows, size_t row, size_t k, size_t padded_k) {
  return ToFloat(input[PreparedIndex(rows, row, k, padded_k)]);
}
float ActivationAt(const QuantizedRows& input, size_t, size_t row, size_t k, size_t) {
  return static_cast<float>(*input.CodesAt(row, k)) * *input.ScaleAt(row, k);
}

template <class T>
struct Product {
  Product(size_t rows, size_t n, size_t k)
      : memory(PreparedBytes<T>(rows, k)), weights(PackedBytes<T>(n, k) / sizeof(T)), output(rows * n),
        partial_sums(PartialSumsSize(rows, n, k)),
        args{.input = PreparedIn<T>(memory.data(), rows, k), .weights = weights.data(), .bias = nullptr,
             .output = output.data(), .output_stride = n, .rows = rows, .n = n, .padded_k = k, .row_begin = 0,
             .row_end = rows, .panel_begin = 0, .panel_end = n / kLanes, .partial_sums = partial_sums.data()} {
    AlignedBuffer<float> input(rows * k);
    FillRandom(input.data(), input.size());
    Kernels<>::Prepare<T>({.input = input.data(), .input_stride = k,
                           .output = PreparedIn<T>(memory.data(), rows, k), .rows = rows, .cols = k,
                           .row_begin = 0, .row_end = rows});
    FillRandomWeights(weights);
  }

  // Whether the last output of the last row is what the definition says.
  bool IsCorrect() {
    Kernels<>::MatMul(args);
    double sum = 0;
    for (size_t k = 0; k < args.padded_k; ++k) {
      sum += double{ActivationAt(args.input, args.rows, args.rows - 1, k, args.padded_k)} *
             double{ElementOf(weights.data(), args.n - 1, k, args.padded_k)};
    }
    return std::abs(output[args.rows * args.n - 1] - sum) <= 1e-7 * static_cast<double>(args.padded_k);
  }

  AlignedBuffer<std::byte> memory;
  AlignedBuffer<T> weights;
  AlignedBuffer<float> output, partial_sums;
  MatMulArgs<T> args;
};

template <class T>
void MatMulOneRow(benchmark::State& state) {
  const size_t bytes_per_panel = PackedBytes<T>(kLanes, kModelDim);
  Product<T> product(1, kWeightBytes / bytes_per_panel * kLanes, kModelDim);
  if (!product.IsCorrect()) state.SkipWithError("wrong product");
  for (auto _ : state) Kernels<>::MatMul(product.args);
  state.SetBytesProcessed(
      static_cast<int64_t>(static_cast<size_t>(state.iterations()) * product.weights.size() * sizeof(T)));
}
BENCHMARK(MatMulOneRow<bf16>)->Unit(benchmark::kMillisecond);
BENCHMARK(MatMulOneRow<float>)->Unit(benchmark::kMillisecond);
BENCHMARK(MatMulOneRow<Q8_0>)->Unit(benchmark::kMillisecond);
BENCHMARK(MatMulOneRow<Q4_0>)->Unit(benchmark::kMillisecond);
BENCHMARK(MatMulOneRow<Q8A>)->Unit(benchmark::kMillisecond);

template <class T>
void MatMulManyRows(benchmark::State& state) {
  const size_t rows = static_cast<size_t>(state.range(0));
  Product<T> product(rows, kModelDim, kModelDim);
  if (!product.IsCorrect()) state.SkipWithError("wrong product");
  for (auto _ : state) Kernels<>::MatMul(product.args);
  state.counters["flop"] =
      benchmark::Counter(static_cast<double>(2 * rows * kModelDim * kModelDim),
                         benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(MatMulManyRows<bf16>)->Arg(4)->Arg(7)->Arg(256)->Unit(benchmark::kMillisecond);
BENCHMARK(MatMulManyRows<float>)->Arg(256)->Unit(benchmark::kMillisecond);
BENCHMARK(MatMulManyRows<Q8_0>)->Arg(4)->Arg(16)->Arg(512)->Unit(benchmark::kMillisecond);
BENCHMARK(MatMulManyRows<Q4_0>)->Arg(4)->Arg(16)->Arg(512)->Unit(benchmark::kMillisecond);
BENCHMARK(MatMulManyRows<Q8A>)->Arg(4)->Arg(16)->Arg(512)->Unit(benchmark::kMillisecond);

// Activations of one prompt, before they are multiplied by quantised weights; items are numbers.
void Quantize(benchmark::State& state) {
  constexpr size_t kRows = 64;
  std::vector<float> input(kRows * kModelDim);
  FillRandom(input.data(), input.size());
  AlignedBuffer<std::byte> memory(PreparedBytes<Q8_0>(kRows, kModelDim));
  for (auto _ : state) {
    Kernels<>::Prepare<Q8_0>({.input = input.data(), .input_stride = kModelDim,
                              .output = PreparedIn<Q8_0>(memory.data(), kRows, kModelDim), .rows = kRows,
                              .cols = kModelDim,
                              .row_begin = 0, .row_end = kRows});
  }
  state.SetItemsProcessed(static_cast<int64_t>(static_cast<size_t>(state.iterations()) * input.size()));
}
BENCHMARK(Quantize)->Unit(benchmark::kMicrosecond);

// Attention of the last `rows` of `tokens` cached tokens, in one block.
template <class T>
struct CachedAttention {
  struct Shape {
    size_t heads, kv_heads, head_dim;
    float softcap;
  };

  CachedAttention(const Shape& shape, size_t tokens, size_t rows)
      : shape(shape), tokens(tokens), key_bytes(shape.kv_heads * sizeof(T) * PackedSize(tokens, shape.head_dim)),
        block(2 * key_bytes), queries(rows * shape.heads * shape.head_dim), output(queries.size()),
        sequences(rows, 0) {
    FillRandom(reinterpret_cast<T*>(block.data()), block.size() / sizeof(T));
    FillRandom(queries.data(), queries.size());
    for (size_t row = 0; row < rows; ++row) positions.push_back(static_cast<uint32_t>(tokens - rows + row));
    const size_t stride = shape.heads * shape.head_dim;
    args = {.queries = queries.data(), .query_stride = stride, .output = output.data(), .output_stride = stride,
            .positions = positions.data(), .sequences = sequences.data(), .tables = &table,
            .geometry = {.kv_heads = shape.kv_heads, .head_dim = shape.head_dim, .block_tokens = tokens,
                         .key_offset = 0, .value_offset = key_bytes},
            .rows = rows, .heads = shape.heads, .window = 0, .scale = 0.1f, .softcap = shape.softcap,
            .unit_begin = 0, .unit_end = rows * shape.heads};
  }

  void Run() { shape.softcap != 0 ? Kernels<>::Attention<T, true>(args) : Kernels<>::Attention<T, false>(args); }

  // Whether the last number of the last row is what the definition says.
  bool IsCorrect() {
    Run();
    const size_t dim = shape.head_dim, last_head = (shape.kv_heads - 1) * PackedSize(tokens, dim);
    const T* const keys = reinterpret_cast<const T*>(block.data()) + last_head;
    const T* const values = reinterpret_cast<const T*>(block.data() + key_bytes) + last_head;
    double sum = 0, expected = 0;
    for (size_t p = 0; p < tokens; ++p) {
      double score = 0;
      for (size_t d = 0; d < dim; ++d) {
        const T query = FromFloat<T>(queries[queries.size() - dim + d]);
        score += double{ToFloat(query)} * double{ToFloat(keys[PackedIndex<T>(p, d, RoundUp(dim, kTile))])} * args.scale;
      }
      if (shape.softcap != 0) score = shape.softcap * std::tanh(score / shape.softcap);
      sum += std::exp(score);
      expected += std::exp(score) * double{ToFloat(values[PackedIndex<T>(dim - 1, p, tokens)])};
    }
    return std::abs(output[output.size() - 1] - expected / sum) < 0.01;
  }

  Shape shape;
  size_t tokens, key_bytes;
  AlignedBuffer<std::byte> block;
  std::vector<float> queries, output;
  std::vector<uint32_t> positions, sequences;
  std::byte* const blocks[1] = {block.data()};
  const KVBlocks table = {.blocks = blocks, .first_block = 0};
  AttentionArgs args;
};

// One token over 4096 cached ones: 8 query heads and as many kv heads as the argument says.
template <class T>
void DecodeAttention(benchmark::State& state) {
  CachedAttention<T> attention({8, static_cast<size_t>(state.range(0)), 128, 0.0f}, 4096, 1);
  if (!attention.IsCorrect()) state.SkipWithError("wrong output");
  for (auto _ : state) attention.Run();
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * attention.block.size()));
}
BENCHMARK(DecodeAttention<bf16>)->Arg(8)->Arg(4)->Arg(2)->Arg(1)->Unit(benchmark::kMicrosecond);
BENCHMARK(DecodeAttention<float>)->Arg(8)->Unit(benchmark::kMicrosecond);

// One layer of a prompt of as many tokens as the argument says, and what its multiplications do per second.
void PrefillAttention(benchmark::State& state, const CachedAttention<bf16>::Shape& shape) {
  const size_t rows = static_cast<size_t>(state.range(0));
  CachedAttention<bf16> attention(shape, rows, rows);
  if (!attention.IsCorrect()) state.SkipWithError("wrong output");
  for (auto _ : state) attention.Run();
  state.counters["flop"] = benchmark::Counter(static_cast<double>(2 * rows * (rows + 1) * shape.heads * shape.head_dim),
                                              benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK_CAPTURE(PrefillAttention, TinyLlama, {32, 4, 64, 0.0f})->Arg(512)->Arg(2048)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(PrefillAttention, Gemma2, {8, 4, 256, 50.0f})->Arg(512)->Arg(2048)->Unit(benchmark::kMillisecond);

// Keys and values of 512 tokens, of TinyLlama.
void StoreKV(benchmark::State& state) {
  CachedAttention<bf16> cache({32, 4, 64, 0.0f}, 512, 512);
  std::vector<float> rows(512 * 4 * 64 * 2, 0.5f);
  for (auto _ : state) {
    Kernels<>::StoreKV<bf16>({.keys = rows.data(), .values = rows.data() + 256, .stride = 512,
                              .positions = cache.positions.data(), .sequences = cache.sequences.data(),
                              .tables = &cache.table, .geometry = cache.args.geometry, .row_begin = 0, .row_end = 512});
  }
}
BENCHMARK(StoreKV)->Unit(benchmark::kMicrosecond);

void Gate(benchmark::State& state) {
  constexpr size_t kCols = 8192;
  std::vector<float> gate_up(2 * kCols, 0.7f), output(kCols);
  for (auto _ : state) {
    Kernels<>::Gate(
        {.gate = GateFunction::kGeluTanh, .gate_up = gate_up.data(), .output = output.data(), .cols = kCols,
         .row_begin = 0, .row_end = 1});
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kCols));
}
BENCHMARK(Gate)->Unit(benchmark::kMicrosecond);

// One sequence of as many rows as the argument says, its state updated in place; items are tokens. A Layer holds what
// the kernel reads and writes besides the state.
template <class Layer>
void Recurrence(benchmark::State& state) {
  const size_t rows = static_cast<size_t>(state.range(0));
  Layer layer(rows);
  AlignedBuffer<std::byte> block(layer.StateFloats() * sizeof(float));
  const StateOutput output = {.row_end = rows, .block = block.data()};
  const RecurrentRun run = {
      .row_begin = 0, .row_end = rows, .input = block.data(), .outputs = &output, .num_outputs = 1};
  for (auto _ : state) layer.Run(&run);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * rows));
}

// Random numbers without zeros: a state with no input would fade into subnormal numbers, which Forward flushes.
AlignedBuffer<float> NonzeroBuffer(size_t size, float offset = 0.0f) {
  AlignedBuffer<float> buffer(size);
  FillRandom(buffer.data(), size);
  for (size_t i = 0; i < size; ++i) buffer[i] += offset + 1.0f / 256.0f;
  return buffer;
}

AlignedBuffer<float> DecayBuffer(size_t size) { return NonzeroBuffer(size, -1.0f); }

// The convolution of Mamba-2.8B.
struct ConvLayer {
  static constexpr size_t kWidth = 5120, kTaps = 4;
  explicit ConvLayer(size_t rows) : rows(rows), output(rows * kWidth) {}
  size_t StateFloats() const { return (kTaps - 1) * kWidth; }
  void Run(const RecurrentRun* run) {
    Kernels<>::Conv({.input = input.data(), .input_stride = 2 * kWidth, .weights = weights.data(),
                     .bias = weights.data(), .output = output.data(), .channels = kWidth, .taps = kTaps,
                     .silu = true, .runs = run, .num_runs = 1, .state_offset = 0, .row_begin = 0, .row_end = rows});
  }

  size_t rows;
  AlignedBuffer<float> input = NonzeroBuffer(rows * 2 * kWidth), weights = NonzeroBuffer(kTaps * kWidth);
  AlignedBuffer<float> output;
};
BENCHMARK(Recurrence<ConvLayer>)->Arg(1)->Arg(64)->Unit(benchmark::kMicrosecond);

// RecurrentGemma-2B.
struct RgLruLayer {
  static constexpr size_t kWidth = 2560;
  explicit RgLruLayer(size_t rows) : rows(rows), output(rows * kWidth) {}
  size_t StateFloats() const { return kWidth; }
  void Run(const RecurrentRun* run) {
    Kernels<>::RgLru({.input = input.data(), .gates = gates.data(), .gate = gate.data(), .gate_stride = 2 * kWidth,
                      .decay = decay.data(), .output = output.data(), .width = kWidth, .runs = run,
                      .state_offset = 0, .unit_begin = 0, .unit_end = kWidth / kLanes});
  }

  size_t rows;
  AlignedBuffer<float> input = NonzeroBuffer(rows * kWidth), gates = NonzeroBuffer(rows * 2 * kWidth),
                       gate = NonzeroBuffer(rows * 2 * kWidth), decay = DecayBuffer(kWidth);
  AlignedBuffer<float> output;
};
BENCHMARK(Recurrence<RgLruLayer>)->Arg(1)->Arg(64)->Unit(benchmark::kMicrosecond);

// Mamba-2.8B.
struct SelectiveScanLayer {
  static constexpr size_t kWidth = 5120, kStateDim = 16, kStride = 192;
  explicit SelectiveScanLayer(size_t rows) : rows(rows), output(rows * kWidth) {}
  size_t StateFloats() const { return kWidth * kStateDim; }
  void Run(const RecurrentRun* run) {
    Kernels<>::SelectiveScan({.input = input.data(), .time_step = time_step.data(), .b = bc.data(),
                              .c = bc.data() + kStateDim, .bc_stride = kStride, .gate = gate.data(),
                              .gate_stride = 2 * kWidth, .decay = decay.data(), .skip = skip.data(),
                              .output = output.data(), .width = kWidth, .state_dim = kStateDim, .runs = run,
                              .state_offset = 0, .unit_begin = 0, .unit_end = kWidth / kLanes});
  }

  size_t rows;
  AlignedBuffer<float> input = NonzeroBuffer(rows * kWidth), time_step = NonzeroBuffer(rows * kWidth),
                       bc = NonzeroBuffer(rows * kStride), gate = NonzeroBuffer(rows * 2 * kWidth),
                       decay = DecayBuffer(kStateDim * kWidth), skip = NonzeroBuffer(kWidth);
  AlignedBuffer<float> output;
};
BENCHMARK(Recurrence<SelectiveScanLayer>)->Arg(1)->Arg(64)->Unit(benchmark::kMicrosecond);

// Mamba-2-2.7B.
struct StateSpaceLayer {
  static constexpr size_t kHeads = 80, kHeadDim = 64, kStateDim = 128, kWidth = kHeads * kHeadDim;
  explicit StateSpaceLayer(size_t rows) : rows(rows), output(rows * kWidth) {}
  size_t StateFloats() const { return kWidth * kStateDim; }
  void Run(const RecurrentRun* run) {
    Kernels<>::StateSpace({.input = input.data(), .time_step = gate.data() + kWidth,
                           .time_step_stride = kWidth + kHeads, .time_step_bias = skip.data(), .time_step_min = 0.0f,
                           .time_step_max = HUGE_VALF, .gate = gate.data(), .gate_stride = kWidth + kHeads,
                           .decay = decay.data(), .skip = skip.data(), .output = output.data(), .heads = kHeads,
                           .head_dim = kHeadDim, .groups = 1, .state_dim = kStateDim, .runs = run,
                           .state_offset = 0, .unit_begin = 0, .unit_end = kHeads});
  }

  size_t rows;
  AlignedBuffer<float> input = NonzeroBuffer(rows * (kWidth + 2 * kStateDim)),
                       gate = NonzeroBuffer(rows * (kWidth + kHeads)), decay = DecayBuffer(kHeads),
                       skip = NonzeroBuffer(kHeads);
  AlignedBuffer<float> output;
};
BENCHMARK(Recurrence<StateSpaceLayer>)->Arg(1)->Arg(64)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace skald
