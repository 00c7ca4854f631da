// SPDX-License-Identifier: Apache-2.0

#include "skald/weights/packing/pack.h"
#include "skald/base/numbers/bf16.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/model/load.h"
#include "skald/weights/packing/detail/fit_group.h"
#include "skald/weights/random_weights.h"
#include "tests/support/quantised_types.h"
#include "tests/support/unpack.h"

namespace skald {
namespace pack_test {

std::vector<float> Values(size_t count, uint64_t seed) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = internal::UniformAt(seed, i);
  return values;
}

Matrix Pack(std::span<const PackSource> sources, size_t cols, DType dtype, size_t threads = 1) {
  ThreadPool pool(threads);
  return PackMatrix(sources, cols, *FindType(WeightPackersOf<AllWeights>(), dtype), ExecutorRef(pool));
}

std::vector<float> Rounded(std::vector<float> values, DType dtype) {
  if (dtype == DType::kBF16) {
    for (float& value : values) value = ToFloat(RoundToBF16(value));
  }
  return values;
}

PackSource SourceOf(const std::vector<float>& values, size_t rows) {
  return {reinterpret_cast<const std::byte*>(values.data()), DType::kF32, rows};
}

// Returns what the 16 bits of an IEEE binary16 number mean, by its definition.
double MeaningOfHalf(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31), fraction = static_cast<int>(bits & 1023);
  const double sign = (bits >> 15) != 0 ? -1.0 : 1.0;
  if (exponent == 31) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST_CASE("Unpacking a packed matrix gives its values, rounded to the element type, for any shape") {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const size_t rows : {1, 15, 16, 17, 50}) {
      for (const size_t cols : {1, 2, 31, 32, 33, 97}) {
        CAPTURE(rows);
        CAPTURE(cols);
        const std::vector<float> values = Values(rows * cols, rows * 1000 + cols);
        const Matrix matrix = Pack({{SourceOf(values, rows)}}, cols, dtype);
        CHECK(matrix.rows == rows);
        CHECK(matrix.cols == cols);
        CHECK(matrix.padded_cols == RoundUp(cols, kTile));
        CHECK(matrix.data.size() == PackedSize(rows, cols) * SizeOf(dtype));
        CHECK(testing::Unpack(matrix) == Rounded(values, dtype));
      }
    }
  }
}

template <class T>
int8_t NearestOfAll(float value) {
  int8_t nearest = T::kValues[0];
  for (const int8_t listed : T::kValues) {
    if (std::abs(value - listed) < std::abs(value - nearest)) nearest = listed;
  }
  return nearest;
}

template <class T>
void CheckNearest() {
  const auto check = [](float value) {
    CAPTURE(value);
    CHECK(internal::NearestValue<T>(value) == NearestOfAll<T>(value));
  };
  for (int i = -400; i <= 400; ++i) {
    const float value = static_cast<float>(i) * 0.5f;  // all that is as near to two, and beyond the last ones
    for (const float near : {std::nextafter(value, -1e9f), value, std::nextafter(value, 1e9f)}) check(near);
  }
  for (const float value : Values(2000, 5)) check(130.0f * value);
}

TEST_CASE("The nearest value of a list is the first one of the nearest") {
  CheckNearest<IQ4_NL>();
  CheckNearest<MXFP4>();
  CheckNearest<NVFP4>();
  CheckNearest<IQ1>();
  CheckNearest<IQ2>();
  CheckNearest<IQ3_XXS>();
  CheckNearest<IQ3_S>();
  CheckNearest<IQ4_XS>();
}

// The error of a value that is rounded to a code: half a step, and the rounding of its scale.
float LargestError(DType dtype, float largest) {
  if (dtype == DType::kQ4_0) return largest / 8 * 1.01f;
  if (dtype == DType::kQ5_0) return largest / 16 * 1.01f;
  // Half a step from the smallest value to the largest one.
  if (dtype == DType::kQ4_1 || dtype == DType::kQ4A) return largest / 15 * 1.02f;
  if (dtype == DType::kQ5_1) return largest / 31 * 1.04f;
  // The largest step; more than the largest value.
  if (dtype == DType::kIQ4_NL) return largest * 28 / 127 * 1.02f;
  if (dtype == DType::kIQ4_XS) return largest * (24.0f / 113 + 0.5f / 31) * 1.01f;
  // A step, as a group's numbers are those with the least sum of errors.
  if (dtype == DType::kIQ1) return largest * (6.0f / 9 + 0.5f / 31) * 1.01f;
  if (dtype == DType::kIQ2) return largest * (18.0f / 43 + 0.5f / 31) * 1.01f;
  if (dtype == DType::kIQ3_XXS) return largest * (5.0f / 31 + 0.5f / 31) * 1.01f;
  if (dtype == DType::kIQ3_S) return largest * (2.0f / 15 + 0.5f / 31) * 1.01f;
  if (dtype == DType::kMXFP4) return largest * 2 / 8;
  // A step, since the ends of a group give way to what lies between them, and what the numbers that multiply a scale,
  // and a minimum, are rounded by.
  if (dtype == DType::kQ2_K) return largest * (2.0f / 3 + 1.0f / 15 + 0.5f / 15) * 1.01f;
  if (dtype == DType::kQ3_K) return largest * (1.0f / 3 + 0.5f / 31) * 1.01f;
  if (dtype == DType::kQ4_K) return largest * (2.0f / 15 + 1.0f / 63 + 0.5f / 63) * 1.01f;
  if (dtype == DType::kQ5_K) return largest * (2.0f / 31 + 1.0f / 63 + 0.5f / 63) * 1.01f;
  if (dtype == DType::kQ6A) return largest * (2.0f / 63 + 1.0f / 63 + 0.5f / 63) * 1.01f;
  if (dtype == DType::kQ6_K) return largest * (1.0f / 31 + 0.5f / 127) * 1.01f;
  if (dtype == DType::kF8) return largest * (16.0f / 448) * 1.01f;
  if (dtype == DType::kFP4 || dtype == DType::kNVFP4) return largest / 6 * 1.01f;
  if (dtype == DType::kNF4) return largest * (1.0f + kNf4Numbers[1]) / 2 * 1.01f;
  return largest / 127 * 0.6f + largest * 0x1p-11f;
}

TEST_CASE("Quantised values are as near as their codes allow, for any shape") {
  for (const DType dtype : testing::kCodedTypes) {
    for (const size_t rows : {1, 16, 17, 50}) {
      for (const size_t cols : {1, 16, 31, 33, 64, 97, 300}) {
        CAPTURE(NameOf(dtype));
        CAPTURE(rows);
        CAPTURE(cols);
        const std::vector<float> values = Values(rows * cols, rows * 1000 + cols);
        const Matrix matrix = Pack({{SourceOf(values, rows)}}, cols, dtype);
        CHECK(matrix.padded_cols == VisitWeightType(dtype, [=]<class T>() { return PaddedK<T>(cols); }));
        const std::vector<float> unpacked = testing::Unpack(matrix);
        float worst = 0.0f;
        for (size_t i = 0; i < values.size(); ++i) worst = std::max(worst, std::abs(values[i] - unpacked[i]));
        CHECK(worst <= LargestError(dtype, 1.0f));
      }
    }
  }
}

// Returns the squared error of random values as T over what rounding each of them to a multiple of a step would give,
// if the steps reached just as far as a group's values do.
template <class T>
double ErrorOfSearch() {
  constexpr size_t kCount = 64 * 256;
  const std::vector<float> values = Values(kCount, 7);
  const std::vector<float> unpacked = testing::Unpack(Pack({{SourceOf(values, 1)}}, kCount, kDTypeOf<T>));
  double errors = 0.0, rounded = 0.0;
  for (size_t begin = 0; begin < kCount; begin += T::kGroup) {
    float lowest = 0.0f, highest = 0.0f;
    for (size_t i = begin; i < begin + T::kGroup; ++i) {
      lowest = std::min(lowest, values[i]), highest = std::max(highest, values[i]);
      errors += std::pow(values[i] - unpacked[i], 2.0);
    }
    constexpr double kSteps = (1 << T::kCodeBits) - 1;
    const double step = (HasOffsets<T> ? highest - lowest : 2.0f * std::max(highest, -lowest)) / kSteps;
    rounded += T::kGroup * step * step / 12;
  }
  return errors / rounded;
}

TEST_CASE("Scales, minima and their numbers are searched for, so that values err less than if they were just rounded") {
  CHECK(ErrorOfSearch<Q2_K>() < 0.6);
  CHECK(ErrorOfSearch<Q3_K>() < 0.85);
  CHECK(ErrorOfSearch<Q4_K>() < 0.82);
  CHECK(ErrorOfSearch<Q5_K>() < 0.85);
  CHECK(ErrorOfSearch<Q6_K>() < 0.8);
  CHECK(ErrorOfSearch<Q6A>() < 0.88);
  CHECK(ErrorOfSearch<IQ4_XS>() < 1.1);
  CHECK(ErrorOfSearch<IQ4_NL>() < 1.1);
}

TEST_CASE("Quantisation follows GGML's rules") {
  std::vector<float> values(64, 0.0f);  // two groups, the second zero
  values[3] = -2.0f, values[4] = 1.0f, values[5] = 0.01f, values[31] = 1.99f;
  const Matrix eight = Pack({{SourceOf(values, 1)}}, 64, DType::kQ8_0);
  const Q8_0& pack = *eight.As<Q8_0>();
  CHECK(pack.scales[0][0] == ToHalf(2.0f / 127));
  CHECK(int{pack.codes[0][0][0][3]} == -127);
  CHECK(int{pack.codes[0][1][0][0]} == 64);  // 63.5 away from zero
  CHECK(int{pack.codes[0][1][0][1]} == 1);   // 0.635
  CHECK(pack.scales[1][0] == 0);
  const Matrix four = Pack({{SourceOf(values, 1)}}, 64, DType::kQ4_0);
  const Q4_0& nibbles = *four.As<Q4_0>();
  CHECK(nibbles.scales[0][0] == ToHalf(0.25f));       // -2 / -8
  CHECK(int{nibbles.codes[0].low[0][0][3]} == 0x80);  // -2, and value 19, which is 0
  CHECK(int{nibbles.codes[0].low[3][0][3]} == 0xF8);  // 0, and value 31, that of the largest code
  CHECK(int{nibbles.codes[0].low[1][0][0]} == 0x8C);  // 1 is code 4
}

TEST_CASE("Values that cannot be quantised do no harm") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> values = {kInfinity, -kInfinity, std::nanf(""), 3e38f, -3e38f, 1e-45f, 0.0f, 1.0f};
  for (const DType dtype : testing::kCodedTypes) {
    Pack({{SourceOf(values, 1)}}, values.size(), dtype);  // for the sanitizers
    const std::vector<float> tiny(32, 1e-44f);
    for (const float value : testing::Unpack(Pack({{SourceOf(tiny, 1)}}, 32, dtype))) CHECK(std::abs(value) < 1e-43f);
  }
}

// A made-up file type of blocks of 32: for each 16 elements a scale and an offset, then their codes.
constexpr size_t kBlockBytes = 2 * (8 + kCodeGroup);
void DecodeBlock(const std::byte* block, CodeGroup* groups) {
  for (size_t g = 0; g < 2; ++g) {
    std::memcpy(&groups[g].scale, block + g * 24, 4);
    std::memcpy(&groups[g].offset, block + g * 24 + 4, 4);
    std::memcpy(groups[g].codes, block + g * 24 + 8, kCodeGroup);
  }
}

// Returns `count` blocks whose groups `packed` holds exactly: equal scales within a block, offsets where it has floats.
std::vector<std::byte> MakeBlocks(size_t count, DType packed) {
  std::vector<std::byte> bytes(count * kBlockBytes);
  for (size_t g = 0; g < 2 * count; ++g) {
    const size_t source = packed == DType::kQ8A ? g : g / 2;
    const float scale = FromHalf(ToHalf(0.01f * internal::UniformAt(1, source)));
    const bool has_floats = packed == DType::kQ8A || packed == DType::kQ8A32 || packed == DType::kQ4A;
    const float offset = has_floats ? internal::UniformAt(2, source) : 0.0f;
    std::memcpy(bytes.data() + g * 24, &scale, 4);
    std::memcpy(bytes.data() + g * 24 + 4, &offset, 4);
    for (size_t i = 0; i < kCodeGroup; ++i) {
      const float any = internal::UniformAt(3, g * kCodeGroup + i);
      const float range = packed == DType::kQ4_0 || packed == DType::kQ4A ? 7.9f : 127.9f;
      const auto code = static_cast<int8_t>(packed == DType::kQ4A ? range * (any + 1) : range * any);
      bytes[g * 24 + 8 + i] = static_cast<std::byte>(code);
    }
  }
  return bytes;
}

TEST_CASE("Groups of a file are packed exactly where the type holds them, beside other sources, and else by value") {
  constexpr size_t kRows = 21, kCols = 320;
  for (const DType packed : {DType::kQ8_0, DType::kQ4_0, DType::kQ4A, DType::kQ8A32, DType::kQ8A}) {
    CAPTURE(NameOf(packed));
    const GroupFormat format = {packed, 32, kBlockBytes, DecodeBlock};
    const std::vector<std::byte> bytes = MakeBlocks(kRows * kCols / 32, packed);
    std::vector<float> meant;
    for (size_t b = 0; b < kRows * kCols / 32; ++b) {
      CodeGroup groups[2];
      DecodeBlock(bytes.data() + b * kBlockBytes, groups);
      for (size_t i = 0; i < 32; ++i) {
        const CodeGroup& group = groups[i / kCodeGroup];
        meant.push_back(std::fma(group.scale, static_cast<float>(group.codes[i % kCodeGroup]), group.offset));
      }
    }
    const std::vector<float> other = Values(3 * kCols, 9);
    const PackSource sources[] = {SourceOf(other, 3), {bytes.data(), DType::kF32, kRows, &format}};
    CHECK(testing::UnpackRows(Pack(sources, kCols, packed, 2), 3, 3 + kRows) == meant);
    CHECK(testing::UnpackRows(Pack(sources, kCols, DType::kQ8A), 3, 3 + kRows) == meant);
    if (packed != DType::kQ8A) CHECK(testing::UnpackRows(Pack(sources, kCols, DType::kQ8A32), 3, 3 + kRows) == meant);
    CHECK(testing::UnpackRows(Pack(sources, kCols, DType::kF32), 3, 3 + kRows) == meant);
    CHECK(testing::UnpackRows(Pack(sources, kCols, DType::kBF16), 3, 3 + kRows) == Rounded(meant, DType::kBF16));
  }
}

TEST_CASE("Padding is zero") {
  const std::vector<float> ones(17 * 33, 1.0f);
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Matrix matrix = Pack({{SourceOf(ones, 17)}}, 33, dtype);
    for (size_t row = 0; row < 32; ++row) {
      for (size_t col = 0; col < 64; ++col) {
        const bool inside = row < 17 && col < 33;
        REQUIRE(testing::ElementOf(matrix, row, col) == (inside ? 1.0f : 0.0f));
      }
    }
  }
}

TEST_CASE(
    "Stacked sources continue each other's rows, also in the middle of a panel and with other "
    "types") {
  const std::vector<float> a = Values(5 * 40, 1), b = Values(20 * 40, 2);
  std::vector<bf16> c;
  for (const float value : Values(9 * 40, 3)) c.push_back(RoundToBF16(value));
  const PackSource sources[] = {
      SourceOf(a, 5), SourceOf(b, 20), {reinterpret_cast<const std::byte*>(c.data()), DType::kBF16, 9}};
  const Matrix matrix = Pack(sources, 40, DType::kF32);
  CHECK(matrix.rows == 34);
  CHECK(testing::UnpackRows(matrix, 0, 5) == a);
  CHECK(testing::UnpackRows(matrix, 5, 25) == b);
  CHECK(testing::UnpackRows(matrix, 25, 34) == Rounded(Values(9 * 40, 3), DType::kBF16));
}

TEST_CASE("The number of threads changes no byte") {
  const std::vector<float> values = Values(100 * 70, 4);
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Matrix one = Pack({{SourceOf(values, 100)}}, 70, dtype, 1);
    for (const size_t threads : {2, 3, 7, 8, 20}) {
      const Matrix many = Pack({{SourceOf(values, 100)}}, 70, dtype, threads);
      CHECK(std::memcmp(one.data.data(), many.data.data(), one.data.size()) == 0);
    }
  }
}

TEST_CASE("Sources need no alignment and nothing is read after their last byte") {
  for (const size_t shift : {1, 2, 3}) {
    const std::vector<float> values = Values(3 * 35, 5);
    std::vector<std::byte> bytes(shift + values.size() * sizeof(float));  // ends with the last element
    std::memcpy(bytes.data() + shift, values.data(), values.size() * sizeof(float));
    const PackSource source{bytes.data() + shift, DType::kF32, 3};
    CHECK(testing::Unpack(Pack({{source}}, 35, DType::kF32)) == values);
  }
}

TEST_CASE("Every half-precision number, subnormal ones included, is converted exactly to float") {
  std::vector<uint16_t> halves(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  const auto* bytes = reinterpret_cast<const std::byte*>(halves.data());
  const Matrix matrix = Pack({{PackSource{bytes, DType::kF16, 256}}}, 256, DType::kF32);
  const std::vector<float> unpacked = testing::Unpack(matrix);
  std::vector<float> appended;
  AppendFloats(bytes, DType::kF16, halves.size(), appended);
  size_t wrong = 0;
  for (uint32_t i = 0; i < halves.size(); ++i) {
    const double expected = MeaningOfHalf(i);
    const bool both_nan = std::isnan(unpacked[i]) && std::isnan(expected);
    wrong += !both_nan && std::bit_cast<uint64_t>(double{unpacked[i]}) != std::bit_cast<uint64_t>(expected);
    wrong += std::bit_cast<uint32_t>(appended[i]) != std::bit_cast<uint32_t>(unpacked[i]);
  }
  CHECK(wrong == 0);
}

TEST_CASE("Rounding to bfloat16 goes to the nearest value, ties to the even one, infinity and NaN stay") {
  const std::vector<float> values = {
      0x1.01p0f,  // half way between 1 and the next: to even, 1
      0x1.03p0f,  // half way between 0x1.02 and 0x1.04: to even, 0x1.04
      0x1.010002p0f, -0x1.01p0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(),
      -0.0f};
  const std::vector<float> packed = testing::Unpack(Pack({{SourceOf(values, 1)}}, values.size(), DType::kBF16));
  CHECK(packed[0] == 1.0f);
  CHECK(packed[1] == 0x1.04p0f);
  CHECK(packed[2] == 0x1.02p0f);
  CHECK(packed[3] == -1.0f);
  CHECK(packed[4] == values[4]);
  CHECK(std::isnan(packed[5]));
  CHECK(std::signbit(packed[6]));
}

TEST_CASE("Progress counts every row once") {
  const size_t cols = 4096, rows = 8200;  // three slabs, the last one with part of a panel
  const std::vector<float> values(rows * cols);
  std::vector<size_t> steps;
  ThreadPool pool(2);
  PackMatrix({{SourceOf(values, rows)}}, cols, *FindType(WeightPackersOf<FloatWeights>(), DType::kBF16),
             ExecutorRef(pool), [&](size_t done) { steps.push_back(done); });
  CHECK(steps == std::vector<size_t>{4096, 4096, 8});
}

}  // namespace pack_test
}  // namespace skald
