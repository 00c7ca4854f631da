// SPDX-License-Identifier: Apache-2.0
//
// A multiplication whose inputs ranks have by columns gives what one process computes, for every type of weights; and
// what travels is no more than that multiplies by.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/distributed/communicators/measured_ranks.h"
#include "skald/distributed/communicators/thread_ranks.h"
#include "skald/layers/run/operations.h"
#include "skald/weights/parameters.h"
#include "skald/weights/random_weights.h"
#include "tests/support/quantised_types.h"

namespace skald::testing {
namespace gathered_inputs_test {

constexpr size_t kOutputs = 24, kCols = 1024;

// Two matrices [kOutputs, kCols], or what a rank has of them, whose inputs are partitioned in so many units.
struct Matrices {
  Matrix matrices[2];

  Matrices(DType type, size_t units, const RankShare& share) {
    ParameterList list;
    list.SetShare(share);
    for (Matrix& matrix : matrices) list.AddMatrix(matrix, {kCols, units}, {{"a", kOutputs}});
    ThreadPool alone(1);
    FillWithRandom(list, 7, type, ExecutorRef(alone));
  }
};

struct Products {
  std::vector<float> one, each;  // MatMul by the first matrix; MatMulEach, the first `split` rows by the first
  uint64_t bytes = 0;            // that this rank sent for `one`, outputs included

  bool operator==(const Products& other) const { return one == other.one && each == other.each; }
};

// `input` has the columns [first, first + the rank's own).
Products Multiply(const Matrices& matrices, std::span<const float> input, size_t rows, size_t split,
                  const CommunicatorRef& ranks) {
  ThreadPool alone(1);
  const ExecutorRef executor(alone);
  MatMulScratch scratch;
  MeasuredRanks measured(ranks);
  const CommunicatorRef end(measured);
  const Matrix& first = matrices.matrices[0];
  ReserveMatMul(first, rows, scratch);
  Operations ops(executor, scratch, WeightKernelsOf<AllWeights>(), nullptr, &end);
  const size_t begin = first.gathers_inputs() ? first.division->input_begins[ranks.share().rank] : 0;
  const Rows here = {const_cast<float*>(input.data()) + begin, kCols};
  Products products = {std::vector<float>(rows * kOutputs), std::vector<float>(rows * kOutputs)};
  ops.MatMul(first, here, rows, {}, {products.one.data(), kOutputs});
  products.bytes = measured.traffic().bytes;
  const std::vector<float> none;
  const RowsOfMatrix parts[] = {{&first, &none, 0, split}, {&matrices.matrices[1], &none, split, rows}};
  AlignedBuffer<float> memory(Operations::EachFloats(rows, kCols));
  ops.MatMulEach(parts, here, {products.each.data(), kOutputs}, {}, memory.data());
  return products;
}

// `matrices_of(share)` are those of a rank.
template <class MatricesOf>
std::vector<Products> MultiplyOnRanks(MatricesOf matrices_of, std::span<const float> input, size_t rows, size_t split,
                                      size_t ranks) {
  std::vector<ThreadRank> ends = CreateThreadRanks(ranks);
  std::vector<Products> products(ranks);
  std::vector<std::thread> threads;
  for (size_t r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      const CommunicatorRef end(ends[r]);
      products[r] = Multiply(matrices_of(end.share()), input, rows, split, end);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return products;
}

template <class Check>
void ForEachPartitioning(DType type, Check check) {
  const auto of_units = [type](size_t units) {
    return [type, units](const RankShare& share) { return Matrices(type, units, share); };
  };
  for (const size_t rows : {2u, 9u, 40u}) {
    std::vector<float> input(rows * kCols);
    for (size_t i = 0; i < input.size(); ++i) input[i] = internal::UniformAt(rows, i);
    const size_t split = rows / 2;
    const Products whole = MultiplyOnRanks(of_units(1), input, rows, split, 1)[0];
    for (const size_t ranks : {2u, 3u}) {
      // Blocks of activations, tiles, and neither.
      for (const size_t units : {4u, 32u, 128u}) {
        CAPTURE(rows);
        CAPTURE(ranks);
        CAPTURE(units);
        check(whole, MultiplyOnRanks(of_units(units), input, rows, split, ranks), rows, units);
      }
    }
  }
}

TEST_CASE("inputs that ranks have by columns give what one process computes") {
  std::vector<DType> types = kCodedTypes;
  types.push_back(DType::kBF16);
  types.push_back(DType::kF32);
  for (const DType type : types) {
    CAPTURE(NameOf(type));
    ForEachPartitioning(type, [&](const Products& whole, const std::vector<Products>& of_ranks, size_t, size_t) {
      for (const Products& products : of_ranks) CHECK((products == whole));
    });
  }
}

TEST_CASE("columns multiply the inputs that their order names, times their factors, on any number of ranks") {
  constexpr size_t kRows = 9;
  std::vector<uint32_t> order(kCols);
  for (size_t k = 0; k < kCols; ++k) order[k] = static_cast<uint32_t>(k * 389 % kCols);
  std::vector<float> input(kRows * kCols), moved(kRows * kCols);
  for (size_t i = 0; i < input.size(); ++i) input[i] = internal::UniformAt(1, i);
  std::vector<float> factors(kCols);
  for (size_t k = 0; k < kCols; ++k) factors[k] = 1.5f + internal::UniformAt(2, k);
  std::vector<DType> types = kCodedTypes;
  types.push_back(DType::kBF16);
  types.push_back(DType::kF32);
  for (const ColumnInputs& inputs :
       {ColumnInputs{order, {}}, ColumnInputs{{}, factors}, ColumnInputs{order, factors}}) {
    for (size_t i = 0; i < input.size(); ++i) {
      const size_t row = i / kCols * kCols, k = i % kCols;
      moved[i] = input[row + (inputs.order.empty() ? k : order[k])] * (inputs.factors.empty() ? 1.0f : factors[k]);
    }
    const auto with_inputs = [&](Matrices matrices) {
      Matrix& matrix = matrices.matrices[0];
      Matrix changed(matrix.rows, kCols, matrix.dtype, inputs);
      std::memcpy(changed.data.data(), matrix.bytes(), matrix.data.size());
      changed.division = matrix.division;
      matrix = std::move(changed);
      return matrices;
    };
    for (const DType type : types) {
      CAPTURE(NameOf(type));
      const auto plain = [=](const RankShare& share) { return Matrices(type, 4, share); };
      const Products unmoved = MultiplyOnRanks(plain, input, kRows, 4, 1)[0];
      Products expected = MultiplyOnRanks(plain, moved, kRows, 4, 1)[0];
      // The second matrix of MatMulEach has inputs as they are.
      std::copy(unmoved.each.begin() + 4 * kOutputs, unmoved.each.end(), expected.each.begin() + 4 * kOutputs);
      for (const size_t ranks : {1u, 2u, 3u}) {
        const auto changed = [&](const RankShare& share) { return with_inputs(plain(share)); };
        for (const Products& products : MultiplyOnRanks(changed, input, kRows, 4, ranks)) CHECK((products == expected));
      }
    }
  }
}

TEST_CASE("inputs travel as what they are multiplied by") {
  const auto most = [](DType type, double of_a_column) {
    ForEachPartitioning(type, [&](const Products&, const std::vector<Products>& of_ranks, size_t rows, size_t units) {
      if (units != 4) return;
      double bytes = 0;
      for (const Products& products : of_ranks) bytes += static_cast<double>(products.bytes);
      CHECK(bytes - static_cast<double>(rows * kOutputs * sizeof(float)) <=
            of_a_column * static_cast<double>(rows * kCols));
    });
  };
  most(DType::kBF16, 2.0);
  most(DType::kQ4_K, 1.25);  // a code, its part of a scale and of the sums of codes, up to whole cache lines
  most(DType::kQ8_0, 1.25);
}

}  // namespace gathered_inputs_test
}  // namespace skald::testing
