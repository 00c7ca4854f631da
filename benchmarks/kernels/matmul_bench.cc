// SPDX-License-Identifier: Apache-2.0
//
// Multiplication by the matrices of real models. One row is bound by reading the weights, many rows by arithmetic.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "benchmarks/kernels/kernel_benchmark.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_element.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/kernels.h"
#include "skald/weights/packing/detail/pack_groups.h"
#include "tests/support/kernel_data.h"

namespace skald {
namespace {

// More than caches hold, so that each run reads weights that none of the last ones did.
constexpr size_t kWeightBytes = size_t{512} << 20;

// Random weights below 1, which any packed matrix may lie in.
using internal::StoreScale;

template <class T>
AlignedBuffer<T> RandomWeights(size_t size) {
  AlignedBuffer<T> weights(size);
  std::minstd_rand generator(1);
  if constexpr (!kIsGrouped<T>) {
    const std::vector<float> values = testing::RandomFloats(1, (size_t{1} << 20) + 1);
    for (size_t i = 0; i < size; ++i) weights[i] = FromFloat<T>(values[i % values.size()]);
  } else {
    for (T& pack : std::span<T>(weights)) {
      for (std::byte& byte : std::as_writable_bytes(std::span(&pack, 1))) byte = static_cast<std::byte>(generator());
      if constexpr (NestedScales<T>) {
        for (size_t lane = 0; lane < kLanes; ++lane) StoreScale(0.0002f, pack.scale[lane]);
        if constexpr (HasOffsets<T>) {
          for (size_t lane = 0; lane < kLanes; ++lane) StoreScale(0.001f, pack.minimum[lane]);
        }
      } else {
        const auto fill = [](auto& groups, float value) {
          for (auto& group : groups) {
            for (auto& scale : group) StoreScale(value, scale);
          }
        };
        fill(pack.scales, 0.0078125f);
        if constexpr (HasOffsets<T>) fill(pack.offsets, 0.25f);
      }
    }
  }
  return weights;
}

template <class T>
const AlignedBuffer<T>& Weights() {
  static const AlignedBuffer<T> weights = RandomWeights<T>(kWeightBytes / sizeof(T));
  return weights;
}

template <class T>
double ActivationAt(const T* input, size_t rows, size_t row, size_t k, size_t padded_k) {
  return double{ToFloat(input[PreparedIndex(rows, row, k, padded_k)])};
}
double ActivationAt(const QuantizedRows& input, size_t, size_t row, size_t k, size_t) {
  return static_cast<double>(*input.CodesAt(row, k)) * double{*input.ScaleAt(row, k)};
}

template <class T>
class MatMulKernel {
 public:
  // `n` and `k` need no padding.
  MatMulKernel(size_t rows, size_t n, size_t k)
      : prepared_(PreparedBytes<T>(rows, k)),
        output_(rows * n),
        partial_sums_(PartialSumsSize(rows, n, k)),
        args_{.input = PreparedIn<T>(prepared_.data(), rows, k),
              .weights = Weights<T>().data(),
              .bias = nullptr,
              .output = output_.data(),
              .output_stride = n,
              .rows = rows,
              .n = n,
              .padded_k = k,
              .row_begin = 0,
              .row_end = rows,
              .panel_begin = 0,
              .panel_end = n / kLanes,
              .partial_sums = partial_sums_.data()} {
    const std::vector<float> input = testing::RandomFloats(2, rows * k);
    Kernels<>::Prepare<T>({.input = input.data(),
                           .input_stride = k,
                           .output = PreparedIn<T>(prepared_.data(), rows, k),
                           .rows = rows,
                           .cols = k,
                           .row_begin = 0,
                           .row_end = rows});
  }

  // With the next of the matrices.
  void Run() {
    const size_t size = PackedBytes<T>(args_.n, args_.padded_k) / sizeof(T);
    const T* const next = args_.weights + size;
    const T* const end = Weights<T>().data() + Weights<T>().size();
    args_.weights = next + size <= end ? next : Weights<T>().data();
    Kernels<>::MatMul(args_);
  }

  // Compares a few of the outputs with sums in double precision; the tests of kernels compare bits.
  bool IsCorrect() const {
    for (const size_t row : {size_t{0}, args_.rows - 1}) {
      for (const size_t n : {size_t{0}, args_.n / 2 + 3, args_.n - 1}) {
        double sum = 0;
        for (size_t k = 0; k < args_.padded_k; ++k) {
          sum += ActivationAt(args_.input, args_.rows, row, k, args_.padded_k) *
                 double{ElementOf(args_.weights, n, k, args_.padded_k)};
        }
        const double tolerance = 1e-7 * static_cast<double>(args_.padded_k);
        if (std::abs(output_[row * args_.n + n] - sum) > tolerance) return false;
      }
    }
    return true;
  }

  KernelWork work() const {
    KernelWork work{.bytes = static_cast<double>(PackedBytes<T>(args_.n, args_.padded_k))};
    double& operations = kIsGrouped<T> ? work.int8_ops : sizeof(T) == sizeof(float) ? work.f32_flops : work.bf16_flops;
    operations = 2.0 * static_cast<double>(args_.rows) * static_cast<double>(args_.n * args_.padded_k);
    return work;
  }

 private:
  AlignedBuffer<std::byte> prepared_;
  AlignedBuffer<float> output_, partial_sums_;
  MatMulArgs<T> args_;
};

struct Shape {
  const char* name;
  size_t n, k;
};

template <class T>
void Register(const std::string& type, const std::vector<size_t>& rows) {
  for (const Shape& shape : {Shape{"TinyLlama-1.1B/qkv", 2560, 2048},
                             {"TinyLlama-1.1B/gate_up", 11264, 2048},
                             {"TinyLlama-1.1B/down", 2048, 5632},
                             {"TinyLlama-1.1B/head", 32000, 2048},
                             {"Gemma-2-2B/gate_up", 18432, 2304},
                             {"Gemma-2-2B/down", 2304, 9216}}) {
    for (const size_t count : rows) {
      RegisterKernel("MatMul/" + type + "/" + shape.name + "/" + std::to_string(count),
                     [=] { return MatMulKernel<T>(count, shape.n, shape.k); });
    }
  }
}

const bool kRegistered = [] {
  Register<bf16>("BF16", {1, 4, 16, 32, 512});
  Register<Q8_0>("Q8_0", {1, 4, 16, 32, 512});
  Register<Q4_0>("Q4_0", {1, 4, 16, 32, 512});
  Register<Q4_1>("Q4_1", {1, 512});
  Register<Q5_0>("Q5_0", {1, 512});
  Register<Q5_1>("Q5_1", {1, 512});
  Register<Q4A>("Q4A", {1, 512});
  Register<Q8A32>("Q8A32", {1, 512});
  Register<Q8A>("Q8A", {1, 512});
  Register<IQ4_NL>("IQ4_NL", {1, 512});
  Register<MXFP4>("MXFP4", {1, 4, 512});
  Register<NVFP4>("NVFP4", {1, 4, 512});
  Register<Q2_K>("Q2_K", {1, 512});
  Register<Q3_K>("Q3_K", {1, 512});
  Register<Q4_K>("Q4_K", {1, 4, 16, 32, 512});
  Register<Q5_K>("Q5_K", {1, 4, 16, 32, 512});
  Register<Q6_K>("Q6_K", {1, 4, 16, 32, 512});
  Register<Q6A>("Q6A", {1, 512});
  Register<IQ1>("IQ1", {1, 512});
  Register<IQ2>("IQ2", {1, 512});
  Register<IQ3_XXS>("IQ3_XXS", {1, 512});
  Register<IQ3_S>("IQ3_S", {1, 512});
  Register<IQ4_XS>("IQ4_XS", {1, 512});
  Register<float>("F32", {1, 4, 16, 32, 512});
  return true;
}();

}  // namespace
}  // namespace skald
