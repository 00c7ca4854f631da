// SPDX-License-Identifier: Apache-2.0
//
// Rotary position embedding, Su et al. 2021 (arXiv:2104.09864), in the half-split layout: element i is rotated together
// with element i + head_dim / 2. The caller provides the cosines and sines.

#if defined(SKALD_KERNELS_ROWS_ROPE_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_ROWS_ROPE_INL_TOGGLE
#undef SKALD_KERNELS_ROWS_ROPE_INL_TOGGLE
#else
#define SKALD_KERNELS_ROWS_ROPE_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "skald/kernels/args.h"
#include "skald/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Rotates one head in place: x[i] = a cos - b sin and x[i + half] = a sin + b cos, where a = x[i], b = x[i + half];
// the product with b is rounded first, then the sum is fused.
HWY_INLINE void RotateHead(float* x, const float* cos, const float* sin, size_t half) {
  const FloatTag tag;
  const size_t step = hn::Lanes(tag);
  size_t i = 0;
  for (; i + step <= half; i += step) {
    const FloatVec a = hn::LoadU(tag, x + i), b = hn::LoadU(tag, x + half + i);
    const FloatVec c = hn::LoadU(tag, cos + i), s = hn::LoadU(tag, sin + i);
    hn::StoreU(hn::MulSub(a, c, hn::Mul(b, s)), tag, x + i);
    hn::StoreU(hn::MulAdd(a, s, hn::Mul(b, c)), tag, x + half + i);
  }
  if (i < half) {
    const size_t count = half - i;
    const FloatVec a = hn::LoadN(tag, x + i, count), b = hn::LoadN(tag, x + half + i, count);
    const FloatVec c = hn::LoadN(tag, cos + i, count), s = hn::LoadN(tag, sin + i, count);
    hn::StoreN(hn::MulSub(a, c, hn::Mul(b, s)), tag, x + i, count);
    hn::StoreN(hn::MulAdd(a, s, hn::Mul(b, c)), tag, x + half + i, count);
  }
}

inline void Rope(const RopeArgs& args) {
  const size_t half = args.rotary_dim / 2;
  for (size_t row = args.row_begin; row < args.row_end; ++row) {
    for (size_t head = 0; head < args.heads; ++head) {
      RotateHead(args.rows + row * args.row_stride + head * args.head_dim, args.cos + row * half, args.sin + row * half,
                 half);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_ROWS_ROPE_INL_TOGGLE
