// SPDX-License-Identifier: Apache-2.0
//
// Kernels that work on rows of activations, which lie in caches: their bytes per second are those read and written, and
// may exceed what memory gives.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "benchmarks/kernels/kernel_benchmark.h"
#include "skald/base/numbers/numeric.h"
#include "skald/kernels/kernels.h"
#include "tests/reference/math.h"
#include "tests/reference/norm.h"
#include "tests/reference/rope.h"
#include "tests/support/kernel_data.h"

namespace skald {
namespace {

using testing::RandomFloats;

// Whether the last `expected.size()` numbers of `actual` are these.
bool EndsWith(const std::vector<float>& actual, const std::vector<float>& expected) {
  return testing::Difference(std::span(actual).last(expected.size()), expected, 1e-5).empty();
}

double BytesOf(std::initializer_list<size_t> floats) {
  double bytes = 0;
  for (const size_t count : floats) bytes += static_cast<double>(count) * sizeof(float);
  return bytes;
}

struct NormKernel {
  NormKernel(size_t rows, size_t cols)
      : rows(rows),
        cols(cols),
        input(RandomFloats(1, rows * cols)),
        weight(RandomFloats(2, cols)),
        output(rows * cols) {}

  void Run() {
    Kernels<>::Norm({.input = input.data(),
                     .input_stride = cols,
                     .weight = weight.data(),
                     .output = output.data(),
                     .output_stride = cols,
                     .cols = cols,
                     .epsilon = 1e-5f,
                     .row_begin = 0,
                     .row_end = rows});
  }
  bool IsCorrect() const {
    std::vector<float> expected(cols);
    reference::Norm(input.data() + (rows - 1) * cols, weight.data(), cols, 1e-5f, expected.data());
    return EndsWith(output, expected);
  }
  KernelWork work() const { return {.bytes = BytesOf({input.size(), output.size()})}; }

  size_t rows, cols;
  std::vector<float> input, weight, output;
};

struct RopeKernel {
  RopeKernel(size_t rows, size_t heads, size_t head_dim)
      : rows(rows),
        heads(heads),
        head_dim(head_dim),
        values(RandomFloats(1, rows * heads * head_dim)),
        cos(rows * head_dim / 2, 0.6f),
        sin(rows * head_dim / 2, 0.8f),
        first(values) {}

  void Run() {
    Kernels<>::Rope({.rows = values.data(),
                     .row_stride = heads * head_dim,
                     .cos = cos.data(),
                     .sin = sin.data(),
                     .heads = heads,
                     .head_dim = head_dim,
                     .rotary_dim = head_dim,
                     .row_begin = 0,
                     .row_end = rows});
  }
  // After one Run.
  bool IsCorrect() const {
    std::vector<float> expected(first.end() - static_cast<std::ptrdiff_t>(head_dim), first.end());
    reference::RotateHead(expected.data(), cos.data(), sin.data(), head_dim);
    return EndsWith(values, expected);
  }
  KernelWork work() const { return {.bytes = BytesOf({values.size(), values.size(), cos.size(), sin.size()})}; }

  size_t rows, heads, head_dim;
  std::vector<float> values, cos, sin, first;
};

struct GateKernel {
  using Reference = float (*)(float);

  GateKernel(Activation gate, Reference reference, size_t rows, size_t cols)
      : gate(gate),
        reference(reference),
        rows(rows),
        cols(cols),
        gate_up(RandomFloats(1, rows * 2 * cols, 3.0f)),
        output(rows * cols) {}

  void Run() {
    Kernels<>::Gate({.gate = gate,
                     .gate_up = gate_up.data(),
                     .output = output.data(),
                     .cols = cols,
                     .row_begin = 0,
                     .row_end = rows});
  }
  bool IsCorrect() const {
    const float* const row = gate_up.data() + (rows - 1) * 2 * cols;
    std::vector<float> expected(cols);
    for (size_t i = 0; i < cols; ++i) expected[i] = reference(row[i]) * row[cols + i];
    return EndsWith(output, expected);
  }
  KernelWork work() const { return {.bytes = BytesOf({gate_up.size(), output.size()})}; }

  Activation gate;
  Reference reference;
  size_t rows, cols;
  std::vector<float> gate_up, output;
};

struct AddKernel {
  explicit AddKernel(size_t size) : sum(RandomFloats(1, size)), addend(RandomFloats(2, size)), first(sum) {}

  void Run() { Kernels<>::Add({.accumulator = sum.data(), .addend = addend.data(), .begin = 0, .end = sum.size()}); }
  // After one Run.
  bool IsCorrect() const { return sum.back() == first.back() + addend.back(); }
  KernelWork work() const { return {.bytes = BytesOf({sum.size(), sum.size(), addend.size()})}; }

  std::vector<float> sum, addend, first;
};

struct SoftcapKernel {
  explicit SoftcapKernel(size_t size) : values(RandomFloats(1, size, 40.0f)), first(values) {}

  void Run() { Kernels<>::Softcap({.values = values.data(), .cap = 30.0f, .begin = 0, .end = values.size()}); }
  // After one Run.
  bool IsCorrect() const { return EndsWith(values, {reference::Capped(first.back(), 30.0f)}); }
  KernelWork work() const { return {.bytes = BytesOf({values.size(), values.size()})}; }

  std::vector<float> values, first;
};

const bool kRegistered = [] {
  for (const size_t rows : {size_t{1}, size_t{512}}) {
    const std::string count = "/" + std::to_string(rows);
    RegisterKernel("Norm/2048" + count, [=] { return NormKernel(rows, 2048); });
    RegisterKernel("Rope/32x64" + count, [=] { return RopeKernel(rows, 32, 64); });
    RegisterKernel("GateSilu/5632" + count, [=] { return GateKernel(Activation::kSilu, reference::Silu, rows, 5632); });
    RegisterKernel("GateGeluTanh/9216" + count,
                   [=] { return GateKernel(Activation::kGeluTanh, reference::GeluTanh, rows, 9216); });
    RegisterKernel("Add/2048" + count, [=] { return AddKernel(2048 * rows); });
  }
  RegisterKernel("Softcap/256000/1", [] { return SoftcapKernel(256000); });
  return true;
}();

}  // namespace
}  // namespace skald
