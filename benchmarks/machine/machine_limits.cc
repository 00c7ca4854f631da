// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/machine/machine_limits.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "skald/base/aligned_buffer.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "benchmarks/machine/machine_limits.cc"
#include "hwy/foreach_target.h"
// clang-format on
#include "hwy/highway.h"
#include "skald/kernels/matmul/codes-inl.h"
#include "skald/kernels/simd/amx-inl.h"
#include "skald/kernels/simd/avx_vnni_support.h"
#include "skald/kernels/simd/bf16_dot-inl.h"

#ifndef SKALD_BENCHMARKS_MACHINE_LIMITS_CC_ONCE
#define SKALD_BENCHMARKS_MACHINE_LIMITS_CC_ONCE
namespace skald {
inline constexpr size_t kStream = size_t{1} << 13;  // floats
}  // namespace skald
#endif

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The functions below return how many operations they did; `result` only keeps these from being left out.

// Twelve chains that do not depend on each other hide the latency of any multiply-add so far, and leave registers for
// its factors on targets with 16. Equal ones would be computed once.
template <class D, class Step>
HWY_INLINE float RunChains(D d, size_t rounds, const Step& step) {
  using T = hn::TFromD<D>;
  auto c0 = hn::Set(d, T{0}), c1 = hn::Set(d, T{1}), c2 = hn::Set(d, T{2}), c3 = hn::Set(d, T{3});
  auto c4 = hn::Set(d, T{4}), c5 = hn::Set(d, T{5}), c6 = hn::Set(d, T{6}), c7 = hn::Set(d, T{7});
  auto c8 = hn::Set(d, T{8}), c9 = hn::Set(d, T{9}), c10 = hn::Set(d, T{10}), c11 = hn::Set(d, T{11});
  for (size_t round = 0; round < rounds; ++round) {
    c0 = step(c0), c1 = step(c1), c2 = step(c2), c3 = step(c3), c4 = step(c4), c5 = step(c5);
    c6 = step(c6), c7 = step(c7), c8 = step(c8), c9 = step(c9), c10 = step(c10), c11 = step(c11);
  }
  const auto low = hn::Add(hn::Add(hn::Add(c0, c1), hn::Add(c2, c3)), hn::Add(c4, c5));
  const auto high = hn::Add(hn::Add(hn::Add(c6, c7), hn::Add(c8, c9)), hn::Add(c10, c11));
  return static_cast<float>(hn::ReduceSum(d, hn::Add(low, high)));
}

double MultiplyFloats(size_t rounds, float& result) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.75f), term = hn::Set(d, static_cast<float>(rounds));
  result = RunChains(d, rounds, [&](auto sum) HWY_ATTR { return hn::MulAdd(sum, factor, term); });
  return 12.0 * 2.0 * static_cast<double>(rounds * hn::Lanes(d));
}

template <Codes kCodes>
double MultiplyCodes(size_t rounds, float& result) {
  const IntTag d;
  IntVec a = hn::Set(d, static_cast<int32_t>(rounds % 7));
  const IntVec b = hn::Set(d, 0x03030303);
  result = RunChains(d, rounds, [&](auto sum) HWY_ATTR {
#if HWY_ARCH_X86 && HWY_COMPILER_GCC && HWY_TARGET != HWY_SCALAR
    __asm__ volatile("" : "+v"(a.raw));  // products that are added up separately are not computed once for all
#endif
    return AddProducts<kCodes>(a, b, sum);
  });
  return 12.0 * 8.0 * static_cast<double>(rounds * hn::Lanes(d));
}

double MultiplyInt8InVectors(size_t rounds, float& result) {
#if HWY_TARGET == HWY_AVX2
  if (HaveAvxVnni()) return MultiplyCodes<Codes::kFours>(rounds, result);
#endif
  return MultiplyCodes<Codes::kSmall>(rounds, result);
}

#if HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX

// Zeros everywhere: an upper limit. Random numbers draw more power, and some processors then run a fifth slower.
SKALD_AMX void SetTilesToZero() {
  SetTileShapes();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
}

SKALD_AMX double MultiplyTilesBF16(size_t rounds) {
  SetTilesToZero();
  for (size_t round = 0; round < rounds; ++round) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  ReleaseTiles();
  return 4.0 * 2.0 * static_cast<double>(rounds * kTileHeight * kTileHeight * kTileRowBytes / sizeof(uint16_t));
}

__attribute__((target("amx-tile,amx-int8"))) double MultiplyTilesInt8(size_t rounds) {
  SetTilesToZero();
  for (size_t round = 0; round < rounds; ++round) {
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
  ReleaseTiles();
  return 4.0 * 2.0 * static_cast<double>(rounds * kTileHeight * kTileHeight * kTileRowBytes);
}

double MultiplyBF16(size_t rounds, float& result) {
  return HaveAmx() ? MultiplyTilesBF16(rounds) : MultiplyFloats(rounds, result);
}
double MultiplyInt8(size_t rounds, float& result) {
  return HaveAmx() ? MultiplyTilesInt8(rounds) : MultiplyInt8InVectors(rounds, result);
}

#else

#if HWY_TARGET == HWY_AVX3_ZEN4
double MultiplyBF16(size_t rounds, float& result) {
  const FloatTag d;
  const WordsVec a = hn::Set(WordsTag(), 0x3F403F40u), b = hn::Set(WordsTag(), static_cast<uint32_t>(rounds % 7));
  result = RunChains(d, rounds, [&](auto sum) HWY_ATTR { return AddDots(a, b, sum); });
  return 12.0 * 4.0 * static_cast<double>(rounds * hn::Lanes(d));
}
#else
double MultiplyBF16(size_t rounds, float& result) { return MultiplyFloats(rounds, result); }
#endif
double MultiplyInt8(size_t rounds, float& result) { return MultiplyInt8InVectors(rounds, result); }

#endif

// Reads `size` floats, a multiple of 4 * kStream. Four streams are read side by side, as a product of one row does with
// its panels: a single one leaves the processor's prefetchers idle at every page boundary.
double ReadFloats(const float* data, size_t size, float& result) {
  const hn::ScalableTag<float> d;
  auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
  for (size_t begin = 0; begin < size; begin += 4 * kStream) {
    for (size_t i = begin; i < begin + kStream; i += hn::Lanes(d)) {
      s0 = hn::Or(s0, hn::Load(d, data + i));
      s1 = hn::Or(s1, hn::Load(d, data + i + kStream));
      s2 = hn::Or(s2, hn::Load(d, data + i + 2 * kStream));
      s3 = hn::Or(s3, hn::Load(d, data + i + 3 * kStream));
    }
  }
  result = hn::ReduceSum(d, hn::Or(hn::Or(s0, s1), hn::Or(s2, s3)));
  return static_cast<double>(size * sizeof(float));
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skald {
namespace {

HWY_EXPORT(MultiplyFloats);
HWY_EXPORT(MultiplyBF16);
HWY_EXPORT(MultiplyInt8);
HWY_EXPORT(ReadFloats);

// Returns how many operations all workers do in a second, each in `work(worker, result)`: the best of a few tries.
template <class Work>
double BestRate(const ExecutorRef& executor, const Work& work) {
  struct alignas(kAlignment) Share {
    double operations;
    float result;
  };
  std::vector<Share> shares(executor.num_workers());
  const auto task = [&](size_t i) { shares[i].operations = work(i, shares[i].result); };
  double best = 0.0;
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    executor.Run(shares.size(), TaskRef(task));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    double operations = 0.0;
    for (const Share& share : shares) operations += share.operations;
    best = std::max(best, operations / seconds.count());
  }
  return best;
}

constexpr size_t kRounds = 200'000;  // some milliseconds

}  // namespace

double MeasureReadBytes(const ExecutorRef& executor) {
  constexpr size_t kFloats = size_t{1} << 28;  // 1 GiB: more than any cache
  const AlignedBuffer<float> buffer(kFloats);
  const size_t share = kFloats / executor.num_workers() / (4 * kStream) * (4 * kStream);
  return BestRate(executor, [&](size_t worker, float& result) {
    return HWY_DYNAMIC_DISPATCH(ReadFloats)(buffer.data() + worker * share, share, result);
  });
}

MachineLimits MeasureLimits(const ExecutorRef& executor) {
  const auto multiply = [&](auto function) {
    return BestRate(executor, [&](size_t, float& result) { return function(kRounds, result); });
  };
  return {.read_bytes = MeasureReadBytes(executor),
          .f32_flops = multiply(HWY_DYNAMIC_POINTER(MultiplyFloats)),
          .bf16_flops = multiply(HWY_DYNAMIC_POINTER(MultiplyBF16)),
          .int8_ops = multiply(HWY_DYNAMIC_POINTER(MultiplyInt8))};
}

}  // namespace skald
#endif  // HWY_ONCE
