// SPDX-License-Identifier: Apache-2.0
//
// The 16 virtual lanes in which every sum of the arithmetic contract is ordered: one register on AVX-512, two on AVX2,
// four on NEON and SSE. A kernel written in terms of Lanes adds in the same order on all of them. Vectors without a
// size at compile time (SVE, RVV) cannot be members, so for them Lanes is in memory: the same bits, but slow. On such
// machines leave these targets out (HWY_DISABLED_TARGETS); NEON is used instead. Loops over parts are unrolled
// explicitly, because g++ -O2 would otherwise keep the arrays in memory.

#if defined(SKALD_KERNELS_SIMD_LANES_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_SIMD_LANES_INL_TOGGLE
#undef SKALD_KERNELS_SIMD_LANES_INL_TOGGLE
#else
#define SKALD_KERNELS_SIMD_LANES_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/packed_layout.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Unrolls a loop over the parts of a Lanes if their number is known.
#undef SKALD_UNROLL_PARTS
#if HWY_HAVE_SCALABLE || HWY_TARGET_IS_SVE
#define SKALD_UNROLL_PARTS
#else
#define SKALD_UNROLL_PARTS HWY_UNROLL(16)
#endif

// The register type: at most 16 lanes, so that a whole number of registers makes up a Lanes.
using FloatTag = hn::CappedTag<float, kLanes>;
using FloatVec = hn::Vec<FloatTag>;
using IntTag = hn::RebindToSigned<FloatTag>;
using IntVec = hn::Vec<IntTag>;

#if HWY_HAVE_SCALABLE || HWY_TARGET_IS_SVE

template <class Tag>
struct LanesOf {
  alignas(kAlignment) hn::TFromD<Tag> memory[kLanes];
};
HWY_INLINE size_t NumParts() { return kLanes / hn::Lanes(FloatTag()); }
inline constexpr size_t kKnownParts = 0;  // NumParts(), if the compiler knows it
template <class Tag>
HWY_INLINE hn::Vec<Tag> Part(const LanesOf<Tag>& lanes, size_t i) {
  return hn::Load(Tag(), lanes.memory + i * hn::Lanes(Tag()));
}
template <class Tag>
HWY_INLINE void SetPart(LanesOf<Tag>& lanes, size_t i, hn::Vec<Tag> v) {
  hn::Store(v, Tag(), lanes.memory + i * hn::Lanes(Tag()));
}

#else

template <class Tag>
struct LanesOf {
  // Spelled out because g++ compiles an implicit constructor without the attributes of this target.
  HWY_INLINE LanesOf() {}
  hn::Vec<Tag> part[kLanes / hn::MaxLanes(Tag())];
};
HWY_INLINE constexpr size_t NumParts() { return kLanes / hn::MaxLanes(FloatTag()); }
inline constexpr size_t kKnownParts = NumParts();
template <class Tag>
HWY_INLINE hn::Vec<Tag> Part(const LanesOf<Tag>& lanes, size_t i) {
  return lanes.part[i];
}
template <class Tag>
HWY_INLINE void SetPart(LanesOf<Tag>& lanes, size_t i, hn::Vec<Tag> v) {
  lanes.part[i] = v;
}

#endif

using Lanes = LanesOf<FloatTag>;

HWY_INLINE Lanes ZeroLanes() {
  Lanes result;
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < NumParts(); ++i) SetPart(result, i, hn::Zero(FloatTag()));
  return result;
}

HWY_INLINE Lanes LoadLanes(const float* from) {
  Lanes result;
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < NumParts(); ++i) {
    SetPart(result, i, hn::LoadU(FloatTag(), from + i * hn::Lanes(FloatTag())));
  }
  return result;
}

HWY_INLINE void StoreLanes(const Lanes& lanes, float* to) {
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < NumParts(); ++i) hn::StoreU(Part(lanes, i), FloatTag(), to + i * hn::Lanes(FloatTag()));
}

// The same past the caches; `to` is aligned to kAlignment.
HWY_INLINE void StreamLanes(const Lanes& lanes, float* to) {
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < NumParts(); ++i) hn::Stream(Part(lanes, i), FloatTag(), to + i * hn::Lanes(FloatTag()));
}

// The first `count` elements of a register, all of them if count is larger; the others are zero when loaded and are
// not written when stored.
HWY_INLINE FloatVec LoadUpTo(const float* from, size_t count) {
  const FloatTag tag;
  return count < hn::Lanes(tag) ? hn::LoadN(tag, from, count) : hn::LoadU(tag, from);
}
HWY_INLINE void StoreUpTo(FloatVec v, float* to, size_t count) {
  const FloatTag tag;
  if (count < hn::Lanes(tag)) {
    hn::StoreN(v, tag, to, count);
  } else {
    hn::StoreU(v, tag, to);
  }
}

// The first `count` <= 16 lanes; the others are zero when loaded and are not written when stored.
HWY_INLINE Lanes LoadLanes(const float* from, size_t count) {
  if (count == kLanes) return LoadLanes(from);
  alignas(kAlignment) float buffer[kLanes] = {};
  for (size_t i = 0; i < count; ++i) buffer[i] = from[i];
  return LoadLanes(buffer);
}
HWY_INLINE void StoreLanes(const Lanes& lanes, float* to, size_t count) {
  if (count == kLanes) return StoreLanes(lanes, to);
  alignas(kAlignment) float buffer[kLanes];
  StoreLanes(lanes, buffer);
  for (size_t i = 0; i < count; ++i) to[i] = buffer[i];
}

HWY_INLINE Lanes Add(const Lanes& a, const Lanes& b) {
  Lanes result;
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < NumParts(); ++i) SetPart(result, i, hn::Add(Part(a, i), Part(b, i)));
  return result;
}

// Subtracts the same number from every lane; `b` holds as many copies of it as a register has lanes.
HWY_INLINE Lanes Sub(const Lanes& a, FloatVec b) {
  Lanes result;
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < NumParts(); ++i) SetPart(result, i, hn::Sub(Part(a, i), b));
  return result;
}

// Multiplies every lane by the same number, of which `factor` holds as many copies as a register has lanes.
HWY_INLINE Lanes Mul(const Lanes& a, FloatVec factor) {
  Lanes result;
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < NumParts(); ++i) SetPart(result, i, hn::Mul(Part(a, i), factor));
  return result;
}

HWY_INLINE Lanes Mul(const Lanes& a, const Lanes& b) {
  Lanes result;
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < NumParts(); ++i) SetPart(result, i, hn::Mul(Part(a, i), Part(b, i)));
  return result;
}

// Returns a * b + c, rounded once if the target has FMA.
HWY_INLINE Lanes MulAdd(const Lanes& a, const Lanes& b, const Lanes& c) {
  Lanes result;
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < NumParts(); ++i) SetPart(result, i, hn::MulAdd(Part(a, i), Part(b, i), Part(c, i)));
  return result;
}
HWY_INLINE Lanes MulAdd(FloatVec factor, const Lanes& b, const Lanes& c) {
  Lanes result;
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < NumParts(); ++i) SetPart(result, i, hn::MulAdd(factor, Part(b, i), Part(c, i)));
  return result;
}

// sum[0] becomes the sum of all of 2 * kHalf numbers by the fixed tree: (i, i + kHalf), (i, i + kHalf / 2) and so on.
template <size_t kHalf>
HWY_INLINE void AddHalves(float* sum) {
  const hn::CappedTag<float, kHalf> tag;
  for (size_t i = 0; i < kHalf; i += hn::Lanes(tag)) {
    hn::Store(hn::Add(hn::Load(tag, sum + i), hn::LoadU(tag, sum + i + kHalf)), tag, sum + i);
  }
  if constexpr (kHalf > 1) AddHalves<kHalf / 2>(sum);
}

// Returns the sum of all lanes by the fixed tree: lanes (i, i + 8), then (i, i + 4), (i, i + 2), (0, 1).
HWY_INLINE float TreeSum(const Lanes& lanes) {
  alignas(kAlignment) float sum[kLanes];
  StoreLanes(lanes, sum);
  AddHalves<kLanes / 2>(sum);
  return sum[0];
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_SIMD_LANES_INL_TOGGLE
