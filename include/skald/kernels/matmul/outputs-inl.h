// SPDX-License-Identifier: Apache-2.0
//
// The last step of every matrix multiplication: bias, gates, and output without the padding.

#if defined(SKALD_KERNELS_MATMUL_OUTPUTS_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_MATMUL_OUTPUTS_INL_TOGGLE
#undef SKALD_KERNELS_MATMUL_OUTPUTS_INL_TOGGLE
#else
#define SKALD_KERNELS_MATMUL_OUTPUTS_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>
#include <optional>

#include "hwy/highway.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/rows/activation-inl.h"
#include "skald/kernels/simd/bf16-inl.h"
#include "skald/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// The sums of some rows and neighbouring panels: those of row r and panel p are the kLanes floats at first + r *
// row_stride + p * panel_stride. The gated sums of a gated product are `up` floats further on.
struct SumsInMemory {
  const float* first;
  size_t row_stride, panel_stride, up;

  HWY_INLINE const float* At(size_t r, size_t p) const { return first + r * row_stride + p * panel_stride; }
};

// The part of MatMulArgs that is the same for all types of weights, so that there is one StoreOutputs for all.
struct MatMulOutputs {
  const float* bias;
  float* output;
  size_t stride, rows, n;
  std::optional<Activation> gate;
  bf16* prepared;

  HWY_INLINE float* At(size_t row, size_t column) const { return output + row * stride + column; }
};

template <class T>
HWY_INLINE MatMulOutputs OutputsOf(const MatMulArgs<T>& args) {
  return {.bias = args.bias,
          .output = args.output,
          .stride = args.output_stride,
          .rows = args.rows,
          .n = args.n,
          .gate = args.gate,
          .prepared = args.prepared_output};
}

// Writes zeros after `rows` rows in the order of PreparedIndex, as far as a matmul reads.
template <class T>
HWY_INLINE void ClearTail(T* prepared, size_t rows, size_t padded_k) {
  hwy::ZeroBytes(prepared + rows * padded_k, PreparedTail(rows) * sizeof(T));
}

// The same after a prepared output, in the call that computes its end.
template <class T>
HWY_INLINE void ClearPreparedOutput(const MatMulArgs<T>& args) {
  if (args.prepared_output == nullptr || args.row_end != args.rows || args.panel_begin != 0) return;
  ClearTail(args.prepared_output, args.rows, args.n / 2);
}

// Returns sums with their biases; the first of them is number `column` of to.n.
HWY_INLINE Lanes WithBias(const MatMulOutputs& to, size_t column, const float* sums) {
  const Lanes result = LoadLanes(sums);
  return to.bias == nullptr ? result : Add(result, LoadLanes(to.bias + column, HWY_MIN(kLanes, to.n - column)));
}

// Whether outputs up to number `end` are written past the caches, which saves reading their old content: they are many
// and suitably aligned, and no panel is partly padding.
HWY_INLINE bool StreamsOutputs(const MatMulOutputs& to, size_t end) {
  const uintptr_t ends = reinterpret_cast<uintptr_t>(to.output) | to.stride * sizeof(float);
  return to.rows >= kMatMulGroup && ends % kAlignment == 0 && end <= to.n;
}

HWY_INLINE void StoreSums(const MatMulOutputs& to, size_t row, size_t rows, size_t panel, size_t panels,
                          const SumsInMemory& sums) {
  const bool stream = StreamsOutputs(to, (panel + panels) * kLanes);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t p = 0; p < panels; ++p) {
      const size_t column = (panel + p) * kLanes;
      const Lanes outputs = WithBias(to, column, sums.At(r, p));
      float* const at = to.At(row + r, column);
      stream ? StreamLanes(outputs, at) : StoreLanes(outputs, at, HWY_MIN(kLanes, to.n - column));
    }
  }
}

// The same for the panels of a gated product, none of which is partly padding, one register at a time: the functions of
// gates are long, and unrolling them over the parts of Lanes does not pay.
template <class Function>
HWY_INLINE FloatVec GatedOutputs(Function gated, const MatMulOutputs& to, size_t column, const float* gate,
                                 const float* up) {
  const FloatTag tag;
  FloatVec gate_sum = hn::LoadU(tag, gate), up_sum = hn::LoadU(tag, up);
  if (to.bias != nullptr) {
    gate_sum = hn::Add(gate_sum, hn::LoadU(tag, to.bias + column));
    up_sum = hn::Add(up_sum, hn::LoadU(tag, to.bias + to.n / 2 + column));
  }
  return gated(gate_sum, up_sum);
}

HWY_INLINE void StoreGatedSums(const MatMulOutputs& to, size_t row, size_t rows, size_t panel, size_t panels,
                               const SumsInMemory& sums) {
  const FloatTag tag;
  const bool stream = StreamsOutputs(to, to.n);
  VisitGate(*to.gate, [&](auto gated) {
    for (size_t r = 0; r < rows; ++r) {
      for (size_t i = 0; i < panels * kLanes; i += hn::Lanes(tag)) {
        const float* const gate = sums.At(r, i / kLanes) + i % kLanes;
        const size_t column = panel * kLanes + i;
        const FloatVec outputs = GatedOutputs(gated, to, column, gate, gate + sums.up);
        if (to.prepared != nullptr) {
          StoreRounded(outputs, to.prepared + PreparedIndex(to.rows, row + r, column, to.n / 2));
        } else if (stream) {
          hn::Stream(outputs, tag, to.At(row + r, column));
        } else {
          hn::StoreU(outputs, tag, to.At(row + r, column));
        }
      }
    }
  });
}

// Turns the sums of rows [row, row + rows) and panels [panel, panel + panels) into outputs.
HWY_NOINLINE inline void StoreOutputs(const MatMulOutputs& to, size_t row, size_t rows, size_t panel, size_t panels,
                                      const SumsInMemory& sums) {
  to.gate ? StoreGatedSums(to, row, rows, panel, panels, sums) : StoreSums(to, row, rows, panel, panels, sums);
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_MATMUL_OUTPUTS_INL_TOGGLE
