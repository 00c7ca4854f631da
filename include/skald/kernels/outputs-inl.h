// SPDX-License-Identifier: Apache-2.0
//
// The last step of a matrix multiplication, whatever did the sums: bias, and no writing into the padding.

#if defined(SKALD_KERNELS_OUTPUTS_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_OUTPUTS_INL_TOGGLE
#undef SKALD_KERNELS_OUTPUTS_INL_TOGGLE
#else
#define SKALD_KERNELS_OUTPUTS_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/packed_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Writes the outputs of one row and one panel, without the padding of the last panel.
template <class T>
HWY_INLINE void StoreOutputs(const MatMulArgs<T>& args, size_t row, size_t panel, const Lanes& sum) {
  const size_t column = panel * kLanes;
  float* const output = args.output + row * args.output_stride + column;
  if (column + kLanes <= args.n) {
    StoreLanes(args.bias ? Add(sum, LoadLanes(args.bias + column)) : sum, output);
  } else {
    const size_t count = args.n - column;
    StoreLanes(args.bias ? Add(sum, LoadLanes(args.bias + column, count)) : sum, output, count);
  }
}

// Whether the outputs are so many that writing them past the caches, which saves reading what they replace, is worth
// it, and lie so that it can be done.
template <class T>
HWY_INLINE bool StreamsOutputs(const MatMulArgs<T>& args) {
  const uintptr_t ends = reinterpret_cast<uintptr_t>(args.output) | args.output_stride * sizeof(float);
  return args.rows >= kMatMulGroup && ends % kAlignment == 0;
}

// The same past the caches, for a panel without padding; only if StreamsOutputs.
template <class T>
HWY_INLINE void StreamOutputs(const MatMulArgs<T>& args, size_t row, size_t panel, const Lanes& sum) {
  const size_t column = panel * kLanes;
  float* const output = args.output + row * args.output_stride + column;
  StreamLanes(args.bias ? Add(sum, LoadLanes(args.bias + column)) : sum, output);
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_OUTPUTS_INL_TOGGLE
