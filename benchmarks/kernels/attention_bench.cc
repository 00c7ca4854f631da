// SPDX-License-Identifier: Apache-2.0
//
// Attention in the shapes of real models. Decode is bound by reading keys and values, prefill by arithmetic.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/kernels/kernel_benchmark.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/kernels.h"
#include "tests/support/kernel_data.h"

namespace skald {
namespace {

struct Shape {
  const char* name;
  size_t heads, kv_heads, head_dim;
  float softcap;
};

// The keys and values of `tokens` tokens, in one block.
template <class T>
struct CachedTokens {
  CachedTokens(const Shape& shape, size_t tokens)
      : tokens(tokens),
        rows(testing::RandomFloats(1, tokens * 2 * shape.kv_heads * shape.head_dim)),
        sequences(tokens, 0),
        key_bytes(shape.kv_heads * (sizeof(T) * PackedSize(tokens, shape.head_dim) + ScaleBytes())),
        block(2 * key_bytes),
        geometry{.kv_heads = shape.kv_heads,
                 .head_dim = shape.head_dim,
                 .block_tokens = tokens,
                 .key_offset = 0,
                 .value_offset = key_bytes} {
    for (size_t row = 0; row < tokens; ++row) positions.push_back(static_cast<uint32_t>(row));
    Store();
  }

  // Writes all keys and values.
  void Store() {
    const size_t row = geometry.kv_heads * geometry.head_dim;
    Kernels<>::StoreKV<T>({.keys = rows.data(),
                           .values = rows.data() + row,
                           .stride = 2 * row,
                           .positions = positions.data(),
                           .sequences = sequences.data(),
                           .tables = &table,
                           .geometry = geometry,
                           .row_begin = 0,
                           .row_end = tokens});
  }

  // Of the last head.
  float Key(size_t position, size_t d) const {
    return Element(0, position, PackedIndex<T>(position, d, RoundUp(geometry.head_dim, kTile)));
  }
  float Value(size_t position, size_t d) const {
    return Element(key_bytes, position, PackedIndex<T>(d, position, tokens));
  }

  size_t tokens;
  std::vector<float> rows;  // [tokens, keys and values]
  std::vector<uint32_t> positions, sequences;
  size_t key_bytes;
  AlignedBuffer<std::byte> block;
  std::byte* const blocks[1] = {block.data()};
  const KVBlocks table = {.blocks = blocks, .first_block = 0};
  KVGeometry geometry;

 private:
  size_t ScaleBytes() const { return std::is_same_v<T, int8_t> ? tokens * sizeof(float) : 0; }

  float Element(size_t offset, size_t position, size_t index) const {
    const size_t size = PackedSize(tokens, geometry.head_dim);
    const T* const matrices = reinterpret_cast<const T*>(block.data() + offset);
    const float element = ToFloat(matrices[(geometry.kv_heads - 1) * size + index]);
    const auto* const scales = reinterpret_cast<const float*>(matrices + geometry.kv_heads * size);
    return ScaleBytes() == 0 ? element : element * scales[(geometry.kv_heads - 1) * tokens + position];
  }
};

// The last `rows` of `tokens` tokens look at those before them.
template <class T>
class AttentionKernel {
 public:
  AttentionKernel(const Shape& shape, size_t tokens, size_t rows)
      : shape_(shape),
        cache_(shape, tokens),
        queries_(testing::RandomFloats(2, rows * shape.heads * shape.head_dim)),
        output_(queries_.size()),
        sequences_(rows, 0) {
    for (size_t row = 0; row < rows; ++row) positions_.push_back(static_cast<uint32_t>(tokens - rows + row));
    const size_t stride = shape.heads * shape.head_dim;
    args_ = {.queries = queries_.data(),
             .query_stride = stride,
             .output = output_.data(),
             .output_stride = stride,
             .positions = positions_.data(),
             .sequences = sequences_.data(),
             .tables = &cache_.table,
             .geometry = cache_.geometry,
             .rows = rows,
             .heads = shape.heads,
             .window = 0,
             .scale = 0.1f,
             .softcap = shape.softcap,
             .unit_begin = 0,
             .unit_end = rows * shape.heads};
  }

  void Run() { Kernels<>::Attention<T>(args_); }

  // Looks at the last number of the last row: softmax attention in double precision.
  bool IsCorrect() const {
    const size_t dim = shape_.head_dim;
    double sum = 0, expected = 0;
    for (size_t p = 0; p < cache_.tokens; ++p) {
      double score = 0;
      for (size_t d = 0; d < dim; ++d) {
        score += double{queries_[queries_.size() - dim + d]} * double{cache_.Key(p, d)};
      }
      score *= args_.scale;
      if (shape_.softcap != 0) score = shape_.softcap * std::tanh(score / shape_.softcap);
      sum += std::exp(score);
      expected += std::exp(score) * double{cache_.Value(p, dim - 1)};
    }
    return std::abs(output_.back() - expected / sum) < 0.01;
  }

  KernelWork work() const {
    const double rows = static_cast<double>(args_.rows), tokens = static_cast<double>(cache_.tokens);
    const double pairs = rows * (tokens - (rows - 1) / 2);  // of a query and a position that it sees
    const double flops = 4.0 * pairs * static_cast<double>(shape_.heads * shape_.head_dim);
    KernelWork work{.bytes = static_cast<double>(cache_.block.size())};
    (sizeof(T) == sizeof(float) ? work.f32_flops : work.bf16_flops) = flops;
    return work;
  }

 private:
  Shape shape_;
  CachedTokens<T> cache_;
  std::vector<float> queries_, output_;
  std::vector<uint32_t> positions_, sequences_;
  AttentionArgs args_;
};

// Storing keys and values of a prompt.
template <class T>
class StoreKernel {
 public:
  StoreKernel(const Shape& shape, size_t tokens) : cache_(shape, tokens) {}

  void Run() { cache_.Store(); }

  // Looks at the last head's last values.
  bool IsCorrect() const {
    const size_t dim = cache_.geometry.head_dim, row = cache_.rows.size() / cache_.tokens;
    for (size_t p = 0; p < cache_.tokens; ++p) {
      if (std::abs(cache_.Value(p, dim - 1) - cache_.rows[p * row + row - 1]) > 0.01f) return false;
    }
    return true;
  }

  KernelWork work() const { return {.bytes = static_cast<double>(cache_.rows.size() * sizeof(float))}; }

 private:
  CachedTokens<T> cache_;
};

template <class T>
void RegisterShape(const std::string& type, const Shape& shape) {
  const std::string name = type + "/" + shape.name + "/";
  for (const size_t tokens : {512, 2048, 8192, 32768}) {
    RegisterKernel("Decode/" + name + std::to_string(tokens), [=] { return AttentionKernel<T>(shape, tokens, 1); });
  }
  for (const size_t tokens : {512, 2048}) {
    RegisterKernel("Prefill/" + name + std::to_string(tokens),
                   [=] { return AttentionKernel<T>(shape, tokens, tokens); });
  }
  RegisterKernel("StoreKV/" + name + "512", [=] { return StoreKernel<T>(shape, 512); });
}

const bool kRegistered = [] {
  for (const Shape& shape : {Shape{"TinyLlama-1.1B", 32, 4, 64, 0.0f},
                             {"Llama-3.2-1B", 32, 8, 64, 0.0f},
                             {"OLMo-2-1B", 16, 16, 128, 0.0f},
                             {"Gemma-2-2B", 8, 4, 256, 50.0f}}) {
    RegisterShape<bf16>("BF16", shape);
    RegisterShape<int8_t>("I8", shape);
    RegisterKernel(std::string("Decode/F32/") + shape.name + "/2048",
                   [=] { return AttentionKernel<float>(shape, 2048, 1); });
  }
  return true;
}();

}  // namespace
}  // namespace skald
