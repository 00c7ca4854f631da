// SPDX-License-Identifier: Apache-2.0
//
// Attention in the shapes of real models. Decode is bound by reading keys and values, prefill by arithmetic.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/kernel_benchmark.h"
#include "skald/base/aligned_buffer.h"
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
        key_bytes(shape.kv_heads * sizeof(T) * PackedSize(tokens, shape.head_dim)),
        block(2 * key_bytes),
        geometry{.kv_heads = shape.kv_heads,
                 .head_dim = shape.head_dim,
                 .block_tokens = tokens,
                 .key_offset = 0,
                 .value_offset = key_bytes} {
    const std::vector<float> values = testing::RandomFloats(1, block.size() / sizeof(T));
    for (size_t i = 0; i < values.size(); ++i) reinterpret_cast<T*>(block.data())[i] = FromFloat<T>(values[i]);
  }

  size_t tokens, key_bytes;
  AlignedBuffer<std::byte> block;
  std::byte* const blocks[1] = {block.data()};
  const KVBlocks table = {.blocks = blocks, .first_block = 0};
  KVGeometry geometry;
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
    const size_t dim = shape_.head_dim, head = (shape_.kv_heads - 1) * PackedSize(cache_.tokens, dim);
    const T* const keys = reinterpret_cast<const T*>(cache_.block.data()) + head;
    const T* const values = reinterpret_cast<const T*>(cache_.block.data() + cache_.key_bytes) + head;
    double sum = 0, expected = 0;
    for (size_t p = 0; p < cache_.tokens; ++p) {
      double score = 0;
      for (size_t d = 0; d < dim; ++d) {
        const T query = FromFloat<T>(queries_[queries_.size() - dim + d]);
        score += double{ToFloat(query)} * double{ToFloat(keys[PackedIndex<T>(p, d, RoundUp(dim, kTile))])};
      }
      score *= args_.scale;
      if (shape_.softcap != 0) score = shape_.softcap * std::tanh(score / shape_.softcap);
      sum += std::exp(score);
      expected += std::exp(score) * double{ToFloat(values[PackedIndex<T>(dim - 1, p, cache_.tokens)])};
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
class StoreKernel {
 public:
  StoreKernel(const Shape& shape, size_t tokens)
      : cache_(shape, tokens),
        row_(2 * shape.kv_heads * shape.head_dim),
        rows_(testing::RandomFloats(3, tokens * row_)),
        sequences_(tokens, 0) {
    for (size_t row = 0; row < tokens; ++row) positions_.push_back(static_cast<uint32_t>(row));
  }

  void Run() {
    Kernels<>::StoreKV<bf16>({.keys = rows_.data(),
                              .values = rows_.data() + row_ / 2,
                              .stride = row_,
                              .positions = positions_.data(),
                              .sequences = sequences_.data(),
                              .tables = &cache_.table,
                              .geometry = cache_.geometry,
                              .row_begin = 0,
                              .row_end = positions_.size()});
  }

  // Looks at the first head's first values.
  bool IsCorrect() const {
    const bf16* const values = reinterpret_cast<const bf16*>(cache_.block.data() + cache_.key_bytes);
    for (size_t p = 0; p < cache_.tokens; ++p) {
      const float expected = ToFloat(RoundToBF16(rows_[p * row_ + row_ / 2]));
      if (ToFloat(values[PackedIndex<bf16>(0, p, cache_.tokens)]) != expected) return false;
    }
    return true;
  }

  KernelWork work() const { return {.bytes = static_cast<double>(rows_.size() * sizeof(float))}; }

 private:
  CachedTokens<bf16> cache_;
  size_t row_;
  std::vector<float> rows_;
  std::vector<uint32_t> positions_, sequences_;
};

const bool kRegistered = [] {
  for (const Shape& shape : {Shape{"TinyLlama-1.1B", 32, 4, 64, 0.0f},
                             {"Llama-3.2-1B", 32, 8, 64, 0.0f},
                             {"Gemma-2-2B", 8, 4, 256, 50.0f}}) {
    const std::string name = shape.name;
    for (const size_t tokens : {512, 2048, 8192}) {
      RegisterKernel("Decode/BF16/" + name + "/" + std::to_string(tokens),
                     [=] { return AttentionKernel<bf16>(shape, tokens, 1); });
    }
    for (const size_t tokens : {512, 2048}) {
      RegisterKernel("Prefill/BF16/" + name + "/" + std::to_string(tokens),
                     [=] { return AttentionKernel<bf16>(shape, tokens, tokens); });
    }
    RegisterKernel("Decode/F32/" + name + "/2048", [=] { return AttentionKernel<float>(shape, 2048, 1); });
    RegisterKernel("StoreKV/BF16/" + name + "/512", [=] { return StoreKernel(shape, 512); });
  }
  return true;
}();

}  // namespace
}  // namespace skald
