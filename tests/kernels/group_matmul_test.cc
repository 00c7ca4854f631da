// SPDX-License-Identifier: Apache-2.0
//
// Multiplication by group-quantised weights on the target in use, bit for bit what the scalar reference says.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "skald/kernels/kernels.h"
#include "tests/kernels/group_weights.h"
#include "tests/reference/group_matmul.h"
#include "tests/support/gated_product.h"
#include "tests/support/kernel_data.h"
#include "tests/support/saved_hashes.h"
#include "tests/support/targets.h"

#define QUANTISED_TYPES                                                                                             \
  Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4A, Q8A32, Q8A, IQ4_NL, MXFP4, NVFP4, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, Q6A, IQ1, IQ2, \
      IQ3_XXS, IQ3_S, IQ4_XS

namespace skald::testing {
namespace group_matmul_test {

using reference::WeightGroup;

// A multiplication and everything it needs. Output rows lie `kGap` floats apart; the gaps hold NaN.
template <class T>
struct GroupCase {
  static constexpr size_t kGap = 3;

  GroupCase(size_t rows, size_t n, size_t k, bool with_bias, uint32_t seed = 1)
      : rows(rows),
        n(n),
        k(k),
        input(RandomFloats(seed, rows * k)),
        bias(with_bias ? RandomFloats(seed + 2, n) : std::vector<float>()),
        packed(PackedBytes<T>(n, k) / sizeof(T)) {
    std::mt19937 random(seed);
    for (size_t i = 0; i < n; ++i) weights.push_back(RandomGroups<T>(random, k));
    Pack();
  }

  void Pack() {
    std::ranges::fill(std::as_writable_bytes(std::span<T>(packed)), std::byte{0});
    for (size_t i = 0; i < n; ++i) {
      for (size_t g = 0; g < weights[i].size(); ++g) {
        T& pack = packed[i / kLanes * (PaddedK<T>(k) / T::kTerms) + g / T::kGroups];
        SetScale(pack, g % T::kGroups, i % kLanes, weights[i][g]);
        const std::vector<int>& codes = weights[i][g].codes;
        for (size_t t = 0; t < codes.size(); ++t) SetCode(pack, g % T::kGroups, i % kLanes, t, codes[t]);
      }
    }
  }

  AlignedBuffer<std::byte> PreparedInput() const {
    return PreparedInput(UnwrittenBuffer<std::byte>(PreparedBytes<T>(rows, PaddedK<T>(k))));
  }
  AlignedBuffer<std::byte> PreparedInput(AlignedBuffer<std::byte> memory) const {
    Kernels<>::Prepare<T>({.input = input.data(),
                           .input_stride = k,
                           .output = PreparedIn<T>(memory.data(), rows, PaddedK<T>(k)),
                           .rows = rows,
                           .cols = k,
                           .row_begin = 0,
                           .row_end = rows,
                           .row_scale = row_scale});
    return memory;
  }

  // All but the output and the panels.
  MatMulArgs<T> Args(const AlignedBuffer<std::byte>& prepared) const {
    return {.input = PreparedIn<T>(const_cast<std::byte*>(prepared.data()), rows, PaddedK<T>(k)),
            .weights = packed.data(),
            .bias = bias.empty() ? nullptr : bias.data(),
            .output = nullptr,
            .output_stride = 0,
            .rows = rows,
            .n = n,
            .padded_k = PaddedK<T>(k),
            .row_begin = 0,
            .row_end = rows,
            .panel_begin = 0,
            .panel_end = 0,
            .partial_sums = nullptr};
  }

  std::vector<float> Run(const std::vector<size_t>& ends) const {
    const AlignedBuffer<std::byte> prepared = PreparedInput();
    std::vector<float> output(rows * (n + kGap), kNaN);
    MatMulArgs<T> args = Args(prepared);
    args.output = output.data(), args.output_stride = n + kGap;
    for (const size_t end : ends) {
      args.panel_end = end;
      Kernels<>::MatMul<T>(args);
      args.panel_begin = end;
    }
    return output;
  }
  std::vector<float> Run() const { return Run({num_panels()}); }

  size_t num_panels() const { return RoundUp(n, kLanes) / kLanes; }

  std::vector<float> Reference() const {
    std::vector<float> expected(rows * (n + kGap), kNaN);
    for (size_t row = 0; row < rows; ++row) {
      for (size_t i = 0; i < n; ++i) {
        const float sum =
            reference::GroupedElement(std::span(input).subspan(row * k, k), weights[i], kScales<T>, row_scale);
        expected[row * (n + kGap) + i] = bias.empty() ? sum : sum + bias[i];
      }
    }
    return expected;
  }

  // Sums of at most k terms below 3.5, each of them rounded if there is no FMA.
  double tolerance() const { return 4 * kEpsilon * static_cast<double>((k + 2) * (k + 2)); }

  size_t rows, n, k;
  bool row_scale = false;
  std::vector<float> input, bias;
  std::vector<std::vector<WeightGroup>> weights;
  AlignedBuffer<T> packed;
};

TEST_CASE_TEMPLATE("a product by quantised weights equals the scalar reference for any number of rows", T,
                   QUANTISED_TYPES) {
  for (size_t rows = 1; rows <= 40; ++rows) {
    CAPTURE(rows);
    const GroupCase<T> c(rows, 67, 320, rows % 2 == 0);
    CHECK(Difference(c.Run(), c.Reference(), c.tolerance()) == "");
  }
}

TEST_CASE("quantising rows writes all that a product reads, the rows that pad the last ones included") {
  for (const size_t k : {32, 256, 700}) {
    for (size_t rows = 1; rows <= 40; ++rows) {
      CAPTURE(rows);
      const GroupCase<Q4_0> c(rows, 1, k, false);
      const size_t bytes = PreparedBytes<Q4_0>(rows, PaddedK<Q4_0>(k));
      const auto once = c.PreparedInput(UnwrittenBuffer<std::byte>(bytes, std::byte{0x7F}));
      const auto again = c.PreparedInput(UnwrittenBuffer<std::byte>(bytes, std::byte{0xCD}));
      const QuantizedRows layout = PreparedIn<Q4_0>(const_cast<std::byte*>(once.data()), rows, PaddedK<Q4_0>(k));
      const auto* const end = reinterpret_cast<const std::byte*>(layout.sums + RoundUp(rows, layout.height) *
                                                                                   layout.padded_k / kActivationSum);
      CHECK(std::memcmp(once.data(), again.data(), static_cast<size_t>(end - once.data())) == 0);
    }
  }
}

TEST_CASE_TEMPLATE("a product by quantised weights equals the scalar reference for odd shapes", T, QUANTISED_TYPES) {
  for (const size_t rows : {1, 3, 17}) {
    for (const size_t n : {1, 15, 16, 17, 35, 80, 145}) {
      for (const size_t k : {1, 16, 31, 32, 33, 64, 67, 96, 255, 256, 257, 700}) {
        CAPTURE(rows);
        CAPTURE(n);
        CAPTURE(k);
        const GroupCase<T> c(rows, n, k, (n + k) % 2 == 0);
        CHECK(Difference(c.Run(), c.Reference(), c.tolerance()) == "");
      }
    }
  }
}

TEST_CASE_TEMPLATE("a product by quantised weights of a model's size equals the scalar reference", T, QUANTISED_TYPES) {
  for (const size_t rows : {1, 6, 70}) {
    const GroupCase<T> c(rows, 96, 2304, false);
    CHECK(Difference(c.Run(), c.Reference(), c.tolerance()) == "");
  }
  const GroupCase<T> many(530, 33, 128, true);
  CHECK(Difference(many.Run(), many.Reference(), many.tolerance()) == "");
}

TEST_CASE_TEMPLATE("quantised panels computed in pieces equal all panels computed at once", T, QUANTISED_TYPES) {
  for (const size_t rows : {1, 5}) {
    const GroupCase<T> c(rows, 200, 96, true);
    const std::vector<float> whole = c.Run();
    CHECK(Difference(c.Run({1, 4, 4, 9, c.num_panels()}), whole, 0) == "");
    CHECK(Difference(c.Run({5, 12, c.num_panels()}), whole, 0) == "");
  }
}

TEST_CASE_TEMPLATE("a gated product by quantised weights equals a product and then a gate", T, QUANTISED_TYPES) {
  for (const size_t rows : {1, 2, 5, 17, 300}) {
    for (const size_t cols : {16, 48, 96}) {
      CAPTURE(rows);
      CAPTURE(cols);
      const GroupCase<T> c(rows, 2 * cols, rows == 300 ? 320 : 83, cols != 48);
      const AlignedBuffer<std::byte> memory = c.PreparedInput();
      CheckGatedProduct(c.Args(memory));
    }
  }
}

TEST_CASE_TEMPLATE("a product by quantised weights has the saved bits", T, QUANTISED_TYPES) {
  CHECK(SavedDifference({"matmul", NameOf(kDTypeOf<T>)}, GroupCase<T>(17, 83, 300, true).Run()) == "");
}

TEST_CASE_TEMPLATE("activations at the edges of their range", T, QUANTISED_TYPES) {
  // Without fused multiply-add a group's product is rounded by itself, and must not overflow.
  const float most = TargetHasFma() ? 3.0e38f : 1.0e35f;
  for (const size_t rows : {1, 20}) {
    GroupCase<T> c(rows, 33, 600, false);
    for (size_t i = 0; i < 256; ++i) c.input[i] = 0.0f;                              // a block of zeros
    for (size_t i = 256; i < 512; ++i) c.input[i] = i % 2 == 0 ? 0x1p-120f : -0.0f;  // counts as zero
    for (size_t i = 512; i < 600; ++i) c.input[i] = i % 3 == 0 ? -most : most;       // extreme codes
    CHECK(Difference(c.Run(), c.Reference(), c.tolerance() * 1e36) == "");
    if (rows == 1) continue;
    c.input[1 * c.k + 5] = kNaN;
    c.input[2 * c.k + 300] = kInfinity;
    c.input[19 * c.k + 599] = -kInfinity;
    CHECK(Difference(c.Run(), c.Reference(), c.tolerance() * 1e36) == "");
  }
}

TEST_CASE_TEMPLATE("activations whose rows have a scale each", T, QUANTISED_TYPES) {
  for (const size_t rows : {1, 3, 20}) {
    for (const size_t k : {5, 256, 700}) {
      CAPTURE(rows);
      CAPTURE(k);
      GroupCase<T> c(rows, 33, k, false);
      c.row_scale = true;
      CHECK(Difference(c.Run(), c.Reference(), c.tolerance()) == "");
      if (rows == 1) continue;
      for (size_t i = 0; i < k; ++i) c.input[i] = i % 2 == 0 ? 1e-6f : -1e-7f;  // less than the least scale's
      c.input[2 * k - 1] = kNaN;
      c.input[2 * k] = rows == 3 ? kInfinity : 4.0f;
      CHECK(Difference(c.Run(), c.Reference(), c.tolerance()) == "");
    }
  }
}

TEST_CASE_TEMPLATE("the largest sums that a group can have", T, QUANTISED_TYPES) {
  const auto [low, high] = kCodes<T>;
  for (const size_t rows : {1, 3, 9}) {
    GroupCase<T> c(rows, 33, 96, false);
    for (size_t i = 0; i < c.n; ++i) {
      for (WeightGroup& group : c.weights[i]) {
        std::ranges::fill(group.codes, i % 2 == 0 ? low : high);
        if constexpr (NestedScales<T>) {
          group.number = i % 4 < 2 ? kNumbers<T>.first : kNumbers<T>.second;
          if (HasOffsets<T>) group.offset_number = group.number;
        }
      }
    }
    c.Pack();
    for (size_t i = 0; i < c.input.size(); ++i) c.input[i] = i / c.k % 2 == 0 ? 1.0f : -1.0f;
    CHECK(Difference(c.Run(), c.Reference(), c.tolerance()) == "");
  }
}

TEST_CASE_TEMPLATE("rows of a quantised table are looked up exactly", T, QUANTISED_TYPES) {
  const GroupCase<T> c(1, 37, 83, false);
  const std::vector<int32_t> tokens = {36, 0, 15, 16};
  std::vector<float> output(tokens.size() * c.k), expected;
  Kernels<>::Embed<T>({.table = c.packed.data(),
                       .tokens = tokens.data(),
                       .output = output.data(),
                       .output_stride = c.k,
                       .cols = c.k,
                       .padded_k = PaddedK<T>(c.k),
                       .scale = 1.5f,
                       .row_begin = 0,
                       .row_end = tokens.size()});
  for (const int32_t token : tokens) {
    for (size_t k = 0; k < c.k; ++k) {
      const WeightGroup& group = c.weights[static_cast<size_t>(token)][k / T::kGroup];
      const auto code = static_cast<float>(group.codes[k % T::kGroup]);
      const float scale = group.scale * static_cast<float>(group.number);
      const float offset = group.offset * static_cast<float>(group.offset_number);
      expected.push_back((HasOffsets<T> ? std::fma(scale, code, offset) : scale * code) * 1.5f);
    }
  }
  CHECK(BitDifference(output, expected) == "");
}

}  // namespace group_matmul_test
}  // namespace skald::testing
