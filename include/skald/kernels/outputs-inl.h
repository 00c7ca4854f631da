// SPDX-License-Identifier: Apache-2.0
//
// The last step of a matrix multiplication, whatever did the sums: bias, gates, and no writing into the padding.

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
#include "skald/base/group_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/bf16-inl.h"
#include "skald/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Returns the sums of one panel with their biases; the first of them is number `first` of args.n.
template <class T>
HWY_INLINE Lanes WithBias(const MatMulArgs<T>& args, size_t first, const Lanes& sum) {
  if (args.bias == nullptr) return sum;
  return Add(sum, LoadLanes(args.bias + first, HWY_MIN(kLanes, args.n - first)));
}

// Writes the outputs of one row and one panel, without the padding of the last panel.
template <class T>
HWY_INLINE void StoreOutputs(const MatMulArgs<T>& args, size_t row, size_t panel, const Lanes& sum) {
  const size_t column = panel * kLanes;
  float* const output = args.output + row * args.output_stride + column;
  StoreLanes(WithBias(args, column, sum), output, HWY_MIN(kLanes, args.n - column));
}

// The same past the caches, for a panel without padding; only if StreamsOutputs.
template <class T>
HWY_INLINE void StreamOutputs(const MatMulArgs<T>& args, size_t row, size_t panel, const Lanes& sum) {
  const size_t column = panel * kLanes;
  StreamLanes(WithBias(args, column, sum), args.output + row * args.output_stride + column);
}

// Returns the outputs of one row and one panel of a gated multiplication.
template <class Activation, class T>
HWY_INLINE Lanes GatedOutputs(Activation activation, const MatMulArgs<T>& args, size_t panel, const Lanes& gate_sum,
                              const Lanes& up_sum) {
  const Lanes gate = WithBias(args, panel * kLanes, gate_sum);
  const Lanes up = WithBias(args, args.n / 2 + panel * kLanes, up_sum);
  Lanes result;
  const size_t parts = NumParts();  // known to the compiler, which a call in a template is not
  SKALD_UNROLL_PARTS
  for (size_t i = 0; i < parts; ++i) SetPart(result, i, hn::Mul(activation(Part(gate, i)), Part(up, i)));
  return result;
}

// Writes the outputs of one row and one panel of a gated multiplication where the arguments say, past the caches if
// `stream`.
template <class T>
HWY_INLINE void StoreGatedOutputs(const MatMulArgs<T>& args, size_t row, size_t panel, const Lanes& outputs,
                                  bool stream) {
  if constexpr (!kIsGrouped<T>) {
    if (args.prepared_output != nullptr) {
      T* const to = args.prepared_output + PreparedIndex(args.rows, row, panel * kLanes, args.n / 2);
      const size_t parts = NumParts();
      SKALD_UNROLL_PARTS
      for (size_t i = 0; i < parts; ++i) StoreRounded(Part(outputs, i), to + i * hn::Lanes(FloatTag()));
      return;
    }
  }
  float* const to = args.output + row * args.output_stride + panel * kLanes;
  stream ? StreamLanes(outputs, to) : StoreLanes(outputs, to);
}

// Whether the outputs are so many that writing them past the caches, which saves reading what they replace, is worth
// it, and lie so that it can be done.
template <class T>
HWY_INLINE bool StreamsOutputs(const MatMulArgs<T>& args) {
  const uintptr_t ends = reinterpret_cast<uintptr_t>(args.output) | args.output_stride * sizeof(float);
  return args.rows >= kMatMulGroup && ends % kAlignment == 0;
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_OUTPUTS_INL_TOGGLE
