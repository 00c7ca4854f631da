// SPDX-License-Identifier: Apache-2.0
//
// Multiplication by the matrices of real models. One row is bound by reading the weights, many rows by arithmetic.

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "benchmarks/kernel_benchmark.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/numeric.h"
#include "skald/base/packed_layout.h"
#include "skald/kernels/kernels.h"
#include "tests/reference/matmul.h"
#include "tests/support/kernel_data.h"

namespace skald {
namespace {

// More than caches hold, so that each run reads weights that none of the last ones did.
constexpr size_t kWeightBytes = size_t{512} << 20;

// Random numbers, which any packed matrix may lie in.
template <class T>
AlignedBuffer<T>& Weights() {
  static AlignedBuffer<T> weights = [] {
    AlignedBuffer<T> buffer(kWeightBytes / sizeof(T));
    const std::vector<float> values = testing::RandomFloats(1, size_t{1} << 20);
    for (size_t i = 0; i < buffer.size(); ++i) buffer[i] = FromFloat<T>(values[i % (values.size() - 1)]);
    return buffer;
  }();
  return weights;
}

template <class T>
class MatMulKernel {
 public:
  // `n` and `k` are whole panels and tiles, as all models have.
  MatMulKernel(size_t rows, size_t n, size_t k)
      : input_(testing::RandomFloats(2, rows * k)), prepared_(PreparedSize(rows, k)), output_(rows * n),
        partial_sums_(PartialSumsSize(rows, n, k)),
        args_{.input = prepared_.data(), .weights = Weights<T>().data(), .bias = nullptr, .output = output_.data(),
              .output_stride = n, .rows = rows, .n = n, .padded_k = k, .row_begin = 0, .row_end = rows,
              .panel_begin = 0, .panel_end = n / kLanes, .partial_sums = partial_sums_.data()} {
    Kernels<>::Prepare<T>({.input = input_.data(), .input_stride = k, .output = prepared_.data(), .rows = rows,
                           .cols = k, .row_begin = 0, .row_end = rows});
  }

  // With the next of the matrices.
  void Run() {
    const size_t size = args_.n * args_.padded_k;
    const T* const next = args_.weights + size;
    const T* const end = Weights<T>().data() + Weights<T>().size();
    args_.weights = next + size <= end ? next : Weights<T>().data();
    Kernels<>::MatMul(args_);
  }

  // Looks at a few of the outputs.
  bool IsCorrect() const {
    const size_t k = args_.padded_k;
    for (const size_t row : {size_t{0}, args_.rows - 1}) {
      for (const size_t n : {size_t{0}, args_.n / 2 + 3, args_.n - 1}) {
        std::vector<T> weights(k);
        for (size_t i = 0; i < k; ++i) weights[i] = args_.weights[PackedIndex<T>(n, i, k)];
        const float expected = reference::MatMulElement(input_.data() + row * k, weights.data(), k, nullptr);
        const double tolerance = testing::kEpsilon * static_cast<double>(k * k);
        if (!testing::Difference({&output_[row * args_.n + n], 1}, {&expected, 1}, tolerance).empty()) return false;
      }
    }
    return true;
  }

  KernelWork work() const {
    const double elements = static_cast<double>(args_.n * args_.padded_k);
    const double flops = 2.0 * static_cast<double>(args_.rows) * elements;
    KernelWork work{.bytes = elements * sizeof(T)};
    (sizeof(T) == sizeof(float) ? work.f32_flops : work.bf16_flops) = flops;
    return work;
  }

 private:
  std::vector<float> input_;
  AlignedBuffer<T> prepared_;
  AlignedBuffer<float> output_, partial_sums_;
  MatMulArgs<T> args_;
};

struct Shape {
  const char* name;
  size_t n, k;
};

template <class T>
void Register(const std::string& type, const std::vector<size_t>& rows) {
  for (const Shape& shape : {Shape{"TinyLlama-1.1B/qkv", 2560, 2048}, {"TinyLlama-1.1B/gate_up", 11264, 2048},
                             {"TinyLlama-1.1B/down", 2048, 5632}, {"TinyLlama-1.1B/head", 32000, 2048},
                             {"Gemma-2-2B/gate_up", 18432, 2304}, {"Gemma-2-2B/down", 2304, 9216}}) {
    for (const size_t count : rows) {
      RegisterKernel("MatMul/" + type + "/" + shape.name + "/" + std::to_string(count), [=] {
        return MatMulKernel<T>(count, shape.n, shape.k);
      });
    }
  }
}

const bool kRegistered = [] {
  Register<bf16>("BF16", {1, 4, 16, 32, 512});
  Register<float>("F32", {1, 512});
  return true;
}();

}  // namespace
}  // namespace skald
