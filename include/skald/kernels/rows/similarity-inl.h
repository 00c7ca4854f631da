// SPDX-License-Identifier: Apache-2.0
//
// The parts of similarities of vectors: dot products and squares of lengths, of floats and of int8 codes, and
// distances of bits. Products of two floats are exact in double, so that the sums of floats, in the order of R3, have
// the same bits on targets without fused multiply-add too; sums of integers are exact in any order.

#if defined(SKALD_KERNELS_ROWS_SIMILARITY_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_ROWS_SIMILARITY_INL_TOGGLE
#undef SKALD_KERNELS_ROWS_SIMILARITY_INL_TOGGLE
#else
#define SKALD_KERNELS_ROWS_SIMILARITY_INL_TOGGLE
#endif

#include <bit>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/similarity_args.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

using DoubleTag = hn::CappedTag<double, kLanes>;
using DoubleVec = hn::Vec<DoubleTag>;
using DoubleLanes = LanesOf<DoubleTag>;

#if HWY_HAVE_SCALABLE || HWY_TARGET_IS_SVE
HWY_INLINE size_t NumDoubleParts() { return kLanes / hn::Lanes(DoubleTag()); }
#else
HWY_INLINE constexpr size_t NumDoubleParts() { return kLanes / hn::MaxLanes(DoubleTag()); }
#endif

HWY_INLINE DoubleLanes ZeroDoubleLanes() {
  DoubleLanes result;
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < NumDoubleParts(); ++i) SetPart(result, i, hn::Zero(DoubleTag()));
  return result;
}

HWY_INLINE DoubleLanes LoadDoubleLanes(const float* from) {
  const hn::Rebind<float, DoubleTag> narrow;
  DoubleLanes result;
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < NumDoubleParts(); ++i) {
    SetPart(result, i, hn::PromoteTo(DoubleTag(), hn::LoadU(narrow, from + i * hn::Lanes(DoubleTag()))));
  }
  return result;
}

// Returns a * b + c, where the product is exact.
HWY_INLINE DoubleLanes AddProducts(const DoubleLanes& a, const DoubleLanes& b, const DoubleLanes& c) {
  DoubleLanes result;
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < NumDoubleParts(); ++i) SetPart(result, i, hn::MulAdd(Part(a, i), Part(b, i), Part(c, i)));
  return result;
}

// Returns the sum of all lanes by the fixed tree of R3.
HWY_INLINE double DoubleTreeSum(const DoubleLanes& lanes) {
  alignas(kAlignment) double sum[kLanes];
  for (size_t i = 0; i < NumDoubleParts(); ++i) {
    hn::Store(Part(lanes, i), DoubleTag(), sum + i * hn::Lanes(DoubleTag()));
  }
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) sum[i] += sum[i + half];
  }
  return sum[0];
}

// The sums of kRows rows, which share the loads of the vector.
template <size_t kRows, bool kSquares>
struct RowSums {
  DoubleLanes dots[kRows], squares[kSquares ? kRows : 1];

  HWY_INLINE RowSums() {
    for (DoubleLanes& lanes : dots) lanes = ZeroDoubleLanes();
    for (DoubleLanes& lanes : squares) lanes = ZeroDoubleLanes();
  }

  // Adds the products of kLanes elements; row i begins at rows + i * cols.
  HWY_INLINE void Add(const float* vector, const float* rows, size_t cols) {
    const DoubleLanes factors = LoadDoubleLanes(vector);
    for (size_t row = 0; row < kRows; ++row) {
      const DoubleLanes elements = LoadDoubleLanes(rows + row * cols);
      dots[row] = AddProducts(factors, elements, dots[row]);
      if constexpr (kSquares) squares[row] = AddProducts(elements, elements, squares[row]);
    }
  }
};

// Computes kRows rows from `row` on.
template <size_t kRows, bool kSquares>
HWY_INLINE void DotRows(const DotArgs& args, size_t row) {
  const float* const rows = args.rows + row * args.cols;
  RowSums<kRows, kSquares> sums;
  const size_t whole = args.cols / kLanes * kLanes;
  for (size_t k = 0; k < whole; k += kLanes) sums.Add(args.vector + k, rows + k, args.cols);
  if (whole < args.cols) {
    float vector[kLanes] = {}, rest[kRows * kLanes] = {};
    for (size_t k = whole; k < args.cols; ++k) {
      vector[k - whole] = args.vector[k];
      for (size_t i = 0; i < kRows; ++i) rest[i * kLanes + k - whole] = rows[i * args.cols + k];
    }
    sums.Add(vector, rest, kLanes);
  }
  for (size_t i = 0; i < kRows; ++i) {
    args.output[row + i] = DoubleTreeSum(sums.dots[i]);
    if constexpr (kSquares) args.squares[row + i] = DoubleTreeSum(sums.squares[i]);
  }
}

// As many rows at a time as there are registers for.
template <bool kSquares>
HWY_INLINE void DotAllRows(const DotArgs& args) {
  constexpr size_t kRows = (HWY_MAX_BYTES >= 64 ? 4 : 2) / (kSquares && HWY_MAX_BYTES < 64 ? 2 : 1);
  size_t row = args.row_begin;
  for (; row + kRows <= args.row_end; row += kRows) DotRows<kRows, kSquares>(args, row);
  for (; row < args.row_end; ++row) DotRows<1, kSquares>(args, row);
}

inline void Dots(const DotArgs& args) {
  if (args.squares == nullptr) return DotAllRows<false>(args);
  DotAllRows<true>(args);
}

// Returns the sum of products of `size` codes.
HWY_INLINE int64_t CodeDot(const int8_t* a, const int8_t* b, size_t size) {
  int64_t total = 0;
  size_t k = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<int16_t> wide;
  const hn::RepartitionToWide<decltype(wide)> sums;
  const hn::Rebind<int8_t, decltype(wide)> codes;
  const size_t step = hn::Lanes(wide);
  constexpr size_t kSpan = 65536;  // products that are below 2^31 together
  while (k + step <= size) {
    auto sum = hn::Zero(sums);
    const size_t end = HWY_MIN(size, k + kSpan);
    for (; k + step <= end; k += step) {
      const auto x = hn::PromoteTo(wide, hn::LoadU(codes, a + k)), y = hn::PromoteTo(wide, hn::LoadU(codes, b + k));
      sum = hn::Add(sum, hn::WidenMulPairwiseAdd(sums, x, y));
    }
    total += hn::ReduceSum(sums, sum);
  }
#endif
  for (; k < size; ++k) total += int64_t{a[k]} * b[k];
  return total;
}

inline void CodeDots(const CodeDotArgs& args) {
  for (size_t row = args.row_begin; row < args.row_end; ++row) {
    const int8_t* const codes = args.rows + row * args.cols;
    args.output[row] = CodeDot(args.vector, codes, args.cols);
    if (args.squares != nullptr) args.squares[row] = CodeDot(codes, codes, args.cols);
  }
}

// Returns the number of bits in which `size` bytes differ.
HWY_INLINE int64_t BitDistance(const uint8_t* a, const uint8_t* b, size_t size) {
  int64_t total = 0;
  size_t k = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint8_t> bytes;
  const hn::Repartition<uint64_t, decltype(bytes)> words;
  auto sum = hn::Zero(words);
  for (; k + hn::Lanes(bytes) <= size; k += hn::Lanes(bytes)) {
    const auto differ = hn::Xor(hn::LoadU(bytes, a + k), hn::LoadU(bytes, b + k));
    sum = hn::Add(sum, hn::PopulationCount(hn::BitCast(words, differ)));
  }
  if (k < size) {
    const auto differ = hn::Xor(hn::LoadN(bytes, a + k, size - k), hn::LoadN(bytes, b + k, size - k));
    sum = hn::Add(sum, hn::PopulationCount(hn::BitCast(words, differ)));
  }
  total = static_cast<int64_t>(hn::ReduceSum(words, sum));
#else
  for (; k < size; ++k) total += std::popcount(static_cast<unsigned>(a[k] ^ b[k]));
#endif
  return total;
}

inline void BitDistances(const BitDistanceArgs& args) {
  for (size_t row = args.row_begin; row < args.row_end; ++row) {
    args.output[row] = BitDistance(args.vector, args.rows + row * args.cols, args.cols);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_ROWS_SIMILARITY_INL_TOGGLE
